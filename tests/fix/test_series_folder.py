"""The folder a series is written to: whole or not at all, and never over something of the user's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import series_kit as kit

from patchkit.errors import InputError, OutputError, PatchError
from patchkit.fix import folder as folder_module
from patchkit.fix.diff import FileChange
from patchkit.fix.series import Patch, read_series, write_series


def test_folder_holds_numbered_mails_a_quilt_series_and_a_manifest(tmp_path: Path) -> None:
    before, after, patches = kit.two_file_patches()
    series = kit.write(tmp_path / "a/b/out", patches)
    names = ["0001-sin.patch", "0002-tan.patch", "0003-normal.patch"]
    assert sorted(p.name for p in series.folder.iterdir()) == [*names, "manifest.json", "series"]
    assert (series.folder / "series").read_text() == "".join(f"{name}\n" for name in names)
    manifest = json.loads((series.folder / "manifest.json").read_bytes())
    assert manifest["schema"] == "patchkit-series/1"
    assert manifest["tool_version"] == "0.1.0"
    assert manifest["base"]["torch_version"] == "2.2.1"
    assert set(manifest["base"]["files"]) == set(before)
    assert [row["template"] for row in manifest["patches"]] == ["copy_back"] * 3
    assert manifest["patches"][0]["findings"] == ["f1"]
    assert after.keys() == before.keys()


def test_writing_twice_gives_the_same_bytes_and_touches_nothing(tmp_path: Path) -> None:
    _, _, patches = kit.two_file_patches()
    kit.write(tmp_path / "one", patches)
    kit.write(tmp_path / "two", patches)
    assert kit.snapshot(tmp_path / "one") == kit.snapshot(tmp_path / "two")
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "one").iterdir()}
    kit.write(tmp_path / "one", patches)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "one").iterdir()} == times


def test_an_earlier_series_is_replaced_whole(tmp_path: Path) -> None:
    _, _, patches = kit.two_file_patches()
    kit.write(tmp_path / "out", patches)
    series = kit.write(tmp_path / "out", patches[2:])
    assert [patch.name for patch in series.patches] == ["0001-normal.patch"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out"]


def test_an_empty_folder_is_used(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    kit.write(tmp_path / "out", [])
    assert read_series(tmp_path / "out").patches == ()


def refuse(tmp_path: Path, sentence: str) -> None:
    before = kit.snapshot(tmp_path)
    with pytest.raises(OutputError, match=sentence):
        kit.write(tmp_path / "out", kit.two_file_patches()[2][:1])
    assert kit.snapshot(tmp_path) == before


def test_a_folder_of_other_files_is_refused(tmp_path: Path) -> None:
    kit.make_tree(tmp_path / "out", {"notes.txt": b"mine"})
    refuse(tmp_path, "no series that patchkit wrote")


def test_a_series_with_a_file_of_the_users_beside_it_is_refused(tmp_path: Path) -> None:
    kit.write(tmp_path / "out", kit.two_file_patches()[2])
    (tmp_path / "out/notes.txt").write_bytes(b"mine")
    refuse(tmp_path, r"notes\.txt, which patchkit did not write")


@pytest.mark.parametrize("name", ["0002-tan.patch", "series"])
def test_a_series_that_the_user_edited_is_refused(tmp_path: Path, name: str) -> None:
    kit.write(tmp_path / "out", kit.two_file_patches()[2])
    with (tmp_path / "out" / name).open("ab") as file:
        file.write(b"# mine\n")
    refuse(tmp_path, f"its {name} was edited")


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"mine")
    refuse(tmp_path, "it is a file")


def test_a_loop_of_links_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("out")
    refuse(tmp_path, "loop of symbolic links|it is a file|cannot be written")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB of its own; only root may mount one."""
    mount = shutil.which("mount")
    place = tmp_path / "disk"
    place.mkdir()
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if mount is None or os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_leaves_the_old_series_and_no_leftovers(small_disk: Path) -> None:
    _, _, patches = kit.two_file_patches()
    kit.write(small_disk / "out", patches)
    before = kit.snapshot(small_disk)
    huge = [*patches[:2], kit.patch("huge", FileChange("f", b"a\n", b"b" * 100_000))]
    with pytest.raises(OutputError, match="the disk is full; it is as it was"):
        kit.write(small_disk / "out", huge)
    assert kit.snapshot(small_disk) == before
    assert sorted(p.name for p in small_disk.iterdir()) == ["out"]


