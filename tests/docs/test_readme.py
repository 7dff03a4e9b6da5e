"""The README: every command line in it is run, and what it shows is what patchkit prints."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from patchkit import __version__
from patchkit.cli.group import COMMANDS
from patchkit.demo import demo_tree_path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "ci"))

from readme_commands import commands  # noqa: E402
from update_readme import TRANSCRIPT, block, releases_table, transcript  # noqa: E402

README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
RELEASE = "2.2.1"
LINES = commands(README)
(DEMO,) = [line for line in LINES if line.endswith("patchkit demo")]
(SUITE,) = [line for line in LINES if "pytest" in line]
FOR_A_RELEASE = [line for line in LINES if RELEASE in line]


def subcommand_lines(text: str) -> list[list[str]]:
    """Return the arguments of each patchkit command line in the code of a Markdown text."""
    code = "\n".join([*re.findall(r"^```\w+\n(.*?)^```$", text, re.M | re.S), *re.findall(r"`([^`\n]+)`", text)])
    found = re.findall(r"(?:^|[\s/;])patchkit ([a-z]+(?: [^\n;|&>]+)?)", code, re.M)
    return [shlex.split(arguments) for arguments in found]


def bash(line: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    for name in ("VIRTUAL_ENV", "PYTHONPATH", "PATCHKIT_TREES"):
        environment.pop(name, None)
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


def run_for_a_release(folder: Path, **variables: str) -> None:
    """Run the README's lines for a real release in order and check that they end with a patched tree."""
    program = folder / ".venv" / "bin" / "patchkit"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{CHECKOUT / "tools"}" exec "{sys.executable}" -m patchkit "$@"\n')
    program.chmod(0o755)
    codes = {"scan": {1}, "fix": {0, 1}, "checkout": {0}, "apply": {0}}
    for line in FOR_A_RELEASE:
        done = bash(line, folder, PATCHKIT_CACHE=str(folder / "cache"), **variables)
        assert done.returncode in codes[shlex.split(line)[1]], (line, done.stdout, done.stderr)
    before = bash(f".venv/bin/patchkit apply patchkit-out/{RELEASE} pytorch-{RELEASE} --check", folder)
    assert "already applied" in before.stdout


def test_every_command_line_is_run_by_a_test():
    assert sorted([DEMO, SUITE, *FOR_A_RELEASE]) == sorted(LINES)
    assert [shlex.split(line)[1] for line in FOR_A_RELEASE] == ["scan", "fix", "checkout", "apply"]


def test_every_command_shown_exists_with_its_options():
    shown = subcommand_lines(README)
    assert len(shown) > len(COMMANDS)
    for name, *arguments in shown:
        command = importlib.import_module(f"patchkit.cli.{name}").command
        context = click.Context(command)
        known = {option for parameter in command.get_params(context) for option in parameter.opts}
        used = {argument.partition("=")[0] for argument in arguments if argument.startswith("-")}
        assert used <= known, f"patchkit {name} has no {used - known}"


def test_the_table_has_a_row_for_every_command():
    rows = re.findall(r"^\| `patchkit ([a-z]+)", README, re.M)
    assert sorted(rows) == sorted(COMMANDS)


def test_the_options_in_the_table_are_the_command_s():
    for row in re.findall(r"^\| `patchkit .*$", README, re.M):
        name = re.match(r"\| `patchkit ([a-z]+)", row)[1]
        command = importlib.import_module(f"patchkit.cli.{name}").command
        known = {option for parameter in command.params for option in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", row)) <= known


def test_links_to_files_of_the_checkout_lead_somewhere():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (CHECKOUT / target).exists(), target
    for path in re.findall(r"`((?:ci|tests|tools|templates|patches)/[\w./-]+)`", README):
        assert (CHECKOUT / path).exists(), path


def test_the_transcript_is_what_patchkit_prints():
    """Written again by ``python ci/update_readme.py``."""
    assert timeless(block(README, "transcript")) == timeless(transcript())


def test_the_transcript_goes_from_a_finding_to_a_clean_scan():
    shown = block(README, "transcript")
    for command in TRANSCRIPT:
        assert f"$ {command}\n" in shown
    assert "MPS101 lost" in shown.partition("$ patchkit fix")[0]
    assert re.search(r"^0 findings; ", shown.rpartition("$ patchkit scan tree\n")[2], re.M)


def test_the_lines_for_a_release_end_with_a_patched_tree(tmp_path):
    """With the miniature tree as the release, served by a repository on this machine."""
    upstream = tmp_path / "upstream"
    shutil.copytree(demo_tree_path(), upstream)
    who = "-c user.name=Test -c user.email=test@example.org"
    done = bash(f"git init -q && git add -A && git {who} commit -q -m x && git tag v{RELEASE}", upstream)
    assert done.returncode == 0, done.stderr
    bash("git config uploadpack.allowFilter true && git config uploadpack.allowAnySHA1InWant true", upstream)
    (tmp_path / "user").mkdir()
    run_for_a_release(tmp_path / "user", PATCHKIT_REMOTE=upstream.as_uri())


@pytest.mark.network
def test_the_lines_for_a_release_work_with_pytorch_s_repository(tmp_path):
    from patchkit.source.remote import PYTORCH

    if bash(f"timeout 60 git ls-remote {PYTORCH} refs/tags/v{RELEASE}", tmp_path).returncode:
        pytest.skip("PyTorch's repository cannot be reached")
    run_for_a_release(tmp_path)


@pytest.mark.network
def test_the_first_line_installs_patchkit_and_shows_the_demo(copy, environment):
    done = bash(DEMO, copy, **environment)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^0 findings; ", done.stdout, re.M)


@pytest.mark.network
def test_the_second_line_installs_the_tests_and_runs_them(copy, environment):
    # the whole suite is what ci/readme-tests.sh runs with this very line; here one test shows that it gets there
    done = bash(SUITE, copy, **environment, PYTEST_ADDOPTS="-k test_the_version_is_the_packages")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\b1 passed", done.stdout)


@pytest.mark.real_tree
def test_the_numbers_of_the_releases_are_what_a_scan_finds():
    """Written again by ``PATCHKIT_TREES=... python ci/update_readme.py``."""
    trees = Path(os.environ.get("PATCHKIT_TREES", ""))
    if "PATCHKIT_TREES" not in os.environ or not (trees / "src").is_dir():
        pytest.skip("PATCHKIT_TREES has no unpacked trees")
    assert block(README, "releases") == releases_table(trees)


@pytest.fixture
def copy(tmp_path):
    """The checkout as a clone would have it, without what git does not keep."""
    ignored = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache", ".hypothesis", "dist", "build")
    return shutil.copytree(CHECKOUT, tmp_path / "clone", ignore=ignored)


@pytest.fixture
def environment(tmp_path):
    """Settings of a fresh machine, whose python3 is the one that runs the tests."""
    (tmp_path / "home").mkdir()
    path = os.pathsep.join((str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"))
    return {"HOME": str(tmp_path / "home"), "PATH": path, "PATCHKIT_CACHE": str(tmp_path / "cache")}


def timeless(text: str) -> str:
    return re.sub(r"\bin \d+\.\d s\b", "in 0.0 s", text.replace(__version__, "VERSION"))
