"""Applying and reversing a series: all of it or nothing, and one clear sentence when it does not fit."""

from __future__ import annotations

from pathlib import Path

import pytest
import series_kit as kit
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from patchkit.errors import InputError, NotATreeError, PatchError
from patchkit.fix.apply import apply_series
from patchkit.fix.diff import FileChange


@pytest.fixture
def out(tmp_path: Path) -> Path:
    kit.write(tmp_path / "out", kit.two_file_patches()[2])
    return tmp_path / "out"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return kit.make_tree(tmp_path / "tree", kit.two_file_patches()[0])


BEFORE, AFTER, _ = kit.two_file_patches()


def refused(out: Path, tree: Path, sentence: str, **options: bool) -> None:
    before = kit.snapshot(tree)
    with pytest.raises(PatchError, match=sentence):
        apply_series(out, tree, **options)
    assert kit.snapshot(tree) == before


def test_the_whole_series_goes_in(out: Path, tree: Path) -> None:
    result = apply_series(out, tree)
    assert kit.snapshot(tree) == AFTER
    assert (result.action, result.files) == ("applied", (kit.RANDOM, kit.UNARY))
    assert result.patches == ("0001-sin.patch", "0002-tan.patch", "0003-normal.patch")
    assert result.moved == ()


def test_reversing_gives_back_the_original_bytes(out: Path, tree: Path) -> None:
    apply_series(out, tree)
    assert apply_series(out, tree, reverse=True).action == "reversed"
    assert kit.snapshot(tree) == BEFORE


def test_applying_twice_is_said_and_changes_nothing(out: Path, tree: Path) -> None:
    apply_series(out, tree)
    times = {path: path.stat().st_mtime_ns for path in tree.rglob("*")}
    assert apply_series(out, tree).action == "already-applied"
    assert {path: path.stat().st_mtime_ns for path in tree.rglob("*")} == times


def test_reversing_what_is_not_applied_is_said_and_changes_nothing(out: Path, tree: Path) -> None:
    assert apply_series(out, tree, reverse=True).action == "not-applied"
    assert kit.snapshot(tree) == BEFORE


@pytest.mark.parametrize(("reverse", "action"), [(False, "applied"), (True, "not-applied")])
def test_check_says_what_would_happen_and_changes_nothing(out: Path, tree: Path, reverse: bool, action: str) -> None:
    assert apply_series(out, tree, reverse=reverse, check=True).action == action
    assert kit.snapshot(tree) == BEFORE


def test_a_series_without_patches_is_nothing_to_do(tmp_path: Path, tree: Path) -> None:
    kit.write(tmp_path / "empty", [])
    assert apply_series(tmp_path / "empty", tree).action == "empty"


def test_a_partly_applied_tree_names_what_is_in_and_what_is_not(out: Path, tree: Path) -> None:
    sin = kit.fixed(BEFORE[kit.UNARY], "sin")
    (tree / kit.UNARY).write_bytes(sin)
    parts = r"in: 0001-sin\.patch; not in: 0002-tan\.patch, 0003-normal\.patch"
    refused(out, tree, parts)
    refused(out, tree, parts, reverse=True)


def test_a_part_that_is_no_prefix_is_named_too(out: Path, tree: Path) -> None:
    (tree / kit.RANDOM).write_bytes(AFTER[kit.RANDOM])
    refused(out, tree, r"in: 0003-normal\.patch; not in: 0001-sin\.patch, 0002-tan\.patch")


def test_a_patch_that_is_in_for_one_of_its_files_is_named(tmp_path: Path, tree: Path) -> None:
    both = [FileChange(path, BEFORE[path], AFTER[path]) for path in (kit.UNARY, kit.RANDOM)]
    kit.write(tmp_path / "both", [kit.patch("both", *both)])
    (tree / kit.RANDOM).write_bytes(AFTER[kit.RANDOM])
    refused(tmp_path / "both", tree, r"in for some of its files: 0001-both\.patch")


def test_another_base_says_which_file_differs_and_how(out: Path, tree: Path) -> None:
    changed = BEFORE[kit.UNARY].replace(b"MPSStream* stream =", b"auto* stream =", 1)
    (tree / kit.UNARY).write_bytes(changed)
    line = changed[: changed.index(b"auto* stream")].count(b"\n") + 1
    refused(
        out,
        tree,
        rf"\(torch 2\.2\.1, tree 0+\): {kit.UNARY} differs: hunk 1 of 0001-sin\.patch expects line {line} to "
        r"read 'MPSStream\* stream = .*', but it reads 'auto\* stream = ",
    )


def test_a_difference_in_line_ends_is_called_that(out: Path, tree: Path) -> None:
    (tree / kit.UNARY).write_bytes(BEFORE[kit.UNARY].replace(b"\n", b"\r\n"))
    refused(out, tree, "differs there in white space or line ends")


