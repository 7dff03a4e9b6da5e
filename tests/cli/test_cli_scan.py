"""``patchkit scan`` on the miniature tree: formats, files, colour, exit codes."""

from __future__ import annotations

import json
import shutil

import pytest

from patchkit.cli import run
from patchkit.demo import demo_tree_path
from patchkit.source.tree import MPS_FOLDER

OPERATIONS = f"{MPS_FOLDER}/operations"


@pytest.fixture
def tree(tmp_path):
    shutil.copytree(demo_tree_path(), tmp_path / "tree")
    return tmp_path / "tree"


@pytest.fixture
def clean_tree(tree):
    """The tree with the one kernel file that holds no buggy kernel."""
    for path in (tree / OPERATIONS).iterdir():
        if path.name != "ReduceOps.mm":
            path.unlink()
    return tree


def test_findings_exit_with_1(tree, capsys):
    assert run(["scan", str(tree)]) == 1
    shown = capsys.readouterr().out
    assert "MPS101 lost" in shown
    assert "MPS102 misplaced" in shown


def test_findings_exit_with_0_on_request(tree):
    assert run(["scan", str(tree), "--exit-zero"]) == 0


def test_a_tree_without_findings_exits_with_0(clean_tree, capsys):
    assert run(["scan", str(clean_tree)]) == 0
    assert capsys.readouterr().out.startswith("0 findings; 1 cleared")


def test_json_is_alone_on_standard_output(tree, capsys):
    assert run(["scan", str(tree), "--format", "json"]) == 1
    output = capsys.readouterr()
    data = json.loads(output.out)
    assert data["schema"] == "patchkit-scan/1"
    assert data["root"] == str(tree)
    assert output.err == ""


def test_every_site_of_the_json_is_in_one_list(tree, capsys):
    run(["scan", str(tree), "--format", "json"])
    data = json.loads(capsys.readouterr().out)
    listed = [(site["file"], site["line"]) for kind in ("findings", "cleared", "undecided") for site in data[kind]]
    assert data["sites"] == len(listed) == len(set(listed))


def test_two_scans_say_the_same(tree, capsys):
    def scanned():
        run(["scan", str(tree), "--format", "json"])
        return {**json.loads(capsys.readouterr().out), "seconds": 0}

    assert scanned() == scanned()


def test_the_report_goes_to_a_file_and_not_to_standard_output(tree, tmp_path, capsys):
    target = tmp_path / "report.json"
    assert run(["scan", str(tree), "--format", "json", "--output", str(target)]) == 1
    assert json.loads(target.read_text())["schema"] == "patchkit-scan/1"
    assert capsys.readouterr().out == ""


def test_a_report_file_has_no_color(tree, tmp_path):
    run(["scan", str(tree), "--output", str(tmp_path / "report.txt")])
    assert "\x1b" not in (tmp_path / "report.txt").read_text()


def test_a_folder_that_cannot_be_written_is_one_sentence(tree, tmp_path, capsys):
    assert run(["scan", str(tree), "--output", str(tmp_path / "no" / "report.txt")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("patchkit: cannot write ")
    assert said.count("\n") == 1


def test_color_is_on_only_when_asked_for_or_on_a_terminal(tree, capsys):
    run(["scan", str(tree)])
    assert "\x1b" not in capsys.readouterr().out
    run(["scan", str(tree), "--color", "always"])
    assert "\x1b[" in capsys.readouterr().out


def test_safe_sites_are_explained_on_request(tree, capsys):
    run(["scan", str(tree)])
    assert "copy_back" not in capsys.readouterr().out
    run(["scan", str(tree), "--show-cleared"])
    shown = capsys.readouterr().out
    for reason in ("copy_back", "fresh_contiguous"):
        assert f"{reason}: " in shown


def test_a_path_that_does_not_exist_is_nothing_to_scan(tmp_path, capsys):
    assert run(["scan", str(tmp_path / "missing")]) == 3
    assert "does not exist" in capsys.readouterr().err


def test_a_folder_that_is_no_tree_is_nothing_to_scan(tmp_path, capsys):
    assert run(["scan", str(tmp_path)]) == 3
    assert "is not a PyTorch source tree" in capsys.readouterr().err


def test_a_tree_without_mps_kernels_is_nothing_to_scan(tree, capsys):
    shutil.rmtree(tree / MPS_FOLDER)
    assert run(["scan", str(tree)]) == 3
    assert "the MPS backend exists from torch 1.12 on" in capsys.readouterr().err


@pytest.mark.parametrize("options", [[], ["--exit-zero"]])
def test_a_tree_without_any_graph_result_never_looks_clean(clean_tree, options):
    (clean_tree / OPERATIONS / "ReduceOps.mm").write_text("// nothing here\n")
    assert run(["scan", str(clean_tree), *options]) == 3


def test_no_tree_at_all_is_wrong_usage(capsys):
    assert run(["scan"]) == 2
    assert capsys.readouterr().err.startswith("patchkit: ")


def test_the_tree_is_not_written_to(tree):
    def content():
        return {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}

    before = content()
    run(["scan", str(tree)])
    assert content() == before
