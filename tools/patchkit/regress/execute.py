"""Runs reproducers, each in a process of its own: a crash or a hang costs one case, not the run."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from patchkit.regress.reproducers import Reproducer
from patchkit.regress.results import CRASHED, ERROR, FAILED, PASSED, SKIPPED, TIMEOUT, Case, Outcome

POLL = 0.05
LOG_CHARACTERS = 6000
# Left out of what a test process inherits: they would change what is tested, or how often.
DROPPED = ("PYTORCH_ENABLE_MPS_FALLBACK", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP")
DROPPED_PREFIXES = ("PYTEST_", "PATCHKIT_")


@dataclass(frozen=True)
class Settings:
    """How reproducers are run.

    Args:
        python: the interpreter that has the torch under test.
        device: ``cpu``, ``cuda`` or ``mps``.
        timeout: seconds one case may take.
        start_timeout: seconds from the start of a process to its first case (importing torch, OpInfo).
        simulate: fault to inject, or empty.
        force_pre15: whether the process takes the macOS < 15 path.
        benchmark: whether to run what measures time.
        path: folders put in front of the interpreter's own, such as one that holds pytest.
        cancelled: set to end the running processes.
    """

    python: Path
    device: str = "cpu"
    timeout: float = 60.0
    start_timeout: float = 300.0
    simulate: str = ""
    force_pre15: bool = False
    benchmark: bool = False
    path: tuple[Path, ...] = ()
    cancelled: threading.Event = field(default_factory=threading.Event)


def clean_environment(settings: Settings) -> dict[str, str]:
    """Return the environment of a test process: the user's, less what would change the test."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in DROPPED and not name.startswith(DROPPED_PREFIXES)
    }
    kept.update(
        PYTHONDONTWRITEBYTECODE="1",
        PYTHONNOUSERSITE="1",
        PYTHONIOENCODING="utf-8",
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
        OMP_NUM_THREADS="1",
        PATCHKIT_DEVICE=settings.device,
        PATCHKIT_SIMULATE=settings.simulate,
    )
    if settings.path:
        kept["PYTHONPATH"] = os.pathsep.join(str(folder) for folder in settings.path)
    if settings.force_pre15:
        kept["PATCHKIT_FORCE_PRE15"] = "1"
    if settings.benchmark:
        kept["PATCHKIT_BENCHMARK"] = "1"
    return kept


def run_reproducer(
    reproducer: Reproducer,
    suite: Path,
    settings: Settings,
    on_case: Callable[[Case], None] | None = None,
) -> Outcome:
    """Run every case of one reproducer; after a crash or a hang the rest goes on in a new process.

    Args:
        suite: the folder of the suite, pytest's root.
        on_case: told of each case as it ends.

    Returns:
        One case for each test; a page that cannot be imported is one case with status ``error``.
    """
    started = time.monotonic()
    cases: list[Case] = []

    def add(case: Case) -> None:
        cases.append(case)
        if on_case is not None:
            on_case(case)

    with tempfile.TemporaryDirectory(prefix="patchkit-test-") as scratch:
        while True:
            attempt = _Attempt(reproducer, suite, settings, Path(scratch), {case.name for case in cases})
            attempt.run(add)
            if attempt.interrupted is None:
                break
            add(attempt.interrupted)
            if attempt.interrupted.status == ERROR:
                break
    return Outcome(
        reproducer=reproducer.name,
        group=reproducer.group,
        title=reproducer.title,
        references=reproducer.references,
        ops=reproducer.ops,
        cases=tuple(cases),
        seconds=time.monotonic() - started,
    )


