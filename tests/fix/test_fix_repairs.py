"""Kernels with a wrong temporary or a wrong guard are repaired; no second temporary is put around the first."""

from __future__ import annotations

import pytest
from edits_kit import RUN, attempt, function, make_tree, reasons, source, unary

DENSE = (
    "    Placeholder result = Placeholder(graph->outputTensor_, {}, /*mpsShape=*/nil, /*gatherTensorData=*/false);\n"
)
COPY = "  if (copies) {\n    output.copy_(dense);\n  }\n"


def kernel(before, handed="dense", after=COPY, **parts):
    return unary(
        "twice",
        before=before,
        placeholder=parts.pop(
            "placeholder", f"    Placeholder result = Placeholder(graph->outputTensor_, {handed});\n"
        ),
        after=after,
        **parts,
    )


def repaired(tmp_path, text, template, dialect="2.2"):
    cured, after, left = attempt(make_tree(tmp_path, source(text), function("twice"), dialect))
    assert not cured.refused
    assert left == []
    assert list(cured.templates.values()) == [template]
    assert after.count("empty_like") <= 1
    return after


def test_contiguous_as_a_temporary_becomes_empty_like(tmp_path):
    text = kernel(
        "  const bool copies = !output.is_contiguous() || output.storage_offset();\n"
        "  Tensor dense = output;\n  if (copies) {\n    dense = output.contiguous();\n  }\n"
    )
    after = repaired(tmp_path, text, "contiguous_temporary")
    assert "    dense = at::empty_like(output, MemoryFormat::Contiguous);\n" in after


def test_a_temporary_in_the_layout_of_an_input_becomes_contiguous(tmp_path):
    text = kernel(
        "  Tensor dense = at::empty_like(self, self.suggest_memory_format());\n", after="  output.copy_(dense);\n"
    )
    after = repaired(tmp_path, text, "contiguous_temporary")
    assert "Tensor dense = at::empty_like(output, MemoryFormat::Contiguous);" in after


def test_a_guard_on_another_tensor_looks_at_the_output(tmp_path):
    text = kernel(
        "  const bool copies = !self.is_contiguous();\n"
        "  Tensor dense = copies ? at::empty_like(output, MemoryFormat::Contiguous) : output;\n"
    )
    after = repaired(tmp_path, text, "widen_guard")
    assert "const bool copies = !output.is_contiguous() || output.storage_offset();" in after


def test_a_guard_that_says_the_opposite_stays_the_opposite(tmp_path):
    text = kernel(
        "  const bool plain = output.is_contiguous();\n"
        "  Tensor dense = plain ? output : at::empty_like(output, MemoryFormat::Contiguous);\n",
        after="  if (!plain) {\n    output.copy_(dense);\n  }\n",
    )
    after = repaired(tmp_path, text, "widen_guard")
    assert "const bool plain = output.is_contiguous() && !output.storage_offset();" in after


def test_a_copy_back_with_a_narrower_condition_asks_whether_there_is_a_temporary(tmp_path):
    text = kernel(
        "  Tensor dense = needsGather(output) ? at::empty_like(output, MemoryFormat::Contiguous) : output;\n",
        after="  if (!output.is_contiguous()) {\n    output.copy_(dense);\n  }\n",
    )
    after = repaired(tmp_path, text, "widen_guard", "2.4")
    assert "if (!dense.is_same(output)) {" in after


def test_a_path_without_its_copy_back_gets_it_after_the_run(tmp_path):
    text = kernel(
        "  const bool copies = !output.is_contiguous() || output.storage_offset();\n"
        "  Tensor dense = copies ? at::empty_like(output, MemoryFormat::Contiguous) : output;\n"
        "  if (flat(self)) {\n    dense.zero_();\n    if (copies) {\n      output.copy_(dense);\n    }\n"
        "    return output;\n  }\n",
        after="",
    )
    after = repaired(tmp_path, text, "missing_copy_back")
    assert RUN + "    if (copies) {\n      output.copy_(dense);\n    }\n" in after


