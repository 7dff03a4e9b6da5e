"""The files around the package say the same as the package, and CI's steps are the scripts that run alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from patchkit import __version__

CHECKOUT = Path(__file__).resolve().parents[2]
SCRIPTS = [*sorted((CHECKOUT / "ci").glob("*.sh")), CHECKOUT / ".ci" / "run"]
CASE = '<testsuites><testsuite><testcase name="a">{}</testcase></testsuite></testsuites>'


def text(name: str) -> str:
    return (CHECKOUT / name).read_text(encoding="utf-8")


def require_tests(folder: Path, report: str, *arguments: str) -> int:
    (folder / "report.xml").write_text(report)
    command = [sys.executable, str(CHECKOUT / "ci" / "require_tests.py"), str(folder / "report.xml"), *arguments]
    return subprocess.run(command, capture_output=True).returncode


def test_the_citation_names_this_version():
    cited = yaml.safe_load(text("CITATION.cff"))
    assert (cited["version"], cited["license"]) == (__version__, "BSD-3-Clause")
    assert cited["authors"] == [{"name": "patchkit contributors"}]


def test_the_license_names_its_holder():
    assert "patchkit contributors" in text("LICENSE")


def test_the_changelog_has_a_section_for_what_is_not_released_yet():
    assert "## [Unreleased]" in text("CHANGELOG.md")


def test_pre_commit_runs_the_linters_that_ci_runs():
    (local,) = yaml.safe_load(text(".pre-commit-config.yaml"))["repos"]
    in_ci = re.findall(r"^check (.*)$", text("ci/lint.sh"), re.M)
    assert [line.partition(" .ci")[0] for line in in_ci] == [hook["entry"] for hook in local["hooks"]]


def test_every_step_of_ci_is_a_script_that_can_be_run():
    steps = re.findall(r'\bstep "[^"]+" (\S+)', text(".ci/run"))
    assert {"ci/lint.sh", "ci/readme-tests.sh", "ci/real-tree-tests.sh", "ci/smoke-wheel.sh"} <= set(steps)
    for step in steps:
        assert os.access(CHECKOUT / step, os.X_OK), step


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_says_how_it_is_called_and_stops_at_the_first_failure(script):
    lines = script.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "#!/usr/bin/env bash"
    assert f"#   {script.relative_to(CHECKOUT)}" in "\n".join(lines[:8])
    assert "set -euo pipefail" in lines
    assert os.access(script, os.X_OK)


def test_a_run_in_which_every_test_was_skipped_fails(tmp_path):
    assert require_tests(tmp_path, CASE.format("")) == 0
    assert require_tests(tmp_path, CASE.format('<skipped message="no tree"/>')) == 1
    assert require_tests(tmp_path, "<testsuites><testsuite/></testsuites>") == 1


def test_a_skip_that_must_not_be_fails(tmp_path):
    report = CASE.format("").replace(
        "</testsuite>", '<testcase name="b"><skipped message="PATCHKIT_TREES is not set"/></testcase></testsuite>', 1
    )
    assert require_tests(tmp_path, report) == 0
    assert require_tests(tmp_path, report, "--no-skip", "PATCHKIT_TREES") == 1


def test_no_file_of_the_project_names_a_folder_of_one_machine():
    kept = [CHECKOUT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "pyproject.toml")]
    for path in (*kept, *SCRIPTS):
        assert not re.search(r"/(work|root|home)/", path.read_text(encoding="utf-8")), path
