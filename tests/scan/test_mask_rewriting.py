"""Objective-C++ is rewritten as C++ of the same length: one construct at a time."""

from __future__ import annotations

import pytest

from patchkit.scan.mask import mask
from patchkit.scan.sources import load_sources, parser
from tree_kit import Release


def masked(text: str) -> str:
    return " ".join(mask(text.encode()).text.decode().split())


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = [graph retain];", "x = (graph );"),
        ("[graph add:a to:b];", "(graph , a , b);"),
        ("[[Graph alloc] initWith:a];", "((Graph ) , a);"),
        ("d = @{k : v};", "d = _(k , v);"),
        ("d = @{k : v,};", "d = _(k , v );"),
        ("d = @{k : c ? a : b, l : m};", "d = _(k , c ? a : b, l , m);"),
        ("a = @[ x, y ];", "a = _( x, y );"),
        ("n = @1;", "n = 1;"),
        ("n = @(a + b);", "n = (a + b);"),
        ('s = @"text";', 's = "text";'),
        ("run(^{ f(); });", "run([]{f(); });"),
        ("run(^(int a) { f(); });", "run([] { f(); });"),
        ("@autoreleasepool { f(); }", "{ f(); }"),
        ("TORCH_IMPL_FUNC(exp_out_mps)(const Tensor& x) {}", "void exp_out_mps (const Tensor& x) {}"),
        ("for (Item* i in list) {}", "for (Item* i : list) {}"),
        ("__block int n = 0;", "int n = 0;"),
        ("NSArray<NSNumber*>* a = [NSArray<NSNumber*> array];", "NSArray<NSNumber*>* a = (NSArray );"),
        ("x = a[0];", "x = a[0];"),
        ("x = f()[0];", "x = f()[0];"),
        ("auto l = [&](int a) { return a; };", "auto l = [&](int a) { return a; };"),
        ("auto l = [=] { return a; };", "auto l = [=] { return a; };"),
        ("auto [a, b] = f();", "auto [a, b] = f();"),
        ("[[maybe_unused]] int a;", "[[maybe_unused]] int a;"),
        ("x = a ^ b;", "x = a ^ b;"),
        ("#define A(x) [x y]", ""),
        ("x = b ? [a one] : [a two];", "x = b ? (a ) : (a );"),
    ],
)
def test_a_construct_is_rewritten(source: str, expected: str) -> None:
    assert masked(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        'auto s = "[a b] @{ } ^{";',
        'auto s = R"x([a b] @{ "quoted" ^{ )x";',
        "char c = '[';",
        'auto s = "a \\" [b c]";',
    ],
)
def test_strings_stay_as_they_are(source: str) -> None:
    assert mask(source.encode()).text == source.encode()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a; // [a b] @{k : v} ^{ }", "a;"),
        ("/* [a b]; @autoreleasepool { */ b;", "b;"),
        ("[a /* { */ b:c // ]\n d:e /* ; */];", "(a , c , e );"),
        ("@{ /* [ */ k /* , */ : v, // w\n};", "_( k , v );"),
        ('f("// no", \'"\', /* ) */ a);', 'f("// no", \'"\', a);'),
        ("a; /* never closed [ {", "a;"),
        ("a; // goes on \\\n [ {\nb;", "a; b;"),
    ],
)
def test_comments_are_blanked_wherever_they_stand(source: str, expected: str) -> None:
    assert masked(source) == expected


@pytest.mark.parametrize(
    ("source", "selector"),
    [
        ("[a b];", "b"),
        ("[a b:c];", "b:"),
        ("[a b:c d:e];", "b:d:"),
        ("[a b:x ? y : z d:e];", "b:d:"),
        ("[a b:std::min(x, y) d:e];", "b:d:"),
        ("[a\n   b:c  // why\n   d:e];", "b:d:"),
    ],
)
def test_the_selector_of_a_message_is_kept(source: str, selector: str) -> None:
    assert mask(source.encode()).selectors == {0: selector}


def test_a_macro_call_that_is_no_statement_is_kept_aside() -> None:
    found = mask(b"MAKE_KERNEL(exp, float)\nvoid f() {}\n")
    assert [(m.name, m.arguments) for m in found.macro_calls] == [("MAKE_KERNEL", ("exp", "float"))]
    assert found.text == b";                      \nvoid f() {}\n"


def test_a_macro_definition_is_kept_aside_with_its_body() -> None:
    source = b"#define MAKE(name, type) \\\n  void name(type t) {}\nint x;\n"
    (found,) = mask(source).macro_definitions
    assert (found.name, found.parameters) == ("MAKE", ("name", "type"))
    assert b"void name(type t) {}" in source[found.start : found.end]


def test_a_macro_whose_parameters_go_over_lines_is_read() -> None:
    (found,) = mask(b"#define MAKE( \\\n  name, \\\n  type) \\\n  void name(type t) {}\n").macro_definitions
    assert found.parameters == ("name", "type")


def test_a_check_of_the_layout_without_its_semicolon_still_ends_as_a_statement() -> None:
    source = b'void f() {\n  TORCH_CHECK(out.is_contiguous(), "no")\n  g();\n}\n'
    text = mask(source).text
    assert text.count(b"\n") == source.count(b"\n")
    assert not parser().parse(text).root_node.has_error
    assert b"is_contiguous" in text


KERNEL = """\
TORCH_IMPL_FUNC(exp_out_mps)(const Tensor& self, const Tensor& output) {
  using namespace mps;
  struct CachedGraph : public MPSCachedGraph {
    CachedGraph(MPSGraph* graph) : MPSCachedGraph(graph) {}
    MPSGraphTensor *inputTensor_ = nil, *outputTensor_ = nil;
  };
  @autoreleasepool {
    string key = "exp" + getTensorsStringKey({self}) + [[shape valueForKey:@"description"] UTF8String];
    MPSCachedGraph* made = cache_->CreateCachedGraph(key, ^MPSCachedGraph*() {
      @autoreleasepool {
        MPSGraphTensor* y = [graph addition:[graph square:x name:@"x"]
                                         to:[graph constantWithScalar:-1.0f shape:@[ @1, @(n) ] dataType:t]
                                       name:nil];
      }
      return nil;
    });
    NSDictionary<MPSGraphTensor*, MPSGraphTensorData*>* results =
        @{p.getMPSGraphTensor() : p.getMPSGraphTensorData(), q.getMPSGraphTensor() : q.getMPSGraphTensorData()};
    for (NSNumber* n in shape) {
      results[@"n"] = n;
    }
  }
}
"""


def test_a_whole_kernel_parses_as_cpp_without_an_error() -> None:
    assert not parser().parse(mask(KERNEL.encode()).text).root_node.has_error


@pytest.mark.real_tree
def test_the_real_kernels_parse_without_an_error_in_what_matters(release: Release) -> None:
    sources = load_sources(release.tree.root)
    assert sources.problems == []
    broken = [f.name for fs in sources.functions.values() for f in fs if f.has_error and b"Placeholder" in f.text]
    assert broken == []
