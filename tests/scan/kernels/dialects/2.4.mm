// The interface of torch 2.4: needsGather() exists, and every macOS copies.
namespace at::native::mps {

id<MTLBuffer> getMTLBufferStorage(const TensorBase& t) {
  return (id<MTLBuffer>)t.storage().data();
}

bool needsGather(const TensorBase& t) {
  return !t.is_contiguous() || t.storage_offset();
}

Placeholder::Placeholder(MPSGraphTensor* graphTensor,
                         const Tensor& given,
                         MPSShape* shape,
                         bool gatherTensorData,
                         MPSDataType type)
    : _tensor(given) {
  id<MTLBuffer> buffer = getMTLBufferStorage(given);
  if (gatherTensorData && needsGather(given)) {
    Tensor nothing = Tensor();
    _tensor = gatherViewTensor(given, nothing);
    if (!_tensor.has_storage()) {
      _tensor = given.clone(MemoryFormat::Contiguous);
    }
    buffer = getMTLBufferStorage(_tensor);
  }
  _value = [[[MPSGraphTensorData alloc] initWithMTLBuffer:buffer
                                                    shape:shape ? shape : getMPSShape(_tensor)
                                                 dataType:type] autorelease];
  _placeholder = graphTensor;
}

void runMPSGraph(MPSStream* stream, MPSGraph* graph, NSDictionary* feeds, NSDictionary* results) {
  stream->executeMPSGraph(graph, feeds, results);
}

void runMPSGraph(MPSStream* stream, MPSGraph* graph, NSDictionary* feeds, Placeholder& result) {
  stream->executeMPSGraph(graph, feeds, dictionaryFromPlaceholders(result));
}

} // namespace at::native::mps
