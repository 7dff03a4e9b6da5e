"""The terminal's tables and live progress, with rich."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from patchkit.regress.baseline import FIXED, NEWLY_BROKEN, STILL_BROKEN, UNCHANGED, Change
from patchkit.regress.matrix import Cell
from patchkit.regress.reproducers import Reproducer
from patchkit.regress.results import BAD, EXPECTED_FAILURE, PASSED, SKIPPED, UNEXPECTED_PASS, Case, Run
from patchkit.regress.summary import headline, subject_line

if TYPE_CHECKING:
    from rich.console import Console

COLOURS = {PASSED: "green", SKIPPED: "dim", EXPECTED_FAILURE: "yellow", UNCHANGED: "dim", FIXED: "green"}
MOST = 12


class Progress:
    """Counts cases as they end; ``case`` may be called from several threads."""

    def __init__(self, advance: object = None) -> None:
        self._advance = advance

    def case(self, reproducer: Reproducer, case: Case) -> None:
        if callable(self._advance):
            self._advance(reproducer, case)


@contextmanager
def live(console: Console, total: int, title: str) -> Iterator[Progress]:
    """Show a progress line on a terminal while reproducers run; on a pipe, nothing."""
    if not console.is_terminal:
        yield Progress()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=total)
        seen: set[str] = set()
        counts = {"cases": 0, "bad": 0}

        def advance(reproducer: Reproducer, case: Case) -> None:
            seen.add(reproducer.name)
            counts["cases"] += 1
            counts["bad"] += case.status in BAD
            text = f"{reproducer.name}: {counts['cases']} cases, {counts['bad']} failed"
            bar.update(task, completed=len(seen), description=text)

        yield Progress(advance)


def print_run(console: Console, run: Run) -> None:
    """Print the table of one run and what failed in it."""
    from rich.table import Table
    from rich.text import Text

    console.print(Text(subject_line(run.subject)), style="bold")
    table = Table()
    table.add_column("reproducer", no_wrap=True)
    table.add_column("result", no_wrap=True)
    for name in ("passed", "failed", "expected", "skipped"):
        table.add_column(name, justify="right")
    table.add_column("verdicts")
    for o in run.outcomes:
        counts = (o.count(PASSED), o.count(*BAD), o.count(EXPECTED_FAILURE), o.count(SKIPPED))
        table.add_row(
            o.reproducer,
            Text(o.status, COLOURS.get(o.status, "bold red")),
            *map(str, counts),
            ", ".join(o.verdicts),
        )
    console.print(table)
    bad = [case for outcome in run.outcomes for case in outcome.cases if case.status in BAD]
    for case in bad[:MOST]:
        console.print(Text(f"{case.status}: {case.name}", "red"))
        if case.message:
            console.print(Text(f"  {case.message}"))
        if case.status not in ("failed", UNEXPECTED_PASS):
            console.print(Text("\n".join("  | " + line for line in case.log.splitlines()[-12:]), "dim"))
    if len(bad) > MOST:
        console.print(f"... and {len(bad) - MOST} more; --json and --junit have all of them.")
    if run.skip_reasons:
        shown = ", ".join(f"{count} x {reason}" for reason, count in run.skip_reasons[:5])
        console.print(Text(f"skipped: {shown}", "dim"))
    console.print(Text(headline(run)), style="bold")


def print_changes(console: Console, changes: Sequence[Change]) -> None:
    """Print the comparison with the baseline."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title="against the baseline")
    table.add_column("reproducer", no_wrap=True)
    table.add_column("verdict")
    for name in ("fixed", "still broken", "newly broken"):
        table.add_column(name, justify="right")
    for c in changes:
        counts = (len(c.fixed), len(c.still_broken), len(c.newly_broken))
        style = "bold red" if c.fails else COLOURS.get(c.verdict, "yellow")
        table.add_row(c.reproducer, Text(c.verdict, style), *map(str, counts))
    console.print(table)
    for c in changes:
        for verdict, cases in (
            (NEWLY_BROKEN, c.newly_broken),
            (STILL_BROKEN, c.still_broken),
            (FIXED, c.fixed),
        ):
            for case in cases[:MOST] if c.verdict != UNCHANGED else ():
                console.print(Text(f"{verdict}: {case}"))


def print_matrix(console: Console, cells: Sequence[Cell]) -> None:
    """Print which faults each reproducer caught, the survivors, and why the explained ones cannot be
    caught."""
    from rich.table import Table
    from rich.text import Text

    faults = list(dict.fromkeys(cell.fault for cell in cells))
    found = {(cell.reproducer, cell.fault): cell for cell in cells}
    table = Table(title="killed mutants: cases that fail under the fault and pass without it")
    table.add_column("reproducer", no_wrap=True)
    for fault in faults:
        table.add_column(fault, justify="right")
    for name in dict.fromkeys(cell.reproducer for cell in cells):
        row = [found.get((name, fault)) for fault in faults]
        table.add_row(
            name,
            *(Text(f"{c.killed}/{c.mutants}", "green" if c.proves else "bold red") if c else "" for c in row),
        )
    console.print(table)
    for cell in cells:
        for name in cell.survivors:
            console.print(Text(f"survivor under {cell.fault}: {name}", "red"))
        for name in cell.false_alarms:
            console.print(Text(f"false alarm under {cell.fault}: {name}", "red"))
    reasons: dict[tuple[str, str], int] = {}
    for cell in cells:
        for _, why in cell.explained:
            reasons[cell.fault, why] = reasons.get((cell.fault, why), 0) + 1
    for (fault, why), count in reasons.items():
        console.print(Text(f"{count} cases explained under {fault}: {why}", "dim"))
    killed, mutants = sum(c.killed for c in cells), sum(c.mutants for c in cells)
    if mutants:
        console.print(Text(f"{killed} of {mutants} mutants killed ({killed / mutants:.1%})"), style="bold")
