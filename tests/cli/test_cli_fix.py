"""``patchkit fix`` on the miniature tree: the series, the tables, the exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from patchkit.cli import run
from patchkit.demo import demo_tree_path
from patchkit.fix import FixResult
from patchkit.output import Look
from patchkit.output._fix_page import fix_json, fix_page


@pytest.fixture
def tree(tmp_path):
    shutil.copytree(demo_tree_path(), tmp_path / "tree")
    return tmp_path / "tree"


def content(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_series_is_written_and_the_tree_is_left_alone(tree, tmp_path, capsys):
    before = content(tree)
    assert run(["fix", str(tree), "--output", str(tmp_path / "series")]) == 0
    assert content(tree) == before
    assert (tmp_path / "series" / "series").is_file()
    assert "Next: patchkit apply" in " ".join(capsys.readouterr().out.split())


def test_check_writes_nothing_and_exits_with_1(tree, tmp_path, capsys):
    before = content(tmp_path)
    assert run(["fix", str(tree), "--output", str(tmp_path / "series"), "--check"]) == 1
    assert content(tmp_path) == before
    assert "nothing was written" in capsys.readouterr().out


def test_in_place_edits_the_tree_to_a_clean_scan(tree, capsys):
    assert run(["fix", str(tree), "--in-place"]) == 0
    assert f"written to 9 files of {tree}" in " ".join(capsys.readouterr().out.split())
    assert run(["scan", str(tree)]) == 0


def test_a_fixed_tree_has_nothing_to_patch(tree, tmp_path, capsys):
    run(["fix", str(tree), "--in-place"])
    capsys.readouterr()
    assert run(["fix", str(tree), "--output", str(tmp_path / "series"), "--check"]) == 0
    assert "nothing to patch" in capsys.readouterr().out


@pytest.mark.parametrize("other", [["--check"], ["--output", "series"]])
def test_in_place_goes_with_no_other_target(tree, capsys, other):
    assert run(["fix", str(tree), "--in-place", *other]) == 2
    assert "--in-place" in capsys.readouterr().err


def test_json_names_each_patch_with_its_findings(tree, tmp_path, capsys):
    run(["fix", str(tree), "--output", str(tmp_path / "series"), "--format", "json"])
    made = json.loads(capsys.readouterr().out)
    assert made["schema"] == "patchkit-fix/1"
    run(["scan", str(tree), "--format", "json"])
    found = {finding["fingerprint"] for finding in json.loads(capsys.readouterr().out)["findings"]}
    assert {fingerprint for patch in made["patches"] for fingerprint in patch["findings"]} == found


def result(patches=(), not_fixed=(), folder=None):
    return FixResult(tuple(patches), tuple(not_fixed), folder)


FINDING = SimpleNamespace(
    rule="MPS101",
    effect="lost",
    file="aten/src/ATen/native/mps/operations/Kernel.mm",
    line=12,
    function="kernel",
    tensor="out[0]",
    fingerprint="abc",
)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_what_is_not_fixed_is_a_table_with_the_whole_reason_within_the_width(width):
    reason = "the output [is rebound] in a loop, and no template covers that form of the kernel"
    page = fix_page(result(not_fixed=((FINDING, reason),)), "tree", Look(width), check=False)
    assert max(map(len, page.splitlines())) <= width
    words = page.split()
    assert "Kernel.mm:12" in words
    assert set(reason.split()) <= set(words)


def test_json_says_why_a_finding_is_not_fixed():
    data = json.loads(fix_json(result(not_fixed=((FINDING, "because"),))))
    assert data["not_fixed"][0].items() >= {"reason": "because", "fingerprint": "abc", "line": 12}.items()
