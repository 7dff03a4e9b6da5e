"""``patchkit where``: from an operator to the memory its kernels write."""

from __future__ import annotations

import json

import pytest

from patchkit.cli import run
from patchkit.demo import demo_tree_path

TREE = str(demo_tree_path())


@pytest.fixture
def where(capsys):
    def found(operator, tree=TREE):
        assert run(["where", operator, str(tree), "--format", "json"]) == 0
        return json.loads(capsys.readouterr().out)["overloads"]

    return found


def line_of(tree, step):
    return (demo_tree_path() if tree is None else tree).joinpath(step["file"]).read_text().split("\n")[step["line"] - 1]


def chain(step):
    """The first way down."""
    yield step
    if step["steps"]:
        yield from chain(step["steps"][0])


def dispatch(one, key):
    return next(step for step in one["steps"] if step["kind"] == "dispatch" and step["text"].startswith(f"{key}: "))


def test_the_way_leads_from_the_schema_to_the_result(where):
    (one,) = where("addcmul_")
    kinds = [step["kind"] for step in chain(dispatch(one, "MPS"))]
    assert kinds == ["dispatch", "kernel", "helper", "result"]
    assert one["schema"]["text"].startswith("addcmul_(Tensor(a!) self")
    assert [step["text"] for step in one["steps"] if step["kind"] == "delegate"] == ["addcmul.out"]


def test_every_step_names_the_line_that_holds_it(where):
    (one,) = where("addcmul_")
    for step in (one["schema"], *one["steps"], *chain(dispatch(one, "MPS"))):
        wanted = step["text"].partition(": ")[2] or step["text"].partition("(")[0]
        assert wanted.partition(".")[0] in line_of(None, step)


def test_a_result_says_whether_it_is_lost(where):
    *_, lost = chain(dispatch(where("addcmul_")[0], "MPS"))
    *_, kept = chain(dispatch(where("lerp_.Scalar")[0], "MPS"))
    assert lost["verdict"] == "lost"
    assert kept["verdict"].startswith("ok (")


def test_the_bare_name_of_an_operator_shows_its_overloads(where):
    assert [one["overload"] for one in where("lerp")] == ["lerp.Scalar_out", "lerp.Scalar"]


def test_an_operator_that_does_not_exist_suggests_the_nearest(capsys):
    assert run(["where", "adcmul_", TREE]) == 2
    assert "did you mean addcmul_?" in capsys.readouterr().err


def test_the_text_is_a_tree_whose_lines_are_whole(capsys):
    assert run(["where", "addcmul_", TREE]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].strip().startswith("└── result `output`  lost  aten/")
    assert lines[-1].endswith("operations/PointwiseOps.mm:49")


@pytest.mark.real_tree
def test_every_operator_with_a_finding_in_a_real_tree_leads_to_it(release, where):
    finding = next(one for one in release.report.findings if len(one.ops) > 1)

    def results(step):
        if step["kind"] == "result":
            yield step["file"], step["line"]
        for inner in step["steps"]:
            yield from results(inner)

    found = where(finding.ops[0], release.tree.root)
    assert (finding.file, finding.line) in {place for one in found for step in one["steps"] for place in results(step)}
