"""Layouts, tensors and storages as the abstract machine sees them on one path through a kernel.

A layout is one of six atoms; a tensor whose layout is not yet known holds the set of those still possible, and each
question a kernel asks (``is_contiguous()``, ``storage_offset()``, ``needsGather()``) narrows it.

==== ========================================================= =======================
atom tensor                                                    reported as
==== ========================================================= =======================
C    contiguous, offset 0, not a view
V    contiguous view at offset 0, such as ``buf[:2]``          ``offset``
O    contiguous view with a storage offset, such as ``buf[3]`` ``offset``
T    dense, permuted, such as ``x.t()``                        ``strided``
G    gapped or offset strided view, such as ``x[:, 1::2]``     ``strided``
L    dense in channels_last                                    ``channels_last``
==== ========================================================= =======================
"""

from __future__ import annotations

from dataclasses import dataclass, field

ALL = frozenset("CVOTGL")
CONTIGUOUS = frozenset("CVO")
DENSE = frozenset("CVOTL")
#: What ``empty_like`` makes of each layout when it preserves the format (``TensorImpl`` keeps dense strides only).
PRESERVED = {"C": "C", "V": "C", "O": "C", "G": "C", "T": "T", "L": "L"}
REPORTED = {"T": "strided", "G": "strided", "L": "channels_last", "O": "offset", "V": "offset"}
ORDER = ("strided", "channels_last", "offset")


def reported(atoms: frozenset[str]) -> tuple[str, ...]:
    """The layouts of the JSON contract that a set of atoms stands for, in its order."""
    names = {REPORTED[a] for a in atoms if a in REPORTED}
    return tuple(n for n in ORDER if n in names)


@dataclass(slots=True, eq=False)
class Cell:
    """What is known of a layout; views that keep the layout share the cell of their base.

    A cell that ``follows`` another has the layout that ``empty_like`` derives from it.
    """

    atoms: frozenset[str]
    rank: int | None = None
    follows: Cell | None = None

    def possible(self) -> frozenset[str]:
        """The atoms still possible."""
        if self.follows is None:
            return self.atoms
        return frozenset(PRESERVED[a] for a in self.follows.possible())


@dataclass(slots=True, eq=False)
class Storage:
    """The memory behind tensors.

    Args:
        content: ``stale`` (the caller's old data), ``raw`` (uninitialised), ``data`` (written by something else),
            ``result`` (a graph result in its right place), ``scrambled`` (a result written densely over strides).
        sites: the graph results that were written here.
    """

    content: str
    sites: set[tuple[str, int]] = field(default_factory=set)
    written_at: int = -1


@dataclass(slots=True, eq=False)
class Tensor:
    """One ``TensorImpl``.

    Args:
        role: ``output`` (the caller's, to be written), ``input`` (the caller's, read), ``fresh`` (made in the kernel).
        name: how reports call it.
        source: for a fresh tensor, the tensor whose layout it follows or whose stand-in it is.
        root: for a view, its base.
        defined: False for ``Tensor()``, None where a caller may leave it out.
    """

    cell: Cell
    storage: Storage
    role: str
    name: str
    key: int
    source: Tensor | None = None
    root: Tensor | None = None
    defined: bool | None = True
    position: int = -1
    made_in: str = ""
    shaped_after: Tensor | None = None
    typed_after: Tensor | None = None
    used_at: int = -1
    is_view: bool | None = None
    emptied: bool = False

    @property
    def base(self) -> Tensor:
        """The tensor this one is a view of, or itself."""
        tensor = self
        while tensor.root is not None:
            tensor = tensor.root
        return tensor
