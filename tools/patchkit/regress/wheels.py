"""Reads a wheel before anything is installed: whole, a torch, and for this machine and some Python on it."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from patchkit.errors import WheelError


@dataclass(frozen=True)
class Wheel:
    """A torch wheel that this machine can install.

    Args:
        path: the file.
        version: from its metadata, with the local label.
        sha256: of the file, in hex.
        python: ``3.11`` for a cp311 wheel; the newest one on this machine it is for.
        unpacked: bytes its contents take.
    """

    path: Path
    version: str
    sha256: str
    python: str
    unpacked: int


def read_wheel(path: Path) -> Wheel:
    """Check a wheel's contents and tags.

    Raises:
        WheelError: it is missing, corrupt, not torch, or for another platform or Python.
    """
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    if not path.is_file():
        raise WheelError(f"{path}: there is no such wheel.")
    try:
        name, version, _, tags = parse_wheel_filename(path.name)
    except InvalidWheelFilename as error:
        raise WheelError(f"{path.name} is not a wheel's file name: {error}.") from error
    if name != "torch":
        raise WheelError(f"{path.name} is a wheel of {name}, not of torch.")
    unpacked = _check_contents(path)
    return Wheel(path.resolve(), str(version), sha256_of(path), _python_for(path, frozenset(tags)), unpacked)


def _check_contents(path: Path) -> int:
    try:
        with zipfile.ZipFile(path) as archive:
            broken = archive.testzip()
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, ValueError) as error:
        raise WheelError(f"{path} is corrupt: {error}; fetch or build it again.") from error
    if broken is not None:
        raise WheelError(f"{path} is corrupt: {broken} does not match its checksum; fetch or build it again.")
    if not any(member.filename.endswith(".dist-info/METADATA") for member in members):
        raise WheelError(f"{path} is corrupt: it holds no METADATA; fetch or build it again.")
    return sum(member.file_size for member in members)


def _python_for(path: Path, tags: frozenset[object]) -> str:
    from packaging.tags import platform_tags

    here = list(platform_tags())
    platforms = {str(getattr(tag, "platform", "")) for tag in tags}
    if "any" not in platforms and not platforms & set(here):
        raise WheelError(
            f"{path.name} is for {', '.join(sorted(platforms))}; this machine installs {here[0]} and older."
        )
    versions = sorted({v for tag in tags if (v := _version_of(str(getattr(tag, "interpreter", ""))))})
    for version in sorted(versions, key=_key, reverse=True):
        if find_python(version) is not None:
            return version
    raise WheelError(
        f"{path.name} is for Python {', '.join(versions) or 'versions unknown here'}, which is not on PATH; "
        "install it, or give --python with an interpreter that has the wheel."
    )


def _version_of(interpreter: str) -> str:
    digits = interpreter.removeprefix("cp").removeprefix("py")
    return f"{digits[0]}.{digits[1:]}" if len(digits) > 1 and digits.isdigit() else ""


def _key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def find_python(version: str) -> Path | None:
    """Return an interpreter of ``version`` (such as ``3.11``): this one, or one on PATH that answers."""
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return Path(sys.executable)
    found = shutil.which(f"python{version}")
    if found is None:
        return None
    # a version manager's shim is on PATH for versions that are not active, and fails when called
    probe = subprocess.run(
        [found, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True, check=False
    )
    return Path(probe.stdout.strip()) if probe.returncode == 0 and probe.stdout.strip() else None


def sha256_of(path: Path) -> str:
    """Return the file's SHA-256 in hex."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
