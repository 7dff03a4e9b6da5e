"""What a scan costs: CPU seconds and peak memory, cold and warm, beside ast-grep and semgrep on the same tree.

    python tests/benchmarks/bench_scan.py TREE [--factors 1 4 16] [--repeat 3]

Each number is the best of several runs, each in a process of its own on one core. A tree of factor N holds every kernel
file N times, with its functions named apart. ast-grep and semgrep search for one pattern, a Placeholder; a scan follows
each of them to its callers. They are left out where they are not installed (``ast-grep-cli`` and ``semgrep`` on PyPI).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MPS = Path("aten/src/ATen/native/mps")
PATTERN = "Placeholder($A, $B)"
_FUNCTION = re.compile(rb"\b([a-z_]\w*_mps\w*|\w+_mps_impl|\w+_template)\b(?=\s*\()")


@dataclass(frozen=True)
class Cost:
    """CPU time of a process in seconds, user and system, and its peak memory in MB."""

    seconds: float
    megabytes: float

    def __str__(self) -> str:
        return f"{self.seconds:7.2f} s CPU {self.megabytes:7.0f} MB"


def run(command: Sequence[str | Path], cache: Path) -> Cost:
    """Run a command on one core and return what it cost; its output is thrown away.

    Raises:
        SystemExit: the command could not do its work (exit code 2 or more).
    """
    environment = {
        **os.environ,
        "PATCHKIT_CACHE": str(cache),
        "SEMGREP_SEND_METRICS": "off",
        "SEMGREP_ENABLE_VERSION_CHECK": "0",
    }
    child = os.fork()
    if child == 0:
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        sink = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(sink, stream)
        os.execvpe(str(command[0]), [str(part) for part in command], environment)
    _, status, usage = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(f"failed: {' '.join(str(part) for part in command)}")
    kilobytes = usage.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return Cost(usage.ru_utime + usage.ru_stime, kilobytes / 1024)


def best(command: Sequence[str | Path], cache: Path, repeat: int, *, cold: bool = True) -> Cost:
    """The cheapest of several runs, each with an empty cache where ``cold``."""
    costs = []
    if not cold:
        run(command, cache)
    for _ in range(repeat):
        if cold:
            shutil.rmtree(cache, ignore_errors=True)
        costs.append(run(command, cache))
    return min(costs, key=lambda cost: cost.seconds)


def multiplied(tree: Path, factor: int, target: Path) -> Path:
    """Copy what a scan reads of a tree, with ``factor`` copies of each kernel file."""
    for path in ("aten/src/ATen", "version.txt"):
        source = tree / path
        if source.is_dir():
            shutil.copytree(source, target / path, symlinks=True)
        else:
            shutil.copy2(source, target / path)
    for file in sorted((tree / MPS / "operations").glob("*.mm")):
        text = file.read_bytes()
        for copy in range(1, factor):
            suffix = b"_%d" % copy
            renamed = _FUNCTION.sub(lambda match, suffix=suffix: match.group() + suffix, text)
            (target / MPS / "operations" / f"{file.stem}_{copy}.mm").write_bytes(renamed)
    return target


def kernel_bytes(tree: Path) -> int:
    """The size of the kernel files in bytes."""
    return sum(p.stat().st_size for p in (tree / MPS).rglob("*") if p.suffix in (".mm", ".h", ".cpp"))


def others(tree: Path, folder: Path) -> dict[str, list[str | Path]]:
    """The command lines of the other tools that are installed.

    They read a copy of the kernel files named ``.cpp``: ast-grep passes files by whose ending it does not know.
    """
    folder.mkdir()
    for file in (tree / MPS / "operations").glob("*.mm"):
        shutil.copy2(file, folder / f"{file.stem}.cpp")
    found: dict[str, list[str | Path]] = {}
    beside = Path(sys.executable).parent
    if program := _program("ast-grep", beside):
        found["ast-grep"] = [program, "run", "--lang", "cpp", "--pattern", PATTERN, "--json=stream", folder]
    if program := _program("semgrep", beside):
        command = [program, "scan", "--quiet", "--metrics=off", "--disable-version-check", "--jobs=1", "--lang=cpp"]
        found["semgrep"] = [*command, f"--pattern={PATTERN}", folder]
    return found


def _program(name: str, beside: Path) -> str | None:
    return str(beside / name) if (beside / name).exists() else shutil.which(name)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tree", type=Path, help="a PyTorch source tree")
    parser.add_argument("--factors", type=int, nargs="+", default=[1, 4, 16], help="sizes of the tree to scan")
    parser.add_argument("--repeat", type=int, default=3, help="runs of which the cheapest counts")
    options = parser.parse_args()
    patchkit = [sys.executable, "-m", "patchkit"]
    with tempfile.TemporaryDirectory(prefix="patchkit-bench-") as name:
        cache = Path(name, "cache")
        scan = [*patchkit, "scan", options.tree, "--format", "json", "--exit-zero"]
        print(
            f"{options.tree.name}: {kernel_bytes(options.tree) / 1e6:.2f} MB of kernel files, best of {options.repeat}"
        )
        print(f"  {'patchkit --help':<28}{best([*patchkit, '--help'], cache, options.repeat)}")
        print(f"  {'patchkit scan, cold':<28}{best(scan, cache, options.repeat)}")
        print(f"  {'patchkit scan, again':<28}{best(scan, cache, options.repeat, cold=False)}")
        for tool, command in others(options.tree, Path(name, "cpp")).items():
            print(f"  {tool + ', one pattern':<28}{best(command, cache, options.repeat)}")
        print("cost against size, cold")
        for factor in options.factors:
            tree = multiplied(options.tree, factor, Path(name, f"tree{factor}"))
            cost = best([*patchkit, "scan", tree, "--format", "json", "--exit-zero"], cache, 1)
            megabytes = kernel_bytes(tree) / 1e6
            print(f"  {factor:>3} x {megabytes:8.2f} MB {cost} {cost.seconds / megabytes:7.2f} s/MB")
            shutil.rmtree(tree)


if __name__ == "__main__":
    main()
