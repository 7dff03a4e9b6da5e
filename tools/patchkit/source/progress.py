"""Progress on standard error for steps that take more than a second; silent when it is not a terminal."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

_DELAY_SECONDS = 1.0


class Meter:
    """What is being done and how far it is; use it as a context manager around the whole job."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._shown = not quiet and sys.stderr.isatty()
        self._guard = threading.Lock()
        self._label = ""
        self._done = 0
        self._total: int | None = None
        self._bar: Progress | None = None
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Meter:
        if self._shown:
            self._timer = threading.Timer(_DELAY_SECONDS, self._start)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._guard:
            self._shown = False
            if self._bar is not None:
                self._bar.stop()

    def step(self, label: str, done: int = 0, total: int | None = None) -> None:
        """Say what is being done; without ``total`` its end is not known."""
        if not self._shown:
            return
        self._label, self._done, self._total = label, done, total
        if self._bar is not None:
            with self._guard, suppress(IndexError):
                self._bar.update(self._bar.task_ids[0], description=label, completed=done, total=total)

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            SpinnerColumn,
            TaskProgressColumn,
            TextColumn,
            TimeElapsedColumn,
        )

        bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        with self._guard:
            if self._shown:
                bar.add_task(self._label, completed=self._done, total=self._total)
                bar.start()
                self._bar = bar
