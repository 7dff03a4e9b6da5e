"""What can stop a test run, one class each; the exit codes are those of :mod:`patchkit.errors`."""

from __future__ import annotations

from patchkit.errors import InputError, PatchkitError


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
