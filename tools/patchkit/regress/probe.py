"""Asks an interpreter what torch it has, and whether a device computes: ``is_available()`` lies on virtual
machines."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from patchkit.errors import DeviceError, EnvironmentBuildError, NoDeviceError
from patchkit.regress.execute import Settings, clean_environment

OK, ABSENT, BROKEN = "ok", "absent", "broken"
DEVICES = ("mps", "cuda", "cpu")
LIMIT = 180.0

FACTS = """
import json, platform, sys
import torch
facts = {
    "torch": torch.__version__,
    "git_version": getattr(torch.version, "git_version", None) or "unknown",
    "python": platform.python_version(),
    "os": platform.platform(),
    "macos": platform.mac_ver()[0],
    "machine": platform.machine(),
    "chip": platform.processor() or platform.machine(),
}
try:
    import numpy
    facts["numpy"] = numpy.__version__
except ImportError:
    facts["numpy"] = "none"
try:
    if sys.platform == "darwin":
        import subprocess
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        facts["chip"] = subprocess.check_output(command, text=True).strip()
    else:
        with open("/proc/cpuinfo") as lines:
            facts["chip"] = next(l.split(":", 1)[1].strip() for l in lines if l.startswith("model name"))
except Exception:
    pass
print("PATCHKIT " + json.dumps(facts))
"""

COMPUTES = """
import sys
import torch
device = sys.argv[1]
if device == "mps":
    backend = getattr(torch.backends, "mps", None)
    if backend is None or not backend.is_available():
        print("PATCHKIT absent this torch and machine have no MPS"); raise SystemExit
elif device == "cuda":
    if not torch.cuda.is_available():
        print("PATCHKIT absent this torch and machine have no CUDA GPU"); raise SystemExit
x = torch.arange(4096, dtype=torch.float32).reshape(64, 64) / 4096
y = x.to(device)
pairs = [((y @ y).cpu(), x @ x), ((y + 1).sum(0).cpu(), (x + 1).sum(0))]
pairs.append((y.t().contiguous().cpu(), x.t().contiguous()))
for got, want in pairs:
    if not torch.allclose(got, want, rtol=1e-3, atol=1e-4):
        print("PATCHKIT broken it computes other values than the CPU"); raise SystemExit
name = torch.cuda.get_device_name(0) if device == "cuda" else ""
print("PATCHKIT ok " + name)
"""


@dataclass(frozen=True)
class DeviceState:
    """Whether a device computes: ``ok``, ``absent`` or ``broken``, and the evidence."""

    device: str
    state: str
    evidence: str


def read_facts(settings: Settings) -> Mapping[str, Any]:
    """Return version, platform and chip of the torch behind ``settings.python``.

    Raises:
        EnvironmentBuildError: that interpreter cannot import torch.
    """
    code, output = _ask(settings, FACTS)
    line = _answer(output)
    if line is None:
        said = output.strip().splitlines()
        raise EnvironmentBuildError(
            f"{settings.python} cannot import torch: {said[-1] if said else f'exit code {code}'}"
        )
    facts: dict[str, Any] = json.loads(line)
    return facts


def probe(settings: Settings, device: str) -> DeviceState:
    """Compute on the device in a process of its own and compare with the CPU."""
    try:
        code, output = _ask(settings, COMPUTES, device)
    except subprocess.TimeoutExpired:
        return DeviceState(device, BROKEN, f"it did not answer within {LIMIT:g} s")
    line = _answer(output)
    if line is None:
        said = output.strip().splitlines()
        return DeviceState(device, BROKEN, said[-1] if said else f"the process died with exit code {code}")
    state, _, evidence = line.partition(" ")
    return DeviceState(device, state, evidence.strip())


def choose_device(settings: Settings, wanted: str) -> DeviceState:
    """Return the device to test: the wanted one, or with ``auto`` the first that computes.

    Raises:
        NoDeviceError: the wanted device is absent.
        DeviceError: it is broken, or no device computes.
    """
    if wanted != "auto":
        state = probe(settings, wanted)
        if state.state == ABSENT:
            raise NoDeviceError(f"device {wanted} is absent: {state.evidence}.")
        if state.state != OK:
            raise DeviceError(f"device {wanted} is broken: {state.evidence or 'no reason given'}.")
        return state
    for device in DEVICES:
        state = probe(settings, device)
        if state.state == OK:
            return state
    raise DeviceError(f"no device computes; cpu: {state.evidence or state.state}.")


def gone(settings: Settings) -> str:
    """Return a sentence if the device of ``settings`` no longer computes, else nothing."""
    state = probe(settings, settings.device)
    if state.state == OK:
        return ""
    return f"device {settings.device} stopped working during the run ({state.state}: {state.evidence})"


def _ask(settings: Settings, script: str, *arguments: str) -> tuple[int, str]:
    plain = replace(settings, simulate="", benchmark=False)
    with tempfile.TemporaryDirectory() as empty:  # no file of the user's shadows a module
        done = subprocess.run(
            [str(settings.python), "-c", script, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=clean_environment(plain),
            cwd=empty,
            timeout=LIMIT,
            check=False,
        )
    return done.returncode, done.stdout.decode("utf-8", "replace")


def _answer(output: str) -> str | None:
    for line in output.splitlines():
        if line.startswith("PATCHKIT "):
            return line.removeprefix("PATCHKIT ")
    return None
