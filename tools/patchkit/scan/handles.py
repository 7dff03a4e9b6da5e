"""What a kernel does to the caller's own tensors besides writing results: dropped, restrided, ill-made temporaries.

``dropped``: the ``out`` handle is pointed at another tensor, and nothing is written to the caller's on that path. A
functional call is right all the same where the wrapper returns the handle, and so is an in-place call that points
its handle at a copy of itself.

``restrided`` here: ``empty_tensor_restride`` on an argument that is only read. Its elements change places for
everyone who holds it (outputs are judged where their result is written).

``garbage``: a result goes to a temporary shaped after one input of an operator whose inputs broadcast against each
other: where that input is the smaller one, the temporary has not the shape of the result. Which operators broadcast
is read from ``native_functions.yaml``: several tensors, and ``structured_inherits: TensorIteratorBase``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from patchkit.scan.engine import Engine, Entry
    from patchkit.scan.layout import Tensor
    from patchkit.scan.machine import Path


def observe(engine: Engine, entry: Entry, path: Path) -> None:
    """Note what one path of a kernel does to the caller's handles and whose shape its temporaries have."""
    if not path.rebound:
        engine.kept.add(entry.overload)
    for tensor, file, start, made_from in path.rebound:
        copied = entry.kind == "inplace" and made_from is not None and made_from.base is tensor
        if tensor.made_in == "" and tensor.storage.content == "stale" and not copied:
            _note(engine, entry, path, "dropped", file, start, tensor)
    for tensor, atoms, file, start in path.restrided:
        if tensor.role == "input" and tensor.made_in == "":
            _note(engine, entry, path, "restrided", file, start, tensor, atoms)
    for event in path.events:
        temporary = event.placeholder.tensor
        model = temporary.shaped_after if temporary is not None and temporary.base.role == "fresh" else None
        if model is None or temporary is None or model.base.role != "input" or not broadcasts(engine, entry):
            continue
        key = (event.placeholder.file, event.placeholder.start)
        reached = next((o for o in path.outputs if key in o.storage.sites), None)
        if reached is not None:
            file, start, text = _allocation(engine, temporary, key)
            _note(engine, entry, path, "garbage", file, start, reached, None, (text, model.name))


def _allocation(engine: Engine, temporary: Tensor, result: tuple[str, int]) -> tuple[str, int, str]:
    """Where a temporary is allocated, and the call: the result that goes to it is judged at its own place."""
    for function in engine.sources.functions.get(temporary.made_in, ()):
        if function.file == result[0] and temporary.position >= 0:
            start = engine.sources.place(function, temporary.position)
            source = engine.sources.files[function.file].source
            end = engine.sources.files[function.file].masked.parentheses.end(source.find(b"(", start))
            text = source[start:end].decode("utf-8", "replace") if end > start else temporary.name
            return function.file, start, " ".join(text.split())
    return *result, temporary.name


def broadcasts(engine: Engine, entry: Entry) -> bool:
    """Whether the overload's inputs broadcast against each other, as far as the schema says it."""
    if entry.use is None or entry.kind == "inplace":
        return False
    overload = entry.use.overload
    parent = engine.registry.overloads.get(overload.structured_delegate or "", overload)
    inherits = overload.structured_inherits or parent.structured_inherits or ""
    inputs = [p for p in entry.use.parameters if p.role != "output" and p.type == "Tensor"]
    return inherits.startswith("TensorIterator") and len(inputs) > 1


def _note(
    engine: Engine,
    entry: Entry,
    path: Path,
    effect: str,
    file: str,
    start: int,
    tensor: Tensor,
    atoms: frozenset[str] | None = None,
    temporary: tuple[str, str] | None = None,
) -> None:
    from patchkit.scan.engine import Site, Verdict

    key = (effect, file, start, tensor.name if effect != "garbage" else "")
    site = engine.handles.get(key)
    if site is None:
        holder = _holder(engine, file, start)
        text = temporary[0] if temporary else tensor.name
        site = engine.handles[key] = Site(file, start, start + 1, holder, text)
    possible = atoms if atoms is not None else tensor.cell.possible()
    reason = temporary[1] if temporary else ""
    verdict = Verdict((file, start), effect, possible, path.macos, reason, tensor.name, tensor.role, "", -1, "")
    site.verdicts.setdefault(entry.overload, set()).add(verdict)


def _holder(engine: Engine, file: str, start: int) -> str:
    return next((f.name for f in engine.sources.files[file].functions if f.start <= start < f.end), "")
