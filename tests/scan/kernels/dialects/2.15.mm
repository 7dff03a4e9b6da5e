// The interface of torch 2.15: macOS 15 is required, and nothing is gathered.
namespace at::native::mps {

id<MTLBuffer> getMTLBufferStorage(const TensorBase& t) {
  return (id<MTLBuffer>)t.storage().data();
}

MPSNDArray* getStridedMPSNDArray(const TensorBase& t, MPSNDArray* whole) {
  return [whole arrayViewWithShape:getMPSShape(t.sizes()) strides:getMPSShape(t.strides())];
}

Placeholder::Placeholder(MPSGraphTensor* graphTensor, const Tensor& given, MPSShape* shape, MPSDataType type)
    : _tensor(given) {
  id<MTLBuffer> buffer = getMTLBufferStorage(given);
  if (given.is_contiguous() && !given.storage_offset()) {
    _value = [[[MPSGraphTensorData alloc] initWithMTLBuffer:buffer
                                                      shape:shape ? shape : getMPSShape(given)
                                                   dataType:type] autorelease];
  } else {
    MPSNDArray* whole = [[[MPSNDArray alloc] initWithBuffer:buffer
                                                     offset:given.storage_offset() * given.element_size()
                                                 descriptor:describe(given, type)] autorelease];
    _value = [[[MPSGraphTensorData alloc] initWithMPSNDArray:getStridedMPSNDArray(given, whole)] autorelease];
  }
  _placeholder = graphTensor;
}

void runMPSGraph(MPSStream* stream, MPSGraph* graph, NSDictionary* feeds, Placeholder& result) {
  stream->executeMPSGraph(graph, feeds, dictionaryFromPlaceholders(result));
}

} // namespace at::native::mps
