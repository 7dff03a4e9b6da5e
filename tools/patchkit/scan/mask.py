"""Rewrite Objective-C++ as C++ of the same length, so that a C++ grammar parses it and every offset stays true.

Ready grammars stumble over message sends, literals and blocks. Each construct is replaced in place:

========================== ==============================================================
``[recv part:a other:b]``  ``(recv     ,a      ,b)``: a parenthesised comma expression
``@{k : v}``, ``@[a, b]``  ``_(k , v)``, ``_(a, b)``: a call of ``_``
``^Type(args) { ... }``    ``[]           { ... }``: a lambda without parameters
``@autoreleasepool { }``   ``                { }``: a plain block
``TORCH_IMPL_FUNC(x)(a)``  ``void            x (a)``: a function definition
``for (T x in y)``         ``for (T x :  y)``
macro call without ``;``   ``;`` and blanks, remembered as a :class:`MacroCall`
preprocessor line          blanks; both branches of a condition stay; a ``#define`` is remembered
========================== ==============================================================

The text is read once, left to right, so the cost is linear in its length. What the rewriting hides and a
reader needs again (selectors, macro calls, ``TORCH_IMPL_FUNC`` names) is kept beside the masked text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(frozen=True)
class MacroCall:
    """A macro invoked as if it were a declaration or a statement: name, argument texts and byte offset."""

    name: str
    arguments: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True)
class MacroDefinition:
    """A ``#define``: name, parameter names, and the byte range of its body."""

    name: str
    parameters: tuple[str, ...]
    start: int
    end: int


#: Bytes between the parentheses of a macro call; what is longer is no call but broken text.
_LONGEST_CALL = 20_000
_PAREN = re.compile(rb"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[()]""", re.DOTALL)


