"""``patchkit apply`` on the command line: plain sentences and the exit codes of the design."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import series_kit as kit

from patchkit.cli import run

BEFORE, AFTER, PATCHES = kit.two_file_patches()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    kit.make_tree(tmp_path / "tree", BEFORE)
    kit.write(tmp_path / "fixes", PATCHES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(["apply", *arguments])
    output = capsys.readouterr()
    return code, output.out, output.err


def test_applying_says_how_much_went_where(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "fixes", "tree") == (0, "Applied 3 patches to 2 files in tree.\n", "")
    assert kit.snapshot(place / "tree") == AFTER


def test_already_applied_is_said_and_exits_0(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "fixes", "tree")
    expected = "The series is already applied to tree: nothing to do.\n"
    assert said(capsys, "fixes", "tree") == (0, expected, "")
    assert said(capsys, "fixes", "tree", "--check") == (0, expected, "")


def test_reverse_says_what_it_did(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nothing = "The series is not applied to tree: nothing to reverse.\n"
    assert said(capsys, "fixes", "tree", "--reverse") == (0, nothing, "")
    said(capsys, "fixes", "tree")
    can = "The series can be reversed: 3 patches, 2 files in tree. Nothing was changed.\n"
    assert said(capsys, "fixes", "tree", "--reverse", "--check") == (0, can, "")
    assert said(capsys, "fixes", "tree", "--reverse") == (0, "Reversed 3 patches in 2 files in tree.\n", "")
    assert kit.snapshot(place / "tree") == BEFORE


def test_check_changes_nothing(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = "The series applies: 3 patches, 2 files in tree. Nothing was changed.\n"
    assert said(capsys, "fixes", "tree", "--check") == (0, expected, "")
    assert kit.snapshot(place / "tree") == BEFORE


def test_another_base_exits_1_with_one_sentence(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "tree" / kit.RANDOM).unlink()
    code, out, err = said(capsys, "fixes", "tree")
    assert (code, out) == (1, "")
    assert f"made for another tree than tree (torch 2.2.1, tree 000000000000): {kit.RANDOM} is missing" in err
    assert err.count("\n") == 1


def test_moved_lines_are_said(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = place / "tree" / kit.RANDOM
    path.write_bytes(b"// one more line\n" + path.read_bytes())
    code, out, _ = said(capsys, "fixes", "tree")
    assert code == 0
    assert f"{kit.RANDOM}: hunk 1 of 0003-normal.patch fits 1 line further down.\n" in out


def test_a_path_that_is_no_series_exits_2_and_no_tree_exits_3(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "tree", "tree")[0] == 2
    assert said(capsys, "fixes", "nowhere")[0] == 3


def test_uncommitted_changes_need_force(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kit.make_repository(place / "tree", {})
    (place / "tree" / kit.UNARY).write_bytes(b"// mine\n" + BEFORE[kit.UNARY])
    assert said(capsys, "fixes", "tree")[0] == 1
    assert said(capsys, "fixes", "tree", "--force")[0] == 0


def test_json_names_patches_files_and_moved_hunks(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = place / "tree" / kit.RANDOM
    path.write_bytes(b"// one more line\n" + path.read_bytes())
    code, out, _ = said(capsys, "fixes", "tree", "--format", "json")
    data = json.loads(out)
    assert (code, data["schema"], data["action"]) == (0, "patchkit-apply/1", "applied")
    assert data["files"] == [kit.RANDOM, kit.UNARY]
    assert data["moved"][0] == {"patch": "0003-normal.patch", "path": kit.RANDOM, "hunk": 1, "lines": 1}


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "--help")
    assert code == 0
    assert "patchkit apply fixes ./pytorch --check" in out
