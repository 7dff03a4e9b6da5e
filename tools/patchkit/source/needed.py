"""The files of a PyTorch tree that scanning and fixing read; checkouts and extractions hold only these.

As in the 1.13.1 and 2.6.0 trees: kernels in ``native/mps``, meta functions and C++ callers in ``native``, the
schema and dispatch tables, torchgen's rules for structured kernels, and the Metal headers of later releases
in ``c10/metal``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_NATIVE = "aten/src/ATen/native/"
_FILES = frozenset({"version.txt", ".clang-format", "tools/autograd/derivatives.yaml"})
_FOLDERS = (_NATIVE, "aten/src/ATen/mps/", "c10/metal/", "torchgen/")
_HEADERS = "aten/src/ATen/"
_OTHER_BACKENDS = (
    "ao_sparse",
    "cpu",
    "cuda",
    "cudnn",
    "hip",
    "kleidiai",
    "metal",
    "miopen",
    "mkl",
    "mkldnn",
    "quantized",
    "vulkan",
    "xnnpack",
)


def is_needed(path: str) -> bool:
    """Say whether scanning reads ``path``, given relative to the tree's root with ``/`` between its parts."""
    if path in _FILES:
        return True
    if path.startswith(_NATIVE):
        folders = path[len(_NATIVE) :].split("/")[:-1]
        return "mps" in folders or not any(folder in _OTHER_BACKENDS for folder in folders)
    if path.startswith(_FOLDERS):
        return True
    name = path.removeprefix(_HEADERS)
    return name != path and "/" not in name and name.endswith(".h")


def sparse_patterns() -> str:
    """Return the text of a git sparse-checkout file (not cone mode) that selects what is needed."""
    lines = [f"/{path}" for path in sorted(_FILES)]
    lines += [f"/{folder}" for folder in _FOLDERS]
    lines.append(f"/{_HEADERS}*.h")
    lines += [f"!/{_NATIVE}**/{backend}/" for backend in _OTHER_BACKENDS]
    lines.append(f"/{_NATIVE}**/mps/")
    return "\n".join(lines) + "\n"


def needed_files(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield each needed file under ``root`` with its status; links are not followed.

    Raises:
        OSError: a folder cannot be read.
    """
    for path in sorted(_FILES):
        try:
            yield path, (root / path).lstat()
        except FileNotFoundError:
            continue
    for folder in (_HEADERS, *(folder for folder in _FOLDERS if not folder.startswith(_HEADERS))):
        if (root / folder).is_dir():
            yield from _walk(root, folder)


def _walk(root: Path, folder: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(root / folder) as entries:
        for entry in entries:
            path = folder + entry.name
            if entry.is_dir(follow_symlinks=False):
                if _may_hold_needed(path):
                    yield from _walk(root, path + "/")
            elif is_needed(path):
                yield path, entry.stat(follow_symlinks=False)


def _may_hold_needed(folder: str) -> bool:
    within = folder + "/"
    return any(within.startswith(wanted) or wanted.startswith(within) for wanted in _FOLDERS)
