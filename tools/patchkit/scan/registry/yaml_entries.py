"""Reads ``native_functions.yaml`` fast: entries are cut out as text, only unusual ones go through PyYAML.

The file is a list of small mappings in a narrow style (see its ``README.md`` upstream). The reader knows that
style: plain scalars, one level of nested mapping or list, flow lists of names. Anything else in an entry
sends that entry, and only it, to PyYAML; a file that is not a plain list of entries goes there whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from patchkit.errors import InputError

Value: TypeAlias = "str | bool | list[str] | dict[str, str] | None"

# Plain scalars that YAML 1.1 turns into something else than a string, apart from the two booleans in use.
_RESOLVED = frozenset(["yes", "no", "on", "off", "true", "false", "null", "~"])
_BOOLEANS = {"True": True, "False": False, "true": True, "false": False}
_FLOW_ITEM = re.compile(r"""([A-Za-z_][\w.]*)|'([\w. ]+)'|"([\w. ]+)\"""")
# Characters that YAML takes for line breaks, or refuses, and str.split("\\n") does not see.
_OTHER_BREAK = re.compile("[^\\t\\n\\x20-\\x7e\\xa0-\\u2027\\u202a-\\ud7ff\\ue000-\\ufefe]")
_KEY = re.compile(r"[A-Za-z_]\w*(?:, *\w+)*")
_INDICATOR = re.compile(r"[A-Za-z_(]")


@dataclass(frozen=True)
class Entry:
    """One entry: the 1-based line of its dash, and its fields (lists and mappings hold strings only)."""

    line: int
    fields: dict[str, Value]


class _UnusualError(Exception):
    """The entry needs a real YAML parser."""