def test_a_file_that_ends_early_is_said(out: Path, tree: Path) -> None:
    (tree / kit.UNARY).write_bytes(b"".join(BEFORE[kit.UNARY].splitlines(keepends=True)[:9]))
    refused(out, tree, "but the file ends before it")


def test_a_file_with_lines_above_its_first_is_said(tmp_path: Path) -> None:
    kit.write(tmp_path / "one", [kit.patch("x", FileChange("f", b"1\n2\n", b"1\n3\n"))])
    tree = kit.make_tree(tmp_path / "plain", {"f": b"0\n1\n2\n"})
    refused(tmp_path / "one", tree, "belongs at line 1, its lines are at line 2")


def test_a_file_with_lines_below_its_last_is_said(tmp_path: Path) -> None:
    kit.write(tmp_path / "one", [kit.patch("x", FileChange("f", b"1\n2\n", b"1\n3\n"))])
    tree = kit.make_tree(tmp_path / "plain", {"f": b"1\n2\n4\n"})
    refused(tmp_path / "one", tree, "expects the file to end before line 3")


def test_a_missing_file_is_said(out: Path, tree: Path) -> None:
    (tree / kit.RANDOM).unlink()
    refused(out, tree, rf"{kit.RANDOM} is missing")


def test_many_differing_files_are_counted(tmp_path: Path) -> None:
    changes = [FileChange(f"{n}.mm", b"a\n", b"b\n") for n in range(6)]
    kit.write(tmp_path / "many", [kit.patch("many", *changes)])
    tree = kit.make_tree(tmp_path / "tree", {f"{n}.mm": b"c\n" for n in range(6)})
    refused(tmp_path / "many", tree, r"0\.mm differs.*2\.mm differs.*; 3 more files")


def test_moved_lines_are_found_and_reported(out: Path, tree: Path) -> None:
    extra = b"// one line more\n// and another\n"
    at = BEFORE[kit.RANDOM].index(b"static void")
    head, tail = BEFORE[kit.RANDOM][:at], BEFORE[kit.RANDOM][at:]
    (tree / kit.RANDOM).write_bytes(head + extra + tail)
    result = apply_series(out, tree)
    assert kit.snapshot(tree) == {**AFTER, kit.RANDOM: AFTER[kit.RANDOM].replace(head, head + extra)}
    assert {(moved.patch, moved.path, moved.lines) for moved in result.moved} == {("0003-normal.patch", kit.RANDOM, 2)}
    assert apply_series(out, tree).action == "already-applied"
    apply_series(out, tree, reverse=True)
    assert (tree / kit.RANDOM).read_bytes() == head + extra + tail


def test_moved_hunks_go_to_the_kernel_they_were_made_for_not_the_nearest(tmp_path: Path, tree: Path) -> None:
    """`git apply` puts such a hunk into the nearest kernel with the same lines around it."""
    before, after = kit.source("sin", "cos"), kit.fixed(kit.source("sin", "cos"), "cos")
    kit.write(tmp_path / "one", [kit.patch("cos", FileChange(kit.UNARY, before, after))])
    (tree / kit.UNARY).write_bytes(kit.source("exp", "sin", "cos"))
    apply_series(tmp_path / "one", tree)
    assert (tree / kit.UNARY).read_bytes() == kit.fixed(kit.source("exp", "sin", "cos"), "cos")


def test_a_hunk_with_several_places_is_refused(tmp_path: Path) -> None:
    block = b"{\n  run();\n}\n"
    before = b"// head\n" * 4 + block + b"// tail\n" * 4
    kit.write(tmp_path / "one", [kit.patch("x", FileChange("f.mm", before, before.replace(b"run();", b"go();")))])
    tree = kit.make_tree(tmp_path / "plain", {"f.mm": b"// new\n" + before + before})
    refused(tmp_path / "one", tree, "fits in 2 places")


def test_a_change_that_could_not_be_undone_is_refused(tmp_path: Path) -> None:
    """Putting the line in makes a second place where it could be taken out."""
    head, first, gap, second = b"0\n" * 4, b" 1\n 2\n 3\n 4\n", b"0\n" * 9, b" 5\n 6\n 7\n 8\n"
    new = first.replace(b" 2\n", b" NEW\n")
    before = head + first + gap + second + head
    after = head + new + gap + second.replace(b" 6\n", b" 66\n") + head
    kit.write(tmp_path / "one", [kit.patch("x", FileChange("f.mm", before, after))])
    tree = kit.make_tree(tmp_path / "plain", {"f.mm": head + new + head + before})
    refused(tmp_path / "one", tree, "could not be undone")


