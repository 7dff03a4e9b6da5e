"""Element-wise arithmetic into a view: unary and binary operators, comparisons, clamp, lerp and where.

Unary results misplaced: pytorch#100764. Unary and binary operators: pytorch#97085. Clamp: pytorch#97858.
``torch.where``: pytorch#151176.
"""

import pytest
import torch
from repro.layouts import EVERY_OTHER, TRANSPOSED, dense_layouts, each_layout
from repro.outputs import check_functional, check_inplace, check_out, normal, positive

UNARY = [
    "abs",
    "acos",
    "asin",
    "atan",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "frac",
    "log",
    "log10",
    "log1p",
    "log2",
    "neg",
    "reciprocal",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
]
BINARY = [
    "add",
    "atan2",
    "div",
    "fmod",
    "hypot",
    "logaddexp",
    "logaddexp2",
    "maximum",
    "minimum",
    "mul",
    "pow",
    "remainder",
    "sub",
    "xlogy",
    "floor_divide",
    "copysign",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "logical_and",
    "logical_or",
    "logical_xor",
]

REPRODUCER = {
    "group": "mps_outputs",
    "title": "element-wise operators with a non-contiguous output",
    "ops": [
        "abs.out",
        "acos.out",
        "asin.out",
        "atan.out",
        "ceil.out",
        "cos.out",
        "cosh.out",
        "erf.out",
        "exp.out",
        "exp2.out",
        "expm1.out",
        "floor.out",
        "frac.out",
        "log.out",
        "log10.out",
        "log1p.out",
        "log2.out",
        "neg.out",
        "reciprocal.out",
        "round.out",
        "rsqrt.out",
        "sigmoid.out",
        "sign.out",
        "sin.out",
        "sinh.out",
        "sqrt.out",
        "square.out",
        "tan.out",
        "tanh.out",
        "trunc.out",
        "add.out",
        "atan2.out",
        "div.out",
        "fmod.Tensor_out",
        "hypot.out",
        "logaddexp.out",
        "logaddexp2.out",
        "maximum.out",
        "minimum.out",
        "mul.out",
        "pow.Tensor_Tensor_out",
        "remainder.Tensor_out",
        "sub.out",
        "xlogy.OutTensor",
        "floor_divide.out",
        "copysign.out",
        "eq.Tensor_out",
        "ne.Tensor_out",
        "lt.Tensor_out",
        "le.Tensor_out",
        "gt.Tensor_out",
        "ge.Tensor_out",
        "logical_and.out",
        "logical_or.out",
        "logical_xor.out",
        "clamp.Tensor_out",
        "clamp.out",
        "clamp_",
        "lerp.Tensor_out",
        "lerp.Scalar_out",
        "lerp_.Scalar",
        "where.self_out",
        "where.self",
    ],
    "references": ["pytorch#100764", "pytorch#97085", "pytorch#97858", "pytorch#151176"],
    "broken": "unknown",
    "fixed": "unknown",
    "macos": "<15",
    "faults": ["lost", "misplaced", "garbage", "restrided"],
}

A, B, M = positive(4, 6), positive(4, 6, seed=1), normal(4, 6) > 0
SIGNED = normal(4, 6, seed=2) * 3
DIGITS = {"eq", "ne", "logical_and", "logical_or", "logical_xor", "copysign"}
ANY_REAL = {"abs", "ceil", "floor", "frac", "neg", "round", "sign", "trunc"}
LOW, HIGH = torch.full((4, 6), 0.3), torch.full((4, 6), 0.6)


def unary_input(name):
    """Inside the operator's domain, and not all mapped to one value: a misplaced constant looks right."""
    return SIGNED if name in ANY_REAL else A


def binary_inputs(name):
    """The same; comparisons and logic get small integers of both signs, some equal and some zero."""
    return [SIGNED.round() % 3 - 1, SIGNED.t().reshape(4, 6).round() % 3 - 1] if name in DIGITS else [A * 3, B]


IN_PLACE = sorted(set(BINARY) - {"maximum", "minimum", "logaddexp", "logaddexp2"})


@pytest.mark.parametrize("name", UNARY)
@each_layout(2)
def test_unary_out(name, layout, device):
    check_out(lambda a, out: getattr(torch, name)(a, out=out), [unary_input(name)], layout, device)


@pytest.mark.parametrize("name", UNARY)
@each_layout(2)
def test_unary_in_place(name, layout, device):
    check_inplace(lambda out: getattr(out, name + "_")(), unary_input(name), [], layout, device)


@pytest.mark.parametrize("name", ["exp", "sqrt", "sigmoid", "neg"])
@dense_layouts(4)
def test_unary_fresh_result(name, layout, device):
    check_functional(getattr(torch, name), [positive(2, 3, 4, 5)], layout, device)


@pytest.mark.parametrize("name", BINARY)
@each_layout(2)
def test_binary_out(name, layout, device):
    check_out(lambda a, b, out: getattr(torch, name)(a, b, out=out), binary_inputs(name), layout, device)


@pytest.mark.parametrize("name", ["add", "mul", "div", "eq"])
@each_layout(2)
def test_binary_out_of_transposed_inputs(name, layout, device):
    check_out(
        lambda a, b, out: getattr(torch, name)(a, b, out=out),
        binary_inputs(name),
        layout,
        device,
        input_layout=TRANSPOSED,
    )


@pytest.mark.parametrize("name", IN_PLACE)
@each_layout(2)
def test_binary_in_place(name, layout, device):
    start, other = binary_inputs(name)
    check_inplace(lambda out, b: getattr(out, name + "_")(b), start, [other], layout, device, input_layout=EVERY_OTHER)


@each_layout(2)
def test_clamp_between_tensors_out(layout, device):
    check_out(lambda a, low, high, out: torch.clamp(a, low, high, out=out), [A, LOW, HIGH], layout, device)


@each_layout(2)
def test_clamp_in_place(layout, device):
    check_inplace(lambda out: out.clamp_(0.3, 0.6), A, [], layout, device)


@each_layout(2)
def test_lerp_out(layout, device):
    check_out(lambda a, b, out: torch.lerp(a, b, 0.3, out=out), [A, B], layout, device)


@each_layout(2)
def test_lerp_in_place(layout, device):
    check_inplace(lambda out, b: out.lerp_(b, 0.3), A, [B], layout, device)


@each_layout(2)
def test_where_out(layout, device):
    if torch.__version__.startswith("1."):
        pytest.skip("torch.where has no out= before 2.0")
    check_out(lambda m, a, b, out: torch.where(m, a, b, out=out), [M, A, B], layout, device)


@dense_layouts(2)
def test_where_fresh_result(layout, device):
    check_functional(torch.where, [M, A, B], layout, device)
