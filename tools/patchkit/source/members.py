"""Reading the members of a tar or zip archive as plain records, with every size bounded before it is used.

Debian's orig tarball of 2.6.0 unpacks to 136 MB in 16,631 members, five times its size; the bounds leave room
for all submodules.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, cast

from patchkit.errors import InputError, SourceError

if TYPE_CHECKING:
    import tarfile
    import zipfile

SUFFIXES = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2", ".tar.zst", ".tzst", ".zip")


@dataclass(frozen=True)
class Bounds:
    """What an archive may cost: bytes in all and per member, members, and unpacked bytes per packed byte."""

    total_bytes: int = 8 << 30
    member_bytes: int = 1 << 30
    members: int = 400_000
    ratio: int = 200
    ratio_from_bytes: int = 64 << 20
    header_bytes: int = 1 << 20


@dataclass(frozen=True)
class Member:
    """One member: its name as written, what it is, and for a link where it points.

    ``open`` gives the bytes of a file; for a tar archive it must be read before the next member is asked for.
    """

    name: str
    kind: Literal["file", "folder", "symlink", "hardlink"]
    size: int
    executable: bool
    target: str
    open: Callable[[], IO[bytes]]


def shown(name: str) -> str:
    """Return a member's name with control characters escaped, cut to a length that fits a sentence."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in name)
    return text if len(text) <= 120 else f"{text[:117]}..."


def refused(archive: Path, name: str, why: str) -> SourceError:
    """Return the error for a member that must not be extracted."""
    return SourceError(f"{archive} is refused, nothing was kept of it: its member '{shown(name)}' {why}.")


@contextmanager
def opened(archive: Path, bounds: Bounds, progress: Callable[[int, int], None]) -> Iterator[Iterator[Member]]:
    """Open ``archive``, whatever its compression, and give its members in order.

    Args:
        archive: a tar (plain, gzip, bzip2, xz, zstandard) or zip archive, told apart by their first bytes.
        bounds: what the archive may cost.
        progress: called with the bytes of the archive read so far and its size.

    Raises:
        InputError: not an archive, truncated, damaged or encrypted.
        SourceError: a bound is passed, or a member is of a kind that a source tree has no use for.
    """
    try:
        packed = archive.open("rb")
    except OSError as error:
        raise InputError(f"{archive} cannot be read: {error.strerror}.") from error
    with packed, _reading(archive):
        start = packed.read(6)
        packed.seek(0)
        if start.startswith(b"PK"):
            yield _zip_members(archive, packed, bounds, progress)
        else:
            yield _tar_members(archive, packed, start, bounds, progress)


@contextmanager
def _reading(archive: Path) -> Iterator[None]:
    import lzma
    import struct
    import tarfile
    import zipfile
    import zlib

    damage = (
        tarfile.TarError,
        zipfile.BadZipFile,
        lzma.LZMAError,
        zlib.error,
        struct.error,
        ValueError,
        OverflowError,
        NotImplementedError,
    )
    try:
        yield
    except EOFError as error:
        raise InputError(f"{archive} is truncated; download it again.") from error
    except damage as error:
        raise InputError(f"{archive} is damaged or truncated ({error}); download it again.") from error
    except OSError as error:
        if error.errno is not None:  # the disk speaks, not the gzip or bz2 module
            raise
        raise InputError(f"{archive} is damaged or truncated ({error}); download it again.") from error


class _Bounded:
    """The unpacked bytes of a tar archive as tarfile reads them: forward only, counted against the bounds."""

    def __init__(self, stream: IO[bytes], packed: IO[bytes], archive: Path, bounds: Bounds) -> None:
        self._stream = stream
        self._packed = packed
        self._archive = archive
        self._bounds = bounds
        self._position = 0
        self.last_block = b""

    def tell(self) -> int:
        return self._position

    def seek(self, position: int) -> None:
        if position < self._position:
            raise InputError(f"{self._archive} is damaged: a member lies before the one that precedes it.")
        while self._position < position:
            if not self.read(min(position - self._position, self._bounds.header_bytes)):
                raise EOFError

    def read(self, size: int) -> bytes:
        if not 0 <= size <= self._bounds.header_bytes:
            raise SourceError(f"{self._archive} is refused: it has a header that claims {size} bytes.")
        data = self._stream.read(size)
        self._position += len(data)
        self.last_block = data
        unpacked, limit = self._position, self._bounds
        if unpacked > limit.total_bytes:
            raise _too_large(self._archive, limit)
        if unpacked > limit.ratio_from_bytes and unpacked > limit.ratio * max(self._packed.tell(), 1):
            raise _too_dense(self._archive, limit)
        return data


def _too_large(archive: Path, bounds: Bounds) -> SourceError:
    return SourceError(f"{archive} is refused: it unpacks to more than {bounds.total_bytes >> 20} MiB.")


