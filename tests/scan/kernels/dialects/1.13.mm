// The interface of torch 1.13: any view is copied, and results are handwritten dictionaries.
namespace at { namespace native { namespace mps {

id<MTLBuffer> getMTLBufferStorage(const TensorBase& t) {
  return (id<MTLBuffer>)t.storage().data();
}

Placeholder::Placeholder(MPSGraphTensor* graphTensor, const Tensor& given, MPSShape* shape) : _tensor(given) {
  id<MTLBuffer> buffer = getMTLBufferStorage(given);
  if (given.is_view() || !given.is_contiguous()) {
    Tensor nothing = Tensor();
    _tensor = gatherViewTensor(given, nothing);
    if (!_tensor.has_storage()) {
      _tensor = given.clone(MemoryFormat::Contiguous);
    }
    buffer = getMTLBufferStorage(_tensor);
  }
  const MPSDataType type = getMPSDataType(_tensor.scalar_type());
  _value = [[[MPSGraphTensorData alloc] initWithMTLBuffer:buffer
                                                    shape:shape ? shape : getMPSShape(_tensor)
                                                 dataType:type] autorelease];
  _placeholder = graphTensor;
}

void runMPSGraph(MPSStream* stream, MPSGraph* graph, NSDictionary* feeds, NSDictionary* results) {
  stream->executeMPSGraph(graph, feeds, results);
}

}}} // namespace at::native::mps
