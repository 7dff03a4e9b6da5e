"""Writing an archive's members to disk so that nothing lands outside the folder, whatever the archive says.

Own code instead of ``tarfile.extractall``, whose ``data`` filter is missing from early releases of Python
3.10 and 3.11, does not know zip and bounds no size. Here no file is written through a link, because links are
made last and only where they stay inside.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

from patchkit.errors import InputError, SourceError
from patchkit.source.members import Bounds, Member, refused, shown

_CHUNK = 1 << 18
_LINK_HOPS = 40
_ABSOLUTE = re.compile(r"[/\\]|[A-Za-z]:")


class Extraction:
    """The files of one archive as they are written under ``folder``; it holds what was seen so far.

    Args:
        archive: named in messages.
        folder: an empty folder that only this extraction writes.
        bounds: what the archive may cost.
        wanted: says of a path in the archive (a folder's ends in ``/``) whether it is written.
    """

    def __init__(self, archive: Path, folder: Path, bounds: Bounds, wanted: Callable[[str], bool]) -> None:
        self._archive = archive
        self._folder = folder
        self._bounds = bounds
        self._wanted = wanted
        self._files: set[str] = set()
        self._folders: set[str] = {""}
        self._made: set[str] = {""}
        self._symlinks: dict[str, str] = {}
        self._bytes = 0

    def extract(self, members: Iterable[Member]) -> str:
        """Check every member, write those that are wanted, and return the top folder to strip, or ``""``.

        Raises:
            SourceError: a member would leave the folder, stands twice in the archive, or goes through a link.
            EOFError: the archive ends inside a member.
            OSError: the disk is full or the folder cannot be written.
        """
        for member in members:
            self._one(member)
        top = self._top_folder()
        for path, target in self._symlinks.items():
            self._check_link(path, target, top)
        for path, target in self._symlinks.items():
            if self._wanted(path):
                self._make_folders(path.split("/")[:-1], path)
                (self._folder / path).symlink_to(target)
        return top

    def _one(self, member: Member) -> None:
        parts = self._parts(member.name)
        if not parts or any(part.lower() == ".git" for part in parts):
            return  # a repository in an archive could bring hooks along, and none of its files is source
        path = "/".join(parts)
        if member.kind == "folder":
            self._claim_folders(parts, member.name)
            if self._wanted(path + "/"):
                self._make_folders(parts, member.name)
            return
        self._claim_folders(parts[:-1], member.name)
        if path in self._files or path in self._folders or path in self._symlinks:
            raise refused(self._archive, member.name, "stands in it twice")
        if member.kind == "symlink":
            self._symlinks[path] = member.target
            return
        self._files.add(path)
        if self._wanted(path):
            self._make_folders(parts[:-1], member.name)
            self._write(member, path)

    def _parts(self, name: str) -> list[str]:
        """Split a member's name; refuse one that is absolute, climbs with ``..``, or no disk can hold."""
        if _ABSOLUTE.match(name):
            raise refused(self._archive, name, "has an absolute path")
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if any(part == ".." for part in re.split(r"[/\\]", name)):
            raise refused(self._archive, name, "climbs out of the archive with '..'")
        if "\0" in name or len(name) > 4096 or any(len(os.fsencode(part)) > 255 for part in parts):
            raise refused(self._archive, name, "has a name that cannot be a file's")
        return parts

    def _claim_folders(self, parts: list[str], name: str) -> None:
        path = "/".join(parts)
        while path not in self._folders:
            if path in self._symlinks or path in self._files:
                raise refused(self._archive, name, f"goes through '{shown(path)}', which is a link or a file")
            self._folders.add(path)
            path = path.rpartition("/")[0]

    def _make_folders(self, parts: list[str], name: str) -> None:
        for count in range(1, len(parts) + 1):
            folder = "/".join(parts[:count])
            if folder not in self._made:
                try:
                    (self._folder / folder).mkdir()
                except FileExistsError:
                    raise refused(self._archive, name, "differs from another only in case") from None
                self._made.add(folder)

    def _write(self, member: Member, path: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        try:
            handle = os.open(self._folder / path, flags, 0o755 if member.executable else 0o644)
        except FileExistsError:
            raise refused(self._archive, member.name, "differs from another only in case") from None
        written = 0
        with os.fdopen(handle, "wb") as out, self._content(member) as content:
            while chunk := content.read(_CHUNK):
                written += len(chunk)
                self._bytes += len(chunk)
                if self._bytes > self._bounds.total_bytes:
                    raise SourceError(
                        f"{self._archive} is refused: it unpacks to more than {self._bounds.total_bytes >> 20} MiB."
                    )
                out.write(chunk)
        if member.kind == "file" and written != member.size:
            raise InputError(
                f"{self._archive} is damaged or truncated: '{shown(path)}' has {written} of {member.size} "
                "bytes; download it again."
            )

    def _content(self, member: Member) -> IO[bytes]:
        if member.kind == "file":
            return member.open()
        target = "/".join(self._parts(member.target))
        if target not in self._files:
            raise refused(self._archive, member.name, "is a hard link to what is not a file before it")
        try:
            return (self._folder / target).open("rb")
        except FileNotFoundError:
            raise refused(self._archive, member.name, "is a hard link to a file that scanning does not need") from None

    def _top_folder(self) -> str:
        """The folder that holds ``aten``, so that a second one beside it (``__MACOSX``) does no harm."""
        if "aten" in self._folders:
            return ""
        tops = {path.partition("/")[0] for path in self._folders if path.partition("/")[2] == "aten"}
        return tops.pop() if len(tops) == 1 else ""

    def _check_link(self, path: str, target: str, top: str) -> None:
        """Follow a link by the archive's own names: it must not leave the tree on any of its steps."""
        floor = 1 if top and path.startswith(f"{top}/") else 0
        todo = deque([*path.split("/")[:-1], *self._steps(path, target)])
        reached: list[str] = []
        hops = 0
        while todo:
            part = todo.popleft()
            if part in ("", "."):
                continue
            if part == "..":
                if len(reached) <= floor:
                    raise refused(self._archive, path, f"is a link that leaves the tree (to '{shown(target)}')")
                reached.pop()
                continue
            reached.append(part)
            further = self._symlinks.get("/".join(reached))
            if further is not None:
                hops += 1
                if hops > _LINK_HOPS:
                    raise refused(self._archive, path, "is a link that leads round in a loop")
                reached.pop()
                todo.extendleft(reversed(self._steps(path, further)))

    def _steps(self, path: str, target: str) -> list[str]:
        if not target or "\0" in target or _ABSOLUTE.match(target):
            raise refused(self._archive, path, f"is a link that leaves the tree (to '{shown(target)}')")
        return re.split(r"[/\\]", target)
