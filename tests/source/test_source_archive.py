"""Trees from archives: every compression, with and without a top folder, and archives that are broken."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from source_kit import FILES, KERNEL, UNNEEDED, write_tree

from patchkit.errors import InputError, NotATreeError, OutputError
from patchkit.source import Tree, resolve

TOP = "pytorch-v2.2.1"
MODES = {"tar": "w", "tar.gz": "w:gz", "tgz": "w:gz", "tar.xz": "w:xz", "tar.bz2": "w:bz2"}


def pack(folder: Path, archive: Path, top: str = TOP) -> Path:
    """Pack ``folder`` under the name ``top``; an empty ``top`` packs its content without a top folder."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
            for path in sorted(folder.rglob("*")):
                zipped.write(path, Path(top, path.relative_to(folder)))
        return archive
    with tarfile.open(archive, MODES[archive.name.partition("2.2.1.")[2]]) as tar:
        tar.add(folder, top or ".")
    return archive


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "files")


@pytest.fixture
def archive(folder: Path, tmp_path: Path) -> Path:
    return pack(folder, tmp_path / f"{TOP}.tar.gz")


def archive_of(tmp_path: Path, members: dict[str, str]) -> Path:
    """Make a tar archive of just these members."""
    place = tmp_path / "made.tar"
    with tarfile.open(place, "w") as tar:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return place


@pytest.mark.parametrize("suffix", [*MODES, "zip"])
def test_every_format_gives_the_tree(suffix: str, folder: Path, tmp_path: Path) -> None:
    place = pack(folder, tmp_path / f"{TOP}.{suffix}")
    tree = resolve(str(place))
    assert (tree.root / KERNEL).read_text() == FILES[KERNEL]
    assert (tree.version, tree.given, tree.cached, tree.commit) == ("2.2.1", str(place), True, None)


