"""Operator schemas as plain data: arguments, kinds, what is written."""

import pytest

from patchkit.errors import InputError
from patchkit.scan.registry.schema import operator_base, parse_schema, split_top_level


def test_functional_schema_has_arguments_with_types_and_defaults():
    schema = parse_schema("blend.Tensor(Tensor self, Tensor other, *, Scalar weight=1) -> Tensor")
    assert (schema.name, schema.base, schema.kind, schema.n_returns) == (
        "blend.Tensor",
        "blend",
        "functional",
        1,
    )
    assert [(a.name, a.type, a.default) for a in schema.arguments] == [
        ("self", "Tensor", None),
        ("other", "Tensor", None),
        ("weight", "Scalar", "1"),
    ]


def test_out_arguments_are_marked_and_come_last():
    schema = parse_schema(
        "split2.out(Tensor self, *, int parts=2, Tensor(a!) low, Tensor(b!) high) -> (Tensor(a!), Tensor(b!))"
    )
    assert schema.kind == "out"
    assert [a.name for a in schema.arguments] == ["self", "parts", "low", "high"]
    assert [a.name for a in schema.arguments if a.is_out] == ["low", "high"]
    assert schema.n_returns == 2


def test_in_place_schema_marks_self_written_but_not_out():
    schema = parse_schema("blend_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)")
    assert schema.kind == "inplace"
    assert schema.base == "blend"
    assert [(a.name, a.mutable, a.is_out) for a in schema.arguments] == [
        ("self", True, False),
        ("other", False, False),
    ]


def test_functional_name_that_writes_an_argument_is_mutable():
    schema = parse_schema("track(Tensor x, Tensor(a!) running, bool training) -> (Tensor, Tensor)")
    assert schema.kind == "mutable"


def test_view_annotation_is_not_a_write():
    schema = parse_schema("peek(Tensor(a) self, int dim) -> Tensor(a)")
    assert schema.kind == "functional"
    assert schema.arguments[0].type == "Tensor"


def test_view_of_all_annotation_survives_the_arrow():
    schema = parse_schema("pieces(Tensor(a -> *) self, int n, int dim=0) -> Tensor(a)[]")
    assert schema.arguments[0].type == "Tensor"
    assert schema.n_returns == 1


def test_tensor_list_that_is_written():
    schema = parse_schema("_all_add_(Tensor(a!)[] self, Scalar by) -> ()")
    assert schema.arguments[0].type == "Tensor[]"
    assert schema.arguments[0].mutable
    assert schema.n_returns == 0


def test_default_lists_with_blanks_stay_whole():
    schema = parse_schema('grow(Tensor self, int[2] by=[0, 1], str mode="a,b") -> Tensor')
    assert [a.default for a in schema.arguments] == [None, "[0, 1]", '"a,b"']


def test_aten_namespace_is_dropped():
    assert parse_schema("aten::blend(Tensor self) -> Tensor").name == "blend"


@pytest.mark.parametrize(
    ("full", "expected"),
    [
        ("blend", ("blend", False)),
        ("blend_", ("blend", True)),
        ("__and__", ("__and__", False)),
        ("__iand__", ("__and__", True)),
        ("__ior__", ("__or__", True)),
        ("__irem__", ("__irem__", False)),
    ],
)
def test_operator_names_split_into_base_and_in_place(full, expected):
    assert operator_base(full) == expected


@pytest.mark.parametrize("text", ["", "no parentheses", "f(Tensor self)", "f(Tensor) -> Tensor", "f(=) -> Tensor"])
def test_text_that_is_no_schema_is_refused_with_a_sentence(text):
    with pytest.raises(InputError, match="is not"):
        parse_schema(text)


def test_top_level_split_ignores_brackets_and_quotes():
    assert split_top_level('a, f(b, c), [d, e], "g, h"') == ["a", "f(b, c)", "[d, e]", '"g, h"']
    assert split_top_level("") == []
