"""Remembers what the running test found out, so that reports can say more than passed or failed."""

from __future__ import annotations

from typing import Any

_facts: dict[str, Any] = {}


def start() -> None:
    """Forget what the last test found."""
    _facts.clear()


def verdict(name: str) -> None:
    """What became of an output: ``ok``, ``lost``, ``misplaced``, ``garbage`` or ``restrided``; the worst
    stays."""
    if _facts.get("verdict", "ok") == "ok":
        _facts["verdict"] = name


def fact(name: str, value: Any) -> None:
    """A measured value for the report; anything JSON can hold."""
    _facts[name] = value


def facts() -> dict[str, Any]:
    """What the running test has recorded so far."""
    return dict(_facts)
