"""Outputs whose handle is rebound, inputs that are restrided, temporaries of another shape."""

from __future__ import annotations

import pytest
from scan_kit import make_tree

from patchkit.scan import scan_tree

OUT = "- func: kernel.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  dispatch:\n    MPS: kernel_mps\n"
INPLACE = "- func: kernel_(Tensor(a!) self) -> Tensor(a!)\n  dispatch:\n    MPS: kernel_mps_\n"
BROADCAST = """\
- func: kernel.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    MPS: kernel_mps
"""


@pytest.fixture
def found(tmp_path):
    def scan(
        body: str, native_functions: str = OUT, head: str = "Tensor& kernel_mps(const Tensor& self, Tensor& output)"
    ):
        text = "namespace at::native {\n" + head + " {\n" + body + "\n}\n} // namespace at::native\n"
        return scan_tree(make_tree(tmp_path / "tree", {"Kernel.mm": text}, native_functions)).findings

    return scan


def test_an_output_assigned_another_operators_result_is_dropped_in_every_layout(found):
    (one,) = found("output = at::mul(self, 2);\nreturn output;")
    assert (one.rule, one.effect, one.tensor, one.macos) == ("MPS104", "dropped", "output", "all")
    assert one.layouts == ("strided", "channels_last", "offset")
    assert one.confidence == "high"


def test_where_one_branch_writes_the_output_the_other_is_still_reported_with_less_confidence(found):
    (one,) = found("if (flag) { output = at::mul(self, 2); } else { output.copy_(self); }\nreturn output;")
    assert (one.rule, one.confidence) == ("MPS104", "medium")


def test_both_branches_of_one_condition_make_one_finding(found):
    (one,) = found("if (flag) { output = at::mul(self, 2); } else { output = at::mul(self, 3); }\nreturn output;")
    assert one.line == 3


def test_an_output_that_is_written_before_its_handle_moves_on_is_not_dropped(found):
    assert found("output.copy_(self);\noutput = at::mul(output, 2);\nreturn output;") == ()


def test_a_handle_passed_through_the_call_is_still_the_same(found):
    assert found("output = at::wrapped(output, self);\nreturn output;") == ()


def test_a_local_handle_may_be_assigned(found):
    assert found("Tensor local = output;\nlocal = at::mul(self, 2);\noutput.copy_(local);\nreturn output;") == ()


def test_an_in_place_call_may_point_its_handle_at_a_copy_of_itself(found):
    assert found("self = self.clone();\nreturn self;", INPLACE, "Tensor& kernel_mps_(Tensor& self)") == ()


def test_an_input_that_is_restrided_is_reported(found):
    restride = "self.unsafeGetTensorImpl()->empty_tensor_restride(MemoryFormat::Contiguous);"
    (one,) = found(
        "if (self.suggest_memory_format() == MemoryFormat::ChannelsLast) {\n" + restride + "\n}\n"
        "output.copy_(self);\nreturn output;"
    )
    assert (one.rule, one.effect, one.layouts, one.tensor) == ("MPS105", "restrided", ("channels_last",), "self")


def test_a_fresh_tensor_may_be_restrided(found):
    assert (
        found(
            "Tensor fresh = at::empty_like(self);\n"
            "fresh.unsafeGetTensorImpl()->empty_tensor_restride(MemoryFormat::Contiguous);\n"
            "output.copy_(fresh);\nreturn output;"
        )
        == ()
    )


GRAPH = """\
  using namespace mps;
  const bool copied = !output.is_contiguous() || output.storage_offset();
  Tensor out_ = copied ? at::empty_like(%s, MemoryFormat::Contiguous) : output;
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, out_);
  runMPSGraph(stream, graph->graph(), dictionaryFromPlaceholders(input), result);
  if (copied) { output.copy_(out_); }
"""
STRUCTURED = "TORCH_IMPL_FUNC(kernel_mps)(const Tensor& self, const Tensor& other, const Tensor& output)"


def test_a_temporary_shaped_after_an_input_that_broadcasts_is_garbage(found):
    (one,) = found(GRAPH % "self", BROADCAST, STRUCTURED)
    assert (one.rule, one.effect, one.tensor, one.confidence) == (
        "MPS103",
        "garbage",
        "at::empty_like(self, MemoryFormat::Contiguous)",
        "medium",
    )
    assert "`self`" in one.message


def test_a_temporary_shaped_after_the_output_is_right(found):
    assert found(GRAPH % "output", BROADCAST, STRUCTURED) == ()


def test_an_operator_whose_inputs_do_not_broadcast_may_shape_it_after_its_input(found):
    assert found(GRAPH % "self" + "return output;", OUT) == ()
