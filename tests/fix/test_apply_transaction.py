"""Several files change or none: under kills, full disks, failing renames and Ctrl-C."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import series_kit as kit

from patchkit.errors import InputError, OutputError, PatchError
from patchkit.fix import durable, transaction
from patchkit.fix.apply import apply_series
from patchkit.fix.diff import FileChange
from patchkit.fix.transaction import FOLDER, edit_tree, pending

BEFORE, AFTER, PATCHES = kit.two_file_patches()
CHANGES = [FileChange(path, BEFORE[path], AFTER[path]) for path in BEFORE]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return kit.make_tree(tmp_path / "tree", BEFORE)


def test_files_are_changed_and_nothing_is_left_beside_them(tree: Path) -> None:
    assert set(edit_tree(tree, CHANGES)) == set(BEFORE)
    assert kit.snapshot(tree) == AFTER
    assert sorted(path.name for path in tree.iterdir()) == ["aten"]


def test_a_file_that_stays_the_same_is_not_rewritten(tree: Path) -> None:
    status = (tree / kit.RANDOM).stat()
    same = FileChange(kit.RANDOM, BEFORE[kit.RANDOM], BEFORE[kit.RANDOM])
    assert edit_tree(tree, [same, CHANGES[0]]) == (kit.UNARY,)
    left = (tree / kit.RANDOM).stat()
    assert (left.st_mtime_ns, left.st_ino) == (status.st_mtime_ns, status.st_ino)


def test_modes_are_kept_and_times_are_those_of_the_change(tree: Path) -> None:
    (tree / kit.UNARY).chmod(0o751)
    os.utime(tree / kit.UNARY, (1, 1))
    edit_tree(tree, CHANGES)
    status = (tree / kit.UNARY).stat()
    assert stat.S_IMODE(status.st_mode) == 0o751
    assert status.st_mtime > 1_000_000_000


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_is_kept(tree: Path) -> None:
    os.chown(tree / kit.UNARY, 65534, 65534)
    edit_tree(tree, CHANGES)
    assert (tree / kit.UNARY).stat().st_uid == 65534


def test_a_second_name_of_a_file_outside_the_tree_keeps_the_old_bytes(tree: Path, tmp_path: Path) -> None:
    os.link(tree / kit.UNARY, tmp_path / "other-name")
    edit_tree(tree, CHANGES)
    assert (tmp_path / "other-name").read_bytes() == BEFORE[kit.UNARY]


def test_a_file_that_changed_meanwhile_is_not_overwritten(tree: Path) -> None:
    (tree / kit.UNARY).write_bytes(b"mine\n")
    before = kit.snapshot(tree)
    with pytest.raises(PatchError, match="was changed while patchkit was working"):
        edit_tree(tree, CHANGES)
    assert kit.snapshot(tree) == before


def test_one_edit_changes_a_file_once(tree: Path) -> None:
    with pytest.raises(PatchError, match="only once"):
        edit_tree(tree, [CHANGES[0], CHANGES[0]])


# --- failures that the process survives


@pytest.mark.parametrize("failing", range(1, 3))
def test_a_rename_that_fails_puts_back_the_very_files(
    tree: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    before = {path: (tree / path).stat() for path in BEFORE}
    rename, renames = Path.replace, []

    def replace(self: Path, target: Path) -> Path:
        if self.name.startswith("new-"):
            renames.append(self)
            if len(renames) == failing:
                raise OSError(errno.EACCES, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(OutputError, match="Permission denied; it is as it was"):
        edit_tree(tree, CHANGES)
    assert kit.snapshot(tree) == BEFORE
    for path, status in before.items():
        left = (tree / path).stat()
        assert (left.st_ino, left.st_mtime_ns) == (status.st_ino, status.st_mtime_ns)


def test_a_tree_without_hard_links_is_put_back_from_copies(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    os.utime(tree / kit.UNARY, (1, 1))
    monkeypatch.setattr(os, "link", no_links)
    monkeypatch.setattr(transaction, "_sync_parents", fail_once())
    with pytest.raises(OutputError, match="it is as it was"):
        edit_tree(tree, CHANGES)
    assert kit.snapshot(tree) == BEFORE
    assert (tree / kit.UNARY).stat().st_mtime == 1


def fail_once() -> object:
    calls: list[int] = []

    def sync(*_: object) -> None:
        calls.append(1)
        if len(calls) == 1:
            raise OSError(errno.EIO, "Input/output error")

    return sync


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


def test_a_full_disk_leaves_the_tree_as_it_was(small_disk: Path) -> None:
    tree = kit.make_tree(small_disk, BEFORE)
    (tree / "filler").write_bytes(b"x" * (48 * 1024))
    before = kit.snapshot(tree)
    huge = FileChange(kit.RANDOM, BEFORE[kit.RANDOM], BEFORE[kit.RANDOM] * 30)
    with pytest.raises(OutputError, match="the disk is full; it is as it was"):
        edit_tree(tree, [CHANGES[0], huge])
    assert kit.snapshot(tree) == before


def test_a_read_only_tree_is_refused(small_disk: Path) -> None:
    tree = kit.make_tree(small_disk, BEFORE)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(OutputError, match="Read-only file system; it is as it was"):
        edit_tree(tree, CHANGES)


@pytest.mark.parametrize("step", range(1, 11))
def test_a_disk_that_fills_at_any_write_leaves_the_tree_as_it_was(
    tree: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    steps = []

    def full(name: str) -> None:
        steps.append(name)
        if len(steps) == step:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(transaction, "_reached", full)
    with pytest.raises(OutputError, match="the disk is full; it is as it was"):
        edit_tree(tree, CHANGES)
    assert kit.snapshot(tree) == BEFORE


# --- kills

KILLED = """
import os, signal, sys
from pathlib import Path
from patchkit.fix import transaction
from patchkit.fix.apply import apply_series
steps, last = [], int(sys.argv[3])
def reached(step):
    steps.append(step)
    if len(steps) == last:
        print(step, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
transaction._reached = reached
if "undo" in sys.argv:
    sync = transaction._sync_parents
    def broken(*a):
        transaction._sync_parents = sync
        raise OSError(5, "Input/output error")
    transaction._sync_parents = broken
apply_series(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def killed(tmp_path: Path, out: Path, last: int, *, undo: bool = False) -> tuple[Path, str]:
    """Run an apply that is killed at its ``last`` step; the step's name, or nothing if it lived."""
    place = kit.make_tree(tmp_path / f"kill{last}", BEFORE)
    command = [sys.executable, "-c", KILLED, str(out), str(place), str(last), *(["undo"] if undo else [])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1 if undo else 0, -signal.SIGKILL), done.stderr
    return place, done.stdout.strip() if done.returncode == -signal.SIGKILL else ""


def test_killed_at_any_step_the_next_run_starts_from_before_or_from_after(tmp_path: Path) -> None:
    kit.write(tmp_path / "out", PATCHES)
    ends: dict[str, set[str]] = {}
    for last in range(1, 100):
        place, step = killed(tmp_path, tmp_path / "out", last)
        if not step:
            break
        assert pending(place)
        result = apply_series(tmp_path / "out", place)
        assert kit.snapshot(place) == AFTER
        assert result.recovered == ("finished" if result.action == "already-applied" else "undone") or (
            step == "clean" and (result.recovered, result.action) == ("undone", "already-applied")
        )
        ends.setdefault(step, set()).add(result.action)
    assert list(ends) == ["stage", "staged", "draft", "decide", "decided", "install", "installed", "clean"]
    early, late = {"applied"}, {"already-applied"}
    assert [ends[step] for step in ends] == [early] * 4 + [late] * 4


def test_killed_while_putting_back_the_next_run_puts_back_the_rest(tmp_path: Path) -> None:
    kit.write(tmp_path / "out", PATCHES)
    seen = set()
    for last in range(1, 100):
        place, step = killed(tmp_path, tmp_path / "out", last, undo=True)
        if not step:
            assert kit.snapshot(place) == BEFORE
            break
        if step not in ("undo", "put back", "clean") or not pending(place):
            continue
        seen.add(step)
        # Killed at "undo", the journal still says that the change is to go on.
        expected = ("finished", "reversed") if step == "undo" else ("undone", "not-applied")
        result = apply_series(tmp_path / "out", place, reverse=True)
        assert (result.recovered, result.action) == expected
        assert kit.snapshot(place) == BEFORE
    assert seen == {"undo", "put back", "clean"}


def test_killed_while_completing_the_run_after_that_completes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit.write(tmp_path / "out", PATCHES)
    place, step = killed(tmp_path, tmp_path / "out", 7)
    assert step == "decided"

    def stop(name: str) -> None:
        if name == "settle":
            raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(transaction, "_reached", stop)
        apply_series(tmp_path / "out", place)
    assert apply_series(tmp_path / "out", place).recovered == "finished"
    assert kit.snapshot(place) == AFTER


def interrupted(tmp_path: Path) -> Path:
    kit.write(tmp_path / "out", PATCHES)
    place, step = killed(tmp_path, tmp_path / "out", 9)
    assert step == "install"
    return place


def test_check_does_not_complete_an_interrupted_run_but_says_so(tmp_path: Path) -> None:
    place = interrupted(tmp_path)
    before = kit.snapshot(place)
    with pytest.raises(PatchError, match="was interrupted"):
        apply_series(tmp_path / "out", place, check=True)
    assert kit.snapshot(place) == before


def test_a_file_edited_after_the_kill_is_not_overwritten(tmp_path: Path) -> None:
    place = interrupted(tmp_path)
    (place / kit.UNARY).write_bytes(b"mine\n")
    before = kit.snapshot(place)
    with pytest.raises(PatchError, match=rf"{kit.UNARY} was changed after"):
        apply_series(tmp_path / "out", place)
    assert kit.snapshot(place) == before


@pytest.mark.parametrize("content", [b"", b"{}", b'{"schema": "other", "files": []}'])
def test_a_journal_that_is_not_ours_is_refused(tree: Path, content: bytes) -> None:
    (tree / FOLDER).mkdir()
    (tree / FOLDER / "commit.json").write_bytes(content)
    with pytest.raises(InputError, match="not a journal that patchkit wrote"):
        edit_tree(tree, CHANGES)


def test_a_journal_that_points_outside_is_refused(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"safe")
    (tree / FOLDER).mkdir()
    row = {"path": "../victim", "before": "", "after": "", "number": 0}
    journal = {"schema": "patchkit-transaction/1", "files": [row]}
    (tree / FOLDER / "commit.json").write_text(json.dumps(journal))
    with pytest.raises(InputError, match="not a plain path inside"):
        edit_tree(tree, CHANGES)
    assert (tmp_path / "victim").read_bytes() == b"safe"


def test_files_of_the_users_under_our_name_are_not_deleted(tree: Path) -> None:
    (tree / FOLDER).mkdir()
    (tree / FOLDER / "notes").write_bytes(b"mine")
    with pytest.raises(PatchError, match="notes is in the way"):
        edit_tree(tree, CHANGES)
    assert (tree / FOLDER / "notes").read_bytes() == b"mine"


def test_a_link_under_our_name_is_refused(tree: Path, tmp_path: Path) -> None:
    (tree / FOLDER).symlink_to(tmp_path)
    with pytest.raises(PatchError, match="is in the way"):
        edit_tree(tree, CHANGES)


# --- signals and locks


@pytest.mark.parametrize(
    ("step", "content"), [("staged", BEFORE), ("draft", AFTER), ("install", AFTER), ("clean", AFTER)]
)
def test_ctrl_c_undoes_before_the_decision_and_waits_after_it(
    tree: Path, monkeypatch: pytest.MonkeyPatch, step: str, content: dict[str, bytes]
) -> None:
    def interrupt(name: str) -> None:
        if name == step:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(transaction, "_reached", interrupt)
    with pytest.raises(KeyboardInterrupt):
        edit_tree(tree, CHANGES)
    assert kit.snapshot(tree) == content


def test_handlers_of_signals_are_put_back(tree: Path) -> None:
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    edit_tree(tree, CHANGES)
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == handlers


def test_edits_from_another_thread_work(tree: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        pool.submit(edit_tree, tree, CHANGES).result()
    assert kit.snapshot(tree) == AFTER


def test_two_runs_in_one_tree_do_not_mix(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable, "_LOCK_SECONDS", 0.0)
    with durable.locked(tree), pytest.raises(OutputError, match="Another patchkit is working"):
        edit_tree(tree, CHANGES)
    edit_tree(tree, CHANGES)
    assert kit.snapshot(tree) == AFTER
