"""A kernel function as plain statements and expressions, lowered from tree-sitter's tree.

Only what decides the fate of a tensor is kept apart (calls, members, message sends, conditions, assignments);
everything else becomes :class:`Opaque`. Offsets are bytes in the file the function stands in.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tree_sitter import Node

    from patchkit.scan.mask import MaskedSource


@dataclass(slots=True, eq=False)
class Expr:
    """Base of expressions; ``start`` and ``end`` are byte offsets."""

    start: int
    end: int


@dataclass(slots=True, eq=False)
class Name(Expr):
    """An identifier; ``name`` is its last part, ``scope`` what stands before ``::``."""

    name: str
    scope: str = ""


@dataclass(slots=True, eq=False)
class Literal(Expr):
    """A number, string, character, ``true``, ``false``, ``nullptr``; ``value`` is a Python value."""

    value: Any = None


@dataclass(slots=True, eq=False)
class Call(Expr):
    """``callee(arguments)``; a method call has a :class:`Member` callee."""

    callee: Expr
    arguments: list[Expr]
    template: str = ""


@dataclass(slots=True, eq=False)
class Member(Expr):
    """``object.name`` or ``object->name``."""

    object: Expr
    name: str
    arrow: bool = False


@dataclass(slots=True, eq=False)
class Message(Expr):
    """An Objective-C message send."""

    selector: str
    receiver: Expr
    arguments: list[Expr]


@dataclass(slots=True, eq=False)
class Collection(Expr):
    """``@{}`` (kind ``{``, keys and values alternate), ``@[]`` (kind ``[``) or a braced list (kind ``init``)."""

    kind: str
    items: list[Expr]
    type: str = ""


@dataclass(slots=True, eq=False)
class Conditional(Expr):
    """``test ? then : other``."""

    test: Expr
    then: Expr
    other: Expr


@dataclass(slots=True, eq=False)
class Unary(Expr):
    """``!x``, ``-x``, ``*x``, ``&x``, ``++x``."""

    operator: str
    operand: Expr


@dataclass(slots=True, eq=False)
class Binary(Expr):
    """``left operator right``."""

    operator: str
    left: Expr
    right: Expr


@dataclass(slots=True, eq=False)
class Assign(Expr):
    """``target operator value``."""

    operator: str
    target: Expr
    value: Expr


@dataclass(slots=True, eq=False)
class Index(Expr):
    """``object[index]``."""

    object: Expr
    index: Expr


@dataclass(slots=True, eq=False)
class Cast(Expr):
    """A C or C++ cast; ``type`` is its text."""

    type: str
    operand: Expr


@dataclass(slots=True, eq=False)
class Lambda(Expr):
    """A lambda or block; ``relevant`` is False where its body can do nothing to a tensor's data.

    ``kept`` is its body after slicing, once its function has been sliced.
    """

    parameters: list[Parameter]
    body: list[Stmt]
    relevant: bool = True
    kept: list[Stmt] | None = None


@dataclass(slots=True, eq=False)
class Opaque(Expr):
    """Anything else; ``text`` is its source."""

    text: str = ""


@dataclass(slots=True, eq=False)
class Parameter:
    """A function parameter; ``type`` is its text without the name."""

    name: str
    type: str
    default: Expr | None = None


@dataclass(slots=True, eq=False)
class Stmt:
    """Base of statements."""

    start: int
    end: int


@dataclass(slots=True, eq=False)
class Declare(Stmt):
    """``type name = value`` or ``type name(arguments)``."""

    type: str
    name: str
    value: Expr | None
    arguments: list[Expr] | None = None


@dataclass(slots=True, eq=False)
class Bind(Stmt):
    """``auto [a, b] = value``."""

    names: list[str]
    value: Expr


@dataclass(slots=True, eq=False)
class Evaluate(Stmt):
    """An expression statement."""

    value: Expr


@dataclass(slots=True, eq=False)
class If(Stmt):
    """``if (init; test) then else other``."""

    init: Stmt | None
    test: Expr
    then: list[Stmt]
    other: list[Stmt]


@dataclass(slots=True, eq=False)
class Loop(Stmt):
    """Any loop; its body counts as run once, with the range variable bound to an element."""

    head: list[Stmt]
    variable: str
    over: Expr | None
    body: list[Stmt]
    names: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Switch(Stmt):
    """``switch (value)``; each case is its labels (``None`` for default) and its statements up to the next label."""

    value: Expr
    cases: list[tuple[list[Expr | None], list[Stmt]]]


@dataclass(slots=True, eq=False)
class Return(Stmt):
    """``return value``."""

    value: Expr | None


@dataclass(slots=True, eq=False)
class Block(Stmt):
    """A compound statement."""

    body: list[Stmt]


@dataclass(slots=True, eq=False)
class Jump(Stmt):
    """``break``, ``continue``, ``throw`` or ``goto``."""

    kind: str


@dataclass(slots=True, eq=False)
class Function:
    """One function definition of the tree, lowered on first use.

    Args:
        name: the C++ name without scope; ``x`` for ``TORCH_IMPL_FUNC(x)``.
        scope: the class of a member function, else empty.
        file: path relative to the tree.
        start, end: byte range of the definition in ``file``.
        body_start: offset of the opening brace.
        structured: whether it is a ``TORCH_IMPL_FUNC``.
        static: whether it has internal linkage.
        has_error: whether the parser met something it could not read inside.
        expanded: whether a macro wrote it; its offsets are then into ``text``, the expansion, whose lines are
            those of the macro's definition at ``start``.
    """

    name: str
    scope: str
    file: str
    start: int
    end: int
    body_start: int
    structured: bool
    static: bool
    has_error: bool
    parameters: list[Parameter]
    returns: str
    text: bytes
    expanded: bool
    _lower: Callable[[], list[Stmt]]
    initializers: list[tuple[str, Expr]] = field(default_factory=list)
    _body: list[Stmt] | None = None

    @property
    def body(self) -> list[Stmt]:
        """The statements of the body; none, and ``has_error`` set, where they are nested too deeply to follow."""
        if self._body is None:
            try:
                self._body = self._lower()
            except RecursionError:
                self._body, self.has_error = [], True
        return self._body


#: What a block must mention to be able to move a tensor's data.
RELEVANT = re.compile(
    rb"Placeholder\b|runMPSGraph|copy_\(|_out\(|setBuffer|mtl_set|dispatch[A-Z1]|encode|executeMPSGraph|resultsDictionary"
    rb"|resize_|\.set_\(|fill_\(|zero_\(|mul_\(|exec_\w+kernel|_stub\("
)
_SPACE = re.compile(r"\s+")


#: Expressions and statements inside one another; the deepest kernel of a release has about thirty.
MAX_NESTING = 120


class Lowering:
    """Turns tree-sitter nodes of one masked file into statements and expressions."""

    def __init__(self, masked: MaskedSource, source: bytes) -> None:
        self.masked = masked
        self.source = source
        self.text = masked.text
        self.nesting = 0

    def body(self, node: Node) -> list[Stmt]:
        """Lower the body of a function.

        Raises:
            RecursionError: it is nested deeper than :data:`MAX_NESTING`.
        """
        self.nesting = 0
        return self.block(node)

    def source_text(self, node: Node) -> str:
        """The original text of a node, white space collapsed."""
        return _SPACE.sub(" ", self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")).strip()

    # -- statements --------------------------------------------------------------------------------

    def block(self, node: Node) -> list[Stmt]:
        """Lower the statements of a compound statement or of a single statement."""
        if node.type == "compound_statement":
            out: list[Stmt] = []
            for child in node.named_children:
                out.extend(self.statement(child))
            return out
        return self.statement(node)

    def statement(self, node: Node) -> list[Stmt]:
        """Lower one statement; one declaration may give several."""
        handler = _STATEMENTS.get(node.type)
        if handler is None:
            return []
        self._enter()
        lowered = handler(self, node)
        self.nesting -= 1
        return lowered

    def _enter(self) -> None:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise RecursionError

    def _compound(self, node: Node) -> list[Stmt]:
        return [Block(node.start_byte, node.end_byte, self.block(node))]

    def _expression_statement(self, node: Node) -> list[Stmt]:
        children = node.named_children
        if not children:
            return []
        return [Evaluate(node.start_byte, node.end_byte, self.expression(children[0]))]

    def _declaration(self, node: Node) -> list[Stmt]:
        type_node = node.child_by_field_name("type")
        base = self.source_text(type_node) if type_node is not None else ""
        out: list[Stmt] = []
        for declarator in node.children_by_field_name("declarator"):
            value: Expr | None = None
            arguments: list[Expr] | None = None
            inner = declarator
            if declarator.type == "init_declarator":
                found = declarator.child_by_field_name("declarator")
                value_node = declarator.child_by_field_name("value")
                if found is None:
                    continue
                inner = found
                if value_node is not None:
                    if value_node.type == "argument_list":
                        arguments = self.arguments(value_node)
                    else:
                        value = self.expression(value_node)
            names, suffix = self._declared(inner)
            if inner.type == "structured_binding_declarator" or (names and len(names) > 1):
                if value is not None:
                    out.append(Bind(node.start_byte, node.end_byte, names, value))
                continue
            if inner.type == "function_declarator" and arguments is None:
                # `Placeholder p(a, b)` reads as a function declaration where a and b look like types
                arguments = self._vexing(inner)
                if arguments is None:
                    continue
            if names:
                out.append(Declare(node.start_byte, node.end_byte, (base + suffix).strip(), names[0], value, arguments))
        return out

    def _vexing(self, declarator: Node) -> list[Expr] | None:
        parameters = declarator.child_by_field_name("parameters")
        if parameters is None:
            return None
        out: list[Expr] = []
        for child in parameters.named_children:
            text = self.source_text(child)
            if not re.fullmatch(r"[\w:.>()-]+", text):
                return None
            parts = text.split("::")
            out.append(Name(child.start_byte, child.end_byte, parts[-1], "::".join(parts[:-1])))
        return out or None

    def _declared(self, node: Node) -> tuple[list[str], str]:
        """The names a declarator declares and the ``*``/``&`` that belong to the type."""
        suffix = ""
        while True:
            kind = node.type
            if kind in ("identifier", "field_identifier", "type_identifier"):
                return [node.text.decode("utf-8", "replace") if node.text else ""], suffix
            if kind == "structured_binding_declarator":
                return [
                    c.text.decode("utf-8", "replace") for c in node.named_children if c.type == "identifier" and c.text
                ], suffix
            if kind in ("reference_declarator", "pointer_declarator"):
                suffix += "&" if kind == "reference_declarator" else "*"
                inner = [c for c in node.named_children if c.type not in ("type_qualifier", "comment")]
                if not inner:
                    return [], suffix
                node = inner[-1]
                continue
            found = node.child_by_field_name("declarator")
            if found is None:
                return [], suffix
            node = found

    def _if(self, node: Node) -> list[Stmt]:
        clause = node.child_by_field_name("condition")
        init: Stmt | None = None
        test: Expr = Opaque(node.start_byte, node.start_byte, "")
        if clause is not None:
            init_node = clause.child_by_field_name("initializer")
            value = clause.child_by_field_name("value")
            if init_node is not None:
                lowered = self.statement(
                    init_node.named_children[0] if init_node.type == "init_statement" else init_node
                )
                init = lowered[0] if lowered else None
            if value is not None and value.type == "declaration":
                declared = self._condition_declaration(value)
                if declared is not None:
                    init = declared
                    test = Name(value.start_byte, value.end_byte, declared.name)
            elif value is not None:
                test = self.expression(value)
            elif clause.type == "parenthesized_expression":
                test = self.expression(clause)
        then = node.child_by_field_name("consequence")
        other = node.child_by_field_name("alternative")
        other_body: list[Stmt] = []
        if other is not None:
            for child in other.named_children if other.type == "else_clause" else [other]:
                if child.type != "comment":
                    other_body.extend(self.block(child))
        return [If(node.start_byte, node.end_byte, init, test, self.block(then) if then else [], other_body)]

    def _condition_declaration(self, node: Node) -> Declare | None:
        type_node = node.child_by_field_name("type")
        declarator = node.child_by_field_name("declarator")
        value = node.child_by_field_name("value")
        if declarator is None or value is None:
            return None
        names, suffix = self._declared(declarator)
        if not names:
            return None
        base = self.source_text(type_node) if type_node is not None else ""
        return Declare(node.start_byte, node.end_byte, base + suffix, names[0], self.expression(value))

    def _for(self, node: Node) -> list[Stmt]:
        head: list[Stmt] = []
        initializer = node.child_by_field_name("initializer")
        if initializer is not None:
            head = self.statement(initializer)
        body = node.child_by_field_name("body")
        return [Loop(node.start_byte, node.end_byte, head, "", None, self.block(body) if body else [])]

    def _range(self, node: Node) -> list[Stmt]:
        declarator = node.child_by_field_name("declarator")
        right = node.child_by_field_name("right")
        body = node.child_by_field_name("body")
        names = self._declared(declarator)[0] if declarator is not None else []
        over = self.expression(right) if right is not None else None
        name = names[0] if len(names) == 1 else ""
        return [
            Loop(
                node.start_byte,
                node.end_byte,
                [],
                name,
                over,
                self.block(body) if body else [],
                names if not name else [],
            )
        ]

    def _while(self, node: Node) -> list[Stmt]:
        body = node.child_by_field_name("body")
        return [Loop(node.start_byte, node.end_byte, [], "", None, self.block(body) if body else [])]

    def _switch(self, node: Node) -> list[Stmt]:
        condition = node.child_by_field_name("condition")
        body = node.child_by_field_name("body")
        value: Expr = Opaque(node.start_byte, node.start_byte, "")
        if condition is not None:
            inner = condition.child_by_field_name("value") or condition
            value = self.expression(inner)
        cases: list[tuple[list[Expr | None], list[Stmt]]] = []
        for case in body.named_children if body is not None else []:
            if case.type != "case_statement":
                continue
            label = case.child_by_field_name("value")
            labels: list[Expr | None] = [self.expression(label) if label is not None else None]
            statements: list[Stmt] = []
            for child in case.named_children:
                if label is not None and child == label:
                    continue
                statements.extend(self.statement(child))
            if cases and not cases[-1][1]:
                cases[-1][0].extend(labels)
                cases[-1] = (cases[-1][0], statements)
            else:
                cases.append((labels, statements))
        return [Switch(node.start_byte, node.end_byte, value, cases)]

    def _return(self, node: Node) -> list[Stmt]:
        children = [c for c in node.named_children if c.type != "comment"]
        return [Return(node.start_byte, node.end_byte, self.expression(children[0]) if children else None)]

    def _jump(self, node: Node) -> list[Stmt]:
        return [Jump(node.start_byte, node.end_byte, node.type.removesuffix("_statement"))]

    def _try(self, node: Node) -> list[Stmt]:
        body = node.child_by_field_name("body")
        return [Block(node.start_byte, node.end_byte, self.block(body))] if body is not None else []

    def _labeled(self, node: Node) -> list[Stmt]:
        out: list[Stmt] = []
        for child in node.named_children:
            out.extend(self.statement(child))
        return out

    # -- expressions -------------------------------------------------------------------------------

    def arguments(self, node: Node) -> list[Expr]:
        """Lower an argument list."""
        return [self.expression(c) for c in node.named_children if c.type != "comment"]

    def expression(self, node: Node) -> Expr:
        """Lower one expression."""
        handler = _EXPRESSIONS.get(node.type)
        if handler is None:
            return Opaque(node.start_byte, node.end_byte, self.source_text(node))
        self._enter()
        lowered = handler(self, node)
        self.nesting -= 1
        return lowered

    def _identifier(self, node: Node) -> Expr:
        return Name(node.start_byte, node.end_byte, node.text.decode("utf-8", "replace") if node.text else "")

    def _qualified(self, node: Node) -> Expr:
        text = _SPACE.sub("", node.text.decode("utf-8", "replace") if node.text else "")
        if "<" in text:
            text = re.sub(r"<.*>", "", text)
        scope, _, name = text.rpartition("::")
        return Name(node.start_byte, node.end_byte, name, scope)

    def _literal(self, node: Node) -> Expr:
        text = node.text.decode("utf-8", "replace") if node.text else ""
        value: Any = text
        if node.type == "true" or text == "YES":
            value = True
        elif node.type == "false":
            value = False
        elif node.type == "number_literal":
            try:
                value = int(text.rstrip("uUlL"), 0)
            except ValueError:
                value = text
        elif node.type in ("null", "nullptr"):
            value = None
        elif node.type == "string_literal":
            value = text.lstrip(" ")
        return Literal(node.start_byte, node.end_byte, value)

    def _call(self, node: Node) -> Expr:
        function = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        if function is None or arguments is None:
            return Opaque(node.start_byte, node.end_byte, self.source_text(node))
        if function.type == "identifier" and function.text == b"_" and node.start_byte in self.masked.literals:
            kind = self.masked.literals[node.start_byte]
            return Collection(node.start_byte, node.end_byte, kind, self.arguments(arguments))
        if arguments.type == "initializer_list":
            return Collection(
                node.start_byte, node.end_byte, "init", self.arguments(arguments), self.source_text(function)
            )
        template = ""
        for candidate in (
            function,
            function.child_by_field_name("name"),
            function.child_by_field_name("field"),
        ):
            if candidate is not None and candidate.type in ("template_function", "template_method"):
                template_node = candidate.child_by_field_name("arguments")
                template = self.source_text(template_node) if template_node is not None else ""
        text = function.text or b""
        if text in _CAST_CALLS or text.split(b"<")[0] in _CAST_CALLS:
            lowered = self.arguments(arguments)
            if lowered:
                return Cast(node.start_byte, node.end_byte, template, lowered[-1])
        return Call(node.start_byte, node.end_byte, self.expression(function), self.arguments(arguments), template)

    def _template_function(self, node: Node) -> Expr:
        name = node.child_by_field_name("name")
        return self.expression(name) if name is not None else self._identifier(node)

    def _field(self, node: Node) -> Expr:
        argument = node.child_by_field_name("argument")
        member = node.child_by_field_name("field")
        operator = node.child_by_field_name("operator")
        if argument is None or member is None:
            return Opaque(node.start_byte, node.end_byte, self.source_text(node))
        if member.type in ("template_method", "dependent_name"):
            member = member.child_by_field_name("name") or member
        arrow = operator is not None and operator.type == "->"
        name = (member.text.decode("utf-8", "replace") if member.text else "").split("<")[0]
        return Member(node.start_byte, node.end_byte, self.expression(argument), name, arrow)

    def _parenthesized(self, node: Node) -> Expr:
        children = [c for c in node.named_children if c.type != "comment"]
        if not children:
            return Opaque(node.start_byte, node.end_byte, "")
        selector = self.masked.selectors.get(node.start_byte)
        inner = children[0]
        if selector is not None:
            flat = _flatten_commas(children[0])
            lowered = [self.expression(p) for p in flat]
            return Message(node.start_byte, node.end_byte, selector, lowered[0], lowered[1:])
        if inner.type == "comma_expression":
            lowered = [self.expression(p) for p in _flatten_commas(inner)]
            return Collection(node.start_byte, node.end_byte, "comma", lowered)
        return self.expression(inner)

    def _comma(self, node: Node) -> Expr:
        return Collection(node.start_byte, node.end_byte, "comma", [self.expression(p) for p in _flatten_commas(node)])

    def _conditional(self, node: Node) -> Expr:
        parts = [node.child_by_field_name(f) for f in ("condition", "consequence", "alternative")]
        if any(p is None for p in parts):
            return Opaque(node.start_byte, node.end_byte, self.source_text(node))
        test, then, other = (self.expression(p) for p in parts if p is not None)
        return Conditional(node.start_byte, node.end_byte, test, then, other)

    def _assignment(self, node: Node) -> Expr:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if left is None or right is None:
            return Opaque(node.start_byte, node.end_byte, self.source_text(node))
        sign = operator.text.decode("utf-8", "replace") if operator is not None and operator.text else "="
        return Assign(node.start_byte, node.end_byte, sign, self.expression(left), self.expression(right))

    def _unary(self, node: Node) -> Expr:
        argument = node.child_by_field_name("argument")
        operator = node.child_by_field_name("operator")
        if argument is None:
            return Opaque(node.start_byte, node.end_byte, self.source_text(node))
        sign = operator.text.decode("utf-8", "replace") if operator is not None and operator.text else ""
        return Unary(node.start_byte, node.end_byte, {"not": "!"}.get(sign, sign), self.expression(argument))

    def _binary(self, node: Node) -> Expr:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if left is None or right is None:
            return Opaque(node.start_byte, node.end_byte, self.source_text(node))
        sign = operator.text.decode("utf-8", "replace") if operator is not None and operator.text else ""
        sign = {"and": "&&", "or": "||"}.get(sign, sign)
        return Binary(node.start_byte, node.end_byte, sign, self.expression(left), self.expression(right))

    def _subscript(self, node: Node) -> Expr:
        argument = node.child_by_field_name("argument")
        indices = node.child_by_field_name("indices") or node.child_by_field_name("index")
        if argument is None or indices is None:
            return Opaque(node.start_byte, node.end_byte, self.source_text(node))
        inner = (
            indices.named_children[0]
            if indices.type == "subscript_argument_list" and indices.named_children
            else indices
        )
        return Index(node.start_byte, node.end_byte, self.expression(argument), self.expression(inner))

    def _cast(self, node: Node) -> Expr:
        type_node, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        if value is None:
            return Opaque(node.start_byte, node.end_byte, self.source_text(node))
        text = self.source_text(type_node) if type_node is not None else ""
        return Cast(node.start_byte, node.end_byte, text, self.expression(value))

    def _new(self, node: Node) -> Expr:
        type_node = node.child_by_field_name("type")
        arguments = node.child_by_field_name("arguments")
        name = self.source_text(type_node) if type_node is not None else ""
        callee = Name(node.start_byte, node.end_byte, name.split("<")[0])
        return Call(node.start_byte, node.end_byte, callee, self.arguments(arguments) if arguments else [], "new")

    def _initializer(self, node: Node) -> Expr:
        items = [self.expression(c) for c in node.named_children if c.type != "comment"]
        return Collection(node.start_byte, node.end_byte, "init", items)

    def _compound_literal(self, node: Node) -> Expr:
        type_node, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        items = [self.expression(c) for c in value.named_children if c.type != "comment"] if value is not None else []
        text = self.source_text(type_node) if type_node is not None else ""
        return Collection(node.start_byte, node.end_byte, "init", items, text)

    def _lambda(self, node: Node) -> Expr:
        body = node.child_by_field_name("body")
        if body is None:
            return Opaque(node.start_byte, node.end_byte, "")
        relevant = bool(RELEVANT.search(self.source, node.start_byte, node.end_byte))
        parameters: list[Parameter] = []
        declarator = node.child_by_field_name("declarator")
        listed = declarator.child_by_field_name("parameters") if declarator is not None else None
        if listed is not None:
            parameters = self.parameters(listed)
        small = body.end_byte - body.start_byte < 400
        return Lambda(
            node.start_byte,
            node.end_byte,
            parameters,
            self.block(body) if relevant or small else [],
            relevant,
        )

    def parameters(self, node: Node) -> list[Parameter]:
        """Lower a parameter list."""
        out: list[Parameter] = []
        for child in node.named_children:
            if child.type not in ("parameter_declaration", "optional_parameter_declaration"):
                continue
            declarator = child.child_by_field_name("declarator")
            default = child.child_by_field_name("default_value")
            name, suffix, text = "", "", self.source_text(child)
            if declarator is not None:
                names, suffix = self._declared(declarator)
                name = names[0] if names else ""
            type_node = child.child_by_field_name("type")
            base = self.source_text(type_node) if type_node is not None else text
            const = "const " if re.match(r"const\b", text) else ""
            out.append(
                Parameter(name, const + base + suffix, self.expression(default) if default is not None else None)
            )
        return out


def _flatten_commas(node: Node) -> list[Node]:
    out: list[Node] = []
    stack = [node]
    while stack:
        current = stack.pop()
        if current.type == "comma_expression":
            right, left = current.child_by_field_name("right"), current.child_by_field_name("left")
            stack.extend(n for n in (right, left) if n is not None)
        else:
            out.append(current)
    return out


_CAST_CALLS = frozenset(
    (b"static_cast", b"const_cast", b"reinterpret_cast", b"dynamic_cast", b"__builtin_bit_cast", b"std::move", b"move",
     b"c10::bit_cast", b"std::forward")
)  # fmt: skip

_STATEMENTS: dict[str, Callable[[Lowering, Any], list[Stmt]]] = {
    "compound_statement": Lowering._compound,
    "expression_statement": Lowering._expression_statement,
    "declaration": Lowering._declaration,
    "if_statement": Lowering._if,
    "for_statement": Lowering._for,
    "for_range_loop": Lowering._range,
    "while_statement": Lowering._while,
    "do_statement": Lowering._while,
    "switch_statement": Lowering._switch,
    "return_statement": Lowering._return,
    "break_statement": Lowering._jump,
    "continue_statement": Lowering._jump,
    "throw_statement": Lowering._jump,
    "try_statement": Lowering._try,
    "labeled_statement": Lowering._labeled,
}

_EXPRESSIONS: dict[str, Callable[[Lowering, Any], Expr]] = {
    "identifier": Lowering._identifier,
    "field_identifier": Lowering._identifier,
    "type_identifier": Lowering._identifier,
    "this": Lowering._identifier,
    "qualified_identifier": Lowering._qualified,
    "number_literal": Lowering._literal,
    "string_literal": Lowering._literal,
    "concatenated_string": Lowering._literal,
    "char_literal": Lowering._literal,
    "true": Lowering._literal,
    "false": Lowering._literal,
    "null": Lowering._literal,
    "nullptr": Lowering._literal,
    "call_expression": Lowering._call,
    "template_function": Lowering._template_function,
    "field_expression": Lowering._field,
    "parenthesized_expression": Lowering._parenthesized,
    "comma_expression": Lowering._comma,
    "conditional_expression": Lowering._conditional,
    "assignment_expression": Lowering._assignment,
    "unary_expression": Lowering._unary,
    "pointer_expression": Lowering._unary,
    "update_expression": Lowering._unary,
    "binary_expression": Lowering._binary,
    "subscript_expression": Lowering._subscript,
    "cast_expression": Lowering._cast,
    "new_expression": Lowering._new,
    "initializer_list": Lowering._initializer,
    "compound_literal_expression": Lowering._compound_literal,
    "lambda_expression": Lowering._lambda,
}
