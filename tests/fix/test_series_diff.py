"""Diffs of one file: exact for any bytes, in git's format."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.errors import InputError, PatchError
from patchkit.fix import diff as diff_module
from patchkit.fix.diff import FileChange, blob_hash, diff_hunks, format_diff
from patchkit.fix.hunks import MisfitError, apply_exact, apply_moved, split_lines
from patchkit.fix.mail import format_mail, parse_mail

# Few different lines, so that they repeat; carriage returns, bytes that are no UTF-8, and odd separators.
LINE = st.sampled_from([b"", b"a", b"}", b"  b\r", b"\xff\xfe", b"-- ", b"@@ -1 +1 @@", b"\x0c", b"\xe2\x80\xa8"])
CONTENT = st.builds(
    lambda lines, end: b"".join(line + b"\n" for line in lines) + end, st.lists(LINE, max_size=40), LINE
)


def round_trip(before: bytes, after: bytes) -> tuple[bytes, bytes]:
    mail = format_mail(
        subject="s",
        body="b",
        changes=[FileChange("f.mm", before, after)],
        number=1,
        total=1,
        tool_version="0",
    )
    (parsed,) = parse_mail(mail, name="0001-s.patch")
    return apply_exact(before, parsed.hunks), apply_exact(after, parsed.reversed().hunks)


@given(CONTENT, CONTENT)
def test_any_edit_written_and_read_back_gives_both_versions(before: bytes, after: bytes) -> None:
    if before != after:
        assert round_trip(before, after) == (after, before)


@given(
    CONTENT,
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3), st.lists(LINE, max_size=3)), max_size=4),
)
def test_applying_where_lines_may_move_is_exact_or_refused(
    before: bytes, edits: list[tuple[int, int, list[bytes]]]
) -> None:
    lines = split_lines(before)
    for at, removed, added in edits:
        lines[at : at + removed] = [line + b"\n" for line in added]
    after = b"".join(lines)
    hunks = diff_hunks(before, after)
    try:
        result, moved = apply_moved(before, hunks)
    except MisfitError as error:
        assert error.ambiguous
    else:
        assert (result, set(moved) <= {0}) == (after, True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\nb\n", b"a\nb"),
        (b"a\nb", b"a\nb\n"),
        (b"a", b"b"),
        (b"", b"a\n"),
        (b"a\n", b""),
        (b"a\r\nb\r\n", b"a\r\nc\r\n"),
        (b"a\rb\n", b"a\rc\n"),
        (b"\xff\n", b"\xfe\n"),
    ],
)
def test_line_ends_and_odd_bytes_survive(before: bytes, after: bytes) -> None:
    assert round_trip(before, after) == (after, before)


def test_far_changes_get_hunks_of_their_own_with_three_context_lines() -> None:
    old = [b"%d\n" % n for n in range(30)]
    new = [*old]
    new[5], new[20] = b"x\n", b"y\n"
    first, second = diff_hunks(b"".join(old), b"".join(new))
    assert [tag for tag, _ in first.lines] == [b" "] * 3 + [b"-", b"+"] + [b" "] * 3
    assert (first.old_start, second.old_start) == (3, 18)


def test_near_changes_share_a_hunk() -> None:
    old = [b"%d\n" % n for n in range(30)]
    new = [*old]
    new[5], new[12] = b"x\n", b"y\n"
    assert len(diff_hunks(b"".join(old), b"".join(new))) == 1


def test_hunk_header_names_the_function_around_it() -> None:
    old = b"int f() {\n" + b"  x;\n" * 8 + b"}\n"
    (hunk,) = diff_hunks(old, old[:-2] + b"  y;\n}\n")
    assert hunk.heading == b"int f() {"


def test_index_line_holds_the_hashes_git_gives(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\r\n\xff")
    said = subprocess.run(["git", "hash-object", "--no-filters", "f"], cwd=tmp_path, capture_output=True, check=True)
    assert blob_hash(b"a\r\n\xff") == said.stdout.decode().strip()
    assert blob_hash(b"a\r\n\xff").encode() in format_diff(FileChange("f", b"a\r\n\xff", b"b\n"))


def test_a_large_file_of_equal_lines_is_diffed_in_a_moment() -> None:
    before = b"}\n" * 50_000
    after = before[: len(before) // 2] + b"x\n" + before[len(before) // 2 :]
    assert round_trip(before, after) == (after, before)


def test_a_diff_that_does_not_reproduce_its_edit_is_never_written(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = diff_hunks(b"a\n", b"c\n")
    monkeypatch.setattr(diff_module, "diff_hunks", lambda before, after: wrong)
    with pytest.raises(PatchError, match="does not reproduce"):
        format_diff(FileChange("f", b"a\n", b"b\n"))


def test_binary_content_is_refused() -> None:
    with pytest.raises(InputError, match=r"f\.metallib is a binary file"):
        FileChange("f.metallib", b"a\0", b"b")


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/x",
        "../x",
        "a/../x",
        "a//b",
        "./a",
        "C:/x",
        "a/.git/config",
        ".GIT/config",
        'a"b',
        "a\nb",
        "é",
    ],
)
def test_paths_that_leave_the_tree_or_break_the_format_are_refused(path: str) -> None:
    with pytest.raises(InputError):
        FileChange(path, b"a", b"b")
