"""The hooks, the lintrunner entry and the workflow steps that others copy, run as they stand."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from patchkit.demo import demo_tree_path

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGE = CHECKOUT / "tools"


@pytest.fixture
def environment(tmp_path):
    """A PATH on which `patchkit` is the code under test, and git knows a user."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    program = bin_folder / "patchkit"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{PACKAGE}" exec "{sys.executable}" -m patchkit "$@"\n')
    program.chmod(0o755)
    path = os.pathsep.join((str(bin_folder), str(Path(sys.executable).parent), os.environ["PATH"]))
    who = {f"GIT_{role}_{what}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return {**os.environ, **who, "PATH": path, "HOME": str(tmp_path), "PRE_COMMIT_HOME": str(tmp_path / "hooks-home")}


@pytest.fixture
def repository(tmp_path, environment):
    folder = tmp_path / "pytorch"
    shutil.copytree(demo_tree_path(), folder)
    commit_all(folder, environment)
    return folder


def commit_all(folder, environment):
    for arguments in (["init", "--quiet", "--initial-branch=main"], ["add", "--all"], ["commit", "--quiet", "-m", "x"]):
        subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True)


def tool(name):
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


# -- lintrunner


@pytest.fixture
def lintrunner(repository, environment):
    program = tool("lintrunner")
    shutil.copy(CHECKOUT / "ci" / "lintrunner.toml", repository / ".lintrunner.toml")

    def run(*arguments):
        command = [program, "--all-files", "--data-path", str(repository.parent / "data"), *arguments]
        return subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, timeout=120)

    return run


def test_lintrunner_reports_the_findings(lintrunner):
    done = lintrunner("--output", "json")
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    assert {one["code"] for one in messages} == {"PATCHKIT"}
    assert any(one["name"] == "MPS101 lost" for one in messages)
    assert done.returncode == 1


def test_lintrunner_applies_the_replacements_and_then_has_nothing_left_to_apply(lintrunner, repository):
    lintrunner("-a")
    changed = subprocess.run(
        ["git", "diff", "--name-only"], cwd=repository, capture_output=True, text=True, check=True
    ).stdout.split()
    assert "aten/src/ATen/native/mps/operations/PointwiseOps.mm" in changed
    left = [json.loads(line) for line in lintrunner("--output", "json").stdout.splitlines()]
    assert not [one for one in left if one["replacement"]]


# -- pre-commit


@pytest.fixture
def pre_commit(repository, environment, tmp_path):
    program = tool("pre-commit")
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    shutil.copy(CHECKOUT / ".pre-commit-hooks.yaml", hooks)
    commit_all(hooks, environment)
    revision = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=hooks, capture_output=True, text=True, check=True
    ).stdout.strip()

    def run(hook):
        # language: system takes patchkit from PATH instead of installing it from a registry
        config = {"repos": [{"repo": str(hooks), "rev": revision, "hooks": [{"id": hook, "language": "system"}]}]}
        (repository / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
        command = [program, "run", hook, "--all-files"]
        return subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, timeout=120)

    return run


def test_the_manifest_of_the_hooks_is_valid():
    done = subprocess.run(
        [tool("pre-commit"), "validate-manifest", str(CHECKOUT / ".pre-commit-hooks.yaml")], capture_output=True
    )
    assert done.returncode == 0


def test_the_hook_fails_on_findings_and_shows_them(pre_commit):
    done = pre_commit("patchkit-scan")
    assert done.returncode == 1
    assert "MPS101 lost" in done.stdout


def test_the_hook_for_changes_passes_where_the_change_introduces_nothing(pre_commit):
    done = pre_commit("patchkit-scan-diff")
    assert done.returncode == 0, done.stdout
    assert "Passed" in done.stdout


# -- the workflow


def test_the_workflow_s_commands_do_what_their_steps_say(repository, environment, tmp_path):
    steps = yaml.safe_load((CHECKOUT / "ci" / "github-step.yml").read_text(encoding="utf-8"))
    commands = [step["run"] for step in steps if "patchkit scan" in step.get("run", "")]
    base = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=repository, capture_output=True, text=True, check=True
    ).stdout.strip()
    summary = tmp_path / "summary.md"
    codes, printed = [], ""
    for command in commands:
        done = subprocess.run(
            ["bash", "-e", "-c", command],
            cwd=repository,
            env={**environment, "GITHUB_STEP_SUMMARY": str(summary), "BASE_SHA": base},
            capture_output=True,
            text=True,
            timeout=120,
        )
        codes.append(done.returncode)
        printed += done.stdout
    assert codes == [0] * len(commands) == [0, 0, 0]
    upload = next(step for step in steps if "upload-sarif" in step.get("uses", ""))
    log = json.loads((repository / upload["with"]["sarif_file"]).read_text())
    assert log["runs"][0]["results"]
    assert "| MPS101 lost |" in summary.read_text()
    assert "patchkit: 0 findings" in printed
