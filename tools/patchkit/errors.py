"""Every failure patchkit reports to a user: one class each, with the exit code of the design.

Exit codes: 0 clean or done, 1 findings or a failed test, 2 wrong usage or unusable input, 3 nothing to scan or run.
The message is one sentence a user can act on: what was wrong, where, and what to do.
"""

from __future__ import annotations


class PatchkitError(Exception):
    """Base of every failure that ends a command with one sentence instead of a traceback."""

    exit_code = 2


class UsageError(PatchkitError):
    """The command line asks for something that does not fit together."""


class InputError(PatchkitError):
    """A file, archive or folder that was given cannot be used."""


class NotATreeError(PatchkitError):
    """The given path is not a PyTorch source tree, or holds no MPS kernels: there is nothing to scan."""

    exit_code = 3


class UnknownVersionError(PatchkitError):
    """The version or ref does not exist in the remote."""


class SourceError(PatchkitError):
    """A checkout could not be made: no network, no git, a refused archive member."""


class OutputError(PatchkitError):
    """The output folder or file cannot be written (read-only, full disk)."""


class PatchError(PatchkitError):
    """A patch series cannot be applied or reversed; the tree was left as it was."""

    exit_code = 1


class WheelError(InputError):
    """The wheel is corrupt, is no torch wheel, or is for another platform or Python."""


class EnvironmentBuildError(PatchkitError):
    """The isolated environment could not be made: no such version, no space, no network."""


class DeviceError(PatchkitError):
    """The device cannot be used, or stopped working while the tests ran."""


class NoDeviceError(DeviceError):
    """The machine does not have the device: there is nothing to run."""

    exit_code = 3


class NothingRanError(PatchkitError):
    """No test was executed, so the run says nothing about the wheel."""

    exit_code = 3
