"""Recipes: what ships is valid, and what is not valid is said in one sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from patchkit import resources
from patchkit.errors import InputError, UsageError
from patchkit.fix.recipes import Recipe, find_recipe, load_recipes

GOOD = """\
name = "good"
title = "Good"
why = "Because."
kernels = ["f_out_mps"]
ops = ["f.out", "f_"]
effect = "lost"
releases = ">=1.13,<2.4"
template = "copy_back"
verify = ["f"]
[[references]]
title = "PR"
url = "https://example.org/1"
"""


def load(folder: Path, text: str) -> Recipe:
    (folder / "good.toml").write_text(text, encoding="utf-8")
    (recipe,) = load_recipes(folder)
    return recipe


def test_the_known_upstream_cases_are_there() -> None:
    recipes = {recipe.name: recipe for recipe in load_recipes()}
    assert {"addcmul-addcdiv", "random-ops"} <= set(recipes)
    urls = {name: [r.url for r in recipe.references] for name, recipe in recipes.items()}
    assert "https://github.com/pytorch/pytorch/pull/124442" in urls["addcmul-addcdiv"]
    assert "https://github.com/pytorch/pytorch/pull/165267" in urls["random-ops"]


def test_no_recipe_holds_source_lines() -> None:
    for path in resources.recipes_dir().glob("*.toml"):
        assert not re.search(r"[{};]|->|::|\w\(", path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize(
    ("name", "version", "covered"),
    [
        ("addcmul-addcdiv", "1.13.1", True),
        ("addcmul-addcdiv", "2.3.1", True),
        ("addcmul-addcdiv", "2.4.0", False),
        ("addcmul-addcdiv", "2.4.0a0", False),
        ("random-ops", "2.6.0", True),
        ("random-ops", "2.9.1+cpu", True),
        ("random-ops", "2.10.0", False),
    ],
)
def test_recipes_cover_the_releases_that_have_the_defect(name: str, version: str, covered: bool) -> None:
    assert find_recipe(name, load_recipes()).covers(version) is covered


def test_a_recipe_is_read_whole(tmp_path: Path) -> None:
    recipe = load(tmp_path, GOOD)
    assert (recipe.kernels, recipe.ops, recipe.verify) == (("f_out_mps",), ("f.out", "f_"), ("f",))
    assert recipe.references[0].url == "https://example.org/1"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('title = "Good"', 'titel = "Good"', "unknown key 'titel'"),
        ('title = "Good"\n', "", "lacks title"),
        ('title = "Good"', "title = 3", "needs text for 'title'"),
        ('title = "Good"', 'title = "a\\nb"', "needs one line for 'title'"),
        ('name = "good"', 'name = "other"', "name and file name must be the same"),
        (">=1.13,<2.4", "1.13 to 2.3", "not a specifier such as '>=1.13,<2.4'"),
        ('"lost"', '"gone"', "effect 'gone'; known are: lost, garbage"),
        ('["f_out_mps"]', "[]", "at least one text for 'kernels'"),
        ('["f_out_mps"]', '["f()"]', "which is not of that form"),
        ('["f.out", "f_"]', '["f.out", "f.out"]', "names one of 'ops' twice"),
        ('url = "https://example.org/1"', 'url = "file:///x"', "not an https address"),
        ('url = "https://example.org/1"', "", "not a title and a url"),
        ("[[references]]", "[references]", r"at least one \[\[references\]\]"),
        ("name", "name name", "is not TOML"),
    ],
)
def test_a_bad_recipe_is_one_clear_sentence(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        load(tmp_path, GOOD.replace(old, new, 1))
    assert "good.toml" in str(caught.value)


def test_a_recipe_that_is_not_utf_8_is_said(tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_bytes(b"name = '\xff'")
    with pytest.raises(InputError, match="is not TOML"):
        load_recipes(tmp_path)


def test_an_unknown_recipe_suggests_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'random-ops'"):
        find_recipe("randomops", load_recipes())
    with pytest.raises(UsageError, match="there are: addcmul-addcdiv, "):
        find_recipe("zzz", load_recipes())


def test_a_version_that_is_none_is_said() -> None:
    with pytest.raises(InputError, match="'unknown' is not a torch version"):
        load_recipes()[0].covers("unknown")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation of patchkit with no data at all."""
    place = tmp_path / "site-packages/patchkit"
    place.mkdir(parents=True)
    monkeypatch.setattr(resources, "_PACKAGE", place)
    monkeypatch.setattr(resources, "_CHECKOUT", place.parent.parent)
    return place


def test_an_installed_wheel_reads_its_package_data(package: Path) -> None:
    for name in ("templates", "patches"):
        (package / "data" / name).mkdir(parents=True)
    assert resources.recipes_dir() == package / "data/patches"
    assert resources.templates_dir() == package / "data/templates"


def test_a_checkout_reads_its_top_folders(package: Path) -> None:
    top = package.parent.parent
    (top / "patches").mkdir()
    with pytest.raises(InputError, match="install patchkit again"):
        resources.recipes_dir()
    (top / "pyproject.toml").write_text("")
    assert resources.recipes_dir() == top / "patches"


def test_an_incomplete_installation_is_said(package: Path) -> None:
    with pytest.raises(InputError, match="templates folder is missing"):
        resources.templates_dir()
