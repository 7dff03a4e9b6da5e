"""What the tests of edits share: trees of one kernel file, with the Placeholder of a release."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from patchkit.fix.edits.text import apply_edits
from patchkit.fix.edits.verify import Cure, cure
from patchkit.scan import analyse
from patchkit.scan.findings import Finding
from patchkit.scan.report import findings_of
from patchkit.source.tree import Tree, open_tree

MPS = "aten/src/ATen/native/mps"
FILE = f"{MPS}/operations/Kernels.mm"

_GATHER = "    Tensor shell;\n    _tensor = gatherViewTensor(src, shell);\n"
_STORAGE = """\
inline id<MTLBuffer> getMTLBufferStorage(const Tensor& t) {
  return (id<MTLBuffer>)t.storage().data();
}
"""
_BUFFER = (
    "  _value = [[[MPSGraphTensorData alloc] initWithMTLBuffer:getMTLBufferStorage(_tensor)\n"
    "                                                    shape:getMPSShape(_tensor)\n"
    "                                                 dataType:getMPSDataType(_tensor)] autorelease];\n"
)
_STRIDED = """\
  if ((_tensor.is_contiguous() && !_tensor.storage_offset()) || !useMPSStridedAPI || !newer) {
    _value = [[[MPSGraphTensorData alloc] initWithMTLBuffer:getMTLBufferStorage(_tensor)
                                                      shape:getMPSShape(_tensor)
                                                   dataType:dataType] autorelease];
  } else {
    MPSNDArray* array = [[[MPSNDArray alloc] initWithBuffer:getMTLBufferStorage(_tensor)
                                                     offset:0
                                                 descriptor:describe(_tensor)] autorelease];
    array = [array arrayViewWithShape:getMPSShape(_tensor) strides:getMPSStrides(_tensor)];
    _value = [[[MPSGraphTensorData alloc] initWithMPSNDArray:array] autorelease];
  }
"""
_NEWER = "  static const bool newer = is_macos_13_or_newer(MacOSVersion::MACOS_VER_15_0_PLUS);\n"

#: The Placeholder of a release, in our words: parameters after the tensor, body, and needsGather.
DIALECTS = {
    "1.13": ("", "  if (src.is_view() || !src.is_contiguous()) {\n" + _GATHER + "  }\n" + _BUFFER, ""),
    "2.2": (
        ", MPSShape* shape, bool gatherTensorData, MPSDataType dataType",
        "  static const bool canSlice = device_can_slice();\n"
        "  if (gatherTensorData && (!src.is_contiguous() || (src.storage_offset() && !canSlice))) {\n"
        + _GATHER + "  }\n" + _BUFFER,
        "",
    ),
    "2.4": (
        ", MPSShape* shape, bool gatherTensorData, MPSDataType dataType",
        "  if (gatherTensorData && needsGather(src)) {\n" + _GATHER + "  }\n" + _BUFFER,
        "inline bool needsGather(const Tensor& t) {\n  return !t.is_contiguous() || t.storage_offset();\n}\n",
    ),
    "2.6": (
        ", MPSShape* shape, bool gatherTensorData, MPSDataType dataType, bool useMPSStridedAPI",
        _NEWER + "  if ((!newer || !useMPSStridedAPI) && gatherTensorData && (!src.is_contiguous() || "
        "src.storage_offset())) {\n" + _GATHER + "  }\n" + _STRIDED,
        "inline bool needsGather(const Tensor& t) {\n" + _NEWER
        + "  return !newer && (!t.is_contiguous() || t.storage_offset());\n}\n",
    ),
    "2.15": (
        ", MPSShape* shape, bool gatherTensorData, MPSDataType dataType, bool useMPSStridedAPI",
        "  const bool newer = true;\n" + _STRIDED,
        "",
    ),
}  # fmt: skip


def make_tree(root: Path, kernels: str | bytes, functions: str, dialect: str = "2.2") -> Tree:
    """Write a tree whose only kernels are ``kernels``, and open it."""
    parameters, body, needs_gather = DIALECTS[dialect]
    header = f"#pragma once\nnamespace at::native::mps {{\n{_STORAGE}{needs_gather}}} // namespace at::native::mps\n"
    utils = (
        "#include <ATen/native/mps/OperationUtils.h>\nnamespace at::native::mps {\n"
        f"Placeholder::Placeholder(MPSGraphTensor* graphTensor, const Tensor& src{parameters}) : _tensor(src) {{\n"
        f"{body}}}\n}} // namespace at::native::mps\n"
    )
    files = {
        f"{MPS}/OperationUtils.h": header,
        f"{MPS}/OperationUtils.mm": utils,
        "aten/src/ATen/native/native_functions.yaml": functions,
        "version.txt": f"{dialect}.0\n",
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / FILE).parent.mkdir(parents=True, exist_ok=True)
    (root / FILE).write_bytes(kernels if isinstance(kernels, bytes) else kernels.encode())
    return open_tree(root)


def function(name: str, outputs: Sequence[str] = ("output",)) -> str:
    """The entry of native_functions.yaml for the out variant of an op that ``unary`` writes."""
    marks = "abcd"
    outs = ", ".join(f"Tensor({marks[i]}!) {out}" for i, out in enumerate(outputs))
    returns = ", ".join(f"Tensor({marks[i]}!)" for i in range(len(outputs)))
    returned = f"({returns})" if len(outputs) > 1 else returns
    return f"- func: {name}.out(Tensor self, *, {outs}) -> {returned}\n  dispatch:\n    MPS: {name}_out_mps\n\n"


PLACEHOLDER = "    Placeholder result = Placeholder(graph->outputTensor_, output);\n"
RUN = "    runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);\n"
RESULTS = "    NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};\n"


def unary(
    name: str,
    *,
    before: str = "",
    placeholder: str = PLACEHOLDER,
    run: str = RUN,
    after: str = "",
    results: str = RESULTS,
    feed: str = "    Placeholder input = Placeholder(graph->inputTensor_, self);\n",
) -> str:
    """A kernel of an element-wise op, with parts of it replaced."""
    return f"""\
Tensor& {name}_out_mps(const Tensor& self, Tensor& output) {{
  using namespace mps;
  if (self.numel() == 0) {{
    return output;
  }}
{before}
  @autoreleasepool {{
    auto graph = {name}_graph(self);
{feed}{placeholder}    NSDictionary* feeds = @{{input.getMPSGraphTensor() : input.getMPSGraphTensorData()}};
{results}{run}  }}
{after}  return output;
}}
"""


def source(*kernels: str, includes: str = "") -> str:
    """A kernel file."""
    head = f"#include <ATen/native/mps/OperationUtils.h>\n{includes}\nnamespace at::native {{\n\n"
    return head + "\n".join(kernels) + "\n} // namespace at::native\n"


def attempt(tree: Tree) -> tuple[Cure, str, list[Finding]]:
    """Cure a tree in memory: what was done, the kernel file after it, and what a scan still finds there."""
    engine = analyse(tree)
    wanted = [
        site for site in engine.sites.values() if any(v.effect != "ok" for vs in site.verdicts.values() for v in vs)
    ]
    assert wanted, "the kernel of this test loses nothing"
    cured = cure(tree, engine, wanted)
    before = engine.sources.files[FILE].source
    after = apply_edits(before, cured.edits.get(FILE, ()))
    left = findings_of(analyse(tree, {FILE: after}))[0]
    return cured, after.decode(), left


def reasons(cured: Cure) -> list[str]:
    """Why sites were refused."""
    return list(cured.refused.values())
