"""``patchkit test`` end to end on small suites, with a stand-in for torch: exit codes, reports, the
matrix."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from patchkit.cli.test import command
from patchkit.errors import DeviceError, NothingRanError, UsageError
from patchkit.regress import command as steps
from patchkit.regress import session
from patchkit.regress.command import Reports, Request, run
from patchkit.regress.probe import DeviceState
from patchkit.resources import reproducers_dir

FACTS = {
    "torch": "2.13.0",
    "git_version": "abc",
    "numpy": "2.4",
    "python": "3.11",
    "os": "Linux",
    "macos": "",
    "chip": "x",
}
TORCH = """
def set_num_threads(n): pass
def manual_seed(n): pass
def device(name): return name
"""
FAULTS = """
class FaultyBackend:
    active = False
    def __init__(self, fault, ops): self.hits = {}
    def __enter__(self): FaultyBackend.active = True; return self
    def __exit__(self, *exception): FaultyBackend.active = False
"""
HEAD = """
from repro.faults import FaultyBackend
import os
REPRODUCER = {"group": "mps_outputs", "title": "t", "ops": ["x"], "references": [], "broken": "never",
              "fixed": "never", "macos": "all", "faults": ["lost"]}
"""


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite of pages that the test writes, run with a torch that is none, on a device that is always
    there."""
    real, folder = reproducers_dir(), tmp_path / "suite"
    (folder / "repro").mkdir(parents=True)
    (folder / "mps_outputs").mkdir()
    for name in ("conftest.py", "pytest.ini", "repro/__init__.py", "repro/record.py"):
        shutil.copy(real / name, folder / name)
    (folder / "repro" / "faults.py").write_text(FAULTS)
    (folder / "torch.py").write_text(TORCH)
    (folder / "expected.json").write_text('{"failures": []}')

    def facts(settings: object) -> Mapping[str, Any]:
        return FACTS

    def device(settings: object, wanted: str) -> DeviceState:
        return DeviceState("cpu", "ok", "")

    monkeypatch.setattr(steps, "reproducers_dir", lambda: folder)
    monkeypatch.setattr(session, "read_facts", facts)
    monkeypatch.setattr(session, "choose_device", device)
    monkeypatch.setattr(session, "gone", lambda settings: "")
    return folder


def write_page(suite: Path, body: str, name: str = "test_page") -> None:
    (suite / "mps_outputs" / f"{name}.py").write_text(HEAD + body)


def go(reports: Reports | None = None, **options: Any) -> int:
    return run(Request(python=Path(sys.executable), **options), reports or Reports())


def test_all_passed_is_0(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_page(suite, "def test_it(): pass\n")
    assert go() == 0
    assert "1 passed, 0 failed" in capsys.readouterr().out


def test_a_failure_is_1_and_every_report_has_it(suite: Path, tmp_path: Path) -> None:
    write_page(suite, "def test_it(): assert 1 == 2\n")
    files = [tmp_path / name for name in ("r.json", "r.xml", "r.md", "r.html")]
    assert go(Reports(*files)) == 1
    for file in files:
        assert "1 == 2" in file.read_text()


def test_a_crash_is_1(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_page(suite, "def test_it(): os.abort()\n")
    assert go() == 1
    assert "SIGABRT" in capsys.readouterr().out


def test_nothing_executed_is_3(suite: Path) -> None:
    write_page(suite, "import pytest\ndef test_it(): pytest.skip('not here')\n")
    with pytest.raises(NothingRanError, match="not here"):
        go()


def test_a_device_that_vanishes_is_said_and_the_reports_are_kept(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "gone", lambda settings: "device cpu stopped working")
    write_page(suite, "def test_it(): os.abort()\n", "test_a")
    write_page(suite, "def test_it(): pass\n", "test_b")
    with pytest.raises(DeviceError, match="stopped working"):
        go(Reports(json=tmp_path / "r.json"))
    (report,) = json.loads((tmp_path / "r.json").read_text())["runs"]
    assert (report["stopped"], len(report["reproducers"])) == ("device cpu stopped working", 1)


def test_a_simulated_fault_that_every_case_notices_is_0(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_page(suite, "def test_it(): assert not FaultyBackend.active\n")
    assert go(simulate="lost") == 0
    assert "1 of 1 mutants killed (100.0%)" in capsys.readouterr().out


def test_a_simulated_fault_that_a_case_misses_is_1(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_page(suite, "def test_it(): pass\n")
    assert go(simulate="lost") == 1
    assert "survivor under lost: mps_outputs/test_page.py::test_it" in capsys.readouterr().out


def test_a_baseline_is_compared_case_by_case(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_page(suite, "def test_it(): pass\n")
    assert go(baseline=sys.executable) == 0
    assert "unchanged" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"simulate": "nonsense"}, "there is no fault nonsense; there are lost"),
        ({"simulate": "lost", "baseline": "2.2.1"}, "has no --baseline"),
        ({"groups": ("nonsense",)}, "there is no group nonsense"),
        ({"wheel": Path("x.whl")}, "give one of --wheel, --torch and --python"),
        ({"force_pre15": True}, "works on a Mac only|is for torch 2.5 to 2.14|needs the mps device"),
    ],
)
def test_wrong_usage_is_one_sentence(suite: Path, options: dict[str, Any], sentence: str) -> None:
    write_page(suite, "def test_it(): pass\n")
    with pytest.raises(UsageError, match=sentence):
        go(**options)


def test_nothing_to_test_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="give one of --wheel, --torch and --python"):
        run(Request(), Reports())


def test_help_has_an_example() -> None:
    result = CliRunner().invoke(command, ["--help"])
    assert result.exit_code == 0
    assert "patchkit test --wheel" in result.output


def test_a_terminated_run_removes_its_folders(suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    write_page(suite, "import time\ndef test_it(): time.sleep(60)\n")
    threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
    with pytest.raises(SystemExit) as left:
        go()
    assert left.value.code == 128 + signal.SIGTERM
    assert list(temporary.iterdir()) == []
