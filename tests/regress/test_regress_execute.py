"""A process per reproducer: crashes, hangs and broken pages cost one case, and nothing is lost or reported
twice.

The interpreter that runs these tests has no torch; a stand-in gives the suite's own conftest what it calls.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from patchkit.regress.execute import Settings, clean_environment, run_all, run_reproducer
from patchkit.regress.reproducers import Reproducer, read_reproducer
from patchkit.regress.results import CRASHED, ERROR, FAILED, PASSED, SKIPPED, TIMEOUT, Outcome
from patchkit.resources import reproducers_dir

HEAD = """
REPRODUCER = {"group": "training", "title": "t", "ops": [], "references": [], "broken": "never",
              "fixed": "never", "macos": "all"}
"""
TORCH = """
def set_num_threads(n): pass
def manual_seed(n): pass
def device(name): return name
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """The real conftest and settings around pages that the test writes."""
    real = reproducers_dir()
    folder = tmp_path / "suite"
    (folder / "repro").mkdir(parents=True)
    for name in ("conftest.py", "pytest.ini", "repro/__init__.py", "repro/record.py"):
        shutil.copy(real / name, folder / name)
    (tmp_path / "stand-in").mkdir()
    (tmp_path / "stand-in" / "torch.py").write_text(TORCH)
    return folder


def page(suite: Path, body: str, name: str = "test_page") -> Reproducer:
    path = suite / "training" / f"{name}.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(HEAD + textwrap.dedent(body))
    return read_reproducer(path, suite)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(python=Path(sys.executable), timeout=20, path=(tmp_path / "stand-in",))


def statuses(outcome: Outcome) -> dict[str, str]:
    return {case.name.split("::")[-1]: case.status for case in outcome.cases}


def test_every_case_gets_its_own_result(suite: Path, settings: Settings) -> None:
    body = """
        import pytest
        def test_good(): pass
        def test_bad(): assert 1 == 2
        def test_left_out(): pytest.skip("no reason needed")
    """
    outcome = run_reproducer(page(suite, body), suite, settings)
    assert statuses(outcome) == {"test_good": PASSED, "test_bad": FAILED, "test_left_out": SKIPPED}
    assert outcome.cases[1].message == "assert 1 == 2"
    assert outcome.cases[2].message == "no reason needed"
    assert outcome.status == FAILED


def test_an_abort_is_one_failed_case_with_its_log_and_the_rest_still_runs(suite: Path, settings: Settings) -> None:
    body = """
        import os, sys
        def test_before(): pass
        def test_aborts():
            sys.stderr.write("failed assertion: no such buffer\\n"); sys.stderr.flush()
            os.abort()
        def test_after(): pass
    """
    outcome = run_reproducer(page(suite, body), suite, settings)
    assert statuses(outcome) == {"test_before": PASSED, "test_aborts": CRASHED, "test_after": PASSED}
    crash = outcome.cases[1]
    assert "SIGABRT" in crash.message
    assert "Fatal Python error: Aborted" in crash.log


def test_two_aborts_are_two_cases(suite: Path, settings: Settings) -> None:
    body = """
        import os
        def test_one(): os.abort()
        def test_two(): os._exit(7)
        def test_three(): pass
    """
    outcome = run_reproducer(page(suite, body), suite, settings)
    assert statuses(outcome) == {"test_one": CRASHED, "test_two": CRASHED, "test_three": PASSED}
    assert "exit code 7" in outcome.cases[1].message


def test_a_hang_ends_at_the_time_limit_and_the_rest_still_runs(suite: Path, settings: Settings) -> None:
    body = """
        import time
        def test_hangs(): time.sleep(600)
        def test_after(): pass
    """
    outcome = run_reproducer(page(suite, body), suite, replace(settings, timeout=0.5))
    assert statuses(outcome) == {"test_hangs": TIMEOUT, "test_after": PASSED}
    assert "0.5 s" in outcome.cases[0].message


def test_a_page_that_cannot_be_imported_is_an_error_with_the_traceback(suite: Path, settings: Settings) -> None:
    outcome = run_reproducer(page(suite, "import no_such_module\n"), suite, settings)
    assert [case.status for case in outcome.cases] == [ERROR]
    assert "no_such_module" in outcome.cases[0].log


def test_a_failing_teardown_is_not_lost(suite: Path, settings: Settings) -> None:
    body = """
        import pytest
        @pytest.fixture
        def thing():
            yield
            raise RuntimeError("left behind")
        def test_it(thing): pass
    """
    outcome = run_reproducer(page(suite, body), suite, settings)
    assert statuses(outcome) == {"test_it": PASSED, "test_it (teardown)": ERROR}


def test_what_a_test_records_and_its_marks_reach_the_result(suite: Path, settings: Settings) -> None:
    body = """
        import pytest
        from repro import record
        @pytest.mark.control
        def test_control(): record.fact("count", 3)
        @pytest.mark.survives("lost", "cannot be seen")
        def test_other(): record.verdict("ok"); record.verdict("lost"); record.verdict("garbage")
    """
    control, other = run_reproducer(page(suite, body), suite, settings).cases
    assert (control.control, dict(control.facts)) == (True, {"count": 3})
    assert (other.verdict, dict(other.survives)) == ("lost", {"lost": "cannot be seen"})


def test_the_environment_leaves_out_what_would_change_the_test(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    for name in ("PYTORCH_ENABLE_MPS_FALLBACK", "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PATCHKIT_SIMULATE"):
        monkeypatch.setenv(name, "1")
    environment = clean_environment(replace(settings, path=()))
    assert "PYTORCH_ENABLE_MPS_FALLBACK" not in environment
    assert "PYTEST_ADDOPTS" not in environment
    assert "PYTHONPATH" not in environment
    assert environment["PATCHKIT_SIMULATE"] == ""
    assert environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] == "1"


def test_a_device_that_vanishes_ends_the_run_with_what_was_found(suite: Path, settings: Settings) -> None:
    pages = [
        page(suite, "import os\ndef test_it(): os.abort()\n", "test_first"),
        page(suite, "def test_it(): pass\n", "test_second"),
    ]
    outcomes, stopped = run_all(pages, suite, settings, still_there=lambda: "device mps stopped working")
    assert [outcome.reproducer for outcome in outcomes] == ["training/test_first"]
    assert stopped == "device mps stopped working"


def test_outcomes_keep_the_order_of_the_pages_when_several_run_at_a_time(suite: Path, settings: Settings) -> None:
    slow = page(suite, "import time\ndef test_it(): time.sleep(0.3)\n", "test_slow")
    quick = page(suite, "def test_it(): pass\n", "test_quick")
    outcomes, _ = run_all([slow, quick], suite, settings, jobs=2)
    assert [outcome.reproducer for outcome in outcomes] == ["training/test_slow", "training/test_quick"]
