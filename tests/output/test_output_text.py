"""The text report as a reader sees it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from patchkit.output import Look, format_names, render
from patchkit.scan.findings import Cleared, Finding, ScanReport, TraceStep, Undecided
from patchkit.source.tree import NATIVE_FUNCTIONS, Tree

FILE = "aten/src/ATen/native/mps/operations/Kernel.mm"
SOURCE = """\
static void helper(const Tensor& self, const Tensor& output) {
  @autoreleasepool {
    Placeholder selfPlaceholder = Placeholder(cachedGraph->inputTensor_, self);
    Placeholder outputPlaceholder =
        Placeholder(cachedGraph->outputTensor_, output, /*mpsShape=*/nil);
    runMPSGraph(stream, cachedGraph->graph(), feeds, results);
  }
}

Tensor& kernel_out_mps(const Tensor& self, Tensor& result) {
  helper(self, result);
  return result;
}
"""
FINDING = Finding(
    rule="MPS101",
    effect="lost",
    layouts=("strided", "offset"),
    macos="<15",
    file=FILE,
    line=4,
    column=37,
    end_line=5,
    function="helper",
    tensor="output",
    ops=("kernel.out", "kernel", "kernel_"),
    triggers=("inplace", "out"),
    confidence="high",
    message="the graph writes into a gathered copy of `output`, and nothing copies it back",
    trace=(
        TraceStep(11, "`result` comes from the caller"),
        TraceStep(1, "as `output`"),
        TraceStep(5, "a copy takes the result"),
    ),
    fixable=True,
    fingerprint="abc",
)


@pytest.fixture
def tree(tmp_path):
    (tmp_path / FILE).parent.mkdir(parents=True)
    (tmp_path / FILE).write_text(SOURCE)
    (tmp_path / NATIVE_FUNCTIONS).write_text(
        "- func: kernel.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  dispatch:\n    MPS: kernel_out_mps\n"
    )
    return Tree(tmp_path, "2.6.0", "pytorch")


def report(*findings: Finding, cleared=(), undecided=()) -> ScanReport:
    return ScanReport("2.6.0", "pytorch", 61, 154, 0.94, findings, tuple(cleared), tuple(undecided))


def text(tree, scanned, **look) -> str:
    return render(scanned, tree, Look(**look), format_name="text")


def test_text_is_the_first_format_and_json_is_there():
    assert format_names()[0] == "text"
    assert "json" in format_names()
    assert not any(name.startswith("_") for name in format_names())


def test_a_finding_says_rule_effect_layouts_place_and_message(tree):
    shown = text(tree, report(FINDING))
    assert "MPS101 lost [strided, offset]: the graph writes into a gathered copy" in shown
    assert f"--> {FILE}:4:37" in shown
    assert "function  helper, tensor `output`" in shown


def test_the_caret_finds_the_tensor_on_the_second_line_of_a_call(tree):
    lines = text(tree, report(FINDING)).splitlines()
    carets = next(number for number, line in enumerate(lines) if "^^^^^^" in line)
    assert lines[carets - 1].startswith(" 5 |")
    assert lines[carets].index("^") == lines[carets - 1].index("output, ")
    assert "a copy takes the result" in lines[carets]


def test_trace_steps_that_jump_back_are_numbered(tree):
    shown = text(tree, report(FINDING))
    assert "(1) `result` comes from the caller" in shown
    assert "(2) as `output`" in shown
    assert "(3) a copy takes the result" in shown


def test_trace_steps_in_reading_order_are_not_numbered(tree):
    finding = replace(FINDING, trace=FINDING.trace[1:])
    assert "(1)" not in text(tree, report(finding))


def test_a_trace_step_in_another_file_has_its_own_frame(tree):
    other = "aten/src/ATen/native/mps/operations/Other.mm"
    (tree.root / other).write_text("void caller() {\n  helper(x, y);\n}\n")
    shown = text(tree, report(replace(FINDING, trace=(TraceStep(2, "`y` is passed", other),))))
    assert f"::: {other}:2" in shown
    assert "2 | helper(x, y);" in shown


def test_the_python_calls_and_the_macos_range_are_named(tree):
    shown = text(tree, report(FINDING))
    assert "python    torch.kernel(..., out=y.t())" in shown
    assert "macOS     before 15" in shown


@pytest.mark.parametrize(("macos", "words"), [("<15", "before 15"), (">=15", "15 and later"), ("all", "every version")])
def test_every_macos_range_is_spelled_out(tree, macos, words):
    assert f"macOS     {words}" in text(tree, report(replace(FINDING, macos=macos)))


def test_a_long_list_of_operators_is_cut_to_two_lines_with_a_count(tree):
    ops = tuple(f"operator{number}.out" for number in range(70))
    shown = text(tree, report(replace(FINDING, ops=ops)), width=80)
    listed = re.search(r"  ops .*?(?=\n  python)", shown, re.S)[0]
    hidden = int(re.search(r"and (\d+) more", listed)[1])
    assert len(listed.splitlines()) == 2
    assert listed.count(".out") + hidden == 70


def test_what_cannot_be_fixed_says_why(tree):
    finding = replace(FINDING, fixable=False, not_fixable_because="the output is rebound in a loop")
    assert "by hand: the output is rebound in a loop" in text(tree, report(finding))


def test_findings_are_grouped_by_file_in_the_order_of_lines(tree):
    other = replace(FINDING, file=FILE.replace("Kernel", "Another"))
    later = replace(FINDING, line=11, end_line=11)
    shown = text(tree, report(later, other, FINDING))
    headings = re.findall(r"== (\S+): (\d+) finding", shown)
    assert headings == [("Another.mm", "1"), ("Kernel.mm", "2")]
    assert shown.index("Kernel.mm:4:") < shown.index("Kernel.mm:11:")


def test_the_summary_counts_effects_cleared_undecided_files_and_seconds(tree):
    scanned = report(
        FINDING,
        FINDING,
        replace(FINDING, rule="MPS102", effect="misplaced", fixable=False),
        cleared=[Cleared(FILE, 3, "f", "t", "copy_back")],
    )
    shown = text(tree, scanned, width=140)
    assert (
        "3 findings (2 lost, 1 misplaced); 1 cleared, 0 undecided; 61 files, 154 sites in 0.9 s (torch 2.6.0)" in shown
    )
    assert "`patchkit fix` repairs 2 of 3" in shown


def test_a_clean_tree_gets_the_summary_alone(tree):
    assert text(tree, report()) == ("0 findings; 0 cleared, 0 undecided; 61 files, 154 sites in 0.9 s (torch 2.6.0)\n")


def test_cleared_sites_are_explained_only_on_request(tree):
    scanned = report(cleared=[Cleared(FILE, 3, "helper", "out_", "copy_back")])
    assert "helper" not in text(tree, scanned)
    shown = text(tree, scanned, show_cleared=True)
    assert "3  helper, `out_`" in shown
    assert "copy_back: a contiguous temporary takes the result" in shown


def test_the_scans_own_words_on_a_cleared_site_win(tree):
    scanned = report(cleared=[Cleared(FILE, 3, "helper", "out_", "copy_back", "copied back on line 7")])
    assert "copy_back: copied back on line 7" in text(tree, scanned, show_cleared=True)


def test_a_reason_without_an_explanation_is_still_named(tree):
    scanned = report(cleared=[Cleared(FILE, 3, "helper", "out_", "new_reason")])
    assert re.search(r"^ +new_reason$", text(tree, scanned, show_cleared=True), re.M)


def test_undecided_sites_are_always_listed(tree):
    scanned = report(undecided=[Undecided(FILE, 3, "helper", "", "the parser gave up")])
    assert "undecided: the parser gave up" in text(tree, scanned)


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_no_line_is_wider_than_asked_for(tree, width):
    scanned = report(
        replace(FINDING, message="a long message " * 20, ops=tuple(f"operator{n}.out" for n in range(70))),
        cleared=[Cleared(FILE, 3, "helper", "condition ? one : " * 10 + "other", "copy_back")],
        undecided=[Undecided(FILE, 3, "helper", "x", "a long reason " * 20)],
    )
    lines = text(tree, scanned, width=width, show_cleared=True).splitlines()
    too_wide = [line for line in lines if len(line) > width and "-->" not in line]
    assert too_wide == []


def test_color_adds_codes_and_changes_nothing_else(tree):
    scanned = report(FINDING, cleared=[Cleared(FILE, 3, "helper", "t", "copy_back")])
    colored = text(tree, scanned, color=True, show_cleared=True)
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == text(tree, scanned, show_cleared=True)


def test_a_source_file_that_is_gone_costs_only_the_frame(tree):
    (tree.root / FILE).unlink()
    shown = text(tree, report(FINDING))
    assert "MPS101 lost" in shown
    assert "^" not in shown


def test_control_characters_in_the_source_are_not_printed(tree):
    (tree.root / FILE).write_text(SOURCE.replace("/*mpsShape=*/", "/*\x1b[2J*/"))
    assert "\x1b" not in text(tree, report(FINDING))
