"""MPS107: a Metal or matrix kernel writes an output densely and is not told its strides."""

from __future__ import annotations

from patchkit.scan.rules import Rule

WHY = """\
mtl_setArgs and mtl_setBuffer bind the buffer of a tensor at its storage offset, and nothing else of
it. A kernel function that stores at out[thread_index] fills that memory one element after another,
whatever the strides of the tensor are: a transposed output holds its elements in the wrong order, an
output with gaps overwrites elements of its base that it does not own and leaves its own unwritten.
MPSMatrix and MPSNDArray, made over a buffer with dense rows, do the same.

needsGather(output) does not protect such a kernel. It says what MPSGraph can do, and is false on
macOS 15 and later, where MPSGraph writes through strides; a hand-written kernel still does not.

This class does not depend on the Placeholder. It stays when the gathering of outputs is gone, and it
is the one that hits macOS 15 and later.
"""

FIX = """\
Ask for what the kernel needs, `!output.is_contiguous()`, write a contiguous temporary made like the
output, and copy it into the output afterwards. A storage offset needs no temporary: it is honoured.

Or tell the kernel the strides: pass output.strides() and index through them, or use the offsets of a
TensorIterator, as the kernels behind binary and index operators do.
"""

KERNEL = """\
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {{

static mps::MetalShaderLibrary lib(R"METAL(
#include <metal_stdlib>
using namespace metal;

kernel void sinc_dense(constant float* values [[buffer(0)]],
                       device float* result [[buffer(1)]],
                       uint i [[thread_position_in_grid]]) {{
  const float x = M_PI_F * values[i];
  result[i] = x == 0 ? 1.0 : sin(x) / x;
}}
)METAL");

Tensor& sinc_out_mps(const Tensor& self, Tensor& output) {{
  using namespace mps;
  if (output.numel() == 0) {{
    return output;
  }}
  const bool needs_copy = {guard};
  Tensor out_ = needs_copy ? at::empty_like(output, MemoryFormat::Contiguous) : output;
  Tensor input = self.contiguous();
  MPSStream* stream = getCurrentMPSStream();
  auto pipeline = lib.getPipelineStateForFunc("sinc_dense");
  @autoreleasepool {{
    auto encoder = stream->commandEncoder();
    [encoder setComputePipelineState:pipeline];
    {arguments}
    mtl_dispatch1DJob(encoder, pipeline, output.numel());
  }}
  if (needs_copy) {{
    output.copy_(out_);
  }}
  return output;
}}

}} // namespace at::native
"""

RULE = Rule(
    id="MPS107",
    name="strides-ignored",
    effect="misplaced",
    summary="A Metal or matrix kernel writes the output densely: it is not given the strides.",
    why=WHY,
    fix=FIX,
    references=(
        "PR 146085: bitwise operators, guarded by needsGather, on macOS 15",
        "aten/src/ATen/native/mps/OperationUtils.h: mtl_setBuffer binds a buffer at its offset",
        "aten/src/ATen/native/mps/OperationUtils.mm: needsGather, generateKernelDataOffsets",
    ),
    failing=KERNEL.format(
        guard="needsGather(output)",
        arguments="mtl_setArgs(encoder, input, out_); // expect: MPS107 out_",
    ),
    passing=KERNEL.format(guard="!output.is_contiguous()", arguments="mtl_setArgs(encoder, input, out_);"),
    native_functions="""\
- func: sinc.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    MPS: sinc_out_mps
""",
)
