"""Where a Metal or matrix kernel writes, seen from the call that dispatches it."""

from __future__ import annotations

import pytest
from scan_kit import make_tree

from patchkit.scan import scan_tree

SHADER = """
kernel void dense(constant float* a [[buffer(0)]], device float* out [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) { out[i] = a[i]; }
kernel void strided(constant float* a [[buffer(0)]], device float* out [[buffer(1)]],
                    constant long* strides [[buffer(2)]],
                    uint i [[thread_position_in_grid]]) { out[i * strides[0]] = a[i]; }
kernel void moved(constant float* a [[buffer(0)]], device void* out_ [[buffer(1)]],
                  constant uint2* offsets [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  device float* out = (device float*)((device char*)out_ + offsets[i].x);
  *out = a[i];
}
"""
FILE = """
namespace at::native {
static mps::MetalShaderLibrary lib(R"METAL(%s)METAL");

%s
} // namespace at::native
"""
KERNEL = """
Tensor& kernel_mps(const Tensor& self, Tensor& output) {
  using namespace mps;
  auto stream = getCurrentMPSStream();
  %s
  auto pipeline = lib.getPipelineStateForFunc("%s");
  dispatch_sync(stream->queue(), ^() {
    auto encoder = stream->commandEncoder();
    [encoder setComputePipelineState:pipeline];
    %s
    mtl_dispatch1DJob(encoder, pipeline, output.numel());
  });
  %s
  return output;
}
"""
OUT = "- func: kernel.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  dispatch:\n    MPS: kernel_mps\n"
INPLACE = "- func: kernel_(Tensor(a!) self) -> Tensor(a!)\n  dispatch:\n    MPS: kernel_mps_\n"


@pytest.fixture
def scanned(tmp_path):
    def scan(text: str, native_functions: str = OUT):
        return scan_tree(make_tree(tmp_path / "tree", {"Kernel.mm": FILE % (SHADER, text)}, native_functions))

    return scan


def dispatch(arguments: str, name: str = "dense", before: str = "", after: str = "") -> str:
    return KERNEL % (before, name, arguments, after)


COPIED = "if (copied) { output.copy_(out_); }"
GUARD = "const bool copied = %s; Tensor out_ = copied ? at::empty_like(output, MemoryFormat::Contiguous) : output;"


def test_a_dense_kernel_without_a_guard_misplaces_whatever_is_not_contiguous(scanned):
    (found,) = scanned(dispatch("mtl_setArgs(encoder, self, output);")).findings
    assert (found.rule, found.effect, found.macos, found.tensor) == ("MPS107", "misplaced", "all", "output")
    assert found.layouts == ("strided", "channels_last")
    assert found.ops == ("kernel.out",)
    assert "`dense`" in found.message


def test_needs_gather_protects_older_systems_only(scanned):
    code = dispatch("mtl_setArgs(encoder, self, out_);", before=GUARD % "needsGather(output)", after=COPIED)
    (found,) = scanned(code).findings
    assert (found.rule, found.macos, found.layouts) == ("MPS107", ">=15", ("strided", "channels_last"))


def test_a_guard_that_asks_for_contiguity_clears_it(scanned):
    code = dispatch("mtl_setArgs(encoder, self, out_);", before=GUARD % "!output.is_contiguous()", after=COPIED)
    report = scanned(code)
    assert report.findings == ()
    assert [c.reason for c in report.cleared] == ["copy_back"]
    assert report.writes == 1


def test_a_kernel_that_stores_through_the_outputs_strides_is_right(scanned):
    report = scanned(dispatch("mtl_setArgs(encoder, self, output, output.strides());", "strided"))
    assert report.findings == ()
    assert [c.reason for c in report.cleared] == ["strides_honoured"]


def test_strides_of_another_tensor_do_not_help(scanned):
    (found,) = scanned(dispatch("mtl_setArgs(encoder, self, output, self.strides());", "strided")).findings
    assert found.rule == "MPS107"


def test_strides_may_come_by_way_of_a_local_array(scanned):
    before = (
        "std::array<int64_t, 4> steps; for (const auto d : c10::irange(output.dim())) { steps[d] = output.stride(d); }"
    )
    report = scanned(dispatch("mtl_setArgs(encoder, self, output, steps);", "strided", before))
    assert [c.reason for c in report.cleared] == ["strides_honoured"]


