"""Archives that try to write elsewhere, to fill the disk, or to smuggle in what no source tree holds."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from source_kit import FILES, KERNEL

from patchkit.errors import InputError, SourceError
from patchkit.source import resolve
from patchkit.source.archive import tree_from_archive
from patchkit.source.members import Bounds
from patchkit.source.progress import Meter

TarTrick = Callable[[tarfile.TarFile], None]


def add(tar: tarfile.TarFile, name: str, text: str = "x", **fields: object) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(text)
    for field, value in fields.items():
        setattr(info, field, value)
    tar.addfile(info, io.BytesIO(text.encode()))


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> TarTrick:
    return lambda tar: add(tar, name, "", type=kind, linkname=target)


def file(name: str, text: str = "x") -> TarTrick:
    return lambda tar: add(tar, name, text)


def special(kind: bytes) -> TarTrick:
    return lambda tar: add(tar, "top/special", "", type=kind)


def tar_with(place: Path, *tricks: TarTrick) -> Path:
    """Make an archive of the miniature tree with the tricks at its end."""
    with tarfile.open(place, "w:gz") as tar:
        for path, text in FILES.items():
            add(tar, f"top/{path}", text)
        for trick in tricks:
            trick(tar)
    return place


HOSTILE: dict[str, tuple[str, list[TarTrick]]] = {
    "absolute path": ("absolute path", [file("/evil")]),
    "windows path": ("absolute path", [file("C:\\evil")]),
    "climbing": ("climbs out", [file("../evil")]),
    "climbing inside": ("climbs out", [file("top/a/../../../evil")]),
    "climbing with backslashes": ("climbs out", [file("top\\..\\..\\evil")]),
    "climbing folder": ("climbs out", [lambda tar: add(tar, "top/../..", "", type=tarfile.DIRTYPE)]),
    "absolute link": ("leaves the tree", [link("top/evil", "/etc/passwd")]),
    "climbing link": ("leaves the tree", [link("top/a/evil", "../../../etc/passwd")]),
    "link to beside the top folder": ("leaves the tree", [link("top/evil", "../other")]),
    "link through a link": (
        "leaves the tree",
        [link("top/a/b/up", "../.."), link("top/evil", "a/b/up/../../etc/passwd")],
    ),
    "loop of links": ("leads round in a loop", [link("top/one", "two"), link("top/two", "one")]),
    "link to itself": ("leads round in a loop", [link("top/one", "one")]),
    "empty link": ("leaves the tree", [link("top/one", "")]),
    "file through a link": ("goes through", [link("top/out", ".."), file("top/out/evil")]),
    "file through a link that comes later": (
        "stands in it twice",
        [file("top/out/a"), link("top/out", "..")],
    ),
    "link in place of a file": ("stands in it twice", [file("top/a"), link("top/a", "b")]),
    "file in place of a link": ("stands in it twice", [link("top/a", "b"), file("top/a")]),
    "link in place of the kernel": ("stands in it twice", [link(f"top/{KERNEL}", "Other.mm")]),
    "the same file twice": ("stands in it twice", [file("top/a"), file("top/./a")]),
    "file in place of a folder": ("stands in it twice", [file("top/aten")]),
    "folder in place of a file": ("goes through", [file("top/version.txt/evil")]),
    "hard link out": ("absolute path", [link(f"top/{KERNEL}2", "/etc/passwd", tarfile.LNKTYPE)]),
    "climbing hard link": ("climbs out", [link(f"top/{KERNEL}2", "../evil", tarfile.LNKTYPE)]),
    "hard link to a link": (
        "hard link to what is not a file",
        [link("top/soft", "version.txt"), link(f"top/{KERNEL}2", "top/soft", tarfile.LNKTYPE)],
    ),
    "character device": ("is neither a file", [special(tarfile.CHRTYPE)]),
    "block device": ("is neither a file", [special(tarfile.BLKTYPE)]),
    "pipe": ("is neither a file", [special(tarfile.FIFOTYPE)]),
    "sparse file": (
        "is neither a file",
        [lambda tar: add(tar, "top/sparse", "", type=tarfile.GNUTYPE_SPARSE)],
    ),
    "name too long": ("cannot be a file's", [file("top/" + "x" * 300)]),
}


def everything_under(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if not path.name.endswith(".lock")}


@pytest.mark.parametrize(("sentence", "tricks"), HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("full", [False, True], ids=["scan", "full"])
def test_a_hostile_archive_is_refused_and_leaves_nothing(
    sentence: str, tricks: list[TarTrick], full: bool, tmp_path: Path
) -> None:
    place = tar_with(tmp_path / "x.tar.gz", *tricks)
    before = everything_under(tmp_path)
    with pytest.raises(SourceError, match=sentence) as error:
        resolve(str(place), full=full)
    assert str(error.value).isprintable()
    assert everything_under(tmp_path) - before <= {tmp_path / "cache", tmp_path / "cache/archives"}


def test_into_is_as_before_after_a_hostile_archive(tmp_path: Path) -> None:
    place = tar_with(tmp_path / "x.tar.gz", file("../evil"))
    with pytest.raises(SourceError):
        resolve(str(place), into=tmp_path / "mine")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gitconfig", "x.tar.gz"]


def test_control_characters_in_a_name_do_not_reach_the_terminal(tmp_path: Path) -> None:
    place = tar_with(tmp_path / "x.tar.gz", file("../\x1b[31mevil\n"))
    with pytest.raises(SourceError, match=r"\\x1b\[31mevil\\n"):
        resolve(str(place))


def test_a_repository_inside_an_archive_is_left_out(tmp_path: Path) -> None:
    place = tar_with(tmp_path / "x.tar.gz", file("top/.git/config", "[core]\n"), file("top/third/.GIT", "gitdir: /x"))
    tree = resolve(str(place), into=tmp_path / "mine")
    assert not [path for path in tree.root.rglob("*") if path.name.lower() == ".git"]


def extracted(place: Path, **bounds: int) -> None:
    with Meter(quiet=True) as meter:
        tree_from_archive(place, given=str(place), into=None, full=True, meter=meter, bounds=Bounds(**bounds))


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    place = tar_with(tmp_path / "x.tar.gz", file("top/large", "x" * 3_000_000))
    extracted(place, total_bytes=4 << 20)
    with pytest.raises(SourceError, match="unpacks to more than 2 MiB"):
        extracted(tar_with(tmp_path / "y.tar.gz", file("top/larger", "x" * 3_000_001)), total_bytes=2 << 20)


def test_an_archive_that_is_packed_too_densely_is_refused(tmp_path: Path) -> None:
    place = tar_with(tmp_path / "x.tar.gz", file("top/zeros", "\0" * 20_000_000))
    with pytest.raises(SourceError, match="more than 200 times its size"):
        extracted(place, ratio_from_bytes=1 << 20)


def test_zeros_after_the_end_of_an_archive_count_too(tmp_path: Path) -> None:
    import gzip

    place = tar_with(tmp_path / "x.tar.gz")
    with place.open("ab") as out, gzip.GzipFile(fileobj=out, mode="wb") as more:
        more.write(bytes(20_000_000))
    with pytest.raises(SourceError, match="more than 200 times its size"):
        extracted(place, ratio_from_bytes=1 << 20)


def test_a_member_that_is_too_large_is_refused_by_its_claim(tmp_path: Path) -> None:
    place = tar_with(tmp_path / "x.tar.gz", lambda tar: tar.fileobj.write(_header("top/huge", 1 << 40)))  # type: ignore[union-attr]
    with pytest.raises(SourceError, match=f"claims {1 << 40} bytes"):
        resolve(str(place))


def test_a_header_that_claims_gigabytes_is_refused(tmp_path: Path) -> None:
    def claim(tar: tarfile.TarFile) -> None:
        assert tar.fileobj is not None
        tar.fileobj.write(_header("top/pax", 3 << 30, tarfile.XHDTYPE))

    with pytest.raises(SourceError, match="header that claims"):
        resolve(str(tar_with(tmp_path / "x.tar.gz", claim)))


def _header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT)


def test_too_many_members_are_refused(tmp_path: Path) -> None:
    place = tar_with(tmp_path / "x.tar.gz", *(file(f"top/{number}") for number in range(50)))
    with pytest.raises(SourceError, match="more than 20 members"):
        extracted(place, members=20)


def test_hard_links_do_not_multiply_a_file_past_the_bound(tmp_path: Path) -> None:
    many = [link(f"top/copy{number}", "top/large", tarfile.LNKTYPE) for number in range(20)]
    place = tar_with(tmp_path / "x.tar.gz", file("top/large", "x" * 500_000), *many)
    with pytest.raises(SourceError, match="unpacks to more than 4 MiB"):
        extracted(place, total_bytes=4 << 20)


def zip_with(place: Path, name: str, text: bytes = b"x", mode: int = 0o100644, **fields: object) -> Path:
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as zipped:
        for path, content in FILES.items():
            zipped.writestr(f"top/{path}", content)
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        zipped.writestr(info, text)
    return place


@pytest.mark.parametrize(
    ("name", "text", "mode", "sentence"),
    [
        ("/evil", b"x", 0o100644, "absolute path"),
        ("../evil", b"x", 0o100644, "climbs out"),
        ("top\\..\\..\\evil", b"x", 0o100644, "climbs out"),
        ("top/evil", b"../../etc/passwd", 0o120777, "leaves the tree"),
        ("top/evil", b"/etc/passwd", 0o120777, "leaves the tree"),
        ("top/evil", b"a" * 5000, 0o120777, "too long"),
        ("top/evil", b"", 0o020644, "is neither a file"),
        (f"top/{KERNEL}", b"x", 0o100644, "stands in it twice"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_hostile_zip_is_refused(name: str, text: bytes, mode: int, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=sentence):
        resolve(str(zip_with(tmp_path / "x.zip", name, text, mode)))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "gitconfig", "x.zip"]


def test_a_zip_that_is_packed_too_densely_is_refused(tmp_path: Path) -> None:
    place = zip_with(tmp_path / "x.zip", "top/zeros", bytes(70_000_000))
    with pytest.raises(SourceError, match="more than 200 times its size"):
        resolve(str(place))


def patched(place: Path, signature: bytes, offset: int, value: bytes) -> Path:
    """Overwrite a field of every header that starts with ``signature``."""
    data = bytearray(place.read_bytes())
    start = data.find(signature)
    while start >= 0:
        data[start + offset : start + offset + len(value)] = value
        start = data.find(signature, start + 4)
    place.write_bytes(data)
    return place


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    place = zip_with(tmp_path / "x.zip", "top/a")
    patched(place, b"PK\x01\x02", 8, struct.pack("<H", 1))
    with pytest.raises(InputError, match="is encrypted"):
        resolve(str(place))


def test_a_zip_with_an_unknown_compression_is_refused(tmp_path: Path) -> None:
    place = zip_with(tmp_path / "x.zip", "top/a")
    patched(patched(place, b"PK\x01\x02", 10, struct.pack("<H", 97)), b"PK\x03\x04", 8, struct.pack("<H", 97))
    with pytest.raises(InputError, match="compression that Python cannot read"):
        resolve(str(place))


def test_a_zip_whose_members_hold_more_than_they_claim_is_refused(tmp_path: Path) -> None:
    place = zip_with(tmp_path / "x.zip", f"top/{KERNEL}2", b"x" * 5000)
    patched(place, b"PK\x01\x02", 24, struct.pack("<I", 10))
    with pytest.raises((InputError, SourceError)):
        resolve(str(place))