class _Attempt:
    """One process over the cases of a reproducer that have no result yet."""

    def __init__(self, reproducer: Reproducer, suite: Path, settings: Settings, scratch: Path, done: set[str]) -> None:
        self.reproducer, self.settings = reproducer, settings
        self.log, self.output = scratch / "events.jsonl", scratch / "output.txt"
        self.log.write_text("", encoding="utf-8")
        finished = scratch / "done.json"
        finished.write_text(json.dumps(sorted(done)), encoding="utf-8")
        self.command = [
            str(settings.python), "-m", "pytest", "-q", "--tb=short", "-c", str(suite / "pytest.ini"),
            "--rootdir", str(suite), str(reproducer.path),
        ]  # fmt: skip
        self.environment = clean_environment(settings)
        self.environment.update(PATCHKIT_LOG=str(self.log), PATCHKIT_DONE=str(finished))
        self.scratch = scratch
        self.position = 0
        self.running: str | None = None
        self.running_since = time.monotonic()
        self.interrupted: Case | None = None
        self.unaccounted: set[str] = set()

    def run(self, add: Callable[[Case], None]) -> None:
        with self.output.open("wb") as output:
            process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self.environment,
                cwd=self.scratch,
                start_new_session=True,
            )
            try:
                timed_out = self._watch(process, add)
            finally:
                _end(process)
        self._read(add)
        if self.settings.cancelled.is_set():
            self.interrupted = None
        elif timed_out:
            self.interrupted = self._stopped(TIMEOUT, f"no end within {timed_out:g} s")
        elif process.returncode not in (0, 1, 5):
            self.interrupted = self._died(process.returncode)
        elif self.unaccounted:
            self.interrupted = self._stopped(ERROR, f"{len(self.unaccounted)} tests were collected but never reported")

    def _watch(self, process: subprocess.Popen[bytes], add: Callable[[Case], None]) -> float:
        """Wait for the process; return 0, or the limit in seconds that it ran past."""
        while True:
            try:
                process.wait(timeout=POLL)
                return 0
            except subprocess.TimeoutExpired:
                self._read(add)
            if self.settings.cancelled.is_set():
                return 0
            limit = self.settings.timeout if self.running else self.settings.start_timeout
            if time.monotonic() - self.running_since > limit:
                return limit

    def _read(self, add: Callable[[Case], None]) -> None:
        with self.log.open("rb") as log:
            log.seek(self.position)
            for line in log:
                if not line.endswith(b"\n"):
                    break
                self.position += len(line)
                self._event(json.loads(line), add)

    def _event(self, event: Mapping[str, Any], add: Callable[[Case], None]) -> None:
        self.running_since = time.monotonic()
        if event["event"] == "collected":
            self.unaccounted = set(event["nodeids"])
        elif event["event"] == "start":
            self.running = event["nodeid"]
        elif event["event"] == "finish":
            self.running = None
            self.unaccounted.discard(event["nodeid"])
            add(case_of(event))

    def _died(self, code: int) -> Case:
        if self.running is None:
            return self._stopped(ERROR, f"the page could not be run ({_how(code)})")
        return self._stopped(CRASHED, f"the process died: {_how(code)}")

    def _stopped(self, status: str, message: str) -> Case:
        tail = self.output.read_text(encoding="utf-8", errors="replace")[-LOG_CHARACTERS:]
        name = self.running or f"{self.reproducer.path.name} (collection)"
        return Case(name, status if self.running else ERROR, message=message, log=tail)


def case_of(event: Mapping[str, Any]) -> Case:
    """Return the case that a ``finish`` line of the suite's log describes."""
    outcome = {"passed": PASSED, "failed": FAILED, "skipped": SKIPPED}[event["outcome"]]
    message = event["message"].strip().splitlines()
    first = message[0] if message else ""
    return Case(
        name=event["nodeid"] + (" (teardown)" if event["when"] == "teardown" else ""),
        status=ERROR if event["when"] != "call" and outcome == FAILED else outcome,
        seconds=event["seconds"],
        message=first.removeprefix("Skipped: ") if outcome == SKIPPED else first,
        log=event["log"][-LOG_CHARACTERS:],
        facts=event["facts"],
        control=event["control"],
        survives=dict(event["survives"]),
    )


def _how(code: int) -> str:
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"signal {signal.Signals(-code).name}"
        return f"signal {-code}"
    return f"exit code {code}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and what it started; its group exists only as long as one of them lives."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run_all(
    reproducers: Sequence[Reproducer],
    suite: Path,
    settings: Settings,
    *,
    jobs: int = 1,
    on_case: Callable[[Reproducer, Case], None] | None = None,
    still_there: Callable[[], str] | None = None,
) -> tuple[tuple[Outcome, ...], str]:
    """Run the reproducers, ``jobs`` at a time.

    Args:
        still_there: asked after a crash or a hang; gives a sentence when the device is gone.

    Returns:
        The outcomes in the given order, and why the run stopped early, or empty.
    """
    from concurrent.futures import ThreadPoolExecutor

    stopped = ""

    def one(reproducer: Reproducer) -> Outcome | None:
        nonlocal stopped
        if stopped or settings.cancelled.is_set():
            return None
        told = None if on_case is None else (lambda case: on_case(reproducer, case))
        outcome = run_reproducer(reproducer, suite, settings, told)
        if outcome.count(CRASHED, TIMEOUT) and still_there is not None and not stopped:
            stopped = still_there()
        return outcome

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        try:
            outcomes = list(pool.map(one, reproducers))
        except BaseException:
            settings.cancelled.set()
            raise
    return tuple(outcome for outcome in outcomes if outcome is not None), stopped
