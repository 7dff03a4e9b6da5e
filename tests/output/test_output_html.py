"""The page: self-contained, with a panel for every cell that has findings, and alive in a browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from patchkit.demo import demo_tree_path
from patchkit.output import Look, html, render
from patchkit.scan import scan_tree
from patchkit.scan.cache import Scanned
from patchkit.scan.matrix import make_matrix
from patchkit.source.tree import open_tree

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)


class Page(HTMLParser):
    """Ids, links, and the text of the page without its scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.words, self.open = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag not in ("meta", "link", "input", "br"):
            self.open.append(tag)
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "a":
            self.links.append(found["href"])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def tree():
    return open_tree(demo_tree_path())


@pytest.fixture(scope="module")
def report(tree):
    return scan_tree(tree)


@pytest.fixture(scope="module")
def page(report, tree):
    return render(report, tree, Look(), format_name="html")


@pytest.fixture(scope="module")
def table(report, tree):
    """The demo's findings as one release, and a later one that has fixed all but one of them."""
    kept = report.findings[:1]
    later = replace(report, findings=kept, torch_version="2.3.0")
    ops = tuple(op for finding in report.findings for op in finding.ops)
    matrix = make_matrix([Scanned(report, ops, ()), Scanned(later, ops, ())])
    return html.render_matrix(matrix, [report, later], [tree, tree])


def test_every_tag_is_closed_and_every_id_is_used_once(page, table):
    for text in (page, table):
        parsed = Page(text)
        assert parsed.open == []
        assert len(parsed.ids) == len(set(parsed.ids))


def test_every_link_leads_to_a_place_on_the_page(page, table):
    for text in (page, table):
        parsed = Page(text)
        assert len(parsed.links) > 10
        assert {link.removeprefix("#") for link in parsed.links} <= set(parsed.ids)


def test_nothing_is_loaded_from_anywhere(table):
    assert not re.findall(r"""(?:src|href|action)\s*=\s*["'](?!#|data:)""", table)
    assert not re.findall(r"url\(|@import|fetch\(|XMLHttpRequest|https?://", table)
    assert "default-src 'none'" in table


def test_every_finding_is_shown_with_its_trace_and_its_code(page, report, tree):
    text = Page(page).text
    for finding in report.findings:
        assert finding.fingerprint in text
        assert f"{finding.file}:{finding.line}" in text
        code = (tree.root / finding.file).read_text().split("\n")[finding.line - 1]
        assert " ".join(code.split()) in text
        for step in finding.trace:
            assert " ".join(step.text.replace("`", " ").split()) in " ".join(text.replace("`", " ").split())


def test_the_table_says_what_is_fixed_and_from_when_on(table):
    text = Page(table).text
    assert "first safe in" in text
    assert "fixed" in text
    assert "not yet" in text


def test_source_text_cannot_become_markup(report, tree):
    hostile = replace(report.findings[0], tensor="<script>alert(1)</script>", function="a<b>", ops=('x"><img src=y>',))
    text = render(replace(report, findings=(hostile,)), tree, Look(), format_name="html")
    assert "<script>alert" not in text
    assert "<img" not in text
    assert Page(text).open == []


def test_a_clean_tree_has_a_page_too(report, tree):
    text = render(replace(report, findings=()), tree, Look(), format_name="html")
    assert "No operator of this release has a finding." in Page(text).text


def in_browser(path, fragment, profile):
    flags = (
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
        "--disable-background-networking", "--disable-component-update", f"--user-data-dir={profile}", "--dump-dom",
        "--virtual-time-budget=3000",
    )  # fmt: skip
    done = subprocess.run([CHROMIUM, *flags, f"{path.as_uri()}{fragment}"], capture_output=True, text=True, timeout=60)
    return done.stdout


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_the_page_is_alive_in_a_browser(table, tmp_path):
    (tmp_path / "page.html").write_text(table, encoding="utf-8")
    shown = in_browser(tmp_path / "page.html", "", tmp_path / "profile")
    rows = len(re.findall(r"<tr data-op=", table))
    assert f"{rows} of {rows} operators" in shown


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_the_address_of_a_cell_opens_its_panel_in_a_browser(table, tmp_path):
    """The script holds the page behind an open panel still, which shows that it found the panel."""
    (tmp_path / "page.html").write_text(table, encoding="utf-8")
    link = next(link for link in Page(table).links if link.startswith("#r1-"))
    assert re.search(r'<body[^>]*style="overflow: hidden', in_browser(tmp_path / "page.html", link, tmp_path / "p"))


# Opens a panel with a click, closes it with Escape and with the button, and filters; writes down what was to be seen.
ACTOR = """\
<script>
window.addEventListener("load", function () {
  var seen = [], steps = [];
  var link = document.querySelector("tbody a.state");
  var panel = document.getElementById(link.getAttribute("href").slice(1));
  function look(what) { seen.push(what + "=" + getComputedStyle(panel).display); }
  steps.push(function () { look("start"); link.click(); });
  steps.push(function () {
    look("clicked");
    seen.push("focus=" + document.activeElement.className);
    document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
  });
  steps.push(function () { look("escaped"); seen.push("back=" + (document.activeElement === link)); link.click(); });
  steps.push(function () { panel.querySelector(".close").click(); });
  steps.push(function () {
    look("closed");
    var filter = document.getElementById("filter");
    filter.value = "ADDC";
    filter.dispatchEvent(new Event("input"));
    var shown = Array.prototype.filter.call(document.querySelectorAll("tbody tr"), function (row) {
      return getComputedStyle(row).display !== "none";
    });
    seen.push("rows=" + shown.map(function (row) { return row.dataset.op; }).join("+"));
    document.body.setAttribute("data-seen", seen.join(" "));
  });
  steps.forEach(function (step, place) { setTimeout(step, 100 * (place + 1)); });
});
</script>
"""


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_a_click_opens_the_kernel_and_the_filter_narrows_the_table(table, tmp_path):
    (tmp_path / "page.html").write_text(table.replace("</body>", f"{ACTOR}</body>"), encoding="utf-8")
    seen = re.search(r'data-seen="([^"]*)"', in_browser(tmp_path / "page.html", "", tmp_path / "profile"))
    assert seen is not None
    assert seen[1].split() == [
        "start=none", "clicked=block", "focus=close", "escaped=none", "back=true", "closed=none",
        "rows=addcdiv+addcmul",
    ]  # fmt: skip


def luminance(color):
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("ink", "paper"),
    [
        ("ink", "page"), ("ink", "card"), ("ink", "head"), ("ink", "mark"), ("soft", "page"), ("soft", "card"),
        ("soft", "head"),
        ("soft", "mark"), ("link", "page"), ("bad", "bad-back"), ("odd", "odd-back"), ("good", "good-back"),
    ],
)  # fmt: skip
def test_text_stands_out_as_wcag_asks(page, scheme, ink, paper):
    block = re.findall(r":root \{(.*?)\}", page, re.DOTALL)[scheme]
    colors = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))
    assert contrast(colors[ink], colors[paper]) >= 4.5
