"""How a finding's operators are written in Python."""

from __future__ import annotations

import pytest

from patchkit.output._python_calls import python_calls, read_overloads
from patchkit.source.tree import NATIVE_FUNCTIONS

YAML = """\
- func: addcmul.out(Tensor self, Tensor tensor1, *, Scalar value=1, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    MPS: addcmul_out_mps

- func: addcmul(Tensor self, Tensor tensor1, *, Scalar value=1) -> Tensor
  structured_delegate: addcmul.out
  variants: method, function

- func: addcmul_(Tensor(a!) self, Tensor tensor1, *, Scalar value=1) -> Tensor(a!)
  structured_delegate: addcmul.out
  variants: method

- func: sort.pair(Tensor self, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))
  dispatch:
    MPS: sort_out_mps

- func: linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor
  python_module: linalg
  dispatch:
    MPS: cross_mps

- func: hardswish(Tensor self) -> Tensor
  python_module: nn
  dispatch:
    MPS: hardswish_mps

- func: _softmax.out(Tensor self, int dim, bool half_to_float, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    MPS: softmax_out_mps

- func: glu_backward.grad_input(Tensor grad_output, Tensor self, *, Tensor(a!) grad_input) -> Tensor(a!)
  python_module: nn
  dispatch:
    MPS: glu_backward_out_mps
"""


@pytest.fixture
def overloads(tmp_path):
    file = tmp_path / NATIVE_FUNCTIONS
    file.parent.mkdir(parents=True)
    file.write_text(YAML)
    return read_overloads(tmp_path)


@pytest.mark.parametrize(
    ("ops", "trigger", "call"),
    [
        (["addcmul.out", "addcmul", "addcmul_"], "inplace", "x.t().addcmul_(...)"),
        (["addcmul.out", "addcmul", "addcmul_"], "out", "torch.addcmul(..., out=y.t())"),
        (["addcmul.out", "addcmul", "addcmul_"], "functional", "torch.addcmul(x.t(), ...)"),
        (["sort.pair"], "out", "torch.sort(..., out=(y.t(), indices))"),
        (["linalg_cross"], "functional", "torch.linalg.cross(x.t(), ...)"),
        (["hardswish"], "functional", "torch.nn.functional.hardswish(x.t(), ...)"),
        (["_softmax.out"], "out", "torch.ops.aten._softmax.out(..., out=y.t())"),
        (["glu_backward.grad_input"], "backward", "backward of glu"),
    ],
)
def test_each_trigger_has_its_own_spelling(overloads, ops, trigger, call):
    assert python_calls(ops, [trigger], ["strided"], overloads) == [call]


def test_a_public_operator_is_preferred_to_a_private_one(overloads):
    calls = python_calls(["_softmax.out", "addcmul.out"], ["out"], ["strided"], overloads)
    assert calls == ["torch.addcmul(..., out=y.t())"]


def test_the_calls_follow_the_order_of_the_triggers(overloads):
    calls = python_calls(["addcmul_", "addcmul", "addcmul.out"], ["out", "inplace"], ["strided"], overloads)
    assert calls == ["torch.addcmul(..., out=y.t())", "x.t().addcmul_(...)"]


@pytest.mark.parametrize(
    ("layout", "tensor"), [("offset", "x[1:]"), ("channels_last", "x.to(memory_format=torch.channels_last)")]
)
def test_the_example_tensor_has_the_layout_that_is_lost(overloads, layout, tensor):
    assert python_calls(["addcmul_"], ["inplace"], [layout], overloads) == [f"{tensor}.addcmul_(...)"]


def test_a_tree_without_native_functions_has_no_calls(tmp_path):
    overloads = read_overloads(tmp_path)
    assert python_calls(["addcmul"], ["functional"], ["strided"], overloads) == []
