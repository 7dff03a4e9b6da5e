"""The masker and the parser take any bytes: length, lines and offsets stay, the time is linear, nothing raises."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutation_kit import damaged
from scan_kit import KERNELS

from patchkit.scan.mask import mask
from patchkit.scan.sources import SourceFile, parse_file, parser
from patchkit.scan.walk import miscounted, placeholders
from tree_kit import Release

WORDS = (
    b'[ ] { } ( ) @{ @[ @( ^ ^{ ^( : :: ? ; , = " @" \' // /* */ \\ \n # #define #if #endif <  > . -> & * + a b foo: '
    b"@autoreleasepool @synchronized @interface @end @class @selector( @try @1 TORCH_IMPL_FUNC( TORCH_CHECK( "
    b'MAKE_KERNEL( for in return R"( R"x( )" )x" __block static Tensor Placeholder( runMPSGraph( .copy_( '
    b"template<class T> namespace a { void f() { struct if else switch case 1: auto [&] is_contiguous() TORCH_API "
).split(b" ")


@cache
def cpp():
    return parser()


def lines_of(data: bytes) -> list[int]:
    return [match.start() for match in re.finditer(rb"[\r\n]", data)]


def check_mask(data: bytes) -> None:
    found = mask(data)
    assert len(found.text) == len(data)
    assert lines_of(found.text) == lines_of(data)
    for offset in (*found.selectors, *found.literals, *found.structured):
        assert 0 <= offset < len(data)
    assert all(data.startswith(b"[", offset) for offset in found.selectors)
    assert all(data.startswith(b"@" + kind.encode(), offset) for offset, kind in found.literals.items())
    assert all(0 <= m.start < m.end <= len(data) for m in found.macro_calls)


def check_parse(data: bytes) -> SourceFile:
    file = parse_file("x.mm", data, cpp())
    for function in file.functions:
        assert 0 <= function.start <= function.body_start < function.end <= len(data) or function.expanded
        miscounted(function)
        for placeholder in placeholders(function, function.body):
            if not function.expanded:
                assert function.start <= placeholder.start <= placeholder.end <= function.end
    return file


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_are_masked(data: bytes) -> None:
    check_mask(data)


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=60), st.sampled_from([b"", b" ", b"\n"]))
def test_any_words_of_the_language_are_masked_and_parsed(words: list[bytes], between: bytes) -> None:
    data = between.join(words)
    check_mask(data)
    check_parse(data)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(KERNELS.glob("*.mm"))), st.integers(0, 2**32))
def test_damaged_kernels_are_masked_and_parsed(path, seed: int) -> None:
    data = damaged(path.read_bytes(), seed)
    check_mask(data)
    check_parse(data)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(KERNELS.glob("*.mm"))), st.integers(0, 2**32))
def test_a_damage_leaves_the_functions_before_it_as_they_are(path, seed: int) -> None:
    data = path.read_bytes()
    cut = seed % len(data)
    before = [(f.name, f.start, f.end) for f in parse_file("x.mm", data, cpp()).functions if f.end < cut]
    after = [(f.name, f.start, f.end) for f in parse_file("x.mm", data[:cut], cpp()).functions]
    whole = [f for f in before if not data[: f[2]].endswith(b"\\")]
    assert [f for f in whole if f not in after] == []


@pytest.mark.real_tree
def test_damaged_real_kernels_are_masked_and_parsed(release: Release) -> None:
    files = sorted(release.engine.sources.files.values(), key=lambda file: file.path)
    for seed, file in enumerate(files):
        data = damaged(file.source, seed)
        check_mask(data)
        check_parse(data)


@pytest.mark.real_tree
def test_real_kernels_keep_their_length_and_lines(release: Release) -> None:
    for file in release.engine.sources.files.values():
        check_mask(file.source)


#: Text that invites a reader to look at the same bytes again and again.
REPEATED: dict[str, tuple[bytes, bytes, bytes]] = {
    "open parentheses": (b"x = ", b"(", b""),
    "closed parentheses": (b"x = ", b"()", b""),
    "open brackets": (b"", b"[", b""),
    "messages": (b"", b"[a b:c];", b""),
    "nested messages": (b"", b"[a b:", b""),
    "blocks": (b"", b"f(^(int a ", b""),
    "open blocks": (b"", b"^{", b""),
    "open dictionaries": (b"", b"@{a:", b""),
    "quotes": (b"", b'"', b""),
    "open comment": (b"", b"/* ", b""),
    "commented directives": (b"", b"#define A /* ", b""),
    "directives": (b"", b"#define A \\\n", b""),
    "open macro calls": (b"", b"\nMAKE_KERNEL(", b""),
    "nested macro calls": (b"", b"\nMAKE_KERNEL(", b")" * 4000),
    "closed macro calls": (b"", b"\nMAKE_KERNEL(a)", b""),
    "open calls of a kernel macro": (b"#define MAKE(x) void x() {}\n", b"MAKE(a\n", b""),
    "structured kernels": (b"", b"TORCH_IMPL_FUNC(", b""),
    "selectors": (b"", b"@selector(", b""),
    "interfaces": (b"", b"@interface a ", b""),
    "raw strings": (b"", b'R"x(', b""),
    "templates": (b"", b"[A<", b""),
    "attributes": (b"", b"[[a(", b""),
    "empty lists": (b"", b"={ ", b""),
    "white space": (b"[a", b"    ", b" b];"),
    "long names": (b"[", b"aaaa", b" b];"),
    "ternaries": (b"x = ", b"a ? b : ", b"c;"),
    "closing braces": (b"", b"}", b""),
}


def cost(work: Callable[[bytes], object], data: bytes) -> float:
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        work(data)
        best = min(best, time.process_time() - started)
    return best


@pytest.mark.parametrize("name", REPEATED)
def test_sixteen_times_the_text_costs_about_sixteen_times_the_time(name: str) -> None:
    before, again, after = REPEATED[name]

    def make(factor: int) -> bytes:
        return b"void f() {\n" + before + again * (250 * factor) + after + b"\n}\n"

    def read(data: bytes) -> None:
        parse_file("x.mm", data, cpp())

    small = max(cost(read, make(4)), 0.002)
    assert cost(read, make(64)) < 16 * small * 4


#: Nesting that a reader by recursion does not survive.
NESTED = {
    "parentheses": (b"x = ", b"(", b"1", b")", b";"),
    "calls": (b"", b"f(", b"1", b")", b";"),
    "messages": (b"", b"[a b:", b"1", b"]", b";"),
    "blocks": (b"", b"{", b"", b"}", b""),
    "dictionaries": (b"x = ", b"@{a : ", b"b", b"}", b";"),
    "lists": (b"int x[] = ", b"{", b"", b"}", b";"),
    "sums": (b"x = 1", b" + 1", b"", b"", b";"),
    "methods": (b"x", b".y()", b"", b"", b";"),
    "subscripts": (b"x", b"[0]", b"", b"", b";"),
    "casts": (b"x = ", b"(int)", b"1", b"", b";"),
    "negations": (b"x = ", b"! ", b"1", b"", b";"),
    "assignments": (b"", b"a = ", b"1", b"", b";"),
    "conditions": (b"", b"if (a) {", b"", b"}", b""),
    "else chains": (b"", b"if (a) {} else ", b"{}", b"", b""),
    "loops": (b"", b"for (;;) {", b"", b"}", b""),
    "switches": (b"", b"switch (a) { case 1: ", b"", b"}", b""),
    "lambdas": (b"", b"f([&]() {", b"", b"});", b""),
    "ternaries": (b"x = ", b"a ? ", b"b", b" : c", b";"),
}


@pytest.mark.parametrize("name", NESTED)
def test_deep_nesting_is_read_or_refused_but_never_raises(name: str) -> None:
    before, opened, middle, closed, after = NESTED[name]
    body = before + opened * 3000 + middle + closed * 3000 + after
    deep = b"void deep(Tensor& t) {\n" + body + b"\n Placeholder p = Placeholder(g, t);\n}\n"
    file = check_parse(deep + b"void shallow() { f(); }\n")
    read = sorted(f.name for f in file.functions if not f.has_error and f.body)
    assert read in (["deep", "shallow"], ["shallow"])


def test_nesting_as_deep_as_kernels_have_it_is_read() -> None:
    body = b"x = " + b"(" * 50 + b"1" + b")" * 50 + b";" + b"if (a) {" * 40 + b"f();" + b"}" * 40
    (function,) = parse_file("x.mm", b"void f() {" + body + b"}", cpp()).functions
    assert function.body
    assert not function.has_error


def test_macros_that_write_more_than_any_file_holds_are_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("patchkit.scan.sources.MAX_BYTES", 100_000)
    line = b"  runMPSGraph(stream, graph, feeds, results); \\\n"
    text = b"#define MAKE(x) void x() { \\\n" + line * 40 + b"}\n" + b"MAKE(a)\n" * 1000
    assert [p.why.split(" write")[0] for p in check_parse(text).problems] == ["the macros of this file"]
