"""Running git through GitPython: no prompts, no settings of the user in the way, failures as sentences."""

from __future__ import annotations

import functools
import os
import re
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast

from patchkit.errors import PatchkitError, SourceError
from patchkit.source.files import disk_full

if TYPE_CHECKING:
    import subprocess

    from git.cmd import Git

# Most are set while a git hook runs, and then they name the wrong repository.
_LOCAL_ENVIRONMENT = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_DEFAULT_HASH",
    "GIT_DEFAULT_REF_FORMAT",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
)
_SETTINGS = {
    "advice.detachedHead": "false",
    "core.attributesFile": os.devnull,
    "core.autocrlf": "false",
    "core.eol": "lf",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "fetch.recurseSubmodules": "false",
    "gc.auto": "0",
    "init.defaultObjectFormat": "sha1",
    "init.defaultRefFormat": "files",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "60",
    "maintenance.auto": "false",
    "protocol.version": "2",
    "submodule.recurse": "false",
}
_ENVIRONMENT = {
    "GCM_INTERACTIVE": "never",
    "GIT_ASKPASS": "",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
}
_OLDEST = (2, 25)
_GRACE_SECONDS = 5
_ROOM_BYTES = 1 << 18
_PROGRESS = re.compile(r"^(?:remote: )?([A-Z][\w ]+): +\d+% \((\d+)/(\d+)\)")
_NO_NETWORK = re.compile(
    r"could not resolve (host|proxy|hostname)|name or service not known|temporary failure in name resolution|"
    r"failed to connect|couldn't connect|connection (refused|timed out|reset)|network is unreachable|"
    r"no route to host|operation (timed out|too slow)|early eof|ssl_|tls connect|gnutls|"
    r"the remote end hung up|unexpected disconnect|http/2 stream",
    re.IGNORECASE,
)
_NO_ACCESS = re.compile(
    r"authentication failed|could not read (username|password)|terminal prompts disabled|permission denied|"
    r"host key verification failed|returned error: 40[13]",
    re.IGNORECASE,
)
_NO_REPOSITORY = re.compile(
    r"repository .*not found|does not appear to be a git repository|returned error: 404",
    re.IGNORECASE,
)
_DISK_FULL = re.compile(r"no space left on device|disk quota exceeded|file too large|signal 25", re.IGNORECASE)
_FILE_SIZE_SIGNAL = -25


class GitError(SourceError):
    """A git command failed; ``said`` is what git wrote on standard error."""

    def __init__(self, message: str, said: str = "") -> None:
        super().__init__(message)
        self.said = said


class NoNetworkError(GitError):
    """The remote cannot be reached."""


def is_git_url(text: str) -> bool:
    """Say whether ``text`` has the form of a git URL, or of ``user@host:path``."""
    return re.match(r"[A-Za-z][\w+.-]*://|[\w.-]+@[\w.-]+:", text) is not None


def git(
    arguments: Sequence[str],
    *,
    folder: Path,
    remote: str = "the remote",
    progress: Callable[[str, int, int], None] | None = None,
) -> str:
    """Run one git command and return its standard output without the last line end.

    Args:
        arguments: what follows ``git``.
        folder: where it runs; a bare repository is named with ``--git-dir`` in ``arguments``.
        remote: how messages name the other side, without credentials.
        progress: called with git's own label, the count so far and the total.

    Raises:
        NoNetworkError: the remote cannot be reached.
        GitError: git is missing, too old, or failed.
        OutputError: the disk is full.
    """
    driver = _usable_git()
    settings = [part for key, value in _SETTINGS.items() for part in ("-c", f"{key}={value}")]
    with _no_local_environment():
        running = driver(str(folder)).execute(
            [driver.GIT_PYTHON_GIT_EXECUTABLE, *settings, *arguments],
            as_process=True,
            universal_newlines=True,
            errors="replace",
            start_new_session=True,  # git finds no terminal to ask on, and all it starts can be ended
            env={**_ENVIRONMENT, **_ssh_without_prompt()},
        )
    process = cast("subprocess.Popen[str]", running.proc)
    running.proc = None  # its finalizer would wait for a pipe that the thread below is reading
    said: list[str] = []
    reader = threading.Thread(target=_listen, args=(process, said, progress), daemon=True)
    reader.start()
    try:
        assert process.stdout is not None
        output = process.stdout.read()
        code = process.wait()
        reader.join()
    except BaseException:
        _end(process)
        raise
    if code != 0:
        raise failure("\n".join(said), code, folder, remote)
    return output.rstrip("\n")


