"""Tells C++ functions of one name apart: which overload of a dispatch table a definition implements."""

from __future__ import annotations

from collections.abc import Sequence

from patchkit.scan.registry.dispatch import KernelUse, OverloadUse


def matching_uses(kernel: KernelUse, types: Sequence[str]) -> tuple[OverloadUse, ...]:
    """The overloads that a C++ definition with parameters of these types implements.

    Unstructured kernels are C++ overload sets: ``f(Tensor, Scalar)`` and ``f(Tensor, Tensor)`` share a name.

    Args:
        kernel: the kernel of that name.
        types: declared parameter types in order, as text.

    Returns:
        the uses whose parameters agree in number and in which are tensors and scalars; all uses when none
        agrees, so that nothing is lost over an unusual signature.
    """
    fitting = tuple(use for use in kernel.uses if _agrees(use, types))
    return fitting or kernel.uses


def _agrees(use: OverloadUse, types: Sequence[str]) -> bool:
    if len(use.parameters) != len(types):
        return False
    return all(_class(parameter.type) == _class(given) for parameter, given in zip(use.parameters, types, strict=True))


def _class(type_text: str) -> str:
    """``tensor``, ``scalar`` or ``other``: what keeps C++ overloads apart (``torchgen/api/native.py``)."""
    # TensorOptions is not a tensor, ScalarType not a scalar.
    text = type_text.replace("TensorOptions", "").replace("ScalarType", "")
    if "Tensor" in text:
        return "tensor"
    return "scalar" if "Scalar" in text else "other"