def test_a_read_only_place_is_refused(small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(OutputError, match="Read-only file system"):
        kit.write(small_disk / "deep/out", kit.two_file_patches()[2])


def test_a_mount_point_is_refused_with_a_way_out(small_disk: Path) -> None:
    with pytest.raises(OutputError, match="a folder inside it can"):
        kit.write(small_disk, kit.two_file_patches()[2])


def test_a_write_that_fails_leaves_nothing_not_even_new_parents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> None:
        if path.name == "0003-normal.patch":
            raise OSError(28, "No space left on device")
        path.write_bytes(content)

    monkeypatch.setattr(folder_module, "write_new", full)
    with pytest.raises(OutputError, match="the disk is full"):
        kit.write(tmp_path / "a/b/out", kit.two_file_patches()[2])
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(path: Path, content: bytes) -> None:
        path.write_bytes(content)
        raise KeyboardInterrupt

    monkeypatch.setattr(folder_module, "write_new", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kit.write(tmp_path / "a/out", kit.two_file_patches()[2])
    assert list(tmp_path.iterdir()) == []


def test_a_limit_on_file_size_is_an_output_error(tmp_path: Path) -> None:
    script = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "import series_kit as kit\n"
        "from patchkit.errors import OutputError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))\n"
        "try:\n"
        "    kit.write(Path(sys.argv[1]), kit.two_file_patches()[2])\n"
        "except OutputError as error:\n"
        "    sys.exit(str(error))\n"
    )
    done = run_python(script, tmp_path / "out")
    assert "File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []


def run_python(script: str, *arguments: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


KILLED = """
import os, signal, sys
from pathlib import Path
import series_kit as kit
from patchkit.fix import folder
steps, last = [], int(sys.argv[2])
def step():
    steps.append(1)
    if len(steps) == last:
        os.kill(os.getpid(), signal.SIGKILL)
write, sync, tree = folder.write_new, folder.fsync_folder, folder.shutil.rmtree
folder.write_new = lambda *a, **k: (step(), write(*a, **k))
folder.fsync_folder = lambda *a: (step(), sync(*a))
rename = Path.rename
Path.rename = lambda self, to: (step(), rename(self, to))[1]
folder.shutil.rmtree = lambda *a, **k: (step(), tree(*a, **k))
kit.write(Path(sys.argv[1]), kit.two_file_patches()[2][2:])
print(len(steps))
"""


def test_killed_at_any_step_the_next_run_finds_an_old_or_a_new_series(tmp_path: Path) -> None:
    _, _, patches = kit.two_file_patches()
    kit.write(tmp_path / "old/out", patches)
    kit.write(tmp_path / "new/out", patches[2:])
    old, new = kit.snapshot(tmp_path / "old"), kit.snapshot(tmp_path / "new")
    seen = set()
    for last in range(1, 50):
        place = tmp_path / f"kill{last}"
        shutil.copytree(tmp_path / "old", place)
        done = run_python(KILLED, place / "out", Path(str(last)))
        if done.returncode == 0:
            assert last > 5
            break
        assert done.returncode == -9, done.stderr
        if (place / "out").exists():
            left = {f"out/{name}": content for name, content in kit.snapshot(place / "out").items()}
            assert left in (old, new)
            seen.add("old" if left == old else "new")
        else:
            seen.add("between")
        kit.write(place / "out", patches)
        assert kit.snapshot(place) == old
    assert seen == {"old", "new", "between"}


def bad(patch: Patch, tmp_path: Path, sentence: str) -> None:
    with pytest.raises((PatchError, InputError), match=sentence):
        kit.write(tmp_path / "out", [*kit.two_file_patches()[2][:1], patch])
    assert list(tmp_path.iterdir()) == []


def test_patches_that_do_not_follow_from_one_another_are_refused(tmp_path: Path) -> None:
    before = kit.two_file_patches()[0][kit.UNARY]
    bad(kit.patch("x", FileChange(kit.UNARY, before, b"x\n")), tmp_path, "does not start from")


def test_a_patch_that_changes_nothing_is_refused(tmp_path: Path) -> None:
    bad(kit.patch("x", FileChange("f", b"a\n", b"a\n")), tmp_path, "leaves f as it is")
    bad(kit.patch("x"), tmp_path, "at least one file")


def test_names_that_cannot_be_a_patch_are_refused(tmp_path: Path) -> None:
    bad(kit.patch("../x", FileChange("f", b"a\n", b"b\n")), tmp_path, "cannot be the name")


def test_two_names_of_one_file_on_macos_are_refused(tmp_path: Path) -> None:
    changes = FileChange("F.mm", b"a\n", b"b\n"), FileChange("f.mm", b"a\n", b"b\n")
    bad(kit.patch("x", *changes), tmp_path, "one file on some systems")


def damaged(tmp_path: Path, name: str, content: bytes | None) -> str:
    kit.write(tmp_path / "out", kit.two_file_patches()[2])
    if content is None:
        (tmp_path / "out" / name).unlink()
    else:
        (tmp_path / "out" / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_series(tmp_path / "out")
    return str(caught.value)


def test_a_patch_cut_short_is_not_read(tmp_path: Path) -> None:
    kit.write(tmp_path / "out", kit.two_file_patches()[2])
    half = (tmp_path / "out/0001-sin.patch").read_bytes()[:-200]
    assert "not as patchkit wrote it" in damaged(tmp_path / "2", "0001-sin.patch", half)


def test_a_patch_that_is_missing_is_named(tmp_path: Path) -> None:
    assert "0001-sin.patch is missing" in damaged(tmp_path, "0001-sin.patch", None)


def test_a_series_file_that_lists_other_patches_is_not_read(tmp_path: Path) -> None:
    assert "does not list the patches" in damaged(tmp_path, "series", b"0001-sin.patch\n")


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"patches": [1], "schema": "x"}'])
def test_a_damaged_manifest_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    assert "manifest.json" in damaged(tmp_path, "manifest.json", content)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"0001-sin.patch", b"../../../x.patch"),
        (b'"base"', b'"bass"'),
        (b'"changes"', b'"change"'),
        (b'"before": "', b'"before": "0'),
        (b'"torch_version": "', b'"torch_version": "\\u001b[31m'),
    ],
)
def test_a_forged_manifest_is_refused(tmp_path: Path, old: bytes, new: bytes) -> None:
    kit.write(tmp_path / "out", kit.two_file_patches()[2])
    manifest = (tmp_path / "out/manifest.json").read_bytes()
    assert damaged(tmp_path / "2", "manifest.json", manifest.replace(old, new))


def test_a_path_that_is_no_series_is_said(tmp_path: Path) -> None:
    for path, what in ((tmp_path / "none", "does not exist"), (tmp_path, "is not a patch series")):
        with pytest.raises(InputError, match=what):
            read_series(path)


def test_write_series_returns_what_is_read_back(tmp_path: Path) -> None:
    _, _, patches = kit.two_file_patches()
    written = write_series(tmp_path / "out", kit.BASE, patches, tool_version="0.1.0")
    assert written == read_series(tmp_path / "out")
    assert written.paths == (kit.RANDOM, kit.UNARY)
