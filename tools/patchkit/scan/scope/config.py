"""Settings of a project: ``patchkit.toml``, or ``[tool.patchkit]`` in ``pyproject.toml``."""

from __future__ import annotations

import difflib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patchkit.errors import InputError
from patchkit.source.tree import Tree

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OWN_FILE = "patchkit.toml"
SHARED_FILE = "pyproject.toml"
_LISTS = ("select", "ignore", "op")
_TEXTS = ("macos", "baseline", "sarif-root")


@dataclass(frozen=True)
class Config:
    """Settings as a file gives them; the command line goes before them.

    Args:
        file: where they come from; ``None`` where there is no file.
        baseline, sarif_root: paths, relative ones already put behind the file's folder.
    """

    file: Path | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    op: tuple[str, ...] = ()
    macos: str = ""
    baseline: Path | None = None
    sarif_root: Path | None = None


def load_config(tree: Tree, given: Path | None = None) -> Config:
    """Read ``given``, or the nearest file of settings from the tree's folder upward.

    For a tree in patchkit's cache, which is nobody's project, the search starts at the current folder.

    Raises:
        InputError: the file cannot be read, is not TOML, or has a key or a value that patchkit does not know.
    """
    if given is not None:
        return _config(given, _table(given, required=True) or {})
    start = Path.cwd() if tree.cached else tree.root.absolute()
    for folder in (start, *start.parents):
        for name in (OWN_FILE, SHARED_FILE):
            table = _table(folder / name, required=False)
            if table is not None:
                return _config(folder / name, table)
    return Config()


def _table(path: Path, *, required: bool) -> dict[str, Any] | None:
    """Return patchkit's settings in a file; ``None`` where it does not exist or has none."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if required:
            raise InputError(f"the settings {path} do not exist.") from None
        return None
    except (OSError, UnicodeDecodeError) as error:
        if not required and path.name == SHARED_FILE:
            return None
        raise InputError(f"the settings {path} cannot be read: {error}.") from error
    if path.name != OWN_FILE and "patchkit" not in text and not required:
        return None
    try:
        data: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}.") from error
    if path.name != SHARED_FILE:
        return data
    tools = data.get("tool")
    table = tools.get("patchkit") if isinstance(tools, dict) else None
    if table is None:
        return {} if required else None
    if not isinstance(table, dict):
        raise InputError(f"{path}: tool.patchkit has to be a table.")
    return table


def _config(path: Path, table: dict[str, Any]) -> Config:
    known = (*_LISTS, *_TEXTS)
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}."
            raise InputError(f"{path}: there is no setting '{key}'; {hint}")
    lists = {key: _words(path, key, table.get(key, [])) for key in _LISTS}
    texts = {key: _text(path, key, table.get(key, "")) for key in _TEXTS}
    folder = path.absolute().parent
    return Config(
        file=path,
        select=lists["select"],
        ignore=lists["ignore"],
        op=lists["op"],
        macos=texts["macos"],
        baseline=folder / texts["baseline"] if texts["baseline"] else None,
        sarif_root=folder / texts["sarif-root"] if texts["sarif-root"] else None,
    )


def _words(path: Path, key: str, value: object) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise InputError(f"{path}: '{key}' has to be a list of strings.")


def _text(path: Path, key: str, value: object) -> str:
    if key == "macos" and isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str):
        return value
    raise InputError(f"{path}: '{key}' has to be a string.")