def failure(said: str, code: int, folder: Path, remote: str) -> PatchkitError:
    """Return the error that stands for what git wrote before it ended with ``code``."""
    last = _reason(said) or f"git ended with status {code}"
    if code == _FILE_SIZE_SIGNAL or _DISK_FULL.search(said) or _free_bytes(folder) < _ROOM_BYTES:
        return disk_full(folder)
    if "dubious ownership" in said or "unsafe repository" in said:
        return GitError(
            f"git refuses {remote}, or the cache {folder}, because it belongs to another user; "
            "set PATCHKIT_CACHE to a folder of your own, or run: "
            "git config --global --add safe.directory FOLDER",
            said,
        )
    if "transport 'file' not allowed" in said:
        return GitError(
            f"A submodule of {remote} lies in a local folder, which git refuses; to allow it run: "
            "git config --global protocol.file.allow always",
            said,
        )
    if _NO_REPOSITORY.search(said):
        return GitError(f"There is no git repository at {remote} ({last}).", said)
    if _NO_ACCESS.search(said):
        return GitError(f"{remote} does not let this user in ({last}); patchkit never asks for a password.", said)
    if _NO_NETWORK.search(said):
        return NoNetworkError(f"{remote} cannot be reached ({last}); check the network, or give an archive.", said)
    return GitError(f"git failed on {remote}: {last}.", said)


def _free_bytes(folder: Path) -> int:
    """Return the free bytes of a disk: on a full one git may only say that it could not write a file."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return _ROOM_BYTES


def _reason(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("fatal: ", "error: "))] or lines
    return without_credentials(telling[0].split(": ", 1)[-1].rstrip(".")) if telling else ""


def without_credentials(text: str) -> str:
    """Return ``text`` with the user name and password of each URL in it left out."""
    return re.sub(r"(\w+://)[^/\s@]+@", r"\1", text)


def _end(process: subprocess.Popen[str]) -> None:
    """End git and all it started; it removes its temporary files when it is asked to end."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(timeout=_GRACE_SECONDS)
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _listen(process: subprocess.Popen[str], said: list[str], progress: Callable[[str, int, int], None] | None) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        match = _PROGRESS.match(line)
        if match is None:
            said.append(line.rstrip())
        elif progress is not None:
            progress(match[1], int(match[2]), int(match[3]))


@functools.cache
def _usable_git() -> type[Git]:
    os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
    from git.cmd import Git
    from git.exc import GitCommandNotFound

    try:
        version = Git().version_info
    except (GitCommandNotFound, PermissionError) as error:
        raise GitError("git is not installed or not on PATH; install it, or give an archive or a folder.") from error
    if version < _OLDEST:
        raise GitError(
            f"git {'.'.join(map(str, version))} is too old; partial clones need {'.'.join(map(str, _OLDEST))} or later."
        )
    return Git


def _ssh_without_prompt() -> dict[str, str]:
    """Keep ssh from asking, unless the user set an ssh command: the variable would replace it."""
    if "GIT_SSH_COMMAND" in os.environ or "GIT_SSH" in os.environ or _ssh_command_is_set():
        return {}
    return {"GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o ConnectTimeout=30"}


@functools.cache
def _ssh_command_is_set() -> bool:
    return bool(_usable_git()().config("--get", "core.sshCommand", with_exceptions=False))


@contextmanager
def _no_local_environment() -> Iterator[None]:
    """GitPython can add to a command's environment but not take away from it."""
    kept = {name: os.environ.pop(name) for name in _LOCAL_ENVIRONMENT if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(kept)
