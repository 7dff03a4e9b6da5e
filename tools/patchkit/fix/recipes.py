"""Recipes: the known upstream cases, one TOML file each; they name kernels and templates, never lines."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patchkit.errors import InputError, UsageError
from patchkit.resources import recipes_dir

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_EFFECTS = ("lost", "garbage", "misplaced", "dropped", "restrided", "unwritten")
_TEXTS = ("name", "title", "why", "effect", "releases", "template")
_LISTS = ("kernels", "ops", "verify")
_KEYS = (*_TEXTS, *_LISTS, "references")
_FORMS = {
    "name": re.compile(r"[a-z0-9][a-z0-9-]*\Z"),
    "template": re.compile(r"[a-z0-9][a-z0-9_]*\Z"),
    "kernels": re.compile(r"[A-Za-z_]\w*\Z"),
    "ops": re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)?\Z"),
    "verify": re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)?\Z"),
}


@dataclass(frozen=True)
class Reference:
    """An upstream issue or pull request."""

    title: str
    url: str


@dataclass(frozen=True)
class Recipe:
    """A known case.

    Args:
        name: as ``--recipe`` takes it; also the name of its file.
        title: one line; the subject of the commit message starts from it.
        why: what goes wrong and for whom, a few sentences.
        kernels: C++ function names (``x`` for ``TORCH_IMPL_FUNC(x)``).
        ops: overload names of ``native_functions.yaml`` that reach the kernels.
        effect: as in a scan's findings.
        releases: the releases that have the defect, a packaging specifier set such as ``>=1.13,<2.4``.
        template: name of the edit template.
        verify: reproducers that fail before the patch and pass after it.
    """

    name: str
    title: str
    why: str
    kernels: tuple[str, ...]
    ops: tuple[str, ...]
    effect: str
    releases: str
    template: str
    verify: tuple[str, ...]
    references: tuple[Reference, ...]

    def covers(self, version: str) -> bool:
        """Return whether the release ``version`` has the defect; pre-releases count as their release.

        Raises:
            InputError: ``version`` is not a version.
        """
        from packaging.specifiers import SpecifierSet
        from packaging.version import InvalidVersion, Version

        try:
            release = Version(version).base_version
        except InvalidVersion as error:
            raise InputError(f"{version!r} is not a torch version such as 2.6.0.") from error
        return SpecifierSet(self.releases).contains(release)


def load_recipes(folder: Path | None = None) -> tuple[Recipe, ...]:
    """Read every recipe, sorted by name.

    Args:
        folder: where the TOML files lie; patchkit's own recipes if None.

    Raises:
        InputError: a file is not a recipe: broken TOML, an unknown or missing key, a bad specifier.
    """
    folder = recipes_dir() if folder is None else folder
    return tuple(_load(path) for path in sorted(folder.glob("*.toml")))


def find_recipe(name: str, recipes: Sequence[Recipe]) -> Recipe:
    """Return the recipe called ``name``.

    Raises:
        UsageError: there is none; the message names those that are nearest.
    """
    for recipe in recipes:
        if recipe.name == name:
            return recipe
    from difflib import get_close_matches

    names = [recipe.name for recipe in recipes]
    near = get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(names)}."
    raise UsageError(f"There is no recipe {name!r}; {hint}")


def _load(path: Path) -> Recipe:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"The recipe {path} cannot be read: {error.strerror}.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"The recipe {path} is not TOML: {error}.") from error
    _check_keys(path, data)
    texts = {key: _text(path, key, data[key]) for key in _TEXTS}
    lists = {key: _texts(path, key, data[key]) for key in _LISTS}
    if texts["name"] != path.stem:
        raise InputError(f"The recipe {path} calls itself {texts['name']!r}; name and file name must be the same.")
    if texts["effect"] not in _EFFECTS:
        raise InputError(f"The recipe {path} has the effect {texts['effect']!r}; known are: {', '.join(_EFFECTS)}.")
    _check_specifier(path, texts["releases"])
    return Recipe(
        name=texts["name"],
        title=texts["title"],
        why=texts["why"],
        kernels=lists["kernels"],
        ops=lists["ops"],
        effect=texts["effect"],
        releases=texts["releases"],
        template=texts["template"],
        verify=lists["verify"],
        references=_references(path, data["references"]),
    )


def _check_keys(path: Path, data: Mapping[str, Any]) -> None:
    unknown = sorted(set(data) - set(_KEYS))
    if unknown:
        raise InputError(f"The recipe {path} has the unknown key {unknown[0]!r}; known are: {', '.join(_KEYS)}.")
    missing = [key for key in _KEYS if key not in data]
    if missing:
        raise InputError(f"The recipe {path} lacks {', '.join(missing)}.")


def _text(path: Path, key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"The recipe {path} needs text for {key!r}.")
    text = value.strip()
    if key != "why" and "\n" in text:
        raise InputError(f"The recipe {path} needs one line for {key!r}.")
    if key in _FORMS and not _FORMS[key].match(text):
        raise InputError(f"The recipe {path} has {text!r} for {key!r}, which is not of that form.")
    return text


def _texts(path: Path, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise InputError(f"The recipe {path} needs a list of at least one text for {key!r}.")
    texts = tuple(_text(path, key, item) for item in value)
    if len(set(texts)) != len(texts):
        raise InputError(f"The recipe {path} names one of {key!r} twice.")
    return texts


def _references(path: Path, value: object) -> tuple[Reference, ...]:
    if not isinstance(value, list) or not value:
        raise InputError(f"The recipe {path} needs at least one [[references]] with a title and a url.")
    references = []
    for row in value:
        if not isinstance(row, dict) or set(row) != {"title", "url"}:
            raise InputError(f"The recipe {path} has a [[references]] that is not a title and a url.")
        reference = Reference(_text(path, "title", row["title"]), _text(path, "url", row["url"]))
        if not reference.url.startswith("https://"):
            raise InputError(f"The recipe {path} refers to {reference.url!r}, which is not an https address.")
        references.append(reference)
    return tuple(references)


def _check_specifier(path: Path, text: str) -> None:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        SpecifierSet(text)
    except InvalidSpecifier as error:
        raise InputError(
            f"The recipe {path} has the releases {text!r}, which is not a specifier such as '>=1.13,<2.4'."
        ) from error
