"""``patchkit test``: run the regression suite against a torch wheel."""

from __future__ import annotations

from pathlib import Path

import click

_EPILOG = """\b
Examples:
  patchkit test --wheel torch-2.2.1+patchkit.1-cp311-cp311-macosx_11_0_arm64.whl
  patchkit test --wheel new.whl --baseline 2.2.1 --junit report.xml
  patchkit test --python .venv/bin/python --group training
  patchkit test --python .venv/bin/python --simulate lost

Exit codes: 0 as expected; 1 a test failed, is still or newly broken, or a simulated fault went unnoticed;
2 wrong usage, an unusable wheel or device; 3 no test was executed.
"""
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(short_help="Run the regression suite against a torch wheel.", epilog=_EPILOG)
@click.option("--wheel", type=_FILE, metavar="FILE", help="Test this wheel in an environment of its own.")
@click.option("--torch", "version", metavar="VERSION", help="Test this release, fetched by pip, in the same way.")
@click.option("--python", type=_FILE, metavar="PATH", help="Test the torch that this interpreter has; only read.")
@click.option(
    "--device",
    type=click.Choice(("auto", "mps", "cuda", "cpu")),
    default="auto",
    show_default=True,
    help="Where.",
)
@click.option("--baseline", metavar="WHEEL", help="Compare with this wheel, release or interpreter.")
@click.option("--group", "groups", multiple=True, help="Only this group of reproducers; may be repeated.")
@click.option("--findings", type=_FILE, metavar="FILE", help="Only what covers the findings of this scan report.")
@click.option("--simulate", metavar="FAULT", help="Test the tests: give the CPU this fault of the backend, or `all`.")
@click.option("--force-pre15", is_flag=True, help="Make torch 2.5 to 2.14 take the macOS < 15 path on a newer Mac.")
@click.option("--timeout", type=click.FloatRange(min=0.1), default=60, show_default=True, help="Seconds per case.")
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Reproducers at a time.")
@click.option("--benchmark", is_flag=True, help="Also run what measures time.")
@click.option("--keep", is_flag=True, help="Keep the environment, and say where it is.")
@click.option("--json", "json_path", type=_FILE, metavar="FILE", help="Write the JSON report.")
@click.option("--junit", type=_FILE, metavar="FILE", help="Write JUnit XML.")
@click.option("--markdown", type=_FILE, metavar="FILE", help="Write Markdown, for a CI step summary.")
@click.option("--html", type=_FILE, metavar="FILE", help="Write a page, with the loss curves of the Adam story.")
def command(
    wheel: Path | None,
    version: str | None,
    python: Path | None,
    device: str,
    baseline: str | None,
    groups: tuple[str, ...],
    findings: Path | None,
    simulate: str | None,
    force_pre15: bool,
    timeout: float,
    jobs: int,
    benchmark: bool,
    keep: bool,
    json_path: Path | None,
    junit: Path | None,
    markdown: Path | None,
    html: Path | None,
) -> int:
    """Run the regression suite against a torch wheel, and say what is broken, fixed or changed.

    Give one of --wheel, --torch and --python. Each reproducer runs in a process of its own with a time limit,
    in an environment that patchkit makes and removes; your own is only read.
    """
    from patchkit.regress.command import Reports, Request, run

    request = Request(
        wheel=wheel,
        version=version,
        python=python,
        baseline=baseline,
        groups=groups,
        findings=findings,
        simulate=simulate or "",
        keep=keep,
        device=device,
        timeout=timeout,
        jobs=jobs,
        force_pre15=force_pre15,
        benchmark=benchmark,
    )
    return run(request, Reports(json_path, junit, markdown, html))
