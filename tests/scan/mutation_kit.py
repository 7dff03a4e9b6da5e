"""Damages source text the way half-finished edits, merges and transfers do; the same seed gives the same damage."""

from __future__ import annotations

import random
from collections.abc import Callable

Damage = Callable[[bytes, random.Random], bytes]
_BRACKETS = b"()[]{}<>\"'@^:;,/*#\\"


def _somewhere(data: bytes, chance: random.Random, longest: int) -> tuple[int, int]:
    start = chance.randrange(len(data) + 1)
    return start, min(len(data), start + chance.randrange(1, longest))


def delete(data: bytes, chance: random.Random) -> bytes:
    start, end = _somewhere(data, chance, 60)
    return data[:start] + data[end:]


def swap(data: bytes, chance: random.Random) -> bytes:
    start, end = _somewhere(data, chance, 200)
    middle = (start + end) // 2
    return data[:start] + data[middle:end] + data[start:middle] + data[end:]


def truncate(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def unbalance(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data) + 1)
    return data[:start] + bytes([chance.choice(_BRACKETS)]) * chance.randrange(1, 4) + data[start:]


def drop_bracket(data: bytes, chance: random.Random) -> bytes:
    places = [i for i, byte in enumerate(data) if byte in _BRACKETS]
    if not places:
        return data
    place = chance.choice(places)
    return data[:place] + data[place + 1 :]


def scramble(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randrange(1, 20)):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(1, 256)
    return bytes(changed)


def double_line(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    place = chance.randrange(len(lines))
    return b"\n".join([*lines[: place + 1], lines[place], *lines[place + 1 :]])


def drop_line(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    del lines[chance.randrange(len(lines))]
    return b"\n".join(lines)


DAMAGES: tuple[Damage, ...] = (
    delete,
    swap,
    truncate,
    unbalance,
    drop_bracket,
    scramble,
    double_line,
    drop_line,
)


def damaged(data: bytes, seed: int) -> bytes:
    """Return ``data`` with one to four damages."""
    chance = random.Random(seed)
    for _ in range(chance.randrange(1, 5)):
        data = chance.choice(DAMAGES)(data, chance)
    return data
