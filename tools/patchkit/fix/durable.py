"""Small steps that survive a crash: synced writes, folder locks, signals held back."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from patchkit.errors import OutputError

_LOCK_SECONDS = 10.0
_LOCK_POLL_SECONDS = 0.05
# What file systems without locks or folder syncs answer; the step is then left out.
_UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, errno.ENOSYS, errno.EBADF})
_HELD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def disk_error(error: OSError) -> str:
    """Return what the system said of ``error``, in a few words."""
    if error.errno == errno.ENOSPC:
        return "the disk is full"
    return os.strerror(error.errno) if error.errno else str(error)


def write_new(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Create ``path`` with ``content`` and sync it to disk.

    Args:
        path: must not exist.
        content: all its bytes.
        mode: permission bits; the user's default where None.

    Raises:
        OSError: the file exists or cannot be written.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        if mode is not None:
            os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())


def fsync_folder(folder: Path) -> None:
    """Make renames in ``folder`` durable, where the file system can."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a lock on ``folder`` itself, which leaves no lock file behind, even after a kill.

    Raises:
        OutputError: another patchkit held it for ten seconds.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _wait_for_lock(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _wait_for_lock(descriptor: int, folder: Path) -> None:
    end = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if time.monotonic() > end:
                raise OutputError(f"Another patchkit is working in {folder}; wait until it is done.") from error
            time.sleep(_LOCK_POLL_SECONDS)
        except OSError as error:
            if error.errno in _UNSUPPORTED:
                return
            raise


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Let Ctrl-C, a hang-up and a polite kill wait until the block is done; they are delivered then.

    Python runs handlers in the main thread only, so in any other thread there is nothing to hold.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []

    def remember(number: int, _frame: FrameType | None) -> None:
        received.append(number)

    previous = {number: signal.getsignal(number) for number in _HELD}
    # A handler that Python did not install cannot be put back, so it stays.
    held = [number for number, handler in previous.items() if handler is not None]
    for number in held:
        signal.signal(number, remember)
    try:
        yield
    finally:
        for number in held:
            signal.signal(number, previous[number])
        for late in received:
            signal.raise_signal(late)
