"""Runs the suite over one torch: facts, device, reproducers, expectations."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from patchkit.errors import NothingRanError, UsageError
from patchkit.regress.environment import Place
from patchkit.regress.execute import run_all
from patchkit.regress.expected import judge, read_known_failures
from patchkit.regress.probe import choose_device, gone, read_facts
from patchkit.regress.reproducers import Reproducer
from patchkit.regress.results import Case, Run, Subject


@dataclass(frozen=True)
class Options:
    """What the user asked of a run, the same for the wheel and its baseline."""

    device: str = "auto"
    timeout: float = 60.0
    jobs: int = 1
    force_pre15: bool = False
    benchmark: bool = False


def run_suite(
    place: Place,
    suite: Path,
    reproducers: Sequence[Reproducer],
    options: Options,
    *,
    simulate: str = "",
    on_case: Callable[[Reproducer, Case], None] | None = None,
) -> Run:
    """Run the reproducers on the torch of ``place`` and judge them against what is expected.

    With a simulated fault nothing is expected: only the matrix says what the results mean.

    Raises:
        UsageError: the path cannot be forced here, or a fault is simulated on another device than the CPU.
        EnvironmentBuildError: torch cannot be imported.
        DeviceError: the device is absent or broken.
    """
    settings = replace(place.settings, timeout=options.timeout, benchmark=options.benchmark)
    facts = dict(read_facts(settings))
    if place.sha256:
        facts["wheel_sha256"] = place.sha256
    if options.force_pre15:
        check_forcible(str(facts["torch"]))
    device = choose_device(settings, "cpu" if simulate and options.device == "auto" else options.device).device
    if simulate and device != "cpu":
        raise UsageError(f"a fault is simulated on CPU tensors; leave out --device {device}.")
    if options.force_pre15 and device != "mps":
        raise UsageError(f"--force-pre15 needs the mps device, and this run is on {device}.")
    settings = replace(settings, device=device, simulate=simulate, force_pre15=options.force_pre15)
    started = time.monotonic()
    outcomes, stopped = run_all(
        reproducers, suite, settings, jobs=options.jobs, on_case=on_case, still_there=lambda: gone(settings)
    )
    subject = Subject(place.label, facts, device, options.force_pre15, simulate)
    if not simulate:
        known = read_known_failures(suite)
        pages = {reproducer.name: reproducer for reproducer in reproducers}
        outcomes = tuple(judge(pages[o.reproducer], o, subject, known) for o in outcomes)
    return Run(subject, outcomes, time.monotonic() - started, stopped)


def check_forcible(version: str) -> None:
    """Refuse to force the macOS < 15 path where that cannot work.

    Raises:
        UsageError: not on a Mac, or not a release from 2.5 to 2.14.
    """
    from packaging.version import Version

    if sys.platform != "darwin":
        raise UsageError("--force-pre15 works on a Mac only.")
    if not (2, 5) <= Version(version).release[:2] <= (2, 14):
        raise UsageError(f"--force-pre15 is for torch 2.5 to 2.14, and this is {version}.")


def require_something_ran(run: Run) -> None:
    """Refuse to call a run clean in which no test was executed.

    Raises:
        NothingRanError: with the most frequent reason for a skip.
    """
    if not run.executed and not run.stopped and not any(o.status == "error" for o in run.outcomes):
        why = f"; most were skipped because: {run.skip_reasons[0][0]}" if run.skip_reasons else ""
        raise NothingRanError(f"no test was executed on {run.subject.label}{why}.")
