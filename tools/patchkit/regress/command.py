"""What ``patchkit test`` does, from a parsed command line to an exit code."""

from __future__ import annotations

import contextlib
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit.errors import DeviceError, OutputError, UsageError
from patchkit.regress.baseline import Change, compare
from patchkit.regress.environment import Place, place_for, subject_kind
from patchkit.regress.matrix import FAULTS, Cell, matrix
from patchkit.regress.reproducers import Reproducer, list_reproducers
from patchkit.regress.results import BAD, Run
from patchkit.regress.session import Options, require_something_ran, run_suite
from patchkit.resources import reproducers_dir

if TYPE_CHECKING:
    from rich.console import Console

PIPED_WIDTH = 110


@dataclass(frozen=True)
class Request:
    """The options of ``patchkit test``."""

    wheel: Path | None = None
    version: str | None = None
    python: Path | None = None
    baseline: str | None = None
    groups: tuple[str, ...] = ()
    findings: Path | None = None
    simulate: str = ""
    keep: bool = False
    device: str = "auto"
    timeout: float = 60.0
    jobs: int = 1
    force_pre15: bool = False
    benchmark: bool = False

    @property
    def options(self) -> Options:
        """The part that a wheel and its baseline share."""
        return Options(self.device, self.timeout, self.jobs, self.force_pre15, self.benchmark)


@dataclass(frozen=True)
class Reports:
    """Files to write, where wanted."""

    json: Path | None = None
    junit: Path | None = None
    markdown: Path | None = None
    html: Path | None = None


def run(request: Request, reports: Reports) -> int:
    """Run what was asked, print the tables, write the reports, and return the exit code.

    Raises:
        PatchkitError: any of those of :mod:`patchkit.errors`, wrong usage, or a report that
            cannot be
            written.
    """
    from rich.console import Console

    faults = _faults(request.simulate)
    if faults and request.baseline:
        raise UsageError("--simulate tests the tests; it has no --baseline.")
    if (request.wheel, request.version, request.python) == (None, None, None):
        raise UsageError("give one of --wheel, --torch and --python.")
    console = Console()
    if not console.is_terminal:
        console.width = PIPED_WIDTH
    with contextlib.ExitStack() as stack:
        stack.enter_context(_tidy_when_terminated())
        suite, pages = _pages(request, stack, bool(faults))
        kept = request.keep
        baseline = None
        if request.baseline is not None:
            base = stack.enter_context(_baseline_place(request.baseline, kept))
            baseline = _run(console, base, suite, pages, request)
        place = stack.enter_context(
            place_for(wheel=request.wheel, version=request.version, python=request.python, keep=kept)
        )
        subject = _run(console, place, suite, pages, request)
        if kept:
            console.print(f"the environment is kept in {place.folder}", markup=False)
        if faults:
            return _simulate(console, place, suite, pages, request, subject, faults, reports)
    return _judge(console, subject, baseline, reports)


@contextlib.contextmanager
def _tidy_when_terminated() -> Iterator[None]:
    """Make a polite end (a CI's time limit) remove the environment too, as Ctrl-C does."""

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    try:
        before = signal.signal(signal.SIGTERM, leave)
    except ValueError:  # not the main thread, which alone may set handlers
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _faults(simulate: str) -> tuple[str, ...]:
    if simulate in ("", "all"):
        return FAULTS if simulate else ()
    if simulate not in FAULTS:
        raise UsageError(f"there is no fault {simulate}; there are {', '.join(FAULTS)}, and all.")
    return (simulate,)


def _pages(request: Request, stack: contextlib.ExitStack, simulated: bool) -> tuple[Path, tuple[Reproducer, ...]]:
    suite = reproducers_dir()
    pages = list_reproducers(suite, request.groups)
    if request.findings is not None:
        from patchkit.regress.generate import suite_for_findings

        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="patchkit-generated-")))
        suite, pages = suite_for_findings(request.findings, suite, pages, folder / "reproducers")
    if simulated:
        pages = tuple(page for page in pages if page.faults)
    if not pages:
        raise UsageError("no reproducer is left to run; choose other groups or findings.")
    return suite, pages


def _baseline_place(text: str, keep: bool) -> contextlib.AbstractContextManager[Place]:
    kind = subject_kind(text)
    if kind == "wheel":
        return place_for(wheel=Path(text), keep=keep)
    if kind == "python":
        return place_for(python=Path(text), keep=keep)
    return place_for(version=text, keep=keep)


def _run(
    console: Console,
    place: Place,
    suite: Path,
    pages: Sequence[Reproducer],
    request: Request,
    simulate: str = "",
) -> Run:
    from patchkit.regress.report_text import live

    title = f"{place.label} {simulate}".strip()
    with live(console, len(pages), title) as progress:
        return run_suite(place, suite, pages, request.options, simulate=simulate, on_case=progress.case)


def _judge(console: Console, subject: Run, baseline: Run | None, reports: Reports) -> int:
    from patchkit.regress.report_text import print_changes, print_run

    changes = compare(baseline, subject) if baseline is not None else ()
    runs = [run for run in (baseline, subject) if run is not None]
    for one in runs:
        print_run(console, one)
    if changes:
        print_changes(console, changes)
    _write(reports, runs, changes, ())
    for one in runs:
        if one.stopped:
            raise DeviceError(f"{one.stopped}; the results so far are above.")
        require_something_ran(one)
    return exit_code(subject, changes)


def exit_code(subject: Run, changes: Sequence[Change] = ()) -> int:
    """Return 1 where a test failed unexpectedly or, against a baseline, something is still or newly
    broken."""
    return int(subject.count(*BAD) > 0 or any(change.fails for change in changes))


def _simulate(
    console: Console,
    place: Place,
    suite: Path,
    pages: Sequence[Reproducer],
    request: Request,
    clean: Run,
    faults: Sequence[str],
    reports: Reports,
) -> int:
    from patchkit.regress.report_text import print_matrix

    require_something_ran(clean)
    runs = [clean]
    for fault in faults:
        concerned = [page for page in pages if fault in page.faults]
        if concerned:
            runs.append(_run(console, place, suite, concerned, request, fault))
    cells = matrix(pages, clean, runs[1:])
    print_matrix(console, cells)
    _write(reports, runs, (), cells)
    return int(not cells or not all(cell.proves for cell in cells))


def _write(reports: Reports, runs: Sequence[Run], changes: Sequence[Change], cells: Sequence[Cell]) -> None:
    if reports.json is not None:
        from patchkit.regress import report_json

        _write_file(reports.json, lambda: report_json.render(runs, changes, cells))
    if reports.junit is not None:
        from patchkit.regress import report_junit

        _write_file(reports.junit, lambda: report_junit.render(runs[-1]))
    if reports.markdown is not None:
        from patchkit.regress import report_markdown

        _write_file(reports.markdown, lambda: report_markdown.render(runs, changes, cells))
    if reports.html is not None:
        from patchkit.regress import report_html

        _write_file(reports.html, lambda: report_html.render(runs, changes, cells))


def _write_file(path: Path, render: Callable[[], str]) -> None:
    text = render()
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}.") from error
