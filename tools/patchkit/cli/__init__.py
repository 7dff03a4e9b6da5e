"""The command line: ``main`` runs a command and turns what stops it into one sentence and an exit code."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

INTERRUPTED = 130
PIPE_CLOSED = 141
TRACEBACK = "PATCHKIT_TRACEBACK"


def main() -> NoReturn:
    """Run the command that ``sys.argv`` names and leave the process with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line (without the program's name) and return its exit code; raises only with
    PATCHKIT_TRACEBACK set.

    Exit codes: 0 clean or done, 1 findings, 2 wrong usage, unusable input or an internal error,
    3 nothing to scan, 130 interrupted, 141 the reader of standard output went away.
    """
    try:
        code = _guarded(lambda: _invoke(arguments))
        return code or _guarded(_flush)
    except KeyboardInterrupt:  # a second Ctrl-C, while the first was being reported
        return INTERRUPTED


def _invoke(arguments: Sequence[str]) -> int:
    import click

    from patchkit.cli.group import patchkit

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if os.environ.get("_PATCHKIT_COMPLETE"):  # the shell asks for completions, in click's own protocol
        patchkit.main(prog_name="patchkit")
    try:
        # not patchkit.main(): it takes a closed pipe for exit code 1, which here means findings
        with patchkit.make_context("patchkit", list(arguments)) as context:
            result = patchkit.invoke(context)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.Abort as abort:
        raise KeyboardInterrupt from abort
    except click.ClickException as error:
        error.show()
        return 2
    return result if isinstance(result, int) else 0


def _flush() -> int:
    sys.stdout.flush()
    return 0


def _guarded(step: Callable[[], int]) -> int:
    from patchkit.errors import PatchkitError

    try:
        return step()
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
    except KeyboardInterrupt:
        _say("interrupted.")
        return INTERRUPTED
    except PatchkitError as error:
        _say(str(error))
        return error.exit_code
    except BrokenPipeError:
        _detach_stdout()
        return PIPE_CLOSED
    except OSError as error:
        if os.environ.get(TRACEBACK):
            raise
        if error.errno in (errno.ENOSPC, errno.EIO, errno.EDQUOT) and error.filename is None:
            _detach_stdout()
        _say(f"cannot use {error.filename or 'standard output'}: {error.strerror or error}.")
        return 2
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        said = " ".join(str(error).split())
        _say(
            f"internal error ({type(error).__name__}{': ' + said if said else ''}); "
            f"run with {TRACEBACK}=1 to see where, and please report it."
        )
        return 2


def _say(sentence: str) -> None:
    with contextlib.suppress(OSError):  # standard error may be closed or full: the exit code still tells
        print(f"patchkit: {sentence}", file=sys.stderr, flush=True)


def _detach_stdout() -> None:
    """Point standard output at nothing, so that the interpreter's own flush at exit finds no fault."""
    with contextlib.suppress(OSError, ValueError):  # it may be no real file, but a test's buffer
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
