"""Wheels and environments: what cannot be used is refused in one sentence before anything is installed."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest
from packaging.tags import platform_tags

from patchkit.errors import EnvironmentBuildError, UsageError, WheelError
from patchkit.regress import environment, wheels

HERE = next(iter(platform_tags()))
PYTHON = f"cp{sys.version_info[0]}{sys.version_info[1]}"


def write_wheel(folder: Path, name: str, member: str = "torch-2.2.1.dist-info/METADATA") -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(member, "Name: torch\nVersion: 2.2.1\n" + "x" * 4000)
    return path


def test_a_usable_wheel_gives_version_digest_and_python(tmp_path: Path) -> None:
    wheel = wheels.read_wheel(write_wheel(tmp_path, f"torch-2.2.1+mine.1-{PYTHON}-{PYTHON}-{HERE}.whl"))
    assert wheel.version == "2.2.1+mine.1"
    assert wheel.python == f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert len(wheel.sha256) == 64


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("torch-2.2.1-cp311-none-win_amd64.whl", "is for win_amd64; this machine installs"),
        (f"torch-2.2.1-cp27-cp27m-{HERE}.whl", "is for Python 2.7|is for Python"),
        (f"numpy-2.2.1-{PYTHON}-{PYTHON}-{HERE}.whl", "is a wheel of numpy, not of torch"),
        ("torch.whl", "is not a wheel's file name"),
    ],
)
def test_a_wheel_for_something_else_is_refused(tmp_path: Path, name: str, sentence: str) -> None:
    if "cp27" in name:
        name = name.replace("cp27-cp27m", "cp399-cp399")
    with pytest.raises(WheelError, match=sentence):
        wheels.read_wheel(write_wheel(tmp_path, name))


def test_a_missing_wheel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WheelError, match="there is no such wheel"):
        wheels.read_wheel(tmp_path / "torch-2.2.1-cp311-cp311-any.whl")


def test_a_truncated_wheel_is_corrupt(tmp_path: Path) -> None:
    path = write_wheel(tmp_path, f"torch-2.2.1-{PYTHON}-{PYTHON}-{HERE}.whl")
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(WheelError, match="is corrupt"):
        wheels.read_wheel(path)


def test_a_wheel_with_a_flipped_byte_is_corrupt(tmp_path: Path) -> None:
    path = write_wheel(tmp_path, f"torch-2.2.1-{PYTHON}-{PYTHON}-{HERE}.whl")
    data = bytearray(path.read_bytes())
    data[1500] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(WheelError, match="is corrupt"):
        wheels.read_wheel(path)


def test_a_wheel_without_metadata_is_corrupt(tmp_path: Path) -> None:
    path = write_wheel(tmp_path, f"torch-2.2.1-{PYTHON}-{PYTHON}-{HERE}.whl", member="torch/__init__.py")
    with pytest.raises(WheelError, match="holds no METADATA"):
        wheels.read_wheel(path)


@pytest.mark.parametrize(
    ("version", "requirement"),
    [("1.13.1", "numpy<2"), ("2.2.1", "numpy<2"), ("2.3.0", "numpy"), ("2.13.0+cpu", "numpy")],
)
def test_the_numpy_that_a_version_needs(version: str, requirement: str) -> None:
    assert environment.numpy_for(version) == requirement


def test_a_version_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="is not a version number"):
        environment.numpy_for("latest")


@pytest.mark.parametrize(
    ("version", "minor"),
    [("1.13.1", 10), ("2.0.1", 11), ("2.2.1", 12), ("2.6.0", 13), ("2.9.0", 14), ("2.15.0", 15)],
)
def test_the_newest_python_of_a_version(version: str, minor: int) -> None:
    assert environment.newest_python(version) == minor


@pytest.mark.parametrize(
    ("text", "kind"), [("a/torch-2.2.1.whl", "wheel"), ("2.2.1", "version"), ("/usr/bin/python3", "python")]
)
def test_what_a_baseline_names(text: str, kind: str) -> None:
    assert environment.subject_kind(text) == kind


def test_too_little_space_is_said_before_anything_is_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(environment.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(environment, "SLACK", 1 << 60)
    with pytest.raises(EnvironmentBuildError, match="GB free"), environment.place_for(version="2.2.1"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_an_interpreter_that_is_none_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match="not an interpreter"),
        environment.place_for(python=tmp_path / "python"),
    ):
        pass


def test_nothing_is_installed_into_the_users_interpreter_and_the_folder_goes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(environment.tempfile, "tempdir", str(tmp_path))
    with environment.place_for(python=Path(sys.executable)) as place:
        assert place.settings.python == Path(sys.executable).absolute()
        assert place.folder is not None
        assert place.folder.is_dir()
    assert list(tmp_path.iterdir()) == []


def test_keep_leaves_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(environment.tempfile, "tempdir", str(tmp_path))
    with environment.place_for(python=Path(sys.executable), keep=True) as place:
        pass
    assert place.folder is not None
    assert place.folder.is_dir()


@pytest.mark.parametrize(
    ("said", "error", "sentence"),
    [
        (
            "ERROR: No matching distribution found for torch==9.9",
            EnvironmentBuildError,
            "there is no torch==9.9",
        ),
        ("ERROR: x.whl is not a supported wheel on this platform.", WheelError, "is not for this platform"),
        ("OSError: [Errno 28] No space left on device", EnvironmentBuildError, "no space left"),
        ("python: No module named pip", EnvironmentBuildError, "has no pip"),
        ("something else\nERROR: the reason", EnvironmentBuildError, "could not be installed: the reason"),
    ],
)
def test_what_pip_says_becomes_a_sentence(tmp_path: Path, said: str, error: type[Exception], sentence: str) -> None:
    script = tmp_path / "pip"
    script.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{said}\nEND\nexit 1\n")
    script.chmod(0o755)
    with pytest.raises(error, match=sentence):
        environment._pip([str(script)], "torch==9.9")
