"""MPS101: the result of a graph goes into a gathered copy of the output, and the copy is thrown away."""

from __future__ import annotations

from patchkit.scan.rules import Rule

WHY = """\
Placeholder(graphTensor, tensor) hands MPSGraph the buffer of the tensor. Where MPSGraph cannot read
that buffer as it lies there, because the tensor is not contiguous or starts at a storage offset,
the constructor gathers the tensor into a contiguous copy first. For an input that is right. For a
tensor that receives a result of runMPSGraph, the graph writes into the copy, and the copy dies with
the Placeholder.

Nothing fails. An in-place call and a call with out= leave the caller's tensor as it was; a
functional call returns uninitialised memory where its fresh output takes over the strides of an
input (TensorIterator does that for permuted inputs, and at::empty_like(x) for every dense layout).

A guard does not help if it tests another tensor than the output, if its temporary comes from
.contiguous() (a contiguous tensor with a storage offset is returned as it is), or if some path that
runs the graph never copies back.

torch 1.13 gathers every view, contiguous or not. 2.0 to 2.4 gather on every macOS; from 2.5 on
macOS 15 and later MPSGraph writes through strides, and only older systems lose the result. 2.15 has
no gather and needs macOS 15.
"""

FIX = """\
Give the Placeholder a contiguous temporary when the output would be gathered, and copy the
temporary into the output after the graph has run. The temporary is made like the output, not like
an input (their shapes and types differ when an input broadcasts), and stands in for the output at
the Placeholder only.

needsGather(tensor) exists from torch 2.4. Before that the guard is the condition of the release's
own constructor: `!output.is_contiguous() || output.storage_offset()` from 2.0, `output.is_view() ||
!output.is_contiguous()` in 1.13.
"""

KERNEL = """\
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {{

// self * sigmoid(self)
Tensor& silu_out_mps(const Tensor& self, Tensor& output) {{
  using namespace mps;
  if (self.numel() == 0) {{
    return output;
  }}
{before}
  using Graph = MPSUnaryCachedGraph;
  @autoreleasepool {{
    std::string key = "silu" + getTensorsStringKey({{self}});
    auto graph = LookUpOrCreateCachedGraph<Graph>(key, [&](auto mpsGraph, auto built) {{
      MPSGraphTensor* input = mpsGraphRankedPlaceHolder(mpsGraph, self);
      MPSGraphTensor* gate = [mpsGraph sigmoidWithTensor:input name:nil];
      built->inputTensor_ = input;
      built->outputTensor_ = [mpsGraph multiplicationWithPrimaryTensor:input
                                                       secondaryTensor:gate
                                                                  name:nil];
    }});

    Placeholder input = Placeholder(graph->inputTensor_, self);
    {placeholder}
    NSDictionary* feeds = @{{input.getMPSGraphTensor() : input.getMPSGraphTensorData()}};
    NSDictionary* results = @{{result.getMPSGraphTensor() : result.getMPSGraphTensorData()}};
    runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
{after}  }}
  return output;
}}

}} // namespace at::native
"""

RULE = Rule(
    id="MPS101",
    name="lost-output",
    effect="lost",
    summary="The graph writes its result into a gathered copy of the output, and nothing copies it back.",
    why=WHY,
    fix=FIX,
    references=(
        "PR 124442: addcmul and addcdiv, fixed in 2.4",
        "PR 165267: uniform_, normal_ and the other random fills, fixed after 2.9",
        "PR 123049: gelu, leaky_relu, mish",
        "PR 125692: elu",
        "PR 125696: mse_loss",
        "PR 139006: silu",
        "PR 151176: where",
        "issue 118115: addcdiv_ leaves a transposed tensor unchanged",
        "issue 165257: random fills of a view do nothing",
        "aten/src/ATen/native/mps/OperationUtils.mm: the Placeholder constructor that gathers",
    ),
    failing=KERNEL.format(
        before="",
        placeholder="Placeholder result = Placeholder(graph->outputTensor_, output); // expect: MPS101 output",
        after="",
    ),
    passing=KERNEL.format(
        before="  const bool needs_copy = !output.is_contiguous() || output.storage_offset();\n"
        "  Tensor out_ = needs_copy ? at::empty_like(output, MemoryFormat::Contiguous) : output;\n",
        placeholder="Placeholder result = Placeholder(graph->outputTensor_, out_);",
        after="    if (needs_copy) {\n      output.copy_(out_);\n    }\n",
    ),
    native_functions="""\
- func: silu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  python_module: nn
  dispatch:
    MPS: silu_out_mps
""",
)
