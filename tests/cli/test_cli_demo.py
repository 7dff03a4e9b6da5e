"""``patchkit demo``: the miniature tree, and the whole way from findings to a clean rescan."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from patchkit.cli import run
from patchkit.demo import STEPS, demo_tree_path, run_demo
from patchkit.errors import OutputError
from patchkit.scan import scan_tree
from patchkit.source.tree import MPS_FOLDER, open_tree

# What each result of the miniature tree is there to show: (function, tensor) and the verdict that is right.
LOST = {
    ("add_scaled_combination", "output"),
    ("random_fill_mps", "self"),
    ("logit_out_mps", "dense"),  # the guard looks at another tensor
    ("cumsum_out_mps", "dense"),  # .contiguous() of a contiguous tensor with an offset is the same tensor
    ("linspace_out_mps", "result"),
    ("sort_stable_out_mps", "values"),
    ("sort_stable_out_mps", "indices"),
    ("hardswish_out_mps", "output"),
    ("hardtanh_backward_out_mps", "dense"),  # copied back on the early path only
    ("huber_loss_out_mps", "output"),
    ("linalg_cross_out_mps", "out"),
}
MISPLACED = {("clamp_out_mps", "result")}
CLEARED = {
    ("lerp_Scalar_mps", "use_temporary ? temporary : output"): "copy_back",
    ("unary_op", "dense"): "copy_back",
    ("arange_mps_out", "sequence"): "copy_back",
    ("count_nonzero_mps", "counts"): "fresh_contiguous",
}


@pytest.fixture(scope="module")
def report():
    return scan_tree(open_tree(demo_tree_path()))


def finding(report, function, tensor):
    (found,) = [finding for finding in report.findings if (finding.function, finding.tensor) == (function, tensor)]
    return found


@pytest.mark.parametrize(("effect", "expected"), [("lost", LOST), ("misplaced", MISPLACED)])
def test_exactly_the_buggy_kernels_are_flagged(report, effect, expected):
    assert {(f.function, f.tensor) for f in report.findings if f.effect == effect} == expected


def test_the_safe_kernels_are_cleared_for_the_right_reason(report):
    assert {(site.function, site.tensor): site.reason for site in report.cleared} == CLEARED
    assert report.undecided == ()


@pytest.mark.parametrize(
    ("function", "tensor", "triggers"),
    [
        ("add_scaled_combination", "output", {"inplace", "out", "functional"}),
        ("random_fill_mps", "self", {"inplace"}),
        ("huber_loss_out_mps", "output", {"out"}),  # the functional form allocates a contiguous output
        ("hardswish_out_mps", "output", {"inplace", "out", "functional"}),
    ],
)
def test_the_ways_to_reach_a_kernel_are_found(report, function, tensor, triggers):
    assert set(finding(report, function, tensor).triggers) == triggers


def test_a_helper_names_every_operator_that_calls_it(report):
    assert set(finding(report, "random_fill_mps", "self").ops) == {"uniform_", "exponential_", "random_.from"}


@pytest.mark.parametrize(
    ("function", "tensor"),
    [
        ("cumsum_out_mps", "dense"),  # a temporary from .contiguous()
        ("linalg_cross_out_mps", "out"),  # a proxy from the structured wrapper
    ],
)
def test_only_an_offset_gets_past_what_catches_other_layouts(report, function, tensor):
    assert finding(report, function, tensor).layouts == ("offset",)


def test_every_finding_of_the_demo_has_a_patch(capsys):
    assert run(["fix", str(demo_tree_path()), "--check", "--format", "json"]) == 1
    made = json.loads(capsys.readouterr().out)
    assert made["not_fixed"] == []
    assert sum(len(patch["findings"]) for patch in made["patches"]) == len(LOST) + len(MISPLACED)


def test_the_demo_ends_with_a_clean_scan(tmp_path, capsys):
    assert run(["demo", "--into", str(tmp_path / "demo")]) == 0
    shown = capsys.readouterr().out
    assert "0 findings" in shown.rpartition("$ patchkit scan tree")[2]


def test_the_demo_prints_each_command_before_its_output(tmp_path, capsys):
    run(["demo", "--into", str(tmp_path / "demo")])
    shown = capsys.readouterr().out
    assert re.findall(r"^\$ (.*)$", shown, re.M) == [step.command for step in STEPS]


def test_the_printed_commands_do_the_same_when_typed(tmp_path, capsys, monkeypatch):
    """Each command line of the demo, run by hand in the kept folder, finds what the demo left there."""
    run(["demo", "--into", str(tmp_path / "demo")])
    monkeypatch.chdir(tmp_path / "demo")
    capsys.readouterr()
    assert run(["apply", "patches", "tree", "--reverse"]) == 0
    assert run(["scan", "tree", "--format", "json", "--output", "again.json"]) == 1
    assert run(["apply", "patches", "tree"]) == 0
    assert run(["scan", "tree"]) == 0
    findings = json.loads((tmp_path / "demo" / "again.json").read_text())["findings"]
    assert len(findings) == len(LOST) + len(MISPLACED)


def test_without_a_folder_nothing_is_left_behind(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    before = Path.cwd()
    assert run(["demo"]) == 0
    assert Path.cwd() == before
    assert list(tmp_path.iterdir()) == []
    assert str(tmp_path) in capsys.readouterr().out


def test_a_folder_with_something_in_it_is_left_alone(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("mine")
    assert run(["demo", "--into", str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_command_that_cannot_work_ends_the_demo(tmp_path):
    asked = []

    def broken(arguments):
        asked.append(arguments[0])
        return 2

    assert run_demo(broken, lambda line: None, tmp_path / "demo") == (2,)
    assert asked == ["scan"]


def test_a_demo_folder_that_cannot_be_made_is_an_output_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot use"):
        run_demo(lambda arguments: 0, lambda line: None, tmp_path / "file" / "demo")


def test_the_kernels_keep_to_120_columns():
    for path in (demo_tree_path() / MPS_FOLDER).rglob("*.mm"):
        assert max(map(len, path.read_text().splitlines())) <= 120
