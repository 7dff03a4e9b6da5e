"""MPS105: a tensor of the caller is given other strides, so that its elements change places."""

from __future__ import annotations

from patchkit.scan.rules import Rule

WHY = """\
empty_tensor_restride(format) changes the strides of a tensor and moves nothing. On a fresh tensor
that nobody has read that is free. On a tensor of the caller it is not: an output that was permuted
comes back contiguous, its base and every other view of it now see the elements elsewhere, and a later
call that relies on the strides it chose does not find them. An input that is restrided is worse:
running the operator reorders the elements of a tensor that the caller only lent, such as the indices
that a forward saved for its backward.
"""

FIX = """\
Leave the caller's strides alone. Where the graph needs a contiguous result, give the Placeholder a
contiguous temporary made like the output and copy it into the output after the graph has run; where a
kernel needs a contiguous input, use input.contiguous().
"""

KERNEL = """\
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {{

Tensor& ceil_out_mps(const Tensor& self, Tensor& output) {{
  using namespace mps;
{before}
  using Graph = MPSUnaryCachedGraph;
  @autoreleasepool {{
    std::string key = "ceil" + getTensorsStringKey({{self}});
    auto graph = LookUpOrCreateCachedGraph<Graph>(key, [&](auto mpsGraph, auto built) {{
      built->inputTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, self);
      built->outputTensor_ = [mpsGraph ceilWithTensor:built->inputTensor_ name:nil];
    }});
    Placeholder input = Placeholder(graph->inputTensor_, {input});
    Placeholder result = Placeholder(graph->outputTensor_, out_);
    NSDictionary* feeds = @{{input.getMPSGraphTensor() : input.getMPSGraphTensorData()}};
    NSDictionary* results = @{{result.getMPSGraphTensor() : result.getMPSGraphTensorData()}};
    runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
    if (needs_copy) {{
      output.copy_(out_);
    }}
  }}
  return output;
}}

}} // namespace at::native
"""

GUARD = (
    "  const bool needs_copy = !output.is_contiguous() || output.storage_offset();\n"
    "  Tensor out_ = needs_copy ? at::empty_like(output, MemoryFormat::Contiguous) : output;\n"
)

RULE = Rule(
    id="MPS105",
    name="restrided-tensor",
    effect="restrided",
    summary="A tensor of the caller gets other strides, and its elements change places for everyone who holds it.",
    why=WHY,
    fix=FIX,
    references=(
        "PR 124442: addcmul and addcdiv, which write a contiguous temporary instead",
        "c10/core/TensorImpl.h: empty_tensor_restride",
    ),
    failing=KERNEL.format(
        before="  if (self.suggest_memory_format() == MemoryFormat::ChannelsLast) {\n"
        "    self.unsafeGetTensorImpl()->empty_tensor_restride(MemoryFormat::Contiguous);"
        " // expect: MPS105 self\n  }\n" + GUARD,
        input="self",
    ),
    passing=KERNEL.format(before="  Tensor input_ = self.contiguous();\n" + GUARD, input="input_"),
    native_functions="""\
- func: ceil.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    MPS: ceil_out_mps
""",
)
