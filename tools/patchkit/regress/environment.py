"""Makes an isolated environment for the torch under test, and removes it; the user's own is never written
to."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from patchkit.errors import EnvironmentBuildError, UsageError, WheelError
from patchkit.regress.execute import Settings, clean_environment
from patchkit.regress.wheels import Wheel, find_python, read_wheel

# The first release built against NumPy 2 (its release notes; pytorch 2.3 .ci/wheel): older ones need NumPy 1.
FIRST_WITH_NUMPY_2 = "2.3"
SLACK = 1 << 30
MISSING = "no module named pytest"


@dataclass(frozen=True)
class Place:
    """An interpreter with torch and pytest.

    Args:
        label: how reports name what is tested.
        settings: of the interpreter; device and the rest are filled in by the caller.
        sha256: of the wheel, or empty.
        folder: the environment's folder, or ``None`` where the user's interpreter is used as it is.
    """

    label: str
    settings: Settings
    sha256: str = ""
    folder: Path | None = None


def subject_kind(text: str) -> str:
    """Tell what ``--baseline`` names: ``wheel``, ``python`` or ``version``."""
    if text.endswith(".whl"):
        return "wheel"
    if os.sep in text or shutil.which(text):
        return "python"
    return "version"


@contextlib.contextmanager
def place_for(
    *, wheel: Path | None = None, version: str | None = None, python: Path | None = None, keep: bool = False
) -> Iterator[Place]:
    """Give an interpreter that has the torch under test, and tidy up behind it.

    Args:
        wheel, version: installed with pytest into a new environment in a temporary folder.
        python: an interpreter that has torch; used as it is, nothing is installed into it.
        keep: leave the temporary folder; its path is in the result.

    Raises:
        UsageError: not exactly one of the three is given.
        WheelError: the wheel cannot be used here.
        EnvironmentBuildError: the environment cannot be made.
    """
    if sum(given is not None for given in (wheel, version, python)) != 1:
        raise UsageError("give one of --wheel, --torch and --python.")
    checked = read_wheel(wheel) if wheel is not None else None
    try:
        folder = Path(tempfile.mkdtemp(prefix="patchkit-env-"))
    except OSError as error:
        raise EnvironmentBuildError(f"no temporary folder can be made: {error.strerror}.") from error
    try:
        if python is not None:
            yield _existing(python, folder)
        else:
            yield _new(folder, checked, version)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _existing(python: Path, folder: Path) -> Place:
    found = shutil.which(str(python))
    if found is None:
        raise UsageError(f"{python} is not an interpreter that can be run.")
    # not resolve(): a virtual environment's python is a link, and is its environment only by its own path
    settings = Settings(python=Path(found).absolute())
    if not _has_pytest(settings, folder):
        target = folder / "pytest"
        _pip(
            [
                sys.executable, "-m", "pip", "install", "--quiet", "--target", str(target),
                "--python-version", _version(settings), "--only-binary=:all:", "pytest",
            ],
            "pytest",
        )  # fmt: skip
        settings = replace(settings, path=(target,))
        if not _has_pytest(settings, folder):
            raise EnvironmentBuildError(f"{python} cannot use pytest, not even from a folder of its own.")
    return Place(str(python), settings, folder=folder)


def _new(folder: Path, wheel: Wheel | None, version: str | None) -> Place:
    wanted = str(wheel.path) if wheel is not None else f"torch=={version}"
    needed = (wheel.unpacked if wheel is not None else 0) + SLACK
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise EnvironmentBuildError(
            f"{folder.parent} has {free / 1e9:.1f} GB free, {needed / 1e9:.1f} GB are needed; "
            "free some, or point TMPDIR elsewhere."
        )
    base = find_python(wheel.python) if wheel is not None else _python_for_version(version or "")
    assert base is not None
    environment = folder / "env"
    _run([str(base), "-m", "venv", str(environment)], f"a virtual environment of {base}")
    python = environment / "bin" / "python"
    number = wheel.version if wheel is not None else version or ""
    _pip([str(python), "-m", "pip", "install", "--quiet", wanted, numpy_for(number), "pytest"], wanted)
    label = wheel.path.name if wheel is not None else f"torch {version}"
    return Place(label, Settings(python=python), wheel.sha256 if wheel is not None else "", folder)


def numpy_for(version: str) -> str:
    """Return the requirement on NumPy of a torch version: older than 2 for releases before 2.3.

    Raises:
        UsageError: ``version`` is not a version number.
    """
    from packaging.version import InvalidVersion, Version

    try:
        release = Version(version).release
    except InvalidVersion as error:
        raise UsageError(f"{version} is not a version number such as 2.2.1.") from error
    return "numpy<2" if release < Version(FIRST_WITH_NUMPY_2).release else "numpy"


def _python_for_version(version: str) -> Path:
    """The newest interpreter on this machine that pip can have the version for is left to pip to judge."""
    numpy_for(version)
    here = (sys.version_info[0], sys.version_info[1])
    newest = newest_python(version)
    for minor in range(min(newest, here[1]) if here[0] == 3 else newest, 6, -1):
        found = find_python(f"3.{minor}")
        if found is not None:
            return found
    raise EnvironmentBuildError(
        f"torch {version} needs Python 3.{newest} or older, and none is on PATH; install one, or use --python."
    )


# Newest CPython with official wheels, by the first torch release that has it (PyPI's file lists).
NEWEST_PYTHON = (("1.13", 10), ("2.0", 11), ("2.2", 12), ("2.6", 13), ("2.9", 14), ("2.15", 15))


def newest_python(version: str) -> int:
    """Return the minor number of the newest Python that official wheels of ``version`` exist for."""
    from packaging.version import Version

    newest = NEWEST_PYTHON[0][1]
    for first, minor in NEWEST_PYTHON:
        if Version(version).release >= Version(first).release:
            newest = minor
    return newest


def _version(settings: Settings) -> str:
    done = _run([str(settings.python), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], "Python")
    return done.strip().splitlines()[-1]


def _has_pytest(settings: Settings, folder: Path) -> bool:
    """Whether the interpreter finds pytest; asked from a folder where no file of the user's shadows a module."""
    done = subprocess.run(
        [str(settings.python), "-m", "pytest", "--version"],
        env=clean_environment(settings),
        cwd=folder,
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


def _run(command: list[str], what: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise EnvironmentBuildError(f"{what} cannot be had: {error.strerror or error}.") from error
    if done.returncode:
        raise EnvironmentBuildError(f"{what} cannot be had: {_last_line(done.stderr or done.stdout)}")
    return done.stdout


def _pip(command: list[str], what: str) -> None:
    environment = {
        k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_USER")
    }
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode == 0:
        return
    said = done.stderr
    if "No matching distribution" in said or "Could not find a version" in said:
        raise EnvironmentBuildError(f"there is no {what} for this platform and Python: {_last_line(said)}")
    if "is not a supported wheel on this platform" in said:
        raise WheelError(f"{what} is not for this platform and Python: {_last_line(said)}")
    if "No space left" in said:
        raise EnvironmentBuildError(f"no space left while installing {what}; free some, or point TMPDIR elsewhere.")
    if "No module named pip" in said:
        raise EnvironmentBuildError(f"{command[0]} has no pip; install pytest into the interpreter of --python.")
    raise EnvironmentBuildError(f"{what} could not be installed: {_last_line(said)}")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("WARNING")]
    return lines[-1].removeprefix("ERROR: ") if lines else "no reason given."
