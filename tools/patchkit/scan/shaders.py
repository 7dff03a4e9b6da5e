"""Reads Metal shading language: which buffer arguments a kernel function writes, and what decides where.

Kernels stand in ``kernels/*.metal``, in raw strings of the Objective-C++ files (``R"METAL(...)METAL"``, often a
``fmt`` template with doubled braces), and in headers both include. A kernel is read by following names through its
body: the place of a store depends on the index it is written at and on every pointer the target was made from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import translate
from pathlib import Path

#: Where the shader sources of a tree and the headers of ATen stand.
_ATEN = "aten/src"
_KERNELS = "aten/src/ATen/native/mps/kernels"
_RUNTIME = "aten/src/ATen/mps"


@dataclass(frozen=True)
class ShaderArgument:
    """One buffer argument of a kernel function; ``writable`` where it points to ``device`` memory that is not const."""

    name: str
    index: int
    pointer: bool
    writable: bool


@dataclass(frozen=True)
class ShaderKernel:
    """One kernel function.

    Args:
        name: the function's name in the source.
        hosts: names under which the host finds it, as globs (a macro's argument is ``*``).
        arguments: its buffer arguments.
        stores: for each buffer index written, the buffer indices that the places written depend on.
        elementwise: whether every buffer is read and written at the thread's own index only.
    """

    name: str
    hosts: tuple[str, ...]
    arguments: tuple[ShaderArgument, ...]
    stores: dict[int, frozenset[int]] = field(default_factory=dict)
    elementwise: bool = False

    @property
    def writable(self) -> frozenset[int]:
        """The buffer indices that the kernel may write."""
        return frozenset(a.index for a in self.arguments if a.writable)

    @property
    def buffers(self) -> int:
        """The number of buffer slots the kernel has."""
        return 1 + max((a.index for a in self.arguments), default=-1)


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_RAW = re.compile(r'R"(\w*)\((.*?)\)\1"', re.DOTALL)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^">]+)[">]', re.MULTILINE)
_KERNEL = re.compile(
    r"\b(?:kernel\s+void|void\s+kernel)\s+([\w:#]+)\s*(<[^;(){}]*>)?\s*\("
    r"|\[\[\s*kernel\s*\]\]\s*void\s+([\w:#]+)\s*\("
)
_HOST = re.compile(r"\[\[\s*host_name\(\s*((?:[^()]|\([^()]*\))*)\)\s*\]\]")
_BUFFER = re.compile(r"\[\[\s*buffer\(\s*(\d+)\s*\)\s*\]\]")
_ATTRIBUTE = re.compile(r"\[\[.*?\]\]", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")
_ASSIGNED = re.compile(r"(?<![=!<>+\-*/%&|^])(?:<<|>>|[+\-*/%&|^])?=(?!=)")
_ATOMIC = re.compile(r"\batomic_(?!load)\w*\s*\(")
_CALLED = re.compile(r"^(?:\w+\s*=\s*)?[A-Za-z_][\w:]*\s*(?:<[^;()]*>)?(?:::\w+)?\s*\(")
_PREFIX = re.compile(r"^(?:for|if|while|switch)\s*\(|^(?:else|do|return)\b")


def shader_kernels(root: Path, path: str, source: str) -> tuple[ShaderKernel, ...]:
    """The kernel functions that the Objective-C++ file ``path`` can dispatch.

    Args:
        root: the tree's root.
        path: the file, relative to the root.
        source: its text.

    Returns:
        The kernels of its own raw strings, of the ``.metal`` file behind each ``*_metallib.h`` it includes, and of
        shader texts in the headers it includes; none where the file holds none.
    """
    texts = list(_shader_texts(root, path, source))
    return tuple(kernel for text in texts for kernel in parse_shaders(text))


def runtime_kernels(root: Path) -> tuple[ShaderKernel, ...]:
    """The kernel functions in the shader texts of the MPS runtime itself (``ATen/mps``), which any file may use."""
    texts = []
    for path in sorted((root / _RUNTIME).glob("*.[hm]*")):
        text = _read(path)
        if "kernel" in text and 'R"' in text:
            texts += [m.group(2) for m in _RAW.finditer(text) if "kernel" in m.group(2)]
    return tuple(kernel for text in texts for kernel in parse_shaders(text))


def _shader_texts(root: Path, path: str, source: str) -> Iterator[str]:
    yield from (m.group(2) for m in _RAW.finditer(source) if "kernel" in m.group(2))
    for included in _INCLUDE.findall(source):
        name = included.rpartition("/")[2]
        if name.endswith("_metallib.h"):
            yield from _with_headers(root, f"{_KERNELS}/{name.removesuffix('_metallib.h')}.metal")
        elif "mps" in included or "/" not in included:
            for place in (f"{_ATEN}/{included}", f"{path.rpartition('/')[0]}/{included}"):
                text = _read(root / place)
                if "kernel" in text:
                    yield from (m.group(2) for m in _RAW.finditer(text) if "kernel" in m.group(2))
                    break


def _with_headers(root: Path, path: str) -> Iterator[str]:
    text = _read(root / path)
    yield text
    for included in _INCLUDE.findall(text):
        if "metal" in included and "/" in included:
            header = _read(root / included) or _read(root / _ATEN / included)
            if "kernel" in header:
                yield header


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace") if path.is_file() else ""
    except OSError:
        return ""


def parse_shaders(text: str) -> list[ShaderKernel]:
    """Read the kernel functions of a shader source; text that is no shader gives none."""
    text = _COMMENT.sub(" ", text).replace("\\\r\n", "  ").replace("\\\n", " ")
    if "{{" in text:  # a template for fmt
        text = re.sub(r"\{\d*\}", "T", text).replace("{{", "{").replace("}}", "}")
    defined: list[tuple[str, str, str, bool]] = []
    hosts: list[tuple[str, str]] = []
    for match in _KERNEL.finditer(text):
        name = (match.group(1) or match.group(3)).rpartition("::")[2]
        close = _closing(text, match.end() - 1)
        if close < 0:
            continue
        head = text[max(text.rfind(";", 0, match.start()), text.rfind("}", 0, match.start())) + 1 : match.start()]
        named = _HOST.findall(head)
        opening = text[close + 1 :].lstrip()
        if opening.startswith("{"):
            start = text.index("{", close)
            end = _closing(text, start)
            body = text[start + 1 : end] if end > 0 else text[start + 1 :]
            defined.append((name, text[match.end() : close], body, "template" in head))
        if named:
            hosts.append((_glob(name), _host(named[-1])))
    known = {name for name, *_ in defined}
    out = []
    for name, parameters, body, template in defined:
        glob = re.compile(translate(_glob(name)))
        mine = [h for n, h in hosts if n == name or ("*" in n and (re.match(translate(n), name) or glob.match(n)))]
        mine += [h for n, h in hosts if "*" not in n and n not in known]
        out.append(_analyse(name, tuple(mine) or ("*" if template else _glob(name),), parameters, body))
    return out


def _glob(name: str) -> str:
    """A name a macro pastes together, as a glob: ``index_##OP`` is ``index_*``."""
    if "##" not in name:
        return name
    parts = name.split("##")
    return "*".join(p if p.islower() or "_" in p else "" for p in parts).replace("**", "*") or "*"


def _host(text: str) -> str:
    """``"index_" #OP "_" #DTYPE`` as the glob ``index_*_*``."""
    parts = re.findall(r'"([^"]*)"|([^"\s]+)', text)
    return re.sub(r"\*+", "*", "".join(literal if literal or not other else "*" for literal, other in parts))


def _closing(text: str, start: int) -> int:
    pairs = {"(": ")", "{": "}", "[": "]"}
    opener, closer = text[start], pairs[text[start]]
    depth = 0
    for match in re.compile(re.escape(opener) + "|" + re.escape(closer)).finditer(text, start):
        depth += 1 if match.group() == opener else -1
        if depth == 0:
            return match.start()
    return -1


def _split(text: str) -> Iterator[str]:
    """Split at commas outside brackets."""
    depth = start = 0
    for place, letter in enumerate(text):
        if letter in "(<[{":
            depth += 1
        elif letter in ")>]}":
            depth -= 1
        elif letter == "," and depth == 0:
            yield text[start:place]
            start = place + 1
    if text[start:].strip():
        yield text[start:]


def _parameters(text: str) -> tuple[list[ShaderArgument], set[str]]:
    """Buffer arguments, and the names of the built-in ones such as the thread's position."""
    arguments: list[ShaderArgument] = []
    builtins: set[str] = set()
    count = 0
    for part in _split(text):
        numbered = _BUFFER.search(part)
        plain = _ATTRIBUTE.sub(" ", part).strip()
        words = _WORD.findall(plain)
        if not words:
            continue
        buffer = numbered is not None or ("[[" not in part and re.search(r"\b(?:device|constant)\b", plain) is not None)
        if not buffer:
            builtins.add(words[-1])
            continue
        count = int(numbered.group(1)) if numbered is not None else count
        pointer = "*" in plain
        writable = "device" in words and "const" not in words and ("*" in plain or "&" in plain)
        arguments.append(ShaderArgument(words[-1], count, pointer, writable))
        count += 1
    return arguments, builtins


def _statements(body: str) -> Iterator[str]:
    for piece in re.split(r"[;{}]", body):
        text = piece.strip()
        while (head := _PREFIX.match(text)) is not None:
            text = text[head.end() :].strip()
        if text and not text.startswith("#"):
            yield text


@dataclass
class _Body:
    """What a kernel's body says, gathered statement by statement."""

    depends: dict[str, set[str]] = field(default_factory=dict)
    stores: list[tuple[str, set[str]]] = field(default_factory=list)

    def read(self, text: str) -> None:
        for atomic in _ATOMIC.finditer(text):
            close = _closing(text, atomic.end() - 1)
            first = next(_split(text[atomic.end() : close if close > 0 else len(text)]), "")
            self._store_through(first)
        assigned = _ASSIGNED.search(text)
        if assigned is not None:
            self._assign(text[: assigned.start()], text[assigned.end() :], len(assigned.group()) > 1)
        elif _CALLED.match(text) and not _ATOMIC.match(text):
            self._call(text)

    def _assign(self, left: str, right: str, compound: bool) -> None:
        base, index, declared = _target(left)
        if not base:
            return
        words = set(_WORD.findall(right))
        if index is not None:
            self.stores.append((base, set(_WORD.findall(index))))
            self.depends.setdefault(base + "[]", set()).update(words, _WORD.findall(index))
            return
        self.depends.setdefault(base, set()).update(words)
        _ = (declared, compound)

    def _store_through(self, argument: str) -> None:
        words = _WORD.findall(argument)
        for word in words:
            self.stores.append((word, set(words) - {word}))

    def _call(self, text: str) -> None:
        opening = text.index("(")
        close = _closing(text, opening)
        inside = text[opening + 1 : close if close > 0 else len(text)]
        words = set(_WORD.findall(inside))
        for part in _split(inside):
            if re.fullmatch(r"\s*&?\s*[A-Za-z_]\w*\s*", part):
                name = part.strip(" &\n\t")
                self.depends.setdefault(name + "[]", set()).update(words)
            for word in _WORD.findall(part):
                self.stores.append((word, words - {word}))

    def closure(self, names: Iterable[str], values: bool = True) -> set[str]:
        """Everything that decides the values of ``names``; without ``values`` only what pointers are made of."""
        seen: set[str] = set()
        stack = list(names)
        while stack:
            name = stack.pop()
            if name in seen:
                continue
            seen.add(name)
            stack.extend(self.depends.get(name, ()))
            if values:
                stack.extend(self.depends.get(name + "[]", ()))
        return seen


def _target(left: str) -> tuple[str, str | None, bool]:
    """The variable a left-hand side means, the index stored at (None where the variable itself is set)."""
    text = left.rstrip()
    index: str | None = None
    while text:
        if text.endswith("]"):
            depth = 0
            for place in range(len(text) - 1, -1, -1):
                depth += (text[place] == "]") - (text[place] == "[")
                if depth == 0:
                    break
            index = text[place + 1 : -1] + (f" {index}" if index else "")
            text = text[:place].rstrip()
            continue
        member = re.search(r"(?:\.|->)\s*\w+$", text)
        if member is None:
            break
        index = index if index is not None or "->" not in member.group() else ""
        text = text[: member.start()].rstrip()
    if text.endswith(")"):
        text = text[:-1].rstrip()
    name = re.search(r"[A-Za-z_]\w*$", text)
    if name is None:
        return "", None, False
    before = text[: name.start()].strip()
    declared = bool(_WORD.search(before))
    if not declared and before.lstrip("(").startswith("*"):
        index = index or ""
    return name.group(), index, declared


def _analyse(name: str, hosts: tuple[str, ...], parameters: str, body: str) -> ShaderKernel:
    arguments, builtins = _parameters(parameters)
    by_name = {a.name: a for a in arguments}
    read = _Body()
    for statement in _statements(body):
        read.read(statement)
    writable = {a.name for a in arguments if a.writable}
    stores: dict[int, set[int]] = {}
    for base, index in read.stores:
        made_of = read.closure((base,), values=False)
        for target in made_of & writable:
            places = read.closure(index) | (made_of - {target})
            places |= read.closure(made_of - {target})
            depends = stores.setdefault(by_name[target].index, set())
            depends.update(by_name[p].index for p in places if p in by_name and p != target)
    return ShaderKernel(
        name,
        hosts,
        tuple(arguments),
        {index: frozenset(depends) for index, depends in stores.items()},
        _elementwise(arguments, builtins, body),
    )


def _elementwise(arguments: list[ShaderArgument], builtins: set[str], body: str) -> bool:
    """Whether every pointer is used as ``name[i]`` only, with the same built-in index."""
    used: set[str] = set()
    for argument in arguments:
        if not argument.pointer:
            continue
        for match in re.finditer(rf"\b{argument.name}\b(?:\s*\[([^\[\]]*)\])?", body):
            used.add("" if match.group(1) is None else match.group(1).strip())
    return len(used) == 1 and used <= builtins


def matches(host: str, wanted: str) -> bool:
    """Whether two globs, the names a kernel has and the names a host asks for, can mean the same name."""
    if "*" not in host:
        return re.match(translate(wanted), host) is not None
    if "*" not in wanted:
        return re.match(translate(host), wanted) is not None
    head, tail = host.split("*")[0], host.split("*")[-1]
    start, end = wanted.split("*")[0], wanted.split("*")[-1]
    return (head.startswith(start) or start.startswith(head)) and (tail.endswith(end) or end.endswith(tail))
