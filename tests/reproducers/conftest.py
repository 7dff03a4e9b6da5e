"""The regression suite's own pytest set-up: device, fault injector, and a log that survives a crash.

Run it on any installed torch: ``pytest tests/reproducers --device mps``. ``patchkit test`` does the same
    in an
isolated environment, one process for each reproducer, and makes the reports.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

try:
    import torch
except ImportError:
    torch = None
    collect_ignore_glob = ["*"]

if torch is not None:
    sys.path.insert(0, str(Path(__file__).parent))
    from repro import record

CONTROL = "control: has to pass with a faulty backend too (a contiguous output, or a known cure)"
SURVIVES = "survives(fault, why): the named fault cannot be seen in this case, for a stated reason"


def pytest_addoption(parser):
    group = parser.getgroup("reproducers")
    group.addoption("--device", default=None, help="mps, cuda or cpu (default: PATCHKIT_DEVICE, or cpu)")
    group.addoption("--simulate", default=None, metavar="FAULT", help="give CPU tensors a backend's fault")
    group.addoption("--benchmark", action="store_true", default=None, help="also run what measures time")


def pytest_configure(config):
    config.addinivalue_line("markers", CONTROL)
    config.addinivalue_line("markers", SURVIVES)
    if torch is not None and os.environ.get("PATCHKIT_FORCE_PRE15"):
        from repro.force_pre15 import force_pre15

        if not force_pre15():
            raise pytest.UsageError("this torch did not take the macOS < 15 path: nothing was tested")
    config.addinivalue_line("markers", "benchmark: measures time; runs with --benchmark only")


def setting(config, name):
    """An option of the suite: from the command line, else from the environment."""
    return config.getoption("--" + name, default=None) or os.environ.get("PATCHKIT_" + name.upper())


@pytest.fixture(scope="session")
def device(request):
    """The device under test."""
    return torch.device(setting(request.config, "device") or "cpu")


@pytest.fixture(autouse=True)
def one_thread_and_a_seed():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    record.start()


@pytest.fixture(autouse=True)
def backend(request, one_thread_and_a_seed):
    """The faulty backend for the page's own operators, when one is simulated; its hits are recorded."""
    fault = setting(request.config, "simulate")
    page = getattr(request.module, "REPRODUCER", {})
    if not fault or (fault != "fixed" and fault not in page.get("faults", ())) or not page.get("faults"):
        yield None
        return
    from repro.faults import FaultyBackend

    with FaultyBackend(fault, page.get("fault_ops", page["ops"])) as mode:
        record.fact("hits", mode.hits)
        yield mode


def pytest_collection_modifyitems(config, items):
    if not setting(config, "benchmark"):
        for item in items:
            if item.get_closest_marker("benchmark"):
                item.add_marker(pytest.mark.skip(reason="measures time: give --benchmark"))
    done = os.environ.get("PATCHKIT_DONE")
    if done:
        finished = set(json.loads(Path(done).read_text(encoding="utf-8")))
        config.hook.pytest_deselected(items=[i for i in items if i.nodeid in finished])
        items[:] = [i for i in items if i.nodeid not in finished]
    log("collected", nodeids=[i.nodeid for i in items])


def log(event, **facts):
    """Append one line to the runner's log at once, so that it is there after an abort."""
    path = os.environ.get("PATCHKIT_LOG")
    if path:
        with open(path, "a", encoding="utf-8") as out:  # noqa: PTH123
            out.write(json.dumps(dict(facts, event=event, time=time.time())) + "\n")


def pytest_runtest_logstart(nodeid, location):
    log("start", nodeid=nodeid)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.when == "call" or (report.when == "setup" and not report.passed) or report.failed:
        survives = [m.args for m in item.iter_markers("survives")]
        log(
            "finish",
            nodeid=item.nodeid,
            when=report.when,
            outcome=report.outcome,
            seconds=report.duration,
            message=_message(report),
            log=report.longreprtext if report.failed else "",
            facts=record.facts() if torch is not None else {},
            control=item.get_closest_marker("control") is not None,
            survives=[list(args) for args in survives],
        )


def _message(report):
    if report.skipped and isinstance(report.longrepr, tuple):
        return report.longrepr[2]
    crash = getattr(report.longrepr, "reprcrash", None)
    return crash.message if crash is not None else ""
