"""Changes of a kernel file that change nothing a compiler sees: names, white space, comments, order."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from patchkit.scan import syntax as s
from patchkit.scan.sources import SourceFile
from patchkit.scan.walk import walk

_LEXEME = re.compile(
    rb"""
      (?P<skip> //[^\n]*(?:\\\n[^\n]*)* | /\*.*?\*/ | R"(?P<delim>[^()\\\s"]{0,16})\(.*?\)(?P=delim)"
              | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
              | ^[ \t]*\#(?:[^\\\n]|\\.)* )
    | (?P<name> [A-Za-z_]\w* )
    | (?P<space> [ \t\r\n]+ )
    | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


def renamed(file: SourceFile) -> bytes:
    """Give every local variable and parameter of every function another name."""
    out, position = [], 0
    for function in sorted(file.functions, key=lambda f: f.start):
        if function.expanded or function.start < position:
            continue
        out.append(file.source[position : function.start])
        out.append(_renamed_function(function))
        position = function.end
    return b"".join((*out, file.source[position:]))


def _renamed_function(function: s.Function) -> bytes:
    names = {p.name for p in function.parameters if p.name}
    for node in walk(function.body):
        if isinstance(node, s.Declare):
            names.add(node.name)
        elif isinstance(node, s.Bind):
            names.update(node.names)
        elif isinstance(node, s.Loop):
            names.update({node.variable, *node.names})
        elif isinstance(node, s.Lambda):
            names.update(p.name for p in node.parameters)
    text = function.text
    taken = set(re.findall(rb"(?:\.|->|::)\s*([A-Za-z_]\w*)", text))  # members and scoped names
    taken |= set(re.findall(rb"([A-Za-z_]\w*)\s*::", text))
    taken |= set(re.findall(rb"([A-Za-z_]\w*):(?!:)", text))  # parts of selectors, labels
    taken |= set(re.findall(rb"[A-Za-z_]\w*", b" ".join(re.findall(rb"^[ \t]*#(?:[^\\\n]|\\.)*", text, re.MULTILINE))))
    taken |= set(re.findall(rb"(?:struct|class|typename|using)\s+([A-Za-z_]\w*)", text))
    taken |= set(re.findall(rb"([A-Za-z_]\w*)\s*\(", text))  # what is called, or declared with arguments
    order = sorted(n.encode() for n in names if n and n.encode() not in taken)
    new = {name: b"v%d_" % place for place, name in enumerate(order)}

    def replace(match: re.Match[bytes]) -> bytes:
        return new.get(match.group(), match.group()) if match.lastgroup == "name" else match.group()

    return _LEXEME.sub(replace, text)


def respaced(source: bytes) -> bytes:
    """Other white space wherever there is some: lines broken and joined."""
    count = 0

    def replace(match: re.Match[bytes]) -> bytes:
        nonlocal count
        if match.lastgroup != "space":
            return match.group()
        before = match.string[max(0, match.start() - 200) : match.start()]
        after = match.string[match.end() : match.end() + 1]
        last_line = before.rpartition(b"\n")[2]
        if b"//" in last_line or after == b"#" or last_line.lstrip().startswith(b"#"):
            return match.group()  # the end of a comment or of a directive
        count += 1
        if b"\n" in match.group():
            return (b"\n", b"\n\n\t", b"\n      ", b"\r\n ")[count % 4]
        return (b" ", b"  ", b"\t", b"\n    ")[count % 4]

    return _LEXEME.sub(replace, source)


REMARKS = (
    b" /* if (x) { out = y; } ) ] */ ",
    b" // return [graph done:y]; { ( [\n",
    b" /* @{ a : b }; !output.is_contiguous() ? \"x : 'y */ ",
)


def commented(source: bytes) -> bytes:
    """Comments that look like code, after every third ``;``, ``,`` and ``{``."""
    count = 0

    def replace(match: re.Match[bytes]) -> bytes:
        nonlocal count
        if match.group() not in (b";", b",", b"{"):
            return match.group()
        count += 1
        return match.group() + (REMARKS[count // 3 % len(REMARKS)] if count % 3 == 0 else b"")

    return _LEXEME.sub(replace, source)


def reordered(file: SourceFile) -> bytes:
    """Swap Placeholders declared one after the other; neither is made from the other."""
    source = file.source
    swaps: list[tuple[s.Declare, s.Declare]] = []
    for function in file.functions:
        if not function.expanded:
            for block in _blocks(function):
                swaps.extend(_neighbours(source, block))
    for first, second in sorted(swaps, key=lambda pair: -pair[0].start):
        a, between, b = (
            source[first.start : first.end],
            source[first.end : second.start],
            source[second.start : second.end],
        )
        source = source[: first.start] + b + between + a + source[second.end :]
    return source


def _blocks(function: s.Function) -> Iterator[list[s.Stmt]]:
    yield function.body
    for node in walk(function.body):
        if isinstance(node, s.Block):
            yield node.body
        elif isinstance(node, s.If):
            yield from (node.then, node.other)
        elif isinstance(node, (s.Loop, s.Lambda)):
            yield node.body


def _neighbours(source: bytes, block: list[s.Stmt]) -> Iterator[tuple[s.Declare, s.Declare]]:
    place = 0
    while place + 1 < len(block):
        first, second = block[place], block[place + 1]
        if (
            isinstance(first, s.Declare)
            and isinstance(second, s.Declare)
            and first.type == second.type == "Placeholder"
            and first.end <= second.start
            and not re.search(rb"\b" + first.name.encode() + rb"\b", source[second.start : second.end])
        ):
            yield first, second
            place += 1
        place += 1


def clang_format() -> Path | None:
    """The clang-format that is installed beside Python or on the path."""
    beside = Path(sys.executable).parent / "clang-format"
    found = str(beside) if beside.exists() else shutil.which("clang-format")
    return Path(found) if found else None


STYLE = "{BasedOnStyle: Mozilla, Language: ObjC, ColumnLimit: 70, IndentWidth: 6, SortIncludes: Never}"


def reformatted(source: bytes, program: Path) -> bytes:
    """The source in a style that is nobody's."""
    done = subprocess.run(
        [program, f"--style={STYLE}", "--assume-filename=x.mm"],
        input=source,
        capture_output=True,
        check=True,
        timeout=60,
    )
    return done.stdout
