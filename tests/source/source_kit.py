"""A miniature PyTorch tree and a repository of it, written for these tests."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

KERNEL = "aten/src/ATen/native/mps/operations/Scale.mm"
UNNEEDED = "torch/nn/modules/scale.py"
FILES = {
    "version.txt": "2.2.0a0\n",
    ".clang-format": "ColumnLimit: 80\n",
    KERNEL: "// a kernel of the miniature tree\n",
    "aten/src/ATen/native/native_functions.yaml": "- func: scale(Tensor self) -> Tensor\n",
    "aten/src/ATen/native/cuda/Scale.cu": "// not for MPS\n",
    "aten/src/ATen/native/sparse/mps/Scale.mm": "// sparse\n",
    "torchgen/model.py": "STRUCTURED = True\n",
    UNNEEDED: "class Scale: ...\n" * 100,
}


def write_tree(root: Path, files: dict[str, str] | None = None) -> Path:
    """Write a miniature PyTorch tree under ``root``."""
    for path, text in {**FILES, **(files or {})}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def shell_git(folder: Path, *arguments: str) -> str:
    """Run git as a person would, in ``folder``."""
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@dataclass(frozen=True)
class Upstream:
    """A repository with the tags v2.1.0, v2.2.0, v2.2.1 (annotated), v2.3.0-rc1; main is a commit ahead."""

    folder: Path

    @property
    def url(self) -> str:
        return self.folder.as_uri()

    def commit(self, files: dict[str, str], message: str) -> str:
        write_tree(self.folder, files)
        shell_git(self.folder, "add", "--all")
        shell_git(self.folder, "commit", "--quiet", "--allow-empty", "-m", message)
        return self.revision("HEAD")

    def revision(self, name: str) -> str:
        return shell_git(self.folder, "rev-parse", f"{name}^{{commit}}")