def test_a_file_that_may_hold_the_series_or_not_is_refused(tmp_path: Path) -> None:
    before, after = b" 1\n 2\n 3\n 4\n", b" 1\n 2\n NEW\n 3\n 4\n"
    head = b"0\n" * 4
    kit.write(tmp_path / "one", [kit.patch("x", FileChange("f.mm", head + before + head, head + after + head))])
    tree = kit.make_tree(tmp_path / "plain", {"f.mm": head + before + head + after + head})
    refused(tmp_path / "one", tree, "cannot be told")
    changes = [FileChange("f.mm", head + before + head, head + after + head), FileChange("g", b"1\n", b"2\n")]
    kit.write(tmp_path / "two", [kit.patch("x", *changes)])
    kit.make_tree(tree, {"g": b"1\n"})
    refused(tmp_path / "two", tree, "cannot be told")


def test_a_function_that_is_gone_is_named(out: Path, tree: Path) -> None:
    (tree / kit.RANDOM).write_bytes(kit.source("uniform"))
    refused(out, tree, "belongs under 'static void normal_out_mps.*', which is not there")


def test_a_series_that_undoes_itself_counts_as_applied(tmp_path: Path) -> None:
    there, back = FileChange("f", b"a\n", b"b\n"), FileChange("f", b"b\n", b"a\n")
    kit.write(tmp_path / "two", [kit.patch("there", there), kit.patch("back", back)])
    tree = kit.make_tree(tmp_path / "plain", {"f": b"a\n"})
    assert apply_series(tmp_path / "two", tree).action == "already-applied"


def test_a_manifest_that_names_other_results_is_refused(tmp_path: Path, tree: Path, out: Path) -> None:
    manifest = out / "manifest.json"
    import hashlib

    result = hashlib.sha256(AFTER[kit.RANDOM]).hexdigest()
    manifest.write_text(manifest.read_text().replace(result, "0" * 64))
    refused(out, tree, "does not lead to")


def test_a_tree_that_is_not_there_is_said(out: Path, tmp_path: Path) -> None:
    with pytest.raises(NotATreeError, match="does not exist"):
        apply_series(out, tmp_path / "nowhere")
    with pytest.raises(NotATreeError, match="is not a folder"):
        apply_series(out, out / "series")


# --- hostile series and trees


@pytest.mark.parametrize("part", ["aten", f"{kit.FOLDER}", kit.UNARY])
def test_links_are_never_written_through(out: Path, tree: Path, tmp_path: Path, part: str) -> None:
    outside = tmp_path / "outside"
    (tree / part).rename(outside)
    (tree / part).symlink_to(outside)
    kept = kit.snapshot(tmp_path)
    with pytest.raises(PatchError, match="symbolic link"):
        apply_series(out, tree)
    assert kit.snapshot(tmp_path) == kept


def test_a_folder_where_a_file_should_be_is_refused(out: Path, tree: Path) -> None:
    (tree / kit.UNARY).unlink()
    (tree / kit.UNARY).mkdir()
    refused(out, tree, "not a regular file")


def test_a_series_folder_with_a_linked_patch_is_refused(out: Path, tree: Path) -> None:
    (out / "0001-sin.patch").rename(out.parent / "elsewhere")
    (out / "0001-sin.patch").symlink_to(out.parent / "elsewhere")
    with pytest.raises(InputError, match="not a regular file"):
        apply_series(out, tree)


LINES = st.lists(st.sampled_from(["a", "b", "c", "}", "", "x();", "é\r"]), min_size=1, max_size=40)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES, LINES, LINES, LINES)
def test_whatever_goes_in_comes_out_again(
    tmp_path_factory: pytest.TempPathFactory,
    first: list[str],
    second: list[str],
    third: list[str],
    above: list[str],
) -> None:
    """On the tree the series was made for, and on one where lines moved, unless it is refused there."""
    one, two, three = ("\n".join(lines).encode() for lines in (first, second, third))
    assume(len({one, two, three}) == 3)
    root = tmp_path_factory.mktemp("property")
    kit.write(root / "out", [kit.patch("p", FileChange("f", one, two)), kit.patch("q", FileChange("f", two, three))])
    tree = kit.make_tree(root / "tree", {"f": one})
    apply_series(root / "out", tree)
    assert (tree / "f").read_bytes() == three
    apply_series(root / "out", tree, reverse=True)
    assert (tree / "f").read_bytes() == one

    other = "\n".join(above).encode() + b"\n" + one
    (tree / "f").write_bytes(other)
    try:
        done = apply_series(root / "out", tree)
    except PatchError:
        assert (tree / "f").read_bytes() == other
        return
    if done.action == "applied":
        apply_series(root / "out", tree, reverse=True)
    assert (tree / "f").read_bytes() == other
