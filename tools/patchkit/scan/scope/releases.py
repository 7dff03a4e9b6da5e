"""``--versions``: a list of releases, or all from one to another."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from patchkit.errors import UnknownVersionError, UsageError

_RELEASE_TAG = re.compile(r"v(\d+\.\d+\.\d+)")


def named_versions(text: str, remote: str | None = None) -> list[str]:
    """Return the versions of ``1.13.1,2.6.0`` or ``2.0.0..2.4.0``; a range holds every release tag of the remote.

    Raises:
        UsageError: a part is empty, or a range does not lie between two releases.
        UnknownVersionError: the remote has no release in the range.
        SourceError: the remote cannot be asked for its tags.
    """
    if not text:
        return []
    out: list[str] = []
    for part in (part.strip() for part in text.split(",")):
        if not part:
            raise UsageError("--versions has an empty part; give releases such as 1.13.1,2.6.0.")
        first, dots, last = part.partition("..")
        out += _between(first, last, part, remote) if dots else [part]
    return list(dict.fromkeys(out))


def _between(first: str, last: str, part: str, remote: str | None) -> list[str]:
    low, high = _numbers(first), _numbers(last)
    if low is None or high is None or low > high:
        raise UsageError(f"'{part}' is no range; give one such as 2.0.0..2.4.0.")
    within = sorted(
        (numbers, name)
        for name in release_tags(remote)
        if (numbers := _numbers(name)) is not None and low <= numbers <= high
    )
    if not within:
        raise UnknownVersionError(f"the remote has no release from {first} to {last}.")
    return [name for _, name in within]


def release_tags(remote: str | None) -> Iterable[str]:
    """Return the releases that the remote has tags for, ``2.6.0`` for ``v2.6.0``."""
    from pathlib import Path

    from patchkit.source.git import git
    from patchkit.source.remote import PYTORCH, credentials, open_remote

    asked = open_remote(remote or os.environ.get("PATCHKIT_REMOTE") or PYTORCH)
    ask = [*credentials(asked), "ls-remote", "--tags", "--refs", asked.url, "v*"]
    listed = git(ask, folder=Path.cwd(), remote=asked.shown)
    names = (line.rpartition("refs/tags/")[2] for line in listed.splitlines())
    return [match[1] for name in names if (match := _RELEASE_TAG.fullmatch(name))]


def _numbers(version: str) -> tuple[int, ...] | None:
    match = re.fullmatch(r"v?(\d+)\.(\d+)(?:\.(\d+))?", version.strip())
    return tuple(int(part or 0) for part in match.groups()) if match else None
