"""The small C++ reader: blanking keeps offsets, definitions and macro-made functions are found."""

import time

import pytest

from patchkit.scan.registry.cpp_code import (
    assigned,
    best_fitting,
    calls,
    calls_of,
    expansions,
    functions,
    macros,
    parse_parameters,
)
from patchkit.scan.registry.cpp_text import blank, closing, split_arguments, without_directives, word_offsets


def found(text):
    clean = blank(text)
    return list(functions(without_directives(clean), "x.cpp"))


@pytest.mark.parametrize(
    "text",
    [
        'a = "quote } \\" inside"; // comment { \n/* block\n } */ b;',
        "char c = '}'; char d = '\\'';",
        'auto s = R"METAL( kernel void f() { } " )METAL"; x();',
        "unterminated /* comment } \n more",
        'unterminated " string } \n next();',
    ],
)
def test_blanking_keeps_length_and_lines_and_hides_braces(text):
    clean = blank(text)
    assert len(clean) == len(text)
    assert [i for i, c in enumerate(clean) if c == "\n"] == [i for i, c in enumerate(text) if c == "\n"]
    assert "}" not in clean


def test_code_after_a_string_survives_blanking():
    assert blank('f("a}b"); g();').endswith("; g();")


def test_functions_are_found_in_namespaces_and_classes():
    text = """
    namespace at::native {
    namespace {
    static Tensor& one(Tensor& self, int64_t n = 3) { if (n) { return self; } return self; }
    }
    struct Box { int get() const { return 1; } };
    Tensor two(const Tensor& a,
               const std::optional<Tensor>& b) { return a; }
    }
    """
    assert [(f.name, [p.name for p in f.parameters]) for f in found(text)] == [
        ("one", ["self", "n"]),
        ("get", []),
        ("two", ["a", "b"]),
    ]


def test_macro_named_functions_take_the_macros_arguments_as_name():
    text = "TORCH_IMPL_FUNC(blend_out)\n(const Tensor& self, const Tensor& out) { go(out); }\n"
    text += "TORCH_META_FUNC2(blend, Tensor)(const Tensor& self) { }\n"
    assert [(f.macro, f.name, len(f.parameters)) for f in found(text)] == [
        ("TORCH_IMPL_FUNC", "blend_out", 2),
        ("TORCH_META_FUNC2", "blend_Tensor", 1),
    ]


def test_out_of_line_methods_know_their_class():
    text = "void Iterator::build(Config& c) { run(); }\nIterator::Iterator(int a) : a_(a), b_(0) { }\n"
    assert [(f.qualifier, f.name) for f in found(text)] == [("Iterator", "build"), ("Iterator", "Iterator")]


def test_initialisers_and_lambdas_at_file_scope_are_not_functions():
    text = "static const int table[] = {1, 2};\nstatic auto hook = [](int a) { return a; };\nvoid real() { }\n"
    assert [f.name for f in found(text)] == ["real"]


def test_a_function_knows_its_lines():
    function = found("\n\nvoid f()\n{\n  a();\n  b();\n}\n")[0]
    assert function.line == 4
    assert [function.line_of(call.offset) for call in calls(function.body)] == [5, 6]


def test_directives_with_continuations_are_left_out():
    text = "#define BODY(x) \\\n  void x() { \\\n  }\nvoid f() { }\n"
    assert [f.name for f in found(text)] == ["f"]


def test_macros_are_expanded_with_pasting_and_nesting():
    text = blank("#define INNER(n, s) void n##_out() { s##_stub(); }\n#define BOTH(n) \\\n  INNER(n, n)\nBOTH(blend)\n")
    expanded = [made.strip() for made, _ in expansions(without_directives(text), macros(text))]
    assert expanded == ["INNER(blend, blend)", "void blend_out() { blend_stub(); }"]


def test_calls_know_receiver_and_arguments():
    body = blank("meta.set(0, {a, b}, x.options().kind(k)); this->go<int, 2>(y); at::f(z); g(1)(2);")
    listed = [(call.receiver, call.name, call.arguments) for call in calls(body)]
    assert listed == [
        ("meta.", "set", ("0", "{a, b}", "x.options().kind(k)")),
        ("x.", "options", ()),
        ("x.options().", "kind", ("k",)),
        ("this->", "go", ("y",)),
        ("at::", "f", ("z",)),
        ("", "g", ("1",)),
    ]


def test_calls_of_one_name_leave_other_names_alone():
    assert [call.arguments for call in calls_of("fill_(a); refill_(b); fill_ (c); fill_;", "fill_")] == [
        ("a",),
        ("c",),
    ]


def test_assignments_to_a_local_are_collected():
    body = "auto x = f(a); x = g(b); y.x = no; if (x == c) {} Tensor x(d);"
    assert assigned(body, "x") == ["f(a)", "g(b)", "d"]


def test_arguments_split_outside_brackets_and_templates():
    assert split_arguments("a, std::pair<int, Tensor>(b, c), {d, e}, i < n") == [
        "a",
        "std::pair<int, Tensor>(b, c)",
        "{d, e}",
        "i < n",
    ]


def test_parameters_keep_their_types():
    listed = parse_parameters("const Tensor& self, std::optional<int64_t> dim = std::nullopt, bool")
    assert [(p.type, p.name) for p in listed] == [
        ("const Tensor&", "self"),
        ("std::optional<int64_t>", "dim"),
        ("bool", ""),
    ]


def test_a_call_means_the_overload_with_as_many_parameters():
    text = "void f(int a) { } void f(int a, int b) { }"
    assert [len(f.parameters) for f in best_fitting(found(text), 2)] == [2]
    assert [len(f.parameters) for f in best_fitting(found(text), 0)] == [1, 2]


def test_whole_words_only():
    assert list(word_offsets("ab a_b a ab.a", "a")) == [7, 12]


def test_an_unclosed_bracket_ends_with_the_text():
    assert closing("f(a, (b)", 1) == 8
    assert [f.name for f in found("void f() { if (a) {")] == ["f"]


@pytest.mark.parametrize(
    "piece",
    ["/*", '"', "f(", "{", "}", "void f() {", "#define A(x) \\\n", "x = ", 'R"x(', "a::", "((", "<int", "f<"],
)
def test_hostile_text_is_read_in_linear_time(piece):
    def seconds(count):
        text = piece * count
        start = time.process_time()
        for function in found(text):
            list(calls(function.body))
            list(calls_of(function.body, "f"))
            assigned(function.body, "x")
        return time.process_time() - start

    seconds(100)
    small, large = max(seconds(2_000), 0.002), seconds(16_000)
    assert large < 40 * small