@pytest.mark.parametrize("suffix", ["tar.gz", "zip"])
def test_an_archive_without_a_top_folder_gives_the_tree(suffix: str, folder: Path, tmp_path: Path) -> None:
    tree = resolve(str(pack(folder, tmp_path / f"{TOP}.{suffix}", top="")))
    assert (tree.root / KERNEL).exists()


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python 3.14 reads zstandard")
def test_zstandard_says_what_to_do_where_python_cannot_read_it(tmp_path: Path) -> None:
    (tmp_path / "x.tar.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(100))
    with pytest.raises(InputError, match="zstd -d"):
        resolve(str(tmp_path / "x.tar.zst"))


@pytest.mark.skipif(sys.version_info < (3, 14) or not shutil.which("zstd"), reason="needs Python 3.14 and zstd")
def test_zstandard_gives_the_tree_where_python_can_read_it(folder: Path, tmp_path: Path) -> None:
    subprocess.run(["zstd", "-q", str(pack(folder, tmp_path / f"{TOP}.tar"))], check=True)
    assert resolve(str(tmp_path / f"{TOP}.tar.zst")).version == "2.2.1"


def test_source_takes_an_archive_too(archive: Path) -> None:
    assert resolve(None, source=str(archive)).version == "2.2.1"


def test_what_a_mac_adds_beside_the_top_folder_does_no_harm(folder: Path, tmp_path: Path) -> None:
    place = pack(folder, tmp_path / f"{TOP}.zip")
    with zipfile.ZipFile(place, "a") as zipped:
        zipped.writestr(f"__MACOSX/{TOP}/._version.txt", "extra")
    assert (resolve(str(place)).root / KERNEL).exists()


def test_debian_s_name_tells_the_version(folder: Path, tmp_path: Path) -> None:
    place = pack(folder, tmp_path / f"{TOP}.tar.xz", top="pytorch-2.2")
    debian = place.rename(tmp_path / "pytorch_2.2.2+dfsg.orig.tar.xz")
    assert resolve(str(debian)).version == "2.2.2"


def test_the_top_folder_tells_the_version_where_the_file_name_does_not(archive: Path, tmp_path: Path) -> None:
    assert resolve(str(archive.rename(tmp_path / "download"))).version == "2.2.1"


def test_a_file_name_of_another_series_is_not_believed(archive: Path, tmp_path: Path) -> None:
    assert resolve(str(archive.rename(tmp_path / "backup-7.0.1.tar.gz"))).version == "2.2.1"


def test_only_what_scanning_reads_is_extracted(archive: Path) -> None:
    assert not (resolve(str(archive)).root / UNNEEDED).exists()


def test_full_extracts_everything(archive: Path) -> None:
    tree = resolve(str(archive), full=True)
    assert {path for path in FILES if (tree.root / path).exists()} == set(FILES)


def test_the_path_of_a_cached_tree_is_known_for_what_it_is(archive: Path) -> None:
    again = resolve(str(resolve(str(archive)).root))
    assert (again.version, again.cached) == ("2.2.1", True)


def inodes(tree: Tree) -> set[int]:
    return {path.stat().st_ino for path in tree.root.rglob("*")}


def test_an_archive_is_extracted_once_whatever_its_name(archive: Path, tmp_path: Path) -> None:
    first = resolve(str(archive))
    before = inodes(first)
    again = resolve(str(shutil.copy(archive, tmp_path / "copy.tar.gz")))
    assert (again.root, inodes(again)) == (first.root, before)


def test_another_archive_of_the_same_name_is_another_tree(archive: Path, folder: Path) -> None:
    first = resolve(str(archive))
    (folder / KERNEL).write_text("// another\n")
    assert resolve(str(pack(folder, archive))).root != first.root


def test_a_changed_file_in_the_cache_is_noticed(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = resolve(str(archive))
    (tree.root / KERNEL).write_text("// changed by hand, at length\n")
    assert (resolve(str(archive)).root / KERNEL).read_text() == FILES[KERNEL]
    assert "had been changed" in capsys.readouterr().err


def test_an_extraction_that_was_cut_off_is_made_again(archive: Path) -> None:
    root = resolve(str(archive)).root
    root.with_name(f"{root.name}.json").unlink()  # the seal is what a run writes last
    (root / KERNEL).unlink()
    (root.with_name(f".{root.name}.partial") / "aten").mkdir(parents=True)
    assert (resolve(str(archive)).root / KERNEL).exists()
    assert not list(root.parent.glob(".*"))


def test_into_gets_everything_and_leaves_the_cache_alone(archive: Path, tmp_path: Path) -> None:
    tree = resolve(str(archive), into=tmp_path / "deep/mine")
    there = {str(path.relative_to(tree.root)) for path in tree.root.rglob("*") if path.is_file()}
    assert (tree.root, there, tree.cached) == (tmp_path / "deep/mine", set(FILES), False)
    assert not (tmp_path / "cache").exists()


def test_the_executable_bit_is_kept_and_no_other(folder: Path, tmp_path: Path) -> None:
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o6777)
    tree = resolve(str(pack(folder, tmp_path / f"{TOP}.tar")), into=tmp_path / "mine")
    assert (tree.root / "run.sh").stat().st_mode & 0o7777 & ~0o022 == 0o755
    assert (tree.root / KERNEL).stat().st_mode & 0o111 == 0


def test_links_inside_the_tree_are_kept(folder: Path, tmp_path: Path) -> None:
    (folder / "docs").mkdir()
    (folder / "docs/version").symlink_to("../version.txt")
    (folder / "again").symlink_to("docs/version")
    os.link(folder / "version.txt", folder / "version-hard.txt")
    tree = resolve(str(pack(folder, tmp_path / f"{TOP}.tar")), into=tmp_path / "mine")
    assert {(tree.root / name).read_text() for name in ("docs/version", "again", "version-hard.txt")} == {"2.2.0a0\n"}
    assert (tree.root / "docs/version").readlink() == Path("../version.txt")


@pytest.mark.parametrize("suffix", [*MODES, "zip"])
@pytest.mark.parametrize("kept", [0.02, 0.5, 0.7])
def test_a_truncated_archive_is_refused_and_nothing_is_kept(
    suffix: str, kept: float, folder: Path, tmp_path: Path
) -> None:
    (folder / "noise").write_bytes(os.urandom(20_000))
    place = pack(folder, tmp_path / f"{TOP}.{suffix}")
    place.write_bytes(place.read_bytes()[: int(place.stat().st_size * kept)])
    with pytest.raises(InputError, match=r"truncated|is not an archive"):
        resolve(str(place))
    assert [path.suffix for path in (tmp_path / "cache/archives").iterdir()] == [".lock"]


def test_a_tar_cut_off_between_two_members_is_truncated(tmp_path: Path) -> None:
    place = archive_of(tmp_path, {f"top/{KERNEL}": "// kernel\n"})
    place.write_bytes(place.read_bytes()[:1024])
    with pytest.raises(InputError, match="no end-of-archive mark"):
        resolve(str(place))


def test_a_damaged_member_is_noticed(archive: Path) -> None:
    data = bytearray(archive.read_bytes())
    data[-6] ^= 0xFF  # in the checksum that gzip ends with
    archive.write_bytes(data)
    with pytest.raises(InputError, match="damaged or truncated"):
        resolve(str(archive))


def test_into_is_as_before_after_a_truncated_archive(archive: Path, tmp_path: Path) -> None:
    archive.write_bytes(archive.read_bytes()[:-200])
    (tmp_path / "mine").mkdir()
    with pytest.raises(InputError):
        resolve(str(archive), into=tmp_path / "mine")
    assert list((tmp_path / "mine").iterdir()) == []


def test_into_refuses_a_folder_that_holds_something(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes").write_text("mine\n")
    with pytest.raises(OutputError, match="is not empty"):
        resolve(str(archive), into=tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"", "is empty"), (b"plain text, much of it\n" * 99, "is not an archive"), (b"PK\x03\x04", "damaged")],
    ids=["empty", "text", "zip start"],
)
def test_what_is_no_archive_is_refused(content: bytes, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        resolve(str(tmp_path / "x.tar.gz"))


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.tar")
    with pytest.raises(InputError, match="neither a folder nor an archive file"):
        resolve(str(tmp_path / "x.tar"))


def test_an_archive_that_is_not_there_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(NotATreeError, match="does not exist"):
        resolve(str(tmp_path / "x.tar.gz"))


def test_an_archive_without_pytorch_holds_no_tree(tmp_path: Path) -> None:
    with pytest.raises(NotATreeError, match="holds no tree that can be scanned") as error:
        resolve(str(archive_of(tmp_path, {"other/README": "other\n"})))
    assert error.value.exit_code == 3


def test_an_archive_of_a_release_before_the_mps_backend_says_so(tmp_path: Path) -> None:
    members = {"top/version.txt": "1.11.0a0\n", "top/aten/src/ATen/native/Linear.cpp": "// none\n"}
    with pytest.raises(NotATreeError, match=r"from torch 1\.12 on"):
        resolve(str(archive_of(tmp_path, members)))


def test_an_archive_that_changes_while_it_is_read_is_refused(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from patchkit.source import extract

    write = extract.Extraction._write

    def write_and_touch(self: extract.Extraction, member: object, path: str) -> None:
        write(self, member, path)  # type: ignore[arg-type]
        with archive.open("ab") as file:
            file.write(b"more")

    monkeypatch.setattr(extract.Extraction, "_write", write_and_touch)
    with pytest.raises(InputError, match=r"changed while it was read|damaged or truncated"):
        resolve(str(archive))
