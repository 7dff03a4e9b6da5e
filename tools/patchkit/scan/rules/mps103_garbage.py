"""MPS103: the temporary for a result is shaped after an input that may broadcast."""

from __future__ import annotations

from patchkit.scan.rules import Rule

WHY = """\
A kernel whose output cannot be written directly gives the Placeholder a temporary. Made with
at::empty_like(self), that temporary has the sizes and the type of self. In an operator whose inputs
broadcast against each other the result has the broadcast sizes, and the promoted type: with a self of
shape (3,) and another input of shape (4, 3) the graph is given room for three elements and produces
twelve. What copy_ then spreads over the output is not the result.

It takes a smaller self and, where the temporary is made behind a guard, a non-contiguous output at the
same time; tests that vary one of the two do not meet it.
"""

FIX = """\
Make the temporary like the output: at::empty_like(output, MemoryFormat::Contiguous). The output
already has the sizes and the type of the result.
"""

KERNEL = """\
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {{

TORCH_IMPL_FUNC(atan2_out_mps)(const Tensor& self, const Tensor& other, const Tensor& output) {{
  using namespace mps;
  const bool needs_copy = !output.is_contiguous() || output.storage_offset();
  Tensor out_ = needs_copy ? at::empty_like({model}, MemoryFormat::Contiguous) : output;{mark}
  using Graph = MPSBinaryCachedGraph;
  @autoreleasepool {{
    std::string key = "atan2" + getTensorsStringKey({{self, other}});
    auto graph = LookUpOrCreateCachedGraph<Graph>(key, [&](auto mpsGraph, auto built) {{
      built->inputTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, self);
      built->otherTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, other);
      built->outputTensor_ = [mpsGraph atan2WithPrimaryTensor:built->inputTensor_
                                              secondaryTensor:built->otherTensor_
                                                         name:nil];
    }});
    Placeholder first = Placeholder(graph->inputTensor_, self);
    Placeholder second = Placeholder(graph->otherTensor_, other);
    Placeholder result = Placeholder(graph->outputTensor_, out_);
    NSDictionary* feeds = @{{
      first.getMPSGraphTensor() : first.getMPSGraphTensorData(),
      second.getMPSGraphTensor() : second.getMPSGraphTensorData()
    }};
    NSDictionary* results = @{{result.getMPSGraphTensor() : result.getMPSGraphTensorData()}};
    runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
    if (needs_copy) {{
      output.copy_(out_);
    }}
  }}
}}

}} // namespace at::native
"""

RULE = Rule(
    id="MPS103",
    name="temporary-of-another-shape",
    effect="garbage",
    summary="The temporary for the result has the shape and type of an input that may broadcast.",
    why=WHY,
    fix=FIX,
    references=(
        "PR 124442: addcmul and addcdiv, whose temporary is made like self",
        "aten/src/ATen/TensorIterator.cpp: the output has the broadcast shape and the common type",
    ),
    failing=KERNEL.format(model="self", mark=" // expect: MPS103 at::empty_like(self, MemoryFormat::Contiguous)"),
    passing=KERNEL.format(model="output", mark=""),
    native_functions="""\
- func: atan2.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    MPS: atan2_out_mps
""",
)
