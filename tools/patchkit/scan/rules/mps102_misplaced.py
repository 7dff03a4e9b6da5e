"""MPS102: gathering is switched off on an output, so the result lands densely at the start of the buffer."""

from __future__ import annotations

from patchkit.scan.rules import Rule

WHY = """\
The fourth argument of Placeholder, gatherTensorData, says whether a tensor that is not contiguous,
or that starts at a storage offset, may be gathered into a copy. With false on an output nothing is
lost with a copy, but MPSGraph is given the whole buffer and told that it is contiguous: it writes
the result densely, from the first byte.

A transposed output then holds its elements in the wrong order. A slice such as out=buffer[3:] is
not written at all: the result overwrites buffer[0:], data of the caller's that the call never
named. A tensor with steps gets both.

From torch 2.5 on macOS 15 and later MPSGraph writes through strides, and only older systems are
hit, unless the sixth argument, useMPSStridedAPI, is false as well: then every macOS is.
"""

FIX = """\
The same as for a lost output: a contiguous temporary, made like the output, at the Placeholder
where the output is not contiguous or has a storage offset, copied into the output after the graph
has run. gatherTensorData=false can stay, because the temporary starts at offset 0 and is
contiguous.

Switching gathering on is no fix: the result would be lost (MPS101) instead of misplaced.
"""

KERNEL = """\
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {{

// log(1 / (1 - self) - 1), which is the logit of self
Tensor& logit_out_mps(const Tensor& self, std::optional<double> eps, Tensor& output) {{
  using namespace mps;
  TORCH_CHECK(!eps.has_value(), "logit: eps is not supported");
  if (self.numel() == 0) {{
    return output;
  }}
{before}
  using Graph = MPSUnaryCachedGraph;
  @autoreleasepool {{
    std::string key = "logit" + getTensorsStringKey({{self}});
    auto graph = LookUpOrCreateCachedGraph<Graph>(key, [&](auto mpsGraph, auto built) {{
      MPSGraphTensor* input = mpsGraphRankedPlaceHolder(mpsGraph, self);
      MPSGraphTensor* one = [mpsGraph constantWithScalar:1.0 dataType:input.dataType];
      MPSGraphTensor* rest = [mpsGraph subtractionWithPrimaryTensor:one
                                                    secondaryTensor:input
                                                               name:nil];
      MPSGraphTensor* inverse = [mpsGraph reciprocalWithTensor:rest name:nil];
      MPSGraphTensor* odds = [mpsGraph subtractionWithPrimaryTensor:inverse
                                                    secondaryTensor:one
                                                               name:nil];
      built->inputTensor_ = input;
      built->outputTensor_ = [mpsGraph logarithmWithTensor:odds name:nil];
    }});

    Placeholder input = Placeholder(graph->inputTensor_, self);
    Placeholder result = Placeholder(graph->outputTensor_,
                                     {placeholder}
                                     /*mpsShape=*/nil,
                                     /*gatherTensorData=*/false);
    NSDictionary* feeds = @{{input.getMPSGraphTensor() : input.getMPSGraphTensorData()}};
    NSDictionary* results = @{{result.getMPSGraphTensor() : result.getMPSGraphTensorData()}};
    runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
{after}  }}
  return output;
}}

}} // namespace at::native
"""

RULE = Rule(
    id="MPS102",
    name="misplaced-output",
    effect="misplaced",
    summary="Gathering is off for the output: the result is written densely from the start of the buffer.",
    why=WHY,
    fix=FIX,
    references=(
        "issue 100764: unary operators write a transposed output in the wrong order",
        "PR 97085: unary and binary operators take a contiguous temporary",
        "PR 97858: clamp",
        "PR 91308: cat",
        "aten/src/ATen/native/mps/OperationUtils.h: the arguments of Placeholder",
    ),
    failing=KERNEL.format(before="", placeholder="output, // expect: MPS102 output", after=""),
    passing=KERNEL.format(
        before="  const bool needs_copy = !output.is_contiguous() || output.storage_offset();\n"
        "  Tensor out_ = needs_copy ? at::empty_like(output, MemoryFormat::Contiguous) : output;\n",
        placeholder="out_,",
        after="    if (needs_copy) {\n      output.copy_(out_);\n    }\n",
    ),
    native_functions="""\
- func: logit.out(Tensor self, float? eps=None, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    MPS: logit_out_mps
""",
)
