"""Suppressions, baselines, selections and settings: what of a scan is reported."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from patchkit.errors import InputError, UsageError
from patchkit.scan.findings import Finding, ScanReport
from patchkit.scan.scope.baseline import apply_baseline, baseline_text
from patchkit.scan.scope.config import load_config
from patchkit.scan.scope.select import Selection, apply_selection, op_of
from patchkit.scan.scope.suppress import suppress, suppressions_in
from patchkit.source.tree import Tree

FILE = "aten/src/ATen/native/mps/operations/X.mm"
FINDING = Finding(
    "MPS101", "lost", ("strided",), "<15", FILE, 3, 5, 3, "f", "output", ("addcmul.out",), ("out",), "high",
    "the result is lost", (), False, "abc",
)  # fmt: skip
OTHER = replace(
    FINDING, rule="MPS102", effect="misplaced", macos="all", line=9, end_line=9, fingerprint="def", ops=("cumsum",)
)


def report_of(*findings):
    return ScanReport("2.6.0", "pytorch", 1, 2, 0.1, findings, (), ())


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "pytorch").mkdir()
    return Tree(tmp_path / "pytorch", "2.6.0", "pytorch")


def suppressed(text, *findings):
    return suppress(report_of(*findings), tuple(suppressions_in(FILE, text)))


# -- suppressions


def test_a_suppression_with_a_reason_sets_the_finding_aside_and_keeps_the_reason():
    report = suppressed("\n// NOLINTNEXTLINE(patchkit-MPS101): the caller never reads it\n  use(output);\n", FINDING)
    assert report.findings == ()
    assert [(one.because, one.detail) for one in report.set_aside] == [("suppression", "the caller never reads it")]
    assert report.notices == ()


@pytest.mark.parametrize("rest", ["", ":", ": ", " no colon"])
def test_a_suppression_without_a_reason_has_no_effect_and_is_reported(rest):
    report = suppressed(f"\n// NOLINTNEXTLINE(patchkit-MPS101){rest}\n  use(output);\n", FINDING)
    assert report.findings == (FINDING,)
    assert "gives no reason" in report.notices[0].text
    assert report.notices[0].line == 2


def test_a_suppression_of_another_rule_is_reported_as_unused():
    report = suppressed("\n// NOLINTNEXTLINE(patchkit-MPS102): why\n  use(output);\n", FINDING)
    assert report.findings == (FINDING,)
    assert "is not used" in report.notices[0].text


def test_a_suppression_covers_the_whole_statement_that_follows():
    text = "// NOLINTNEXTLINE(patchkit-MPS101): why\n  use(first,\n      output);\n"
    assert suppressed(text, FINDING).findings == ()


def test_a_suppression_ends_with_the_statement():
    text = "// NOLINTNEXTLINE(patchkit-MPS101): why\n  first();\n  use(output);\n"
    assert suppressed(text, FINDING).findings == (FINDING,)


def test_a_suppression_behind_the_statement_covers_its_line():
    assert suppressed("\n\n  use(output);  // NOLINT(patchkit-MPS101): why\n", FINDING).findings == ()


def test_other_tools_names_may_stand_beside_it():
    text = "\n// NOLINTNEXTLINE(bugprone-x, patchkit-MPS101): why\n  use(output);\n"
    assert suppressed(text, FINDING).findings == ()
    assert list(suppressions_in(FILE, "// NOLINTNEXTLINE(bugprone-x): why\n")) == []


# -- baseline


def test_what_the_baseline_lists_is_set_aside_and_what_it_does_not_list_is_reported(tmp_path):
    (tmp_path / "b.json").write_text(baseline_text([FINDING]))
    report = apply_baseline(report_of(FINDING, OTHER), tmp_path / "b.json")
    assert report.findings == (OTHER,)
    assert [one.because for one in report.set_aside] == ["baseline"]


def test_a_baseline_survives_lines_moving(tmp_path):
    (tmp_path / "b.json").write_text(baseline_text([FINDING]))
    assert apply_baseline(report_of(replace(FINDING, line=300)), tmp_path / "b.json").findings == ()


def test_what_the_baseline_lists_and_the_tree_lacks_is_reported(tmp_path):
    (tmp_path / "b.json").write_text(baseline_text([FINDING, OTHER]))
    assert "MPS102 f `output`" in apply_baseline(report_of(FINDING), tmp_path / "b.json").notices[0].text


def test_a_baseline_is_the_same_text_whatever_the_order():
    assert baseline_text([FINDING, OTHER]) == baseline_text([OTHER, FINDING])
    assert json.loads(baseline_text([]))["findings"] == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "other/1", "findings": []}', "null"])
def test_a_file_that_is_no_baseline_is_refused(tmp_path, text):
    (tmp_path / "b.json").write_text(text)
    with pytest.raises(InputError, match="is no "):
        apply_baseline(report_of(), tmp_path / "b.json")


# -- selection


@pytest.mark.parametrize("name", ["MPS102", "mps102", "misplaced", "misplaced-output", "patchkit-MPS102"])
def test_a_rule_is_selected_by_identifier_effect_or_name(tree, name):
    assert apply_selection(report_of(FINDING, OTHER), tree, Selection(select=(name,))).findings == (OTHER,)


def test_an_effect_selects_every_rule_that_has_it(tree):
    from patchkit.scan.rules import all_rules

    found = tuple(replace(FINDING, rule=rule.id, effect=rule.effect, fingerprint=rule.id) for rule in all_rules())
    for effect in {rule.effect for rule in all_rules()}:
        report = apply_selection(report_of(*found), tree, Selection(select=(effect,)))
        assert {one.rule for one in report.findings} == {rule.id for rule in all_rules() if rule.effect == effect}


def test_an_ignored_rule_is_set_aside(tree):
    report = apply_selection(report_of(FINDING, OTHER), tree, Selection(ignore=("MPS102",)))
    assert report.findings == (FINDING,)
    assert [one.because for one in report.set_aside] == ["rule"]


def test_a_rule_that_does_not_exist_is_wrong_usage(tree):
    with pytest.raises(UsageError, match="there is no rule MPS10; did you mean"):
        apply_selection(report_of(FINDING), tree, Selection(select=("MPS10",)))


@pytest.mark.parametrize(("wanted", "left"), [("addcmul", 1), ("addcmul.out", 1), ("cumsum", 1)])
def test_an_operator_is_selected_with_all_its_forms(tree, wanted, left):
    assert len(apply_selection(report_of(FINDING, OTHER), tree, Selection(ops=(wanted,))).findings) == left


@pytest.mark.parametrize(
    ("overload", "op"), [("addcmul_", "addcmul"), ("addcmul.out", "addcmul"), ("__iand__.Tensor", "__iand__")]
)
def test_the_operator_of_an_overload(overload, op):
    assert op_of(overload) == op


@pytest.mark.parametrize(("macos", "left"), [("14", 2), ("14.5", 2), ("macOS 14", 2), ("15", 1), ("26.1", 1)])
def test_a_macos_release_leaves_what_happens_on_it(tree, macos, left):
    assert len(apply_selection(report_of(FINDING, OTHER), tree, Selection(macos=macos)).findings) == left


@pytest.mark.parametrize("macos", ["sequoia", "1", "15.x"])
def test_a_macos_that_is_no_release_is_wrong_usage(tree, macos):
    with pytest.raises(UsageError, match="is no macOS release"):
        apply_selection(report_of(FINDING), tree, Selection(macos=macos))


# -- settings


def test_settings_are_found_upward_from_the_tree(tree, tmp_path):
    (tmp_path / "patchkit.toml").write_text('ignore = ["MPS102"]\nmacos = 14\nbaseline = "known.json"\n')
    config = load_config(tree)
    assert (config.ignore, config.macos, config.baseline) == (("MPS102",), "14", tmp_path / "known.json")


def test_a_pyproject_without_a_table_for_patchkit_is_passed_by(tree, tmp_path):
    (tree.root / "pyproject.toml").write_text("[tool.other]\nname = 'patchkit'\n")
    (tmp_path / "pyproject.toml").write_text("[tool.patchkit]\nselect = ['MPS101']\n")
    assert load_config(tree).select == ("MPS101",)


def test_the_nearest_settings_win(tree, tmp_path):
    (tmp_path / "patchkit.toml").write_text("ignore = ['MPS102']\n")
    (tree.root / "patchkit.toml").write_text("ignore = ['MPS101']\n")
    assert load_config(tree).ignore == ("MPS101",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ingore = []", "there is no setting 'ingore'; did you mean ignore?"),
        ("ignore = 'MPS101'", "'ignore' has to be a list of strings"),
        ("baseline = 3", "'baseline' has to be a string"),
        ("ignore = [", "is not TOML"),
    ],
)
def test_settings_that_cannot_be_used_are_one_sentence(tree, text, said):
    (tree.root / "patchkit.toml").write_text(text)
    with pytest.raises(InputError) as raised:
        load_config(tree)
    assert said in str(raised.value)


def test_settings_that_were_named_have_to_exist(tree, tmp_path):
    with pytest.raises(InputError, match="do not exist"):
        load_config(tree, tmp_path / "none.toml")
