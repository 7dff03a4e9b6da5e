"""Fixtures of the source tests: a miniature upstream, and a cache and git settings of the test's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from source_kit import KERNEL, Upstream, shell_git


@pytest.fixture(autouse=True)
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the cache and git's settings of whoever runs the tests out of them; return the settings file."""
    settings = tmp_path / "gitconfig"
    settings.write_text(
        "[user]\n\tname = Test\n\temail = test@example.org\n"
        "[init]\n\tdefaultBranch = main\n[uploadpack]\n\tallowFilter = true\n"
    )
    for name in [name for name in os.environ if name.startswith(("GIT_", "PATCHKIT_"))]:
        if name != "PATCHKIT_TREES":
            monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("PATCHKIT_CACHE", str(tmp_path / "cache"))
    return settings


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the upstream that every test gets a copy of."""
    return tmp_path_factory.mktemp("made-once") / "upstream"


@pytest.fixture
def upstream(made_once: Path, tmp_path: Path, own_settings: Path) -> Upstream:
    if not made_once.exists():
        make_upstream(made_once)
    return Upstream(shutil.copytree(made_once, tmp_path / "upstream"))


def make_upstream(folder: Path) -> None:
    folder.mkdir()
    shell_git(folder, "init", "--quiet")
    made = Upstream(folder)
    made.commit({"version.txt": "2.1.0a0\n"}, "2.1")
    shell_git(folder, "tag", "v2.1.0")
    made.commit({"version.txt": "2.2.0a0\n"}, "2.2")
    shell_git(folder, "tag", "v2.2.0")
    made.commit({KERNEL: "// the kernel of 2.2.1\n"}, "2.2.1")
    shell_git(folder, "tag", "-a", "-m", "2.2.1", "v2.2.1")
    shell_git(folder, "tag", "v2.3.0-rc1")
    made.commit({"version.txt": "2.3.0a0\n", KERNEL: "// the kernel of main\n"}, "ahead")


@pytest.fixture
def start_patchkit(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the command line in a process group of its own; what still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, **variables: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "patchkit", *arguments],
            env={**os.environ, **variables, "PYTHONPATH": os.pathsep.join(sys.path)},
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, 9)
        process.communicate()
