"""Scan results kept in the cache folder, by the contents of all that a scan reads and by patchkit's own source.

As in git, a file whose size and times are those of the last run is not read again: its hash is taken from an index.
What cannot be read, is damaged, or cannot be written is treated as absent.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

from patchkit.resources import templates_dir
from patchkit.scan.findings import ScanReport
from patchkit.source.cache import cache_folder
from patchkit.source.tree import MPS_FOLDER, NATIVE_FUNCTIONS, Tree

if TYPE_CHECKING:
    from patchkit.scan.registry.schema import Overload
    from patchkit.scan.report import Fixable

FORMAT = "patchkit-scan-cache/1"
KEPT_REPORTS = 256
KEPT_INDEXES = 64
# A file written in the same instant as the index may change again with the same size and time.
_RACY_NS = 2_000_000_000
_FILES = (
    "version.txt",
    "tools/autograd/derivatives.yaml",
    "tools/autograd/gen_python_functions.py",
    "tools/autograd/templates/python_variable_methods.cpp",
    "torch/csrc/autograd/python_torch_functions_manual.cpp",
    "torch/nn/functional.py",
)
_SUFFIXES = (".h", ".hpp", ".cpp", ".mm", ".metal")
_ATEN = "aten/src/ATen"
_NATIVE = f"{_ATEN}/native"
_FLAT_FOLDERS = (_ATEN,)
_DEEP_FOLDERS = (_NATIVE, f"{_ATEN}/mps", "c10/metal")
# Folders of other backends, which neither kernels nor registry read; the MPS folder is walked whole.
_UNREAD = frozenset(
    ("ao_sparse", "cpu", "cuda", "cudnn", "hexagon", "hip", "kleidiai", "metal", "miopen", "mkl", "mkldnn", "nnapi",
     "templates", "vulkan", "xnnpack", "xpu")
)  # fmt: skip

_Data = TypeVar("_Data")
Stat = tuple[int, int, int]


@dataclass(frozen=True)
class Output:
    """An output argument of an overload."""

    name: str


@dataclass(frozen=True)
class Spelling:
    """What Python code that calls an overload needs to know of it; see ``registry.schema.Overload``."""

    name: str
    kind: str
    public: bool
    python: str
    outputs: tuple[Output, ...]


@dataclass(frozen=True)
class Scanned:
    """A report, and what is shown beside it.

    Args:
        report: the report.
        ops: overloads of the tree that reach a kernel for MPS tensors.
        spellings: how Python calls the overloads of the findings.
    """

    report: ScanReport
    ops: tuple[str, ...]
    spellings: tuple[Spelling, ...]


def scan_cached(tree: Tree, *, use_cache: bool = True, fixable: Fixable | None = None) -> ScanReport:
    """Return what :func:`patchkit.scan.scan_tree` says of a tree, from the cache where nothing has changed.

    Args:
        tree: the tree; it is only read.
        use_cache: ``False`` neither reads nor writes the cache.
        fixable: as for ``scan_tree``; always the same one, since it is no part of the cache's key.

    Raises:
        InputError: ``native_functions.yaml`` is missing or unreadable.
    """
    return scan_with_ops(tree, use_cache=use_cache, fixable=fixable).report


def scan_with_ops(
    tree: Tree, *, use_cache: bool = True, keep_index: bool = True, fixable: Fixable | None = None
) -> Scanned:
    """Return the report and the operators of a tree; see :func:`scan_cached`.

    Args:
        keep_index: ``False`` for a folder that no later run will see.
    """
    started = time.perf_counter()
    if not use_cache:
        return _scan(tree, fixable)
    found = dict(read_files(tree.root))
    index = _Index(tree.root, keep_index)
    place = _folder() / "reports" / f"{_key(tree.root, found, index)}.json"
    known = _load(place)
    if known is None:
        known = _scan(tree, fixable)
        if dict(read_files(tree.root)) == found:  # else the key may not be that of what was read
            _store(place, {"format": FORMAT, **asdict(known)})
            _prune(place.parent, KEPT_REPORTS)
        index.store()
        return known
    index.store()
    seconds = round(time.perf_counter() - started, 3)
    return replace(known, report=replace(known.report, torch_version=tree.version, root=tree.given, seconds=seconds))


def read_files(root: Path) -> Iterator[tuple[str, Stat]]:
    """Yield each file that a scan may read, relative to ``root``, with its size and its times in nanoseconds."""
    for path in _FILES:
        with contextlib.suppress(OSError):
            yield path, _stat((root / path).stat())
    with contextlib.suppress(OSError):
        yield NATIVE_FUNCTIONS, _stat((root / NATIVE_FUNCTIONS).stat())
    for folder in _FLAT_FOLDERS:
        yield from _walk(root, folder, deep=False)
    for folder in _DEEP_FOLDERS:
        yield from _walk(root, folder, deep=True)


def _walk(root: Path, folder: str, *, deep: bool) -> Iterator[tuple[str, Stat]]:
    try:
        with os.scandir(root / folder) as listing:
            entries = list(listing)
    except OSError:
        return
    inside_mps = folder.startswith(MPS_FOLDER)
    for entry in entries:
        path = f"{folder}/{entry.name}"
        with contextlib.suppress(OSError):
            if entry.name.endswith(_SUFFIXES):
                yield path, _stat(entry.stat())
            elif deep and entry.is_dir(follow_symlinks=False) and (inside_mps or entry.name not in _UNREAD):
                yield from _walk(root, path, deep=True)


def _stat(status: os.stat_result) -> Stat:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _scan(tree: Tree, fixable: Fixable | None) -> Scanned:
    from patchkit.scan import scan_tree
    from patchkit.scan.registry import load_registry

    report = scan_tree(tree, fixable=fixable)
    registry = load_registry(tree.root)
    ops = sorted({use.overload.name for kernel in registry.kernels.values() for use in kernel.uses})
    named = sorted({op for finding in report.findings for op in finding.ops if op in registry.overloads})
    return Scanned(report, tuple(ops), tuple(_spelling(registry.overloads[name]) for name in named))


def _spelling(overload: Overload) -> Spelling:
    outputs = tuple(Output(argument.name) for argument in overload.outputs)
    return Spelling(overload.name, overload.kind, overload.public, overload.python, outputs)


def _key(root: Path, found: Mapping[str, Stat], index: _Index) -> str:
    digest = hashlib.sha256(own_hash().encode())
    for path in sorted(found):
        digest.update(f"{path}\0{index.blob(root / path, path, found[path])}\n".encode())
    return digest.hexdigest()


def own_hash() -> str:
    """Return a hash of what decides a scan's result besides the tree: patchkit's scanner and the parser's version."""
    from importlib.metadata import version

    package = Path(__file__).resolve().parent
    digest = hashlib.sha256(f"{FORMAT} {sys.version_info[:2]}".encode())
    for name in ("tree-sitter", "tree-sitter-cpp"):
        digest.update(version(name).encode())
    covers = (package.parent / "fix").rglob("*.py")  # a report says which findings a template covers
    single = [package.parent / name for name in ("source/tree.py", "resources.py", "__init__.py")]
    for path in (*sorted((*package.rglob("*.py"), *covers, *single)), *sorted((templates_dir() / "edits").iterdir())):
        digest.update(f"{path.parent.name}/{path.name}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


class _Index:
    """The blob hashes of one folder's files by size and times."""

    def __init__(self, root: Path, keep: bool) -> None:
        name = hashlib.sha256(os.fsencode(root.absolute())).hexdigest()[:32]
        self._path = _folder() / "indexes" / f"{name}.json" if keep else None
        self._old: dict[str, list[Any]] = {}
        self._new: dict[str, list[Any]] = {}
        self._changed = False
        self._started = time.time_ns()
        written = 0
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            if self._path is not None:
                data = json.loads(self._path.read_text(encoding="utf-8"))
                if data["format"] == FORMAT:
                    written, self._old = int(data["written"]), dict(data["files"])
        self._trusted_before = written - _RACY_NS

    def blob(self, path: Path, name: str, stat: Stat) -> str:
        """Return the hash of a file, read only where its size or times are not those of the last run."""
        old = self._old.get(name)
        if (
            isinstance(old, list)
            and old[:3] == list(stat)
            and max(stat[1:]) < self._trusted_before
            and isinstance(old[-1], str)
        ):
            self._new[name] = old
            return old[-1]
        try:
            blob = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            return f"unreadable {error.errno}"
        self._changed = True
        self._new[name] = [*stat, blob]
        return blob

    def store(self) -> None:
        """Keep the hashes for the next run, if there is anything new."""
        if self._path is not None and (self._changed or self._new.keys() != self._old.keys()):
            _store(self._path, {"format": FORMAT, "written": self._started, "files": self._new})
            _prune(self._path.parent, KEPT_INDEXES)


def _folder() -> Path:
    return cache_folder() / "scan"


def _load(path: Path) -> Scanned | None:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data.pop("format") != FORMAT:
            return None
        return _read(Scanned, data)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _read(wanted: type[_Data], data: Any) -> _Data:
    """Make a dataclass of nested dataclasses and tuples from what :mod:`json` read; strict about names and types."""
    if not isinstance(data, dict):
        raise TypeError(wanted.__name__)
    hints = _hints(wanted)
    if data.keys() != hints.keys():
        raise KeyError(wanted.__name__)
    return wanted(**{name: _value(hint, data[name]) for name, hint in hints.items()})


def _value(hint: Any, value: Any) -> Any:
    if is_dataclass(hint):
        return _read(hint, value)  # type: ignore[arg-type]
    arguments = get_args(hint)
    if arguments:  # tuple[item, ...] is the only generic that a report holds
        if not isinstance(value, list):
            raise TypeError
        item = arguments[0]
        if is_dataclass(item):
            return tuple(_read(item, one) for one in value)  # type: ignore[arg-type]
        if not all(isinstance(one, item) for one in value):
            raise TypeError
        return tuple(value)
    if not isinstance(value, (int, float) if hint is float else hint):
        raise TypeError
    return value


_HINTS: dict[type[Any], dict[str, Any]] = {}


def _hints(wanted: type[Any]) -> dict[str, Any]:
    if wanted not in _HINTS:
        hints = get_type_hints(wanted)
        _HINTS[wanted] = {field.name: hints[field.name] for field in fields(wanted)}
    return _HINTS[wanted]


def _store(path: Path, data: object) -> None:
    """Write a file so that a reader sees all of it or the one before; a cache that cannot be written is none."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(data, separators=(",", ":")), encoding="utf-8")
        partial.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def _prune(folder: Path, kept: int) -> None:
    """Remove the oldest files beyond ``kept``."""
    with contextlib.suppress(OSError):
        files = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in files[kept:]:
            path.unlink(missing_ok=True)
