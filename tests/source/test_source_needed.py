"""What a sparse checkout holds and what the code takes for needed are the same."""

from __future__ import annotations

from pathlib import Path

from source_kit import shell_git

from patchkit.source.needed import is_needed, needed_files, sparse_patterns

PATHS = [
    ".clang-format",
    "README.md",
    "aten/src/ATen/Context.h",
    "aten/src/ATen/Context.cpp",
    "aten/src/ATen/core/Tensor.h",
    "aten/src/ATen/mps/MPSStream.mm",
    "aten/src/ATen/native/Linear.cpp",
    "aten/src/ATen/native/cpu/Linear.cpp",
    "aten/src/ATen/native/cuda/linear/Linear.cu",
    "aten/src/ATen/native/mps/OperationUtils.mm",
    "aten/src/ATen/native/mps/kernels/Linear.metal",
    "aten/src/ATen/native/native_functions.yaml",
    "aten/src/ATen/native/quantized/mps/Linear.mm",
    "aten/src/ATen/native/sparse/Linear.cpp",
    "aten/src/ATen/native/sparse/cuda/Linear.cu",
    "aten/src/ATen/nativeness/Linear.cpp",
    "c10/core/Device.h",
    "c10/metal/utils.h",
    "test/test_mps.py",
    "tools/autograd/derivatives.yaml",
    "tools/version.txt",
    "torchgen/dest/register_dispatch_key.py",
    "version.txt",
]


def test_git_checks_out_what_is_needed_and_nothing_else(tmp_path: Path) -> None:
    shell_git(tmp_path, "init", "--quiet", "one")
    folder = tmp_path / "one"
    for path in PATHS:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("text\n")
    shell_git(folder, "add", "--all")
    shell_git(folder, "commit", "--quiet", "-m", "all")
    shell_git(folder, "config", "core.sparseCheckout", "true")
    (folder / ".git/info").mkdir(exist_ok=True)
    (folder / ".git/info/sparse-checkout").write_text(sparse_patterns())
    shell_git(folder, "read-tree", "-mu", "HEAD")
    there = {path for path in PATHS if (folder / path).exists()}
    assert there == {path for path in PATHS if is_needed(path)}
    assert {path for path, _ in needed_files(folder)} == there


def test_the_kernels_and_the_schema_are_needed_and_the_gigabytes_are_not() -> None:
    needed = {path for path in PATHS if is_needed(path)}
    assert "aten/src/ATen/native/mps/kernels/Linear.metal" in needed
    assert "aten/src/ATen/native/quantized/mps/Linear.mm" in needed
    assert "aten/src/ATen/native/Linear.cpp" in needed
    assert needed.isdisjoint({"test/test_mps.py", "aten/src/ATen/native/cuda/linear/Linear.cu", "README.md"})
