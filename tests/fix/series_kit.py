"""What the tests of series and apply share: small kernels of our own, trees, repositories."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from patchkit.fix.diff import FileChange
from patchkit.fix.series import Base, Patch, Series, write_series

FOLDER = "aten/src/ATen/native/mps/operations"
BASE = Base("hash", None, "0" * 64, "2.2.1")


def kernel(name: str, statement: str = "double_it(input, output);") -> bytes:
    """A kernel in the idiom of the MPS backend; every copy ends in the same lines, as real ones do."""
    return f"""\
static void {name}_out_mps(const Tensor& input, const Tensor& output) {{
  if (output.numel() == 0) {{
    return;
  }}

  MPSStream* stream = getCurrentMPSStream();

  @autoreleasepool {{
    auto cachedGraph = graphOf{name.title()}(input);
    {statement}

    // The same lines as in every other kernel follow, as in the real ones.
    auto feeds = [[NSMutableDictionary new] autorelease];
    auto results = [[NSMutableDictionary new] autorelease];
    prepare(stream, feeds, results);

    Placeholder inputPlaceholder = Placeholder(cachedGraph->inputTensor_, input);
    Placeholder outputPlaceholder = Placeholder(cachedGraph->outputTensor_, output);

    add(feeds, inputPlaceholder);
    runMPSGraph(stream, cachedGraph->graph(), feeds, outputPlaceholder);
  }}
}}
""".encode()


def source(*names: str) -> bytes:
    """A kernel file."""
    head = b"//  A file of kernels\n#include <ATen/native/mps/OperationUtils.h>\n\nnamespace at::native {\n\n"
    return head + b"\n".join(kernel(name) for name in names) + b"\n} // namespace at::native\n"


def fixed(content: bytes, name: str) -> bytes:
    """``content`` with the kernel ``name`` writing to a temporary that it copies back."""
    start = content.index(f"{name}_out_mps(".encode())
    head, body = content[:start], content[start:]
    eol = b"\r\n" if b"\r\n" in content else b"\n"
    stream = b"  MPSStream* stream"
    body = body.replace(stream, b"  Tensor out_ = contiguous_like(output);" + eol + stream, 1).replace(
        b"outputTensor_, output)", b"outputTensor_, out_)", 1
    )
    run = b"feeds, outputPlaceholder);" + eol
    return head + body.replace(run, run + b"    output.copy_(out_);" + eol, 1)


def make_tree(root: Path, files: Mapping[str, bytes]) -> Path:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return root


def snapshot(root: Path) -> dict[str, bytes]:
    """Every file under ``root`` but git's own, so that leftovers show too."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(root).parts
    }


def patch(slug: str, *changes: FileChange, subject: str = "", body: str = "Because.") -> Patch:
    return Patch(slug, subject or f"MPS: {slug}", body, changes, "copy_back", None, ("f1",))


UNARY = f"{FOLDER}/Unary.mm"
RANDOM = f"{FOLDER}/Random.mm"


def two_file_patches() -> tuple[dict[str, bytes], dict[str, bytes], list[Patch]]:
    """Files before, files after, and three patches: two on one file, one on another."""
    unary, random = source("sin", "cos", "tan"), source("uniform", "normal")
    once = fixed(unary, "sin")
    twice = fixed(once, "tan")
    drawn = fixed(random, "normal")
    patches = [
        patch("sin", FileChange(UNARY, unary, once)),
        patch("tan", FileChange(UNARY, once, twice)),
        patch("normal", FileChange(RANDOM, random, drawn)),
    ]
    return {UNARY: unary, RANDOM: random}, {UNARY: twice, RANDOM: drawn}, patches


def write(folder: Path, patches: Sequence[Patch]) -> Series:
    return write_series(folder, BASE, patches, tool_version="0.1.0")


def run(command: Sequence[str | Path], cwd: Path, **settings: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command with no settings of the user's; fails the test if the command fails."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(cwd),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "C",
        "GIT_COMMITTER_EMAIL": "c@example.org",
        **settings,
    }
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout!r} {done.stderr!r}"
    return done


def make_repository(root: Path, files: Mapping[str, bytes]) -> Path:
    make_tree(root, files)
    run(["git", "init", "-q", "-b", "main"], root)
    run(["git", "add", "-A"], root)
    run(["git", "commit", "-q", "-m", "base"], root)
    return root
