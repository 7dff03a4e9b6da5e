"""The help: what exists is listed, each command shows an example, and none of it loads the heavy parts."""

from __future__ import annotations

import importlib
import subprocess
import sys

import click
import pytest

from patchkit import __version__
from patchkit.cli import run
from patchkit.cli.group import COMMANDS


def test_every_listed_command_exists():
    for name in COMMANDS:
        command = importlib.import_module(f"patchkit.cli.{name}").command
        assert isinstance(command, click.Command)


def test_the_help_lists_every_command(capsys):
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    for name, summary in COMMANDS.items():
        assert name in shown
        assert summary.split()[0] in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_shows_an_example_and_its_options(capsys, name):
    assert run([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"  patchkit {name}" in shown
    assert "--help" in shown


def test_the_short_option_works_everywhere(capsys):
    assert run(["scan", "-h"]) == 0
    assert "Usage: patchkit scan" in capsys.readouterr().out


def test_the_version_is_the_packages(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"patchkit {__version__}\n"


def test_the_help_imports_none_of_the_heavy_parts():
    script = (
        "import sys; from patchkit.cli import run; run(['--help']);"
        "print(sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    for heavy in ("rich", "jinja2", "git", "tree_sitter", "yaml", "filelock", "tempfile"):
        assert f"'{heavy}'" not in done.stderr