def read_entries(path: Path, shown: str) -> list[Entry]:
    """Read all entries of a ``native_functions.yaml``.

    Args:
        path: the file.
        shown: how messages name it.

    Raises:
        InputError: missing, unreadable, not UTF-8, not a list of operator entries.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError as error:
        raise InputError(
            f"{shown} is missing, and without it no kernel can be tied to its operators; give a complete source tree."
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{shown} is not UTF-8 text (byte {error.start}).") from error
    except OSError as error:
        raise InputError(f"{shown} cannot be read: {error.strerror}.") from error
    entries = parse_entries(text, shown)
    if not entries:
        raise InputError(f"{shown} lists no operator.")
    return entries


def parse_entries(text: str, shown: str) -> list[Entry]:
    """Cut ``text`` into entries and read each; see :func:`read_entries` for what is raised."""
    text = text.replace("\r\n", "\n")
    if _OTHER_BREAK.search(text):
        return _parse_whole(text, shown)
    lines = text.split("\n")
    starts = [number for number, line in enumerate(lines) if line.startswith("- ")]
    first = starts[0] if starts else len(lines)
    if any("\t" in line or (line.strip() and line.lstrip()[0] != "#") for line in lines[:first]):
        return _parse_whole(text, shown)
    entries = []
    for index, start in enumerate(starts):
        end = starts[index + 1] if index + 1 < len(starts) else len(lines)
        try:
            fields = _read_block(lines, start, end)
        except _UnusualError:
            fields = _parse_block("\n".join(lines[start:end]), shown, start + 1)
        if not isinstance(fields.get("func"), str):
            raise InputError(f"{shown} line {start + 1}: the entry has no 'func:' schema.")
        entries.append(Entry(start + 1, fields))
    return entries


def _read_block(lines: list[str], start: int, end: int) -> dict[str, Value]:
    """Read one entry in the usual style, or raise :class:`_UnusualError`."""
    fields: dict[str, Value] = {}
    if "\t" in lines[start]:
        raise _UnusualError
    _read_field(lines[start][2:], fields)
    key = ""
    for number in range(start + 1, end):
        line = lines[number]
        if "\t" in line:
            raise _UnusualError
        if not line or line.isspace():
            continue
        if line.startswith("    "):
            if line[4] == "#":
                continue
            _read_nested(line[4:], key, fields)
        elif line.startswith("  - "):
            _read_item(line[4:], key, fields)
        elif line.startswith("  ") and line[2] != " ":
            if line[2] != "#":
                key = _read_field(line[2:], fields)
        elif not line.lstrip().startswith("#"):
            raise _UnusualError
    return fields


def _read_field(text: str, fields: dict[str, Value]) -> str:
    """Read ``key: value`` or ``key:`` into ``fields``; returns the key when a nested block may follow."""
    key, colon, value = text.partition(":")
    if not colon or not key.isidentifier() or key in fields:
        raise _UnusualError
    if value and value[0] != " ":
        raise _UnusualError
    value = _uncommented(value)
    if not value:
        fields[key] = None
        return key
    fields[key] = _value(value)
    return ""


def _read_nested(text: str, key: str, fields: dict[str, Value]) -> None:
    """Read one line of a nested mapping under ``key``."""
    if text[0] == " ":
        if text.lstrip().startswith("#"):
            return
        raise _UnusualError
    name, colon, value = text.partition(": ")
    block = fields.get(key)
    if not key or not colon or not _KEY.fullmatch(name):
        raise _UnusualError
    if block is None:
        block = fields[key] = {}
    if not isinstance(block, dict) or name in block:
        raise _UnusualError
    block[name] = _scalar(value)


def _read_item(text: str, key: str, fields: dict[str, Value]) -> None:
    """Read one line of a nested list under ``key``."""
    block = fields.get(key)
    if not key:
        raise _UnusualError
    if block is None:
        block = fields[key] = []
    if not isinstance(block, list):
        raise _UnusualError
    block.append(_scalar(text))


def _uncommented(text: str) -> str:
    mark = text.find(" #")
    return (text[:mark] if mark >= 0 else text).strip()


def _scalar(text: str) -> str:
    """Read a plain scalar that YAML leaves a string."""
    value = _uncommented(text)
    if (
        not _INDICATOR.match(value)
        or value.lower() in _RESOLVED
        or ": " in value
        or value.endswith(":")
        or "\t" in value
    ):
        raise _UnusualError
    return value


def _value(value: str) -> Value:
    if value in _BOOLEANS:
        return _BOOLEANS[value]
    if value == "{}":
        return {}
    if value[0] == "[" and value[-1] == "]":
        return [_flow_item(item.strip()) for item in value[1:-1].split(",")] if value != "[]" else []
    return _scalar(value)


def _flow_item(text: str) -> str:
    match = _FLOW_ITEM.fullmatch(text)
    if not match or text.lower() in _RESOLVED:
        raise _UnusualError
    return match[1] or match[2] or match[3]


def _load_yaml(text: str, shown: str, first_line: int) -> Any:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = first_line + (mark.line if mark else 0)
        problem = getattr(error, "problem", None) or "bad character"
        raise InputError(f"{shown} line {line} is not valid YAML: {problem}.") from error
    except (RecursionError, ValueError) as error:
        raise InputError(f"{shown} line {first_line}: the entry is nested too deeply to be read.") from error


def _parse_block(text: str, shown: str, line: int) -> dict[str, Value]:
    loaded = _load_yaml(text, shown, line)
    if not isinstance(loaded, list) or len(loaded) != 1:
        raise InputError(f"{shown} line {line}: expected one operator entry.")
    return _checked(loaded[0], shown, line)


def _parse_whole(text: str, shown: str) -> list[Entry]:
    loaded = _load_yaml(text, shown, 1)
    if not isinstance(loaded, list):
        raise InputError(f"{shown} is not a list of operator entries.")
    entries = []
    for number, item in enumerate(loaded, 1):
        fields = _checked(item, shown, number)
        if not isinstance(fields.get("func"), str):
            raise InputError(f"{shown} entry {number}: the entry has no 'func:' schema.")
        entries.append(Entry(number, fields))
    return entries


def _checked(item: Any, shown: str, line: int) -> dict[str, Value]:
    """Accept a loaded entry only where its nested values are strings, as the fast reader gives them."""
    if not isinstance(item, dict) or not all(isinstance(key, str) for key in item):
        raise InputError(f"{shown} line {line}: an operator entry must be a mapping.")
    for key, value in item.items():
        nested = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
        if not all(isinstance(part, str) for part in nested):
            raise InputError(f"{shown} line {line}: '{key}' holds something that is not text.")
    return item
