"""``patchkit checkout`` and the options that name a tree, as typed on a command line."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from source_kit import KERNEL, Upstream, write_tree

from patchkit.cli import run
from patchkit.cli.tree_options import tree_options
from patchkit.source import progress
from patchkit.source.locate import names_a_source


def test_only_the_path_is_printed_on_standard_output(upstream: Upstream, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["checkout", "2.2.1", "--remote", upstream.url]) == 0
    out, err = capsys.readouterr()
    assert (Path(out.removesuffix("\n")) / KERNEL).read_text() == "// the kernel of 2.2.1\n"
    assert err == f"torch 2.2.1, commit {upstream.revision('v2.2.1')[:12]}\n"


def test_the_path_is_absolute_whatever_was_typed(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["checkout", "2.2.1", "--remote", "upstream", "--into", "mine"]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/mine\n"


def test_quiet_says_nothing_else(upstream: Upstream, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["checkout", "2.2.1", "--remote", upstream.url, "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_a_repository_s_url_gives_its_default_branch(upstream: Upstream, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["checkout", upstream.url]) == 0
    assert (Path(capsys.readouterr().out.strip()) / KERNEL).read_text() == "// the kernel of main\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["9.9.9", "--remote", "upstream"], 2),
        (["2.2.1", "--remote", "nowhere"], 2),
        (["./missing"], 3),
        (["missing.tar.gz"], 3),
        (["./upstream", "--remote", "upstream"], 2),
        (["./upstream", "--into", "mine"], 2),
        ([], 2),
    ],
)
@pytest.mark.usefixtures("upstream")
def test_a_failure_is_one_sentence_and_a_code(
    arguments: list[str],
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["checkout", *arguments]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    assert not arguments or err.count("\n") == 1


@pytest.mark.parametrize(
    ("target", "is_source"),
    [
        ("2.2.1", False),
        ("main", False),
        ("release/2.2", False),
        ("./main", True),
        ("/somewhere", True),
        ("~/pytorch", True),
        ("pytorch-v2.2.1.tar.gz", True),
        ("https://example.org/pytorch.git", True),
        ("git@example.org:pytorch.git", True),
        ("tree", True),
        ("plain", False),
        ("torch-2.2.1", False),
        ("download", True),
    ],
)
def test_a_version_is_told_from_a_path(
    target: str, is_source: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("tree", "2.2.1", "torch-2.2.1"):
        write_tree(tmp_path / name)
    (tmp_path / "plain").mkdir()
    (tmp_path / "download").touch()
    assert names_a_source(target) == is_source


def test_a_command_with_tree_options_gets_what_resolve_takes() -> None:
    @click.command()
    @tree_options
    def command(target: str | None, version: str | None, source: str | None, remote: str | None) -> None:
        click.echo(f"{target} {version} {source} {remote}")

    runner = CliRunner()
    assert runner.invoke(command, ["tree"]).output == "tree None None None\n"
    assert runner.invoke(command, ["--version", "2.2.1", "--remote", "r"]).output == "None 2.2.1 None r\n"
    assert runner.invoke(command, ["--source", "s.zip"]).output == "None None s.zip None\n"


def test_progress_appears_on_a_terminal_after_a_second_and_not_before(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress.Meter() as meter:
        meter.step("short")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "_DELAY_SECONDS", 0.05)
    seen, deadline = "", time.monotonic() + 20
    with progress.Meter() as meter:
        meter.step("a long step", 1, 2)
        while "a long step" not in seen and time.monotonic() < deadline:
            time.sleep(0.05)
            seen += capsys.readouterr().err
    assert "a long step" in seen
    assert "50%" in seen


def test_there_is_no_progress_where_standard_error_is_not_a_terminal(
    upstream: Upstream, start_patchkit: Callable[..., subprocess.Popen[str]]
) -> None:
    process = start_patchkit("checkout", "2.2.1", "--remote", upstream.url)
    _, err = process.communicate(timeout=60)
    assert err.count("\n") == 1
    assert "\x1b" not in err
