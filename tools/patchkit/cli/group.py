"""The ``patchkit`` command: its subcommands are modules of this package, imported when they are called."""

from __future__ import annotations

import difflib
import importlib

import click

from patchkit import __version__

# In the order of the pipeline, which is the order --help shows. Each is the `command` of patchkit.cli.<name>.
COMMANDS = {
    "checkout": "Get the source of a torch version, an archive or a git ref.",
    "scan": "Find the kernels that lose or misplace a non-contiguous output.",
    "fix": "Write a patch series for the findings of a scan.",
    "apply": "Apply a patch series to a tree, or reverse it.",
    "test": "Run the regression suite against a torch wheel.",
    "where": "Follow an operator from its schema to the results its kernels write.",
    "explain": "Describe a rule, or one finding beside the nearest safe kernel.",
    "demo": "Scan, fix and rescan a miniature tree; works offline.",
}


class LazyGroup(click.Group):
    """A group that knows its subcommands by name and imports one only when it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"patchkit.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], COMMANDS, 1, cutoff=0.5)
            ctx.fail(f"No such command '{args[0]}'." + (f" Did you mean '{near[0]}'?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 clean or done, 1 findings, 2 wrong usage or unusable input, 3 nothing to scan.",
)
@click.version_option(__version__, prog_name="patchkit", message="%(prog)s %(version)s")
def patchkit() -> None:
    """Find, fix and prove PyTorch MPS kernels that lose a non-contiguous output.

    \b
    Try it:    patchkit demo
    For real:  patchkit scan --version 2.2.1
               patchkit fix --version 2.2.1
    """
