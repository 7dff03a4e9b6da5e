"""What a scan says: plain data, in the shape of the JSON contract ``patchkit-scan/1``."""

from __future__ import annotations

from dataclasses import dataclass

SCHEMA = "patchkit-scan/1"


@dataclass(frozen=True)
class TraceStep:
    """One step on the way from the caller's tensor to the lost write; ``line`` is 1-based, in ``file``."""

    line: int
    text: str
    file: str = ""


@dataclass(frozen=True)
class Finding:
    """One graph result or kernel write that loses or misplaces a caller-visible output.

    Args:
        rule: identifier such as ``MPS101``.
        effect: ``lost``, ``garbage``, ``misplaced``, ``dropped``, ``restrided`` or ``unwritten``.
        layouts: which outputs are hit, of ``strided``, ``channels_last``, ``offset``.
        macos: ``<15``, ``>=15`` or ``all``.
        file: path relative to the tree's root, with forward slashes.
        line, column, end_line: 1-based, where the Placeholder or the kernel dispatch takes the tensor.
        function: the C++ function, or ``x`` for ``TORCH_IMPL_FUNC(x)``.
        tensor: the expression handed to the Placeholder, as the source has it.
        ops: overload names of ``native_functions.yaml`` that reach the site.
        triggers: of ``inplace``, ``out``, ``functional``, ``backward``.
        fingerprint: survives lines moving.
    """

    rule: str
    effect: str
    layouts: tuple[str, ...]
    macos: str
    file: str
    line: int
    column: int
    end_line: int
    function: str
    tensor: str
    ops: tuple[str, ...]
    triggers: tuple[str, ...]
    confidence: str
    message: str
    trace: tuple[TraceStep, ...]
    fixable: bool
    fingerprint: str
    not_fixable_because: str = ""


@dataclass(frozen=True)
class Cleared:
    """A graph result that is safe, and why (``fresh_contiguous``, ``copy_back``, ``structured_proxy`` ...)."""

    file: str
    line: int
    function: str
    tensor: str
    reason: str
    detail: str = ""


@dataclass(frozen=True)
class Undecided:
    """A graph result, function or file the scan could not decide, and why."""

    file: str
    line: int
    function: str
    tensor: str
    why: str


@dataclass(frozen=True)
class SetAside:
    """A finding that the user's settings keep out of ``findings``.

    Args:
        finding: the finding as the scan made it.
        because: ``suppression``, ``baseline``, ``rule``, ``op``, ``macos``, ``path`` or ``diff``.
        detail: the reason that a suppression gives; empty for the others.
    """

    finding: Finding
    because: str
    detail: str = ""


@dataclass(frozen=True)
class Notice:
    """Something about the settings of a scan that its user should look at, such as an unused suppression.

    Args:
        file: path relative to the tree's root, or of a file of settings; empty where there is none.
        line: 1-based; 0 where the notice is about no line.
        text: one sentence.
    """

    file: str
    line: int
    text: str


@dataclass(frozen=True)
class ScanReport:
    """All that one scan saw.

    ``sites`` counts graph results, ``writes`` the tensors that Metal and matrix kernels write. Every graph result of
    the tree is in exactly one of findings, cleared, undecided and (once settings are applied) ``set_aside``.
    """

    torch_version: str
    root: str
    files: int
    sites: int
    seconds: float
    findings: tuple[Finding, ...]
    cleared: tuple[Cleared, ...]
    undecided: tuple[Undecided, ...]
    set_aside: tuple[SetAside, ...] = ()
    notices: tuple[Notice, ...] = ()
    writes: int = 0
