"""Whatever stops a command ends in one sentence on standard error and the exit code of the design."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import types
from pathlib import Path

import click
import pytest

from patchkit.cli import group, run
from patchkit.errors import InputError, NotATreeError, PatchError, PatchkitError


@pytest.fixture
def command_that(monkeypatch):
    """Make `patchkit trial` run the given function."""

    def install(body):
        module = types.ModuleType("patchkit.cli.trial")
        module.command = click.Command("trial", callback=body)
        monkeypatch.setitem(sys.modules, "patchkit.cli.trial", module)
        monkeypatch.setitem(group.COMMANDS, "trial", "Try something.")

    return install


def raising(error):
    def body():
        raise error

    return body


def test_the_result_of_a_command_is_the_exit_code(command_that):
    command_that(lambda: 3)
    assert run(["trial"]) == 3


def test_a_command_without_a_result_is_done(command_that):
    command_that(lambda: None)
    assert run(["trial"]) == 0


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (PatchkitError("what, where, what to do."), 2),
        (InputError("what, where, what to do."), 2),
        (NotATreeError("what, where, what to do."), 3),
        (PatchError("what, where, what to do."), 1),
    ],
)
def test_a_known_failure_is_one_sentence_with_its_own_exit_code(command_that, capsys, error, code):
    command_that(raising(error))
    assert run(["trial"]) == code
    output = capsys.readouterr()
    assert output.err == "patchkit: what, where, what to do.\n"
    assert output.out == ""


def test_an_unexpected_exception_is_an_internal_error(command_that, capsys, monkeypatch):
    monkeypatch.delenv("PATCHKIT_TRACEBACK", raising=False)
    command_that(raising(RuntimeError("odd\nthing")))
    assert run(["trial"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("patchkit: internal error (RuntimeError: odd thing); run with PATCHKIT_TRACEBACK=1")
    assert said.count("\n") == 1


def test_the_traceback_is_there_on_request(command_that, monkeypatch):
    monkeypatch.setenv("PATCHKIT_TRACEBACK", "1")
    command_that(raising(RuntimeError("odd")))
    with pytest.raises(RuntimeError, match="odd"):
        run(["trial"])


def test_endless_recursion_is_one_sentence_too(command_that, capsys):
    def forever():
        return forever()

    command_that(forever)
    assert run(["trial"]) == 2
    assert "internal error (RecursionError" in capsys.readouterr().err


def test_a_file_that_the_system_refuses_is_named(command_that, capsys):
    command_that(raising(PermissionError(13, "Permission denied", "secret.mm")))
    assert run(["trial"]) == 2
    assert capsys.readouterr().err == "patchkit: cannot use secret.mm: Permission denied.\n"


def test_an_interrupted_command_exits_with_130(command_that, capsys):
    command_that(raising(KeyboardInterrupt()))
    assert run(["trial"]) == 130
    assert capsys.readouterr().err.strip() == "patchkit: interrupted."


def test_wrong_usage_exits_with_2(capsys):
    assert run(["explain", "--no-such-option"]) == 2
    assert "No such option" in capsys.readouterr().err


def test_an_unknown_command_suggests_the_nearest(capsys):
    assert run(["scna"]) == 2
    assert "Did you mean 'scan'?" in capsys.readouterr().err


def test_no_command_prints_the_help_and_is_wrong_usage(capsys):
    assert run([]) == 2
    assert "Commands:" in capsys.readouterr().err


def patchkit(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "patchkit", *arguments], stderr=subprocess.PIPE, text=True, **options
    )


def test_a_reader_that_goes_away_is_no_failure_to_talk_about():
    reader, writer = os.pipe()
    os.close(reader)
    process = patchkit("explain", "MPS101", stdout=writer)
    os.close(writer)
    assert process.communicate(timeout=30)[1] == ""
    assert process.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_behind_standard_output_is_one_sentence():
    with Path("/dev/full").open("w") as full:
        process = patchkit("explain", "MPS101", stdout=full)
        said = process.communicate(timeout=30)[1]
    assert said == "patchkit: cannot use standard output: No space left on device.\n"
    assert process.returncode == 2


def test_ctrl_c_ends_a_running_command_with_one_sentence(tmp_path):
    """A named pipe in place of a kernel file keeps the process busy until the signal arrives."""
    script = (
        "import sys, types, click, time\n"
        "from patchkit.cli import group, main\n"
        "module = types.ModuleType('patchkit.cli.trial')\n"
        "def body():\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(30)\n"
        "module.command = click.Command('trial', callback=body)\n"
        "sys.modules['patchkit.cli.trial'] = module\n"
        "group.COMMANDS['trial'] = ''\n"
        "sys.argv = ['patchkit', 'trial']\n"
        "main()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert said.strip() == "patchkit: interrupted."
    assert process.returncode == 130
