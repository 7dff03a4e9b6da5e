"""MPS104: the handle of an output is pointed at another tensor, and the caller's tensor is never written."""

from __future__ import annotations

from patchkit.scan.rules import Rule

WHY = """\
A Tensor is a handle. `output = at::empty(...)` or `output = at::avg_pool2d(...)` in a kernel that is
given `Tensor& output` changes which tensor the name means, not what is in the caller's tensor: the
result goes to the new one. A call with out= returns that other tensor and leaves the one it was given
as it was, contiguous or not, and without any error.

The same kernel is right for a functional call, whose wrapper returns whatever the handle means in the
end. That is why tests without out= do not see it. const_cast<Tensor&>(output) = ... in a structured
kernel is the same thing.
"""

FIX = """\
Write to the caller's tensor: resize it if its size may be wrong, then call the operator in its out
form, or copy_ the result of the functional form into it. A temporary that is only needed here gets a
name of its own.
"""

KERNEL = """\
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {{

// the mean of each column, as an average pooling over all rows
Tensor& column_mean_out_mps(const Tensor& self, Tensor& output) {{
  const int64_t rows = self.size(-2);
  {statement}
  return output;
}}

Tensor& floor_out_mps(const Tensor& self, Tensor& output) {{
  using namespace mps;
  const bool needs_copy = !output.is_contiguous() || output.storage_offset();
  Tensor out_ = needs_copy ? at::empty_like(output, MemoryFormat::Contiguous) : output;
  using Graph = MPSUnaryCachedGraph;
  @autoreleasepool {{
    std::string key = "floor" + getTensorsStringKey({{self}});
    auto graph = LookUpOrCreateCachedGraph<Graph>(key, [&](auto mpsGraph, auto built) {{
      built->inputTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, self);
      built->outputTensor_ = [mpsGraph floorWithTensor:built->inputTensor_ name:nil];
    }});
    Placeholder input = Placeholder(graph->inputTensor_, self);
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

RULE = Rule(
    id="MPS104",
    name="dropped-output",
    effect="dropped",
    summary="The output's handle is pointed at another tensor: the caller's tensor is never written.",
    why=WHY,
    fix=FIX,
    references=(
        "PR 124442: outputs tested in every mix of layouts",
        "aten/src/ATen/core/TensorBase.h: assignment of a Tensor replaces the pointer it holds",
        "torchgen/dest/register_dispatch_key.py: a functional call returns the handle, an out= call does not",
    ),
    failing=KERNEL.format(
        statement="output = at::avg_pool2d(self, {rows, 1}); // expect: MPS104 output",
    ),
    passing=KERNEL.format(statement="at::avg_pool2d_out(output, self, {rows, 1});"),
    native_functions="""\
- func: column_mean.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    MPS: column_mean_out_mps

- func: floor.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    MPS: floor_out_mps
""",
)