class Parentheses:
    """Where each parenthesis of a text closes; no part of the text is read twice, however often it is asked."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.ends: dict[int, int] = {}

    def end(self, opening: int) -> int:
        """Return the offset behind the parenthesis that closes ``opening``, or -1."""
        if opening not in self.ends:
            self._read(opening)
        return self.ends[opening]

    def _read(self, opening: int) -> None:
        open_ones: list[int] = []
        for match in _PAREN.finditer(self.source, opening):
            token = match.group()
            if token == b"(":
                open_ones.append(match.start())
            elif token == b")":
                self.ends[open_ones.pop()] = match.end()
                if not open_ones:
                    return
            if match.end() - opening > _LONGEST_CALL:
                break
        self.ends.update(dict.fromkeys(open_ones, -1))


def matching_paren(source: bytes, opening: int) -> int:
    """Return the offset behind the parenthesis that closes ``opening``, or -1; for one question about a text."""
    return Parentheses(source).end(opening) if opening >= 0 else -1


@dataclass(frozen=True)
class MaskedSource:
    """The masked text and what it hides.

    Args:
        text: masked bytes, exactly as long as the original, with the same line breaks.
        selectors: offset of a message send's opening bracket to its selector, such as ``foo:bar:`` or ``retain``.
        literals: offset of ``@{`` or ``@[`` to ``{`` or ``[``.
        structured: offset of the name in ``TORCH_IMPL_FUNC(name)``.
        macro_calls: macro invocations that were blanked out, in file order.
        macro_definitions: every ``#define``, in file order.
        parentheses: where each parenthesis of the original text closes.
        plain: the original text with comments blanked.
    """

    text: bytes
    selectors: dict[int, str] = field(default_factory=dict)
    literals: dict[int, str] = field(default_factory=dict)
    structured: frozenset[int] = frozenset()
    macro_calls: tuple[MacroCall, ...] = ()
    macro_definitions: tuple[MacroDefinition, ...] = ()
    parentheses: Parentheses = field(default_factory=lambda: Parentheses(b""))
    plain: bytes = b""


_TOKEN = re.compile(
    rb"""
      //(?:[^\\\n]|\\\r?\n|\\.)*                         # line comment
    | /\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)                    # block comment
    | (?P<raw>R"(?P<delim>[^()\\\s"]{0,16})\()           # raw string opener
    | @?"(?:[^"\\\n]|\\.|\\\n)*+"?                       # string, Objective-C string
    | '(?:[^'\\\n]|\\.)*+'                               # character
    | (?P<directive>^[ \t]*\#(?:[^\\\n/]|\\\r?\n|\\.|/(?!/|\*)|//[^\n]*|/\*(?:[^*]|\*(?!/))*+\*/)*+)
    | (?P<at>@[A-Za-z_]\w*|@[\[\{\(]|@(?=[-+\d.]))
    | (?P<macro>\b[A-Z][A-Z0-9_]{3,}\s*+\(|\b[A-Z][A-Z0-9_]*_API\b)
    | (?P<empty>=\s*\{\s*\}(?=\s*[,)]))
    | (?P<word>\b(?:__block|__weak|__strong|__unsafe_unretained|__bridge|__autoreleasing|in)\b)
    | (?P<punct>[\[\]{}()^?;]|:+)
    """.replace(rb"*+", rb"*"),
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)

_COMMENT = re.compile(
    rb"""
      (?P<comment>//(?:[^\\\n]|\\\r?\n|\\.)*|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))
    | R"(?P<delim>[^()\\\s"]{0,16})\((?:.*?\)(?P=delim)"|.*\Z)
    | "(?:[^"\\\n]|\\.|\\\n)*+"?
    | '(?:[^'\\\n]|\\.)*+'
    | ^[ \t]*\#(?:[^\\\n/]|\\\r?\n|\\.|/(?!/|\*)|//[^\n]*|/\*(?:[^*]|\*(?!/))*+\*/)*+
    """.replace(rb"*+", rb"*"),
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_TRAILING_COMMA = re.compile(rb",\s*\Z")
_DEFINE = re.compile(rb"[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)(?:\(([^()]*)\))?")
_QUALIFIERS = frozenset((b"__block", b"__weak", b"__strong", b"__unsafe_unretained", b"__bridge", b"__autoreleasing"))
_BRACKETLESS = re.compile(rb"[^\[\]{};]*")
# `receiver selector` or `receiver selector:` inside a bracket: two words side by side
_MESSAGE = re.compile(rb"\s*[\w:.()<>*,&\s-]*?[\w)>]\s+[A-Za-z_]\w*\s*(?::(?!:)|\Z)")
_SIMPLE_MESSAGE = re.compile(rb"\s*[A-Za-z_][\w.:]*(?:->\w+|\(\))*\s+[A-Za-z_]\w*\s*(?::(?!:)|\Z)")
_ATTRIBUTE = re.compile(rb"\[\[\s*[a-z_]+(?:::\w+)?\s*(?:\([^()]*\))?\s*\]\]")
_GENERIC_RECEIVER = re.compile(rb"\s*[A-Za-z_]\w*\s*(<[^;{}\[\]()]*>)\s*[A-Za-z_]\w*\s*(?::|\])")
_KEYWORD_PART = re.compile(rb"[A-Za-z_]\w*\s*\Z")
_LAST_WORD = re.compile(rb"[A-Za-z_]\w*\s*\Z")
_BLOCK_HEAD = re.compile(rb"\^[\s\w:*<>,&]*(?:\([^{};]*\))?\s*\{")
_WORD_BEFORE = re.compile(rb"[A-Za-z_]\w*\Z")
_OPERAND_KEYWORDS = frozenset((b"return", b"case", b"else", b"in", b"do", b"throw", b"co_return", b"delete", b"goto"))
_SPACES = re.compile(rb"[^\n\r]")
_CHECK = re.compile(rb"TORCH_(?:CHECK|INTERNAL_ASSERT)")
_NEXT_BLANK = re.compile(rb"[\r\n]*[ \t]")
_STRUCTURED = b"TORCH_IMPL_FUNC"


def _blank(buffer: bytearray, start: int, end: int) -> None:
    buffer[start:end] = _SPACES.sub(b" ", bytes(buffer[start:end]))


@dataclass
class _Frame:
    """One open bracket: what kind it is, where it opened, and what was seen inside at its own depth."""

    kind: str  # "message", "subscript", "array", "dictionary", "paren", "brace", "for"
    start: int
    parts: list[str] = field(default_factory=list)
    ternaries: int = 0


def mask(source: bytes) -> MaskedSource:
    """Return ``source`` as C++ of the same length.

    Args:
        source: the bytes of an Objective-C++ file or of any part of one.

    Returns:
        The masked text, whose length and line breaks equal those of ``source``. Unbalanced or foreign text is
        left as it is: the parser then reports an error node, which the scan reports as undecided.
    """
    return _Masker(without_comments(source)).run()


def without_comments(source: bytes) -> bytes:
    """Return ``source`` with its comments blanked, except those in preprocessor lines; length and line breaks stay."""

    def blank(match: re.Match[bytes]) -> bytes:
        return _SPACES.sub(b" ", match.group()) if match.group("comment") is not None else match.group()

    return _COMMENT.sub(blank, source)


class _Masker:
    def __init__(self, source: bytes) -> None:
        self.source = source
        self.buffer = bytearray(source)
        self.stack: list[_Frame] = []
        self.selectors: dict[int, str] = {}
        self.literals: dict[int, str] = {}
        self.structured: set[int] = set()
        self.macros: list[MacroCall] = []
        self.macros_defined: list[MacroDefinition] = []
        self.parentheses = Parentheses(source)

    def run(self) -> MaskedSource:
        source, position, end = self.source, 0, len(self.source)
        match_at = _TOKEN.search
        while position < end:
            match = match_at(source, position)
            if match is None:
                break
            position = match.end()
            kind = match.lastgroup
            if kind is None:
                first = source[match.start()]
                if first == 0x40:  # @"string"
                    self.buffer[match.start()] = 0x20
                continue
            if kind == "punct":
                position = self._punctuation(match.group(), match.start(), position)
            elif kind == "macro":
                position = self._macro(match.start(), position)
            elif kind == "directive":
                self._directive(match.start(), position)
            elif kind == "empty":  # `= {}` as a default argument
                _blank(self.buffer, match.start() + 1, position)
                self.buffer[position - 1] = 0x30
            elif kind == "at":
                position = self._at(match.group(), match.start(), position)
            elif kind == "word":
                self._word(match.group(), match.start(), position)
            else:  # raw string: skip to its own closing delimiter
                closing = source.find(b")" + match.group("delim") + b'"', position)
                position = end if closing < 0 else closing + len(match.group("delim")) + 2
        return MaskedSource(
            bytes(self.buffer),
            self.selectors,
            self.literals,
            frozenset(self.structured),
            tuple(self.macros),
            tuple(self.macros_defined),
            self.parentheses,
            self.source,
        )

    # -- single constructs -------------------------------------------------------------------------

    def _punctuation(self, token: bytes, start: int, position: int) -> int:
        stack = self.stack
        if token == b"(":
            stack.append(_Frame("paren", start))
        elif token == b"{":
            stack.append(_Frame("brace", start))
        elif token == b"[":
            return self._open_bracket(start, position)
        elif token in (b")", b"}", b"]"):
            self._close(token, start)
        elif token == b":":
            self._colon(start)
        elif token == b"?":
            if stack:
                stack[-1].ternaries += 1
        elif token == b";":
            while stack and stack[-1].kind in ("message", "subscript", "array", "dictionary"):
                stack.pop()  # unbalanced text: forget it rather than pair it with something far away
        elif token == b"^":
            return self._caret(start, position)
        return position

    def _open_bracket(self, start: int, position: int) -> int:
        source = self.source
        if source.startswith(b"[[", start) and (attribute := _ATTRIBUTE.match(source, start)):
            return attribute.end()
        if self._is_message(start):
            self.stack.append(_Frame("message", start))
            self.buffer[start] = 0x28
            if generic := _GENERIC_RECEIVER.match(source, position, position + 400):
                _blank(self.buffer, generic.start(1), generic.end(1))
        else:
            self.stack.append(_Frame("subscript", start))
        return position

    def _before(self, start: int) -> bytes:
        """The code right before ``start``, without white space."""
        while start and self.source[start - 1 : start].isspace():
            start -= 1
        return self.source[max(0, start - 80) : start]

    def _is_message(self, start: int) -> bool:
        source = self.source
        inner = _BRACKETLESS.match(source, start + 1)
        assert inner is not None
        content, stop = inner.group(), inner.end()
        nested = source[stop : stop + 1] == b"["
        before = self._before(start)
        last = before[-1:]
        operand = last.isalnum() or last in (b"_", b"]", b">")
        if operand and (word := _WORD_BEFORE.search(before)) and word.group() in _OPERAND_KEYWORDS:
            operand = False
        if operand:
            return False
        if last in (b")", b'"'):
            return bool(_SIMPLE_MESSAGE.match(content)) or (nested and not content.strip() and last == b")")
        stripped = content.lstrip()
        if stripped[:1] == b"@":
            return True
        if stripped[:1] in (b"&", b"=", b""):
            return nested and not stripped
        if nested:
            return b"=" not in content.split(b":", 1)[0]
        return bool(_MESSAGE.match(content)) and b"=" not in content.split(b":", 1)[0]

    def _close(self, token: bytes, start: int) -> None:
        stack = self.stack
        wanted = {b")": ("paren",), b"}": ("brace", "dictionary"), b"]": ("message", "subscript", "array")}[token]
        if not stack or stack[-1].kind not in wanted:
            if token == b"}":  # leave broken brackets behind at the end of a block
                while stack and stack[-1].kind not in ("brace", "dictionary"):
                    stack.pop()
                if stack:
                    stack.pop()
            return
        frame = stack.pop()
        if frame.kind == "message":
            self.buffer[start] = 0x29
            if frame.parts:
                self.selectors[frame.start] = "".join(frame.parts)
            elif word := _LAST_WORD.search(self.source, max(frame.start, start - 200), start):
                self.selectors[frame.start] = word.group().strip().decode()
                _blank(self.buffer, word.start(), start)
        elif frame.kind in ("array", "dictionary"):
            self.buffer[start] = 0x29
            tail = _TRAILING_COMMA.search(self.buffer, max(frame.start, start - 400), start)
            if tail:
                self.buffer[tail.start()] = 0x20

    def _colon(self, start: int) -> None:
        if not self.stack:
            return
        frame = self.stack[-1]
        if frame.ternaries:
            frame.ternaries -= 1
        elif frame.kind == "dictionary":
            self.buffer[start] = 0x2C
        elif frame.kind == "message":
            part = _KEYWORD_PART.search(self.source, max(frame.start + 1, start - 200), start)
            if part is None:
                return
            frame.parts.append(part.group().strip().decode() + ":")
            _blank(self.buffer, part.start(), start + 1)
            self.buffer[part.start()] = 0x2C

    def _caret(self, start: int, position: int) -> int:
        source = self.source
        before = self._before(start)
        if before[-1:] == b"(" and re.match(rb"\^\s*\w*\s*\)\s*\(", source[start : start + 120]):
            self.buffer[start] = 0x2A  # a block type: pointer to function
            return position
        head = _BLOCK_HEAD.match(source, start, start + 2000)
        if (head is None or before[-1:].isalnum() or before[-1:] in (b")", b"]", b"_")) and (
            head is None or not (word := _WORD_BEFORE.search(before)) or word.group() not in _OPERAND_KEYWORDS
        ):
            return position
        brace = head.end() - 1
        room = [place for place in range(start, brace) if source[place] not in b"\r\n"]
        _blank(self.buffer, start, brace)
        if len(room) >= 2:
            self.buffer[room[0]], self.buffer[room[1]] = b"[]"
        elif bytes(self.buffer[start - 1 : start]) in (b" ", b"\t"):
            self.buffer[start - 1], self.buffer[start] = b"[]"
        elif source[brace + 1 : brace + 2] in (b" ", b"\t"):
            self.buffer[start], self.buffer[brace], self.buffer[brace + 1] = b"[]{"
        else:
            self.buffer[start:brace] = source[start:brace]
            return position
        return brace

    def _macro(self, start: int, position: int) -> int:
        source = self.source
        name = source[start:position].rstrip(b"( \t\r\n")
        if source[position - 1 : position] != b"(":  # an export macro in a declaration
            _blank(self.buffer, start, position)
            return position
        if name == _STRUCTURED:
            closing = source.find(b")", position)
            if (
                closing > 0
                and not source[position:closing].strip().strip(b"_").isalnum()
                and b"_" not in source[position:closing]
            ):
                closing = -1
            if closing > 0:
                _blank(self.buffer, start, position)
                self.buffer[start : start + 4] = b"void"
                _blank(self.buffer, closing, closing + 1)
                offset = position + len(source[position:closing]) - len(source[position:closing].lstrip())
                self.structured.add(offset)
                return closing + 1
        if self._starts_line(start):
            end = self.parentheses.end(position - 1)
            if end > 0 and not _continues(source, end):
                if (
                    _CHECK.match(name)
                    and b"is_contiguous" in source[position:end]
                    and (gap := _NEXT_BLANK.match(source, end))
                ):
                    self.buffer[gap.end() - 1] = 0x3B  # a check of the layout that lacks its semicolon is still one
                    self.stack.append(_Frame("paren", position - 1))
                    return position
                self.macros.append(MacroCall(name.decode(), split_arguments(source[position : end - 1]), start, end))
                _blank(self.buffer, start, end)
                self.buffer[start] = 0x3B
                return end
        self.stack.append(_Frame("paren", position - 1))
        return position

    def _directive(self, start: int, position: int) -> None:
        define = _DEFINE.match(self.source, start, position)
        if define:
            joined = re.sub(rb"\\\r?\n", b" ", define.group(2) or b"").decode("utf-8", "replace")
            names = tuple(p.strip() for p in joined.split(",")) if define.group(2) is not None else ()
            self.macros_defined.append(MacroDefinition(define.group(1).decode(), names, define.end(), position))
        _blank(self.buffer, start, position)

    def _starts_line(self, start: int) -> bool:
        line = self.source.rfind(b"\n", 0, start) + 1
        return not self.source[line:start].strip()

    def _at(self, token: bytes, start: int, position: int) -> int:
        buffer, source = self.buffer, self.source
        if token in (b"@[", b"@{"):
            buffer[start : start + 2] = b"_("
            self.literals[start] = token[1:].decode()
            self.stack.append(_Frame("array" if token == b"@[" else "dictionary", start))
        elif token == b"@(":
            buffer[start] = 0x20
            self.stack.append(_Frame("paren", start + 1))
        elif token in (b"@autoreleasepool", b"@synchronized"):
            _blank(buffer, start, position)
            if token == b"@synchronized":
                opening = source.find(b"(", position)
                end = self.parentheses.end(opening) if opening >= 0 else -1
                if end > 0:
                    _blank(buffer, opening, end)
                    return end
        elif token in (b"@try", b"@catch", b"@throw"):
            buffer[start] = 0x20
        elif token == b"@finally":
            _blank(buffer, start, position)
        elif (
            token in (b"@available", b"@selector", b"@encode", b"@protocol") and source[position : position + 1] == b"("
        ):
            buffer[start] = 0x5F
            end = self.parentheses.end(position)
            if end > 0:
                _blank(buffer, position + 1, end - 1)
                return end
        elif token in (b"@class", b"@compatibility_alias"):
            end = source.find(b";", position)
            if end > 0:
                _blank(buffer, start, end + 1)
                return end + 1
        elif token in (b"@interface", b"@protocol", b"@implementation"):
            end = source.find(b"@end", position)
            end = len(source) if end < 0 else end + 4
            _blank(buffer, start, end)
            return end
        else:
            buffer[start] = 0x20
        return position

    def _word(self, word: bytes, start: int, position: int) -> None:
        if word in _QUALIFIERS:
            _blank(self.buffer, start, position)
        elif len(self.stack) and self.stack[-1].kind == "paren":
            opening = self.stack[-1].start
            if self.source[max(0, opening - 8) : opening].rstrip().endswith(b"for"):
                self.buffer[start:position] = b": "


_GAP = re.compile(rb"(?:[ \t\r\n]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)


def _continues(source: bytes, end: int) -> bool:
    """Whether the text behind a call goes on with it: an operator, a ``;``, a body."""
    gap = _GAP.match(source, end)
    assert gap is not None
    following = source[gap.end() : gap.end() + 2]
    if not following:
        return False
    if b"\n" not in gap.group():
        return True
    return following[:1] in b";,.)-+*/%&|<>=!?:([{]" and following[:1] != b""


def split_arguments(text: bytes) -> tuple[str, ...]:
    """Split a macro's argument text at its top-level commas."""
    parts, depth, last = [], 0, 0
    for match in re.finditer(rb"""[(\[{]|[)\]}]|,|"(?:[^"\\\n]|\\.)*\"""", text):
        token = match.group()
        if token in (b"(", b"[", b"{"):
            depth += 1
        elif token in (b")", b"]", b"}"):
            depth -= 1
        elif token == b"," and depth == 0:
            parts.append(text[last : match.start()])
            last = match.end()
    parts.append(text[last:])
    return tuple(part.decode("utf-8", "replace").strip() for part in parts)
