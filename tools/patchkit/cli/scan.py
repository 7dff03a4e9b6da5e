"""``patchkit scan``: find the kernels of a tree that lose or misplace an output."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from patchkit.cli.look_options import color_option, stdout_look
from patchkit.cli.tree_options import remote_option
from patchkit.output import format_names

if TYPE_CHECKING:
    from patchkit.output import Look
    from patchkit.scan.cache import Scanned
    from patchkit.scan.findings import ScanReport
    from patchkit.scan.scope.config import Config
    from patchkit.scan.scope.select import Selection
    from patchkit.source.tree import Tree

# Formats whose readers take a failed command for a broken tool; the findings are in what they read.
ALWAYS_ZERO = ("sarif", "lintrunner")

_Command = TypeVar("_Command", bound=Callable[..., Any])
_FILE = click.Path(path_type=Path, dir_okay=False)


@dataclass(frozen=True)
class Request:
    """The options of one command line that say what of a scan is reported."""

    select: tuple[str, ...]
    ignore: tuple[str, ...]
    op: tuple[str, ...]
    macos: str | None
    baseline: Path | None
    write_baseline: Path | None
    diff: str | None
    config: Path | None
    paths_from: Path | None
    sarif_root: Path | None
    use_cache: bool


def _scope_options(function: _Command) -> _Command:
    options = (
        click.option(
            "--select",
            multiple=True,
            metavar="RULE",
            help="Only this rule: identifier, name or effect; may be repeated.",
        ),
        click.option("--ignore", multiple=True, metavar="RULE", help="Not this rule; may be repeated."),
        click.option("--op", multiple=True, metavar="OP", help="Only findings that reach this operator or overload."),
        click.option("--macos", metavar="RELEASE", help="Only what happens on this macOS, such as 14."),
        click.option("--diff", metavar="REV", help="Only what the working tree has and the commit REV has not."),
        click.option("--baseline", type=_FILE, metavar="FILE", help="Set aside the findings that FILE lists."),
        click.option("--write-baseline", type=_FILE, metavar="FILE", help="Write the findings to FILE; exits with 0."),
        click.option(
            "--paths-from", type=_FILE, metavar="FILE", help="Only findings in the files that FILE lists, one a line."
        ),
        click.option(
            "--config",
            type=_FILE,
            metavar="FILE",
            help="Settings; otherwise patchkit.toml or pyproject.toml at the tree or above it.",
        ),
        click.option(
            "--sarif-root",
            type=click.Path(path_type=Path, file_okay=False),
            metavar="DIR",
            help="The folder that paths in sarif, github and markdown start at.  [default: the tree]",
        ),
        click.option("--no-cache", is_flag=True, help="Neither use nor keep the results of earlier scans."),
    )
    for option in reversed(options):
        function = option(function)
    return function


@click.command(
    epilog="Exit codes: 0 no finding, 1 findings, 2 unusable input, 3 nothing to scan. "
    "The formats sarif and lintrunner exit with 0 although there are findings.",
    short_help="Find the kernels that lose or misplace a non-contiguous output.",
)
@click.argument("targets", metavar="[TREE]...", nargs=-1)
@click.option(
    "--version", metavar="X.Y.Z|REF", help="A release such as 2.2.1, or a tag, branch or commit of the remote."
)
@click.option(
    "--versions",
    metavar="X.Y.Z,...",
    help="Several releases, A..B for all releases from A to B: a table of operators and releases.",
)
@click.option("--source", metavar="ARCHIVE|URL", help="A .tar.* or .zip file, a git URL or a local repository.")
@remote_option
@click.option(
    "--format",
    "format_name",
    type=click.Choice(format_names()),
    default="text",
    show_default=True,
    help="Output.",
)
@_scope_options
@click.option("--show-cleared", is_flag=True, help="List the safe graph results too, each with the reason.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 although there are findings.")
@click.option("--output", "-o", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write to FILE.")
@color_option
def command(
    targets: tuple[str, ...],
    version: str | None,
    versions: str | None,
    source: str | None,
    remote: str | None,
    format_name: str,
    show_cleared: bool,
    exit_zero: bool,
    output: Path | None,
    color: str,
    no_cache: bool,
    **options: Any,
) -> int:
    """Find the MPS kernels that lose or misplace a non-contiguous output.

    Give TREE, the root of a PyTorch source tree, or name one with --version or --source. The tree is only
    read. Several trees, or --versions, make one table of operators and releases.

    \b
    Examples:
      patchkit scan ~/src/pytorch
      patchkit scan --version 2.2.1 --op addcmul
      patchkit scan ~/src/pytorch --diff main --format github
      patchkit scan --source pytorch-v2.2.1.tar.gz --format sarif --output patchkit.sarif
      patchkit scan --versions 1.13.1,2.6.0 --format html --output releases.html
    """
    request = Request(use_cache=not no_cache, **options)
    look = stdout_look(color, show_cleared=show_cleared)
    if output is not None:
        look = replace(look, width=100, color=color == "always")
    if versions is not None or len(targets) > 1:
        return _compare(targets, version, versions, source, remote, request, format_name, look, output, exit_zero)

    from patchkit.fix import is_fixable
    from patchkit.output import render
    from patchkit.scan.cache import scan_with_ops
    from patchkit.source import resolve

    tree = resolve(targets[0] if targets else None, version=version, source=source, remote=remote)
    config = _config(tree, request)
    scanned = scan_with_ops(tree, use_cache=request.use_cache, fixable=is_fixable)
    _check_not_empty(scanned.report)
    report = _scope(scanned.report, tree, request, config)
    look = replace(
        look,
        folder=_folder(tree, request.sarif_root or config.sarif_root),
        overloads={one.name: one for one in scanned.spellings},
    )
    if request.write_baseline is not None:
        return _write_baseline(report, request.write_baseline)
    if format_name == "lintrunner" and report.findings:
        look = replace(look, edits=_edits(tree))
    _put(render(report, tree, look, format_name=format_name), output, len(report.findings))
    return exit_code(report, exit_zero=exit_zero or format_name in ALWAYS_ZERO)


def exit_code(report: ScanReport, *, exit_zero: bool) -> int:
    """Return 0 without findings or with ``exit_zero``, else 1."""
    return int(bool(report.findings) and not exit_zero)


def _check_not_empty(report: ScanReport) -> None:
    """A tree without any graph result is no clean tree: a scan says nothing about it.

    Raises:
        NotATreeError: there is none.
    """
    from patchkit.errors import NotATreeError

    if not (report.sites or report.findings or report.undecided):
        raise NotATreeError(
            f"{report.root}: no graph result in {report.files} kernel files; is this a whole PyTorch source tree?"
        )


def _put(text: str, output: Path | None, findings: int) -> None:
    if output is None:
        sys.stdout.write(text)
        return
    from patchkit.output._file import write_whole
    from patchkit.output._terminal import count_of

    write_whole(output, text)
    click.echo(f"{count_of(findings, 'finding')}; the report is in {output}.", err=True)


def _config(tree: Tree, request: Request) -> Config:
    from patchkit.scan.scope.config import load_config

    return load_config(tree, request.config)


def _selection(tree: Tree, request: Request, config: Config) -> Selection:
    from patchkit.scan.scope.select import Selection, listed_paths

    return Selection(
        select=request.select or config.select,
        ignore=request.ignore or config.ignore,
        ops=request.op or config.op,
        macos=request.macos or config.macos,
        paths=None if request.paths_from is None else listed_paths(request.paths_from, tree),
    )


def _scope(report: ScanReport, tree: Tree, request: Request, config: Config) -> ScanReport:
    """Apply suppressions, the selection, --diff and the baseline, in this order."""
    from patchkit.scan.scope.select import apply_selection
    from patchkit.scan.scope.suppress import read_suppressions, suppress

    report = suppress(report, read_suppressions(tree))
    report = apply_selection(report, tree, _selection(tree, request, config))
    if request.diff is not None:
        from patchkit.scan.scope.introduced import only_introduced

        report = only_introduced(report, tree, request.diff, use_cache=request.use_cache)
    baseline = request.baseline or config.baseline
    if baseline is not None and request.write_baseline is None:
        from patchkit.scan.scope.baseline import apply_baseline

        report = apply_baseline(report, baseline)
    return report


def _write_baseline(report: ScanReport, path: Path) -> int:
    from patchkit.output._file import write_whole
    from patchkit.output._terminal import count_of
    from patchkit.scan.scope.baseline import baseline_text

    write_whole(path, baseline_text(report.findings))
    click.echo(f"{count_of(len(report.findings), 'finding')} written to the baseline {path}.", err=True)
    return 0


def _folder(tree: Tree, root: Path | None) -> str:
    """Return the tree's folder below the folder that reported paths start at.

    Raises:
        UsageError: the tree is not inside it.
    """
    if root is None:
        return ""
    from patchkit.errors import UsageError

    try:
        return tree.root.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        raise UsageError(f"--sarif-root {root} does not hold the tree {tree.given}.") from None


def _edits(tree: Tree) -> dict[str, Any]:
    """Return the verified edits that ``patchkit fix`` would make, by file; none where it cannot make any."""
    from patchkit.errors import PatchkitError
    from patchkit.fix import fix_tree
    from patchkit.output import Edit

    try:
        result = fix_tree(tree, check=True)
    except PatchkitError as error:
        click.echo(f"patchkit: no replacements are offered: {error}", err=True)
        return {}
    edits = {}
    for patch in result.patches:
        for change in patch.changes:
            before, after = _text_of(change.before), _text_of(change.after)
            if before is not None and after is not None:
                edits[change.path] = Edit(before, after, frozenset(patch.findings))
    return edits


def _text_of(content: bytes | None) -> str | None:
    """A replacement goes through JSON, which has no place for bytes that are not UTF-8."""
    try:
        return None if content is None else content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _compare(
    targets: tuple[str, ...],
    version: str | None,
    versions: str | None,
    source: str | None,
    remote: str | None,
    request: Request,
    format_name: str,
    look: Look,
    output: Path | None,
    exit_zero: bool,
) -> int:
    from patchkit.errors import UsageError
    from patchkit.output._matrix import FORMATS, render_matrix
    from patchkit.scan.matrix import make_matrix, version_key

    if format_name not in FORMATS:
        raise UsageError(f"--format {format_name} is for one tree; several make a table: {', '.join(FORMATS)}.")
    for name, value in (("--diff", request.diff), ("--write-baseline", request.write_baseline), ("--source", source)):
        if value is not None:
            raise UsageError(f"{name} is for one tree, not for a table of several.")
    if version is not None:
        raise UsageError("--version is for one tree; add it to --versions.")
    trees = sorted(_trees(targets, versions, remote), key=lambda tree: version_key(tree.version))
    scans = [_scan_one(tree, request) for tree in trees]
    matrix = make_matrix(scans)
    findings = sum(release.findings for release in matrix.releases)
    reports = [one.report for one in scans]
    _put(render_matrix(matrix, reports, trees, look, format_name=format_name), output, findings)
    return int(bool(findings) and not exit_zero)


def _trees(targets: tuple[str, ...], versions: str | None, remote: str | None) -> list[Tree]:
    from patchkit.scan.scope.releases import named_versions
    from patchkit.source import resolve

    trees = [resolve(target) for target in targets]
    return trees + [resolve(None, version=name, remote=remote) for name in named_versions(versions or "", remote)]


def _scan_one(tree: Tree, request: Request) -> Scanned:
    from patchkit.fix import is_fixable
    from patchkit.scan.cache import scan_with_ops

    scanned = scan_with_ops(tree, use_cache=request.use_cache, fixable=is_fixable)
    _check_not_empty(scanned.report)
    return replace(scanned, report=_scope(scanned.report, tree, request, _config(tree, request)))
