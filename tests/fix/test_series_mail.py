"""The written patches as other tools read them: git am, git apply, patch."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import series_kit as kit
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from patchkit.errors import InputError
from patchkit.fix.apply import apply_series
from patchkit.fix.diff import FileChange
from patchkit.fix.mail import parse_mail
from patchkit.fix.series import Series

needs_patch = pytest.mark.skipif(shutil.which("patch") is None, reason="the patch tool is not installed")


def mails(series: Series) -> list[Path]:
    return [series.folder / patch.name for patch in series.patches]


def test_git_am_takes_the_series_and_leaves_one_commit_per_patch(tmp_path: Path) -> None:
    before, after, patches = kit.two_file_patches()
    repository = kit.make_repository(tmp_path / "tree", before)
    series = kit.write(tmp_path / "out", patches)
    kit.run(["git", "am", "-q", *mails(series)], repository)
    assert kit.snapshot(repository) == after
    log = kit.run(["git", "log", "--reverse", "--format=%s|%an <%ae>|%aI", "main~3.."], repository)
    author = "patchkit <patchkit@localhost>|2001-09-17T00:00:00+00:00"
    assert log.stdout.decode().splitlines() == [f"MPS: {slug}|{author}" for slug in ("sin", "tan", "normal")]


def test_git_apply_takes_and_reverses_the_series(tmp_path: Path) -> None:
    before, after, patches = kit.two_file_patches()
    repository = kit.make_repository(tmp_path / "tree", before)
    series = kit.write(tmp_path / "out", patches)
    for mail in mails(series):
        kit.run(["git", "apply", "--check", "--index", mail], repository)
        kit.run(["git", "apply", mail], repository)
        kit.run(["git", "add", "-u"], repository)
    assert kit.snapshot(repository) == after
    for mail in reversed(mails(series)):
        kit.run(["git", "apply", "-R", mail], repository)
    assert kit.snapshot(repository) == before


@needs_patch
def test_patch_takes_and_reverses_the_series(tmp_path: Path) -> None:
    before, after, patches = kit.two_file_patches()
    tree = kit.make_tree(tmp_path / "tree", before)
    series = kit.write(tmp_path / "out", patches)
    for mail in mails(series):
        kit.run(["patch", "-p1", "--fuzz=0", "-i", mail], tree)
    assert kit.snapshot(tree) == after
    for mail in reversed(mails(series)):
        kit.run(["patch", "-R", "-p1", "--fuzz=0", "-i", mail], tree)
    assert kit.snapshot(tree) == before


def test_git_am_three_way_finds_the_blobs_that_the_index_lines_name(tmp_path: Path) -> None:
    before, _, patches = kit.two_file_patches()
    repository = kit.make_repository(tmp_path / "tree", before)
    moved = before[kit.UNARY].replace(b"return;", b"return; // nothing to do")
    (repository / kit.UNARY).write_bytes(moved)
    kit.run(["git", "commit", "-qam", "near the hunk"], repository)
    series = kit.write(tmp_path / "out", patches[:1])
    kit.run(["git", "am", "-q", "-3", *mails(series)], repository)
    assert (repository / kit.UNARY).read_bytes() == kit.fixed(moved, "sin")


def subject_and_body(tmp_path: Path, subject: str, body: str) -> tuple[str, str]:
    before, _, patches = kit.two_file_patches()
    repository = kit.make_repository(tmp_path / "tree", before)
    patch = kit.patch("sin", *patches[0].changes, subject=subject, body=body)
    series = kit.write(tmp_path / "out", [patch])
    kit.run(["git", "am", "-q", *mails(series)], repository)
    done = kit.run(["git", "log", "-1", "--format=%s%x00%b"], repository).stdout.decode()
    said, _, rest = done.partition("\0")
    return said, rest.rstrip("\n")


def test_subject_and_body_beyond_ascii_survive(tmp_path: Path) -> None:
    subject = "MPS: élan vital — " + "une très longue ligne " * 6
    assert subject_and_body(tmp_path, subject, "Größe ≥ 15\n") == (subject.strip(), "Größe ≥ 15")


def test_long_ascii_subject_stays_one_line(tmp_path: Path) -> None:
    subject = "MPS: " + "word " * 60
    assert subject_and_body(tmp_path, subject, "b")[0] == subject.strip()


@pytest.mark.parametrize(
    "line",
    ["--- a/file", "---", "diff --git a/x b/x", "Index: x", "From here on", "Subject: other", "@@ -1 +1 @@"],
)
def test_body_lines_that_would_end_a_mail_are_kept_as_text(tmp_path: Path, line: str) -> None:
    subject, body = subject_and_body(tmp_path, "MPS: sin", f"{line}\n\nmore\n{line}\nend")
    assert subject == "MPS: sin"
    assert [part.strip() for part in body.split("\n")] == [line, "", "more", line, "end"]


def test_body_may_be_empty(tmp_path: Path) -> None:
    assert subject_and_body(tmp_path, "MPS: sin", "") == ("MPS: sin", "")


def test_crlf_and_bytes_beyond_utf_8_reach_git_am_and_git_apply(tmp_path: Path) -> None:
    before = kit.source("sin").replace(b"\n", b"\r\n").replace(b"A file", b"\xa9 \xff file")
    after = kit.fixed(before, "sin")
    assert b"copy_(out_);\r\n" in after
    repository = kit.make_repository(tmp_path / "tree", {kit.UNARY: before})
    series = kit.write(tmp_path / "out", [kit.patch("sin", FileChange(kit.UNARY, before, after))])
    mail = mails(series)[0]
    assert b"git am --keep-cr" in mail.read_bytes()
    kit.run(["git", "apply", "--check", mail], repository)
    kit.run(["git", "am", "-q", "--keep-cr", mail], repository)
    assert (repository / kit.UNARY).read_bytes() == after


def test_executable_files_and_names_with_spaces_fit(tmp_path: Path) -> None:
    repository = kit.make_tree(tmp_path / "tree", {"a b/c d.mm": b"one\n"})
    (repository / "a b/c d.mm").chmod(0o755)
    kit.make_repository(repository, {})
    change = FileChange("a b/c d.mm", b"one\n", b"two\n", executable=True)
    series = kit.write(tmp_path / "out", [kit.patch("s", change)])
    kit.run(["git", "am", "-q", *mails(series)], repository)
    assert (repository / "a b/c d.mm").read_bytes() == b"two\n"
    assert (repository / "a b/c d.mm").stat().st_mode & 0o777 == 0o755


def test_diffstat_counts_what_git_counts(tmp_path: Path) -> None:
    before, _, patches = kit.two_file_patches()
    repository = kit.make_repository(tmp_path / "tree", before)
    series = kit.write(tmp_path / "out", patches)
    for mail in mails(series):
        said = kit.run(["git", "apply", "--numstat", mail], repository).stdout.split(b"\t")
        assert f"{int(said[0])} insertions(+), {int(said[1])} deletion".encode() in mail.read_bytes()


LINES = st.lists(st.sampled_from([b"a", b"b", b"}", b"", b"  x\r", b"\xfe", b"-- ", b"From x"]), max_size=25)
FILES = st.builds(
    lambda lines, end: b"".join(line + b"\n" for line in lines) + end, LINES, st.sampled_from([b"", b"z"])
)


@needs_patch
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(FILES, min_size=3, max_size=3, unique=True))
def test_any_cumulative_series_means_the_same_to_every_tool(
    tmp_path_factory: pytest.TempPathFactory, versions: list[bytes]
) -> None:
    first, second, third = (content or b"end\n" for content in versions)
    assume(len({first, second, third}) == 3)
    folder = tmp_path_factory.mktemp("tools")
    repository = kit.make_repository(folder / "git", {"f.mm": first})
    plain = kit.make_tree(folder / "plain", {"f.mm": first})
    own = kit.make_tree(folder / "own", {"f.mm": first})
    changes = [FileChange("f.mm", first, second), FileChange("f.mm", second, third)]
    series = kit.write(folder / "out", [kit.patch(f"p{n}", change) for n, change in enumerate(changes)])
    kit.run(["git", "am", "-q", "--keep-cr", *mails(series)], repository)
    for mail in mails(series):
        kit.run(["patch", "--binary", "-p1", "--fuzz=0", "-i", mail], plain)
    apply_series(series.folder, own)
    assert {(root / "f.mm").read_bytes() for root in (repository, plain, own)} == {third}
    apply_series(series.folder, own, reverse=True)
    for mail in reversed(mails(series)):
        kit.run(["git", "apply", "-R", mail], repository)
    assert {(root / "f.mm").read_bytes() for root in (repository, own)} == {first}


HEADER = b"diff --git a/f b/f\nindex " + b"0" * 40 + b".." + b"1" * 40 + b" 100644\n"
HUNK = b"@@ -1 +1 @@\n-a\n+b\n"
NAMES = b"--- a/f\n+++ b/f\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"Subject: x\n\nnothing\n", "holds no diff"),
        (b"--- a/f\n+++ b/f\n" + HUNK + HEADER + NAMES + HUNK, "without a 'diff --git' line"),
        (
            b"diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n" + HUNK,
            "existing text files only",
        ),
        (
            b"diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ b/f\n" + HUNK,
            "existing text files only",
        ),
        (b"diff --git a/f b/g\nrename from f\nrename to g\n\n\n\n", "existing text files only"),
        (
            b"diff --git a/f b/f\nold mode 100644\nnew mode 100755\n" + NAMES + HUNK,
            "existing text files only",
        ),
        (HEADER.replace(b"100644", b"120000") + NAMES + HUNK, "existing text files only"),
        (HEADER + b"GIT binary patch\nliteral 0\nx\nx\n", "creates or deletes"),
        (HEADER + b"--- /dev/null\n+++ b/f\n" + HUNK, "creates or deletes"),
        (HEADER + b"--- a/f\n+++ /dev/null\n" + HUNK, "creates or deletes"),
        (HEADER + b"--- a/f\n+++ b/g\n" + HUNK, "in place only"),
        (HEADER + b"--- a/g\n+++ b/g\n" + HUNK, "different files"),
        (HEADER + b"--- a/../f\n+++ b/../f\n" + HUNK, "not a plain path inside"),
        (HEADER + b"--- a//etc/f\n+++ b//etc/f\n" + HUNK, "absolute path"),
        (HEADER + b"--- a/.git/config\n+++ b/.git/config\n" + HUNK, "never patched"),
        (HEADER + NAMES, "ends inside a diff"),
        (HEADER + NAMES + b"@@ -1,2 +1 @@\n-a\n+b\n", "ends inside a hunk"),
        (HEADER + NAMES + b"@@ -1,2 +1 @@\n-a\n+b\nrubbish\n", "shorter than its header"),
        (HEADER + NAMES + b"@@ -1 +1 @@ \n a\n", "changes nothing"),
        (HEADER + NAMES + b"@@ -1 +1,2 @@\n-a\n+b\n\\ No newline\n+c\n", "not the last of its file"),
        (HEADER + NAMES + b"@@ -9999999999999 +1 @@\n-a\n+b\n", "header is malformed"),
        (HEADER + NAMES + HUNK + b"rubbish\n", "malformed at line"),
        (HEADER + NAMES + HUNK + HEADER + NAMES + HUNK, "one file twice"),
        (HEADER + NAMES + HUNK + b"-- \n0\n--- a/g\n+++ b/g\n" + HUNK, "after its signature"),
    ],
)
def test_patches_that_ask_for_more_than_new_text_are_refused(text: bytes, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        parse_mail(text, name="0001-x.patch")
