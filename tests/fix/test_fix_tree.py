"""``fix_tree``: the series it writes, or the tree it edits."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from edits_kit import FILE, function, make_tree, source, unary
from series_kit import snapshot

from patchkit.errors import UsageError
from patchkit.fix import fix_tree, patches
from patchkit.fix.apply import apply_series
from patchkit.scan.report import findings_of
from patchkit.source.tree import Tree, open_tree

RECIPE_KERNEL = unary("addcmul").replace("addcmul_out_mps", "addc_mul_div_out_mps")
RECIPE_FUNCTION = function("addcmul").replace("addcmul_out_mps", "addc_mul_div_out_mps")


@pytest.fixture
def tree(tmp_path):
    return make_tree(tmp_path / "tree", source(unary("twice"), RECIPE_KERNEL), function("twice") + RECIPE_FUNCTION)


def test_a_series_is_the_same_bytes_on_every_run(tree, tmp_path):
    for name in ("one", "two"):
        fix_tree(tree, tmp_path / name)
    assert snapshot(tmp_path / "one") == snapshot(tmp_path / "two")


def test_one_patch_is_made_for_each_kernel_file(tree, tmp_path):
    other = tree.root / FILE.replace("Kernels", "OtherKernels")
    other.write_text(source(unary("half")))
    with (tree.root / "aten/src/ATen/native/native_functions.yaml").open("a") as file:
        file.write(function("half"))
    result = fix_tree(tree, tmp_path / "series")
    assert [patch.slug for patch in result.patches] == ["mps-kernels", "mps-other-kernels"]
    assert [len(patch.findings) for patch in result.patches] == [2, 1]


def test_the_manifest_names_the_templates(tree, tmp_path):
    fix_tree(tree, tmp_path / "series")
    manifest = json.loads((tmp_path / "series" / "manifest.json").read_text())
    assert [row["template"] for row in manifest["patches"]] == ["copy_back"]


def test_the_default_folder_is_named_after_the_version(tree, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = fix_tree(tree)
    assert str(result.folder) == "patchkit-out/2.2.0"
    assert (tmp_path / "patchkit-out/2.2.0/series").is_file()


def test_the_series_applies_and_reverses_to_the_same_bytes(tree, tmp_path):
    before = snapshot(tree.root)
    fix_tree(tree, tmp_path / "series")
    assert apply_series(tmp_path / "series", tree.root).action == "applied"
    assert fix_tree(tree, tmp_path / "again").patches == ()
    assert not (tmp_path / "again").exists()
    assert apply_series(tmp_path / "series", tree.root, reverse=True).action == "reversed"
    assert snapshot(tree.root) == before


def test_editing_in_place_leaves_what_applying_the_series_leaves(tree, tmp_path):
    other = make_tree(tmp_path / "other", (tree.root / FILE).read_bytes(), function("twice") + RECIPE_FUNCTION)
    fix_tree(tree, tmp_path / "series")
    apply_series(tmp_path / "series", tree.root)
    assert fix_tree(other, in_place=True).edited == (FILE,)
    assert (other.root / FILE).read_bytes() == (tree.root / FILE).read_bytes()


def test_a_cached_checkout_is_never_edited(tree):
    cached = Tree(tree.root, tree.version, "2.2.0", cached=True)
    before = snapshot(tree.root)
    with pytest.raises(UsageError, match="cache"):
        fix_tree(cached, in_place=True)
    assert snapshot(tree.root) == before


def test_a_recipe_makes_one_patch_of_its_kernels_only(tree, tmp_path):
    result = fix_tree(tree, tmp_path / "series", recipe="addcmul-addcdiv")
    (patch,) = result.patches
    assert (patch.slug, patch.recipe) == ("addcmul-addcdiv", "addcmul-addcdiv")
    assert len(patch.findings) == 1
    assert b"addc_mul_div_out_mps" in patch.changes[0].after
    assert "https://github.com/pytorch/pytorch/pull/124442" in patch.body


def test_an_unknown_recipe_is_a_usage_error(tree):
    with pytest.raises(UsageError, match="no recipe"):
        fix_tree(tree, check=True, recipe="addcmul-addcdv")


def test_check_writes_nothing(tree, tmp_path):
    before = snapshot(tmp_path)
    assert fix_tree(tree, tmp_path / "series", check=True).patches
    assert snapshot(tmp_path) == before


def test_an_empty_result_needs_no_folder(tmp_path):
    tree = make_tree(tmp_path / "tree", source(), function("twice"))
    assert fix_tree(open_tree(tree.root), tmp_path / "series").folder is None
    assert not (tmp_path / "series").exists()


def test_a_write_without_a_placeholder_is_listed_with_the_reason(tree, tmp_path, monkeypatch):
    def with_another(engine):
        findings, cleared, undecided = findings_of(engine)
        elsewhere = replace(findings[0], line=1, column=1, fingerprint="another")
        return [*findings, elsewhere], cleared, undecided

    monkeypatch.setattr(patches, "findings_of", with_another)
    result = fix_tree(tree, tmp_path / "series")
    assert [len(patch.findings) for patch in result.patches] == [2]
    ((finding, reason),) = result.not_fixed
    assert finding.fingerprint == "another"
    assert "no Placeholder takes this tensor" in reason