def _too_dense(archive: Path, bounds: Bounds) -> SourceError:
    return SourceError(f"{archive} is refused: it unpacks to more than {bounds.ratio} times its size.")


def _unpacked(archive: Path, packed: IO[bytes], start: bytes) -> IO[bytes]:
    if start.startswith(b"\x1f\x8b"):
        import gzip

        return cast("IO[bytes]", gzip.GzipFile(fileobj=packed))
    if start.startswith(b"\xfd7zXZ\x00"):
        import lzma

        return lzma.LZMAFile(packed)
    if start.startswith(b"BZh"):
        import bz2

        return bz2.BZ2File(packed)
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        try:
            from compression import zstd  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            raise InputError(
                f"{archive} is compressed with zstandard, which needs Python 3.14; unpack it with "
                "'zstd -d' and give the .tar file."
            ) from None
        return cast("IO[bytes]", zstd.ZstdFile(packed))
    return packed


def _tar_members(
    archive: Path, packed: IO[bytes], start: bytes, bounds: Bounds, progress: Callable[[int, int], None]
) -> Iterator[Member]:
    import tarfile

    stream = _Bounded(_unpacked(archive, packed, start), packed, archive, bounds)
    size = os.fstat(packed.fileno()).st_size
    try:
        tar = tarfile.TarFile(fileobj=cast("IO[bytes]", stream))
    except tarfile.ReadError as error:
        raise InputError(
            f"{archive} is not an archive that can be read (a tar or zip file is expected): {error}."
        ) from error
    count = 0
    while (info := tar.next()) is not None:
        tar.members.clear()  # type: ignore[attr-defined]
        count += 1
        if count > bounds.members:
            raise SourceError(f"{archive} is refused: it has more than {bounds.members} members.")
        progress(packed.tell(), size)
        yield _tar_member(archive, tar, info, bounds)
    if stream.last_block.count(0) != tarfile.BLOCKSIZE:
        raise InputError(f"{archive} is damaged or truncated: it has no end-of-archive mark; download it again.")
    while stream.read(bounds.header_bytes):
        """Reading to the end makes the decompressor compare its checksum."""


def _tar_member(archive: Path, tar: tarfile.TarFile, info: tarfile.TarInfo, bounds: Bounds) -> Member:
    if info.size > bounds.member_bytes or info.size < 0:
        raise refused(archive, info.name, f"claims {info.size} bytes")
    if info.issparse() or not (info.isreg() or info.isdir() or info.issym() or info.islnk()):
        raise refused(archive, info.name, "is neither a file, a folder nor a link")
    kind: Literal["file", "folder", "symlink", "hardlink"] = (
        "folder" if info.isdir() else "symlink" if info.issym() else "hardlink" if info.islnk() else "file"
    )

    def content() -> IO[bytes]:
        return cast("IO[bytes]", tar.extractfile(info))

    return Member(info.name, kind, info.size, bool(info.mode & 0o111), info.linkname, content)


def _zip_members(
    archive: Path, packed: IO[bytes], bounds: Bounds, progress: Callable[[int, int], None]
) -> Iterator[Member]:
    import zipfile

    with zipfile.ZipFile(packed) as zipped:
        infos = zipped.infolist()
        size = os.fstat(packed.fileno()).st_size
        total = sum(info.file_size for info in infos)
        if len(infos) > bounds.members:
            raise SourceError(f"{archive} is refused: it has more than {bounds.members} members.")
        if total > bounds.total_bytes:
            raise _too_large(archive, bounds)
        if total > bounds.ratio_from_bytes and total > bounds.ratio * size:
            raise _too_dense(archive, bounds)
        for info in infos:
            progress(packed.tell(), size)
            yield _zip_member(archive, zipped, info, bounds)


def _zip_member(archive: Path, zipped: zipfile.ZipFile, info: zipfile.ZipInfo, bounds: Bounds) -> Member:
    if info.flag_bits & 0x1:
        raise InputError(f"{archive} is encrypted; unpack it yourself and give the folder.")
    if info.file_size > bounds.member_bytes:
        raise refused(archive, info.filename, f"claims {info.file_size} bytes")
    mode = info.external_attr >> 16
    form = stat.S_IFMT(mode)
    if form not in (0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
        raise refused(archive, info.filename, "is neither a file, a folder nor a link")

    def content() -> IO[bytes]:
        try:
            return zipped.open(info)
        except NotImplementedError as error:
            raise InputError(f"{archive} uses a compression that Python cannot read ({error}).") from error

    if form == stat.S_IFLNK:
        if info.file_size > 4096:
            raise refused(archive, info.filename, "is a link with a target that is too long")
        target = content().read().decode("utf-8")
        return Member(info.orig_filename, "symlink", 0, False, target, io.BytesIO)
    kind: Literal["file", "folder"] = "folder" if info.is_dir() else "file"
    return Member(info.orig_filename, kind, info.file_size, bool(mode & 0o111), "", content)
