// Part of patchkit's miniature tree: where a Placeholder decides between a tensor's own buffer and a copy.
#include <ATen/native/mps/OperationUtils.h>

namespace at::native::mps {

Placeholder::Placeholder(MPSGraphTensor* mpsGraphTensor,
                         const Tensor& src,
                         MPSShape* mpsShape,
                         bool gatherTensorData,
                         MPSDataType dataType)
    : _placeholder(mpsGraphTensor), _tensor(src) {
  TORCH_CHECK(src.is_mps(), "expected a tensor on the MPS device");

  // A graph reads its feeds densely from the start of a buffer: any other tensor needs a dense copy.
  if (gatherTensorData && (!src.is_contiguous() || src.storage_offset())) {
    Tensor dense;
    _tensor = gatherViewTensor(src, dense);
    if (!_tensor.has_storage()) {
      _tensor = src.clone(MemoryFormat::Contiguous);
    }
  }

  const auto type = dataType == MPSDataTypeInvalid ? getMPSDataType(_tensor.scalar_type()) : dataType;
  _value = [[[MPSGraphTensorData alloc] initWithMTLBuffer:getMTLBufferStorage(_tensor)
                                                    shape:mpsShape ? mpsShape : getMPSShape(_tensor)
                                                 dataType:type] autorelease];
}

void runMPSGraph(MPSStream* stream, MPSGraph* graph, NSDictionary* feeds, NSDictionary* results) {
  stream->executeMPSGraph(graph, feeds, results);
}

} // namespace at::native::mps