def test_offsets_of_an_iterator_are_the_outputs_strides(tmp_path):
    code = """
static void moved_kernel_mps(TensorIteratorBase& iter) {
  using namespace mps;
  Tensor input = iter.input(0);
  Tensor out = iter.output();
  auto pipeline = lib.getPipelineStateForFunc("%s");
  auto encoder = getCurrentMPSStream()->commandEncoder();
  auto offsets = generateKernelDataOffsets(encoder, iter);
  [encoder setComputePipelineState:pipeline];
  mtl_setArgs(encoder, input, out);
  [encoder setBuffer:offsets offset:0 atIndex:2];
  mtl_dispatch1DJob(encoder, pipeline, iter.numel());
}
REGISTER_DISPATCH(moved_stub, &moved_kernel_mps)
"""
    native_functions = """
- func: moved.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    CPU, CUDA, MPS: moved_out
"""
    stub = (
        "namespace at::meta {\nTORCH_META_FUNC(moved)(const Tensor& self) {\n"
        "  build_unary_op(maybe_get_output(), self);\n}\n}\n"
        "namespace at::native {\nDEFINE_DISPATCH(moved_stub);\n"
        "TORCH_IMPL_FUNC(moved_out)(const Tensor& self, const Tensor& result) {\n"
        "  moved_stub(device_type(), *this);\n}\n}\n"
    )
    reports = []
    for name in ("moved", "dense"):
        files = {"Kernel.mm": FILE % (SHADER, code % name)}
        reports.append(scan_tree(make_tree(tmp_path / name, files, native_functions, native={"Moved.cpp": stub})))
    assert [[c.reason for c in r.cleared] for r in reports] == [["strides_honoured"], []]
    assert [[f.rule for f in r.findings] for r in reports] == [[], ["MPS107"]]


def test_set_buffer_honours_an_offset_only_where_it_is_given_one(scanned):
    arguments = "mtl_setArgs(encoder, self); [encoder setBuffer:getMTLBufferStorage(output) offset:%s atIndex:1];"
    code = dispatch(arguments % "output.storage_offset() * output.element_size()")
    (found,) = scanned(code).findings
    assert "offset" not in found.layouts


def test_set_buffer_at_offset_zero_misplaces_a_view_with_an_offset(scanned):
    arguments = "mtl_setArgs(encoder, self); [encoder setBuffer:getMTLBufferStorage(output) offset:0 atIndex:1];"
    (found,) = scanned(dispatch(arguments)).findings
    assert found.layouts == ("strided", "channels_last", "offset")


def test_an_element_wise_kernel_may_update_a_dense_tensor_in_place(scanned):
    code = """
Tensor& kernel_mps_(Tensor& self) {
  using namespace mps;
  TORCH_CHECK(self.is_non_overlapping_and_dense(), "dense only");
  auto pipeline = lib.getPipelineStateForFunc("dense");
  auto encoder = getCurrentMPSStream()->commandEncoder();
  [encoder setComputePipelineState:pipeline];
  mtl_setArgs(encoder, self, self);
  mtl_dispatch1DJob(encoder, pipeline, self.numel());
  return self;
}
"""
    report = scanned(code, INPLACE)
    assert (report.findings, report.writes) == ((), 1)


def test_a_gapped_tensor_updated_in_place_is_still_misplaced(scanned):
    code = """
Tensor& kernel_mps_(Tensor& self) {
  using namespace mps;
  auto pipeline = lib.getPipelineStateForFunc("dense");
  auto encoder = getCurrentMPSStream()->commandEncoder();
  [encoder setComputePipelineState:pipeline];
  mtl_setArgs(encoder, self, self);
  mtl_dispatch1DJob(encoder, pipeline, self.numel());
  return self;
}
"""
    (found,) = scanned(code, INPLACE).findings
    assert (found.layouts, found.triggers) == (("strided",), ("inplace",))


def test_a_kernel_that_no_source_shows_is_undecided(scanned):
    report = scanned(dispatch("mtl_setArgs(encoder, self, output);", "absent"))
    assert report.findings == ()
    assert [(u.tensor, u.function) for u in report.undecided] == [("output", "kernel_mps")]


MATRIX = """
Tensor& kernel_mps(const Tensor& self, Tensor& output) {
  using namespace mps;
  %s
  auto multiply = [[MPSMatrixMultiplication alloc] initWithDevice:device];
  auto rows = [MPSMatrixDescriptor matrixDescriptorWithRows:2 columns:2 rowBytes:%s dataType:type];
  auto left = [[MPSMatrix alloc] initWithBuffer:getMTLBufferStorage(self) offset:0 descriptor:rows];
  auto result = [[MPSMatrix alloc] initWithBuffer:getMTLBufferStorage(output)
                                           offset:output.storage_offset() * output.element_size()
                                       descriptor:rows];
  [multiply encodeToCommandBuffer:buffer leftMatrix:left rightMatrix:left resultMatrix:result];
  return output;
}
"""


def test_a_matrix_over_dense_rows_misplaces_a_strided_output(scanned):
    (found,) = scanned(MATRIX % ("", "8")).findings
    assert (found.rule, found.tensor, found.macos) == ("MPS107", "result", "all")
    assert "`output`" in found.message


def test_a_matrix_whose_rows_follow_the_strides_is_right(scanned):
    report = scanned(MATRIX % ("", "output.stride(0) * 4"))
    assert [c.reason for c in report.cleared] == ["strides_honoured"]


def test_a_check_for_contiguity_clears_a_matrix_even_without_its_semicolon(scanned):
    report = scanned(MATRIX % ("TORCH_INTERNAL_ASSERT(output.is_contiguous())", "8"))
    assert (report.findings, len(report.cleared)) == ((), 1)
