"""Runs that are killed, interrupted, run at once, or meet a disk that does not take what they write."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from source_kit import KERNEL, Upstream, shell_git, write_tree

from patchkit.source import resolve

Start = Callable[..., "subprocess.Popen[str]"]


def wait_for(path: Path) -> str:
    """Wait up to 20 seconds for a file to hold a line, and return it."""
    for _ in range(400):
        if path.exists() and (text := path.read_text()).endswith("\n"):
            return text
        time.sleep(0.05)
    raise AssertionError(f"{path} did not appear")


def has_ended(pid: int) -> bool:
    """Wait up to 5 seconds for a process that is not ours to end."""
    for _ in range(100):
        if process_state(pid) in ("", "Z"):
            return True
        time.sleep(0.05)
    return False


def process_state(pid: int) -> str:
    """The state letter of a process, empty if there is none; a minimal Linux has /proc but no ps."""
    if not Path("/proc/self/stat").exists():
        listed = subprocess.run(["ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True)
        return listed.stdout.strip()[:1]
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


@pytest.fixture
def stalled(upstream: Upstream, own_settings: Path, tmp_path: Path) -> Path:
    """Make the remote send half a pack and then nothing; removing the returned file makes it serve again."""
    marker = tmp_path / "stalled"
    hook = tmp_path / "pack-hook"
    hook.write_text(
        "#!/bin/sh\n"
        f'if [ -e "{tmp_path}/stall" ]; then "$@" | head -c 300; echo $$ > "{marker}"; exec sleep 20; fi\n'
        'exec "$@"\n'
    )
    hook.chmod(0o755)
    (tmp_path / "stall").touch()
    own_settings.write_text(own_settings.read_text() + f"[uploadpack]\n\tpackObjectsHook = {hook}\n")
    return tmp_path / "stall"


def checkout(start: Start, upstream: Upstream, *options: str) -> tuple[int, str, str]:
    process = start("checkout", "2.2.1", "--remote", upstream.url, *options)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_fetch_that_was_cut_off_is_made_good_by_the_next_run(
    end: signal.Signals, stalled: Path, upstream: Upstream, tmp_path: Path, start_patchkit: Start
) -> None:
    process = start_patchkit("checkout", "2.2.1", "--remote", upstream.url)
    wait_for(tmp_path / "stalled")
    os.killpg(process.pid, end)
    process.wait(timeout=20)
    stalled.unlink()
    code, out, err = checkout(start_patchkit, upstream)
    assert (code, err.startswith("torch 2.2.1")) == (0, True)
    assert (Path(out.strip()) / KERNEL).read_text() == "// the kernel of 2.2.1\n"
    assert not list((tmp_path / "cache").rglob("tmp_*")) + list((tmp_path / "cache").rglob("*.partial"))


def test_ctrl_c_ends_git_too_and_says_so(
    stalled: Path, upstream: Upstream, tmp_path: Path, start_patchkit: Start
) -> None:
    process = start_patchkit("checkout", "2.2.1", "--remote", upstream.url, "--into", "mine")
    serving = int(wait_for(tmp_path / "stalled"))
    process.send_signal(signal.SIGINT)  # to patchkit alone: it is patchkit that must end git
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, "", "patchkit: interrupted.\n")
    assert has_ended(serving)
    assert not (tmp_path / "mine").exists()


def test_a_worktree_that_was_cut_off_is_removed_and_made_again(
    upstream: Upstream, tmp_path: Path, start_patchkit: Start
) -> None:
    _, out, _ = checkout(start_patchkit, upstream)
    root = Path(out.strip())
    root.with_name(f"{root.name}.json").unlink()  # the seal is what a run writes last
    (root / KERNEL).unlink()
    (tmp_path / "cache").rglob("index")
    for index in (tmp_path / "cache").rglob("worktrees/*/index"):
        index.with_name("index.lock").touch()
    code, out, err = checkout(start_patchkit, upstream)
    assert code == 0, err
    assert (Path(out.strip()) / KERNEL).exists()


def test_an_into_folder_left_by_a_killed_run_is_used_again(
    stalled: Path, upstream: Upstream, tmp_path: Path, start_patchkit: Start
) -> None:
    process = start_patchkit("checkout", "2.2.1", "--remote", upstream.url, "--into", "mine")
    wait_for(tmp_path / "stalled")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=20)
    stalled.unlink()
    assert (tmp_path / "mine").exists()
    code, _, err = checkout(start_patchkit, upstream, "--into", "mine")
    assert code == 0, err
    assert shell_git(tmp_path / "mine", "status", "--porcelain") == ""


def test_runs_at_once_share_one_checkout(upstream: Upstream, start_patchkit: Start) -> None:
    processes = [start_patchkit("checkout", name, "--remote", upstream.url) for name in ("2.2.1", "2.2.1", "main")]
    ended = [(process.communicate(timeout=60), process.returncode) for process in processes]
    assert [code for _, code in ended] == [0, 0, 0], ended
    roots = [Path(out.strip()) for (out, _), _ in ended]
    assert roots[0] == roots[1] != roots[2]
    assert (roots[0] / KERNEL).read_text() == "// the kernel of 2.2.1\n"
    assert (roots[2] / KERNEL).read_text() == "// the kernel of main\n"


def test_a_run_that_waits_for_another_says_so(
    stalled: Path, upstream: Upstream, tmp_path: Path, start_patchkit: Start
) -> None:
    first = start_patchkit("checkout", "2.2.1", "--remote", upstream.url)
    wait_for(tmp_path / "stalled")
    second = start_patchkit("checkout", "2.2.1", "--remote", upstream.url)
    assert second.stderr is not None
    assert "waiting for another patchkit" in second.stderr.readline()
    stalled.unlink()
    os.killpg(first.pid, signal.SIGKILL)
    assert second.wait(timeout=30) == 0


def test_into_is_as_before_when_the_last_step_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = Path.rename

    def interrupted(self: Path, target: Path) -> Path:
        if self.name == "aten" and target.parent == tmp_path / "mine":
            raise KeyboardInterrupt
        return rename(self, target)

    write_tree(tmp_path / "pytorch-v2.2.1")
    subprocess.run(["tar", "-czf", "source.tar.gz", "pytorch-v2.2.1"], cwd=tmp_path, check=True)
    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        resolve(str(tmp_path / "source.tar.gz"), into=tmp_path / "mine")
    assert not (tmp_path / "mine").exists()


def limited(limit: int, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run patchkit where no file may grow over ``limit`` bytes, as if the disk were full."""
    return subprocess.run(
        [sys.executable, "-m", "patchkit", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=cwd,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("options", [["--into", "mine"], []], ids=["into", "cache"])
def test_a_full_disk_while_git_fetches_is_one_sentence(
    options: list[str], upstream: Upstream, tmp_path: Path, start_patchkit: Start
) -> None:
    noise = os.urandom(400_000).hex()
    upstream.commit({"aten/src/ATen/native/mps/operations/Large.mm": f"// {noise}\n"}, "large")
    done = limited(200_000, "checkout", "main", "--remote", upstream.url, *options, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is full" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "mine").exists()
    assert not list((tmp_path / "cache").glob("git/*/trees/*"))
    assert start_patchkit("checkout", "main", "--remote", upstream.url).wait(timeout=60) == 0


def test_a_full_disk_while_an_archive_is_extracted_is_one_sentence(tmp_path: Path) -> None:
    write_tree(tmp_path / "pytorch-v2.2.1", {KERNEL: "// large\n" * 20_000})
    subprocess.run(["tar", "-czf", "source.tar.gz", "pytorch-v2.2.1"], cwd=tmp_path, check=True)
    done = limited(50_000, "checkout", "source.tar.gz", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is full" in done.stderr
    assert done.stderr.count("\n") == 1
    kept = [path.name for path in (tmp_path / "cache/archives").iterdir()]
    assert [name for name in kept if not name.endswith(".lock")] == []


def as_a_user_bound_by_modes() -> None:
    """Take CAP_DAC_OVERRIDE from root, which lets it write to read-only folders; runs before the program."""
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() == 0 and libc.prctl(24, 1, 0, 0, 0) != 0:
        os._exit(77)


@pytest.mark.skipif(sys.platform != "linux" and os.geteuid() == 0, reason="root writes to read-only folders")
@pytest.mark.parametrize("place", ["cache", "into"])
def test_a_read_only_folder_is_one_sentence(place: str, upstream: Upstream, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    options = ["--into", str(locked / "mine")] if place == "into" else []
    cache = {"PATCHKIT_CACHE": str(locked / "cache")} if place == "cache" else {}
    done = subprocess.run(
        [sys.executable, "-m", "patchkit", "checkout", "2.2.1", "--remote", upstream.url, *options],
        env={**os.environ, **cache, "PYTHONPATH": os.pathsep.join(sys.path)},
        preexec_fn=as_a_user_bound_by_modes if sys.platform == "linux" else None,
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode == 77:
        pytest.skip("this root may not give up its capability")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot be written (Permission denied)" in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(locked.iterdir()) == []


def test_a_cache_that_is_not_a_folder_is_one_sentence(
    upstream: Upstream, tmp_path: Path, start_patchkit: Start
) -> None:
    (tmp_path / "file").write_text("mine\n")
    process = start_patchkit("checkout", "2.2.1", "--remote", upstream.url, PATCHKIT_CACHE=str(tmp_path / "file/cache"))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "cannot be written" in err
    assert err.count("\n") == 1


def test_without_git_a_version_is_refused_and_an_archive_is_not(tmp_path: Path, start_patchkit: Start) -> None:
    (tmp_path / "empty").mkdir()
    write_tree(tmp_path / "pytorch-v2.2.1")
    subprocess.run(["tar", "-czf", "source.tar.gz", "pytorch-v2.2.1"], cwd=tmp_path, check=True)
    refused = start_patchkit("checkout", "2.2.1", PATH=str(tmp_path / "empty"))
    _, err = refused.communicate(timeout=60)
    assert (refused.returncode, err.startswith("patchkit: git is not installed")) == (2, True)
    taken = start_patchkit("checkout", "source.tar.gz", PATH=str(tmp_path / "empty"))
    assert taken.wait(timeout=60) == 0
