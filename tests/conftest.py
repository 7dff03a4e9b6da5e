"""Shared by all tests: the real PyTorch trees, their scans, and tables shown at the end of a run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from patchkit.source import resolve
from patchkit.source.tree import Tree, open_tree
from tree_kit import RELEASES, SUITES, Release

TABLES = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TABLES] = []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for table in config.stash[TABLES]:
        terminalreporter.write_line("")
        terminalreporter.write_line(table)


@pytest.fixture(scope="session")
def show_table(pytestconfig: pytest.Config) -> Callable[[str], None]:
    """Print a table when all tests have run, whatever their outcome."""
    return pytestconfig.stash[TABLES].append


@pytest.fixture(scope="session", params=RELEASES)
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Release:
    """Each real tree in turn, from the folder PATCHKIT_TREES: unpacked under ``src/``, or as Debian's archive."""
    version: str = request.param
    return Release(version, _real_tree(version, tmp_path_factory))


def _real_tree(version: str, tmp_path_factory: pytest.TempPathFactory) -> Tree:
    named = os.environ.get("PATCHKIT_TREES")
    if not named:
        pytest.skip("PATCHKIT_TREES names no folder with real PyTorch trees; see ci/fetch-debian-trees.sh")
    unpacked = Path(named, "src", version)
    if unpacked.is_dir():
        return open_tree(unpacked, version=version)
    archives = sorted(Path(named, SUITES[version]).glob("pytorch_*.orig.tar.*"))
    if not archives:
        pytest.skip(f"{named} holds neither src/{version} nor {SUITES[version]}/pytorch_*.orig.tar.*")
    with pytest.MonkeyPatch.context() as patch:
        if "PATCHKIT_CACHE" not in os.environ:
            patch.setenv("PATCHKIT_CACHE", str(tmp_path_factory.mktemp("trees")))
        return resolve(str(archives[0]))
