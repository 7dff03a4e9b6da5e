"""Which release a name stands for, and which known release is nearest to one that does not exist."""

from __future__ import annotations

import re
from collections.abc import Iterable

_THREE_PARTS = re.compile(r"(?<![\d.])v?(\d+\.\d+\.\d+)(?!\.?\d)")
_RELEASE = re.compile(
    r"(?:(?:py)?torch[-=_@]+)?[vV]?(?P<release>\d+\.\d+(?:\.\d+)*)(?:[-._]?(?:rc|RC)(?P<candidate>\d+))?(?:\+[\w.]+)?"
)


def release_in(name: str) -> str | None:
    """Return the ``X.Y.Z`` that the name of a tag, a folder or an archive holds, or ``None``."""
    match = _THREE_PARTS.search(name)
    return match.group(1) if match else None


def best_version(written: str, names: Iterable[str]) -> str:
    """Return the release of a tree whose ``version.txt`` says ``written``.

    Release branches keep the first version of their series in ``version.txt`` (``1.13.0a0`` in 1.13.1), so
    the first of ``names`` (archive, top folder) that holds a release of the same series wins. A name of
    another series is a coincidence and says nothing.
    """
    series = written.split(".")[:2]
    for name in names:
        release = release_in(name)
        if release and (written == "unknown" or release.split(".")[:2] == series):
            return release
    return written


def tag_names(wanted: str) -> list[str]:
    """Return the tags for ``2.2.1``, ``v2.2.1``, ``torch==2.2.1+cpu`` or ``2.6.0rc1``, else none."""
    match = _RELEASE.fullmatch(wanted)
    if match is None:
        return []
    candidate = f"-rc{match['candidate']}" if match["candidate"] else ""
    return [f"v{match['release']}{candidate}"]


def nearest(wanted: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Return up to ``count`` of ``known`` that ``wanted`` may have been meant for, the nearest first."""
    names = list(dict.fromkeys(known))
    tags = tag_names(wanted)
    return _nearest_releases(tags[0], names, count) if tags else _similar(wanted, names, count)


def _nearest_releases(tag: str, names: list[str], count: int) -> list[str]:
    from packaging.version import InvalidVersion, Version

    meant = Version(tag)
    found: list[tuple[tuple[int, ...], str]] = []
    for name in names:
        try:
            version = Version(name)
        except InvalidVersion:
            continue
        if version.is_prerelease and not meant.is_prerelease:
            continue
        apart = [
            abs(theirs - ours) for theirs, ours in zip(_three(version.release), _three(meant.release), strict=True)
        ]
        found.append(((*apart, -version.micro), name))
    releases = [name for _, name in sorted(found)]
    typos = [name for name in _similar(tag, releases, count) if _digits(name) == _digits(tag)]
    return list(dict.fromkeys(typos + releases))[:count]


def _similar(wanted: str, names: list[str], count: int) -> list[str]:
    import difflib

    return difflib.get_close_matches(wanted, names, n=count, cutoff=0.6)


def _three(release: tuple[int, ...]) -> tuple[int, ...]:
    return (*release, 0, 0)[:3]


def _digits(name: str) -> str:
    return re.sub(r"\D", "", name)