def test_an_input_bound_in_the_order_of_the_output_is_part_of_the_guard(tmp_path):
    text = kernel(
        "  bool copies = !(self.is_contiguous(MemoryFormat::Contiguous) ||\n"
        "                  self.is_contiguous(MemoryFormat::ChannelsLast));\n"
        "  Tensor dense = at::empty_like(output, MemoryFormat::Contiguous);\n",
        placeholder=DENSE.format("copies ? dense : output"),
        feed="    Placeholder input = Placeholder(graph->inputTensor_, self, nil, copies);\n",
    )
    after = repaired(tmp_path, text, "widen_guard", "2.6")
    assert "  bool copies = needsGather(output) || needsGather(self);\n" in after


def test_a_variable_that_only_the_old_guard_used_goes_with_it(tmp_path):
    text = kernel(
        "  auto format = output.suggest_memory_format();\n"
        "  bool copies = !(self.is_contiguous(format) && output.is_contiguous(format));\n"
        "  Tensor dense;\n  if (copies) {\n    dense = at::empty_like(output, MemoryFormat::Contiguous);\n  }\n",
        placeholder=DENSE.format("dense.has_storage() ? dense : output"),
        feed="    Placeholder input = Placeholder(graph->inputTensor_, self, nil, copies);\n",
        after="  if (dense.has_storage()) {\n    output.copy_(dense);\n  }\n",
    )
    after = repaired(tmp_path, text, "widen_guard", "2.6")
    assert "suggest_memory_format" not in after
    assert "needsGather(output) || needsGather(self)" in after


SWITCH = "    bool gathers = true;\n    if (!output.is_contiguous()) {\n      gathers = false;\n    }\n"


def test_inputs_are_gathered_again_once_the_output_has_a_temporary(tmp_path):
    text = unary(
        "twice",
        feed=SWITCH + "    Placeholder input = Placeholder(graph->inputTensor_, self, nil, gathers);\n",
        placeholder=DENSE.format("output"),
    )
    cured, after, left = attempt(make_tree(tmp_path, source(text), function("twice")))
    assert not cured.refused and not left
    assert "gathers = false" not in after and "bool gathers = true;" in after


def test_inputs_whose_order_cannot_be_changed_are_a_reason_to_refuse(tmp_path):
    feed = "    Placeholder input = Placeholder(graph->inputTensor_, self, nil, ordered(self));\n"
    text = source(unary("twice", feed=feed, placeholder=DENSE.format("output")))
    cured, after, _ = attempt(make_tree(tmp_path, text, function("twice")))
    assert after == text
    assert "would mix the two orders" in reasons(cured)[0]


@pytest.mark.parametrize("guarded", [True, False])
def test_a_caller_keeps_the_strides_of_its_tensor(tmp_path, guarded):
    restride = "output.unsafeGetTensorImpl()->empty_tensor_restride(MemoryFormat::Contiguous);\n"
    before = f"  if (!output.is_contiguous()) {{\n    {restride}  }}\n" if guarded else f"  {restride}"
    cured, after, left = attempt(make_tree(tmp_path, source(unary("twice", before=before)), function("twice")))
    assert not cured.refused and not left
    assert "restride" not in after and "output.copy_(output_)" in after
    assert list(cured.templates.values()) == ["keep_strides"]


def test_a_deleted_statement_leaves_no_two_empty_lines(tmp_path):
    before = "\n  output.unsafeGetTensorImpl()->empty_tensor_restride(MemoryFormat::Contiguous);\n"
    _, after, _ = attempt(make_tree(tmp_path, source(unary("twice", before=before)), function("twice")))
    assert "restride" not in after and "\n\n\n" not in after


def test_a_temporary_with_the_shape_of_an_input_gets_that_of_the_output(tmp_path):
    text = kernel(
        "  const bool copies = !output.is_contiguous() || output.storage_offset();\n"
        "  Tensor dense = copies ? at::empty_like(self) : output;\n"
    )
    after = repaired(tmp_path, text, "contiguous_temporary")
    assert "Tensor dense = copies ? at::empty_like(output, MemoryFormat::Contiguous) : output;" in after
