// The interface of torch 2.0 to 2.3: a contiguous view is sliced where that can be done, otherwise copied.
namespace at::native::mps {

id<MTLBuffer> getMTLBufferStorage(const TensorBase& t) {
  return (id<MTLBuffer>)t.storage().data();
}

// The part of a buffer that a contiguous view takes, as a window on the whole of it.
MPSGraphTensorData* getMPSGraphTensorDataForView(const Tensor& view, MPSShape* shape, MPSDataType type) {
  id<MTLBuffer> buffer = getMTLBufferStorage(view);
  MPSNDArrayDescriptor* descriptor = [MPSNDArrayDescriptor descriptorWithDataType:type shape:shape];
  MPSNDArray* whole = [[[MPSNDArray alloc] initWithBuffer:buffer descriptor:descriptor] autorelease];
  [descriptor sliceDimension:0 withSubrange:MPSDimensionSlice{view.storage_offset(), view.numel()}];
  MPSNDArray* window = [whole arrayViewWithCommandBuffer:nil
                                              descriptor:descriptor
                                                aliasing:MPSAliasingStrategyShallAlias];
  return [[[MPSGraphTensorData alloc] initWithMPSNDArray:window] autorelease];
}

Placeholder::Placeholder(MPSGraphTensor* graphTensor,
                         const Tensor& given,
                         MPSShape* shape,
                         bool gatherTensorData,
                         MPSDataType type)
    : _tensor(given) {
  id<MTLBuffer> buffer = getMTLBufferStorage(given);
  const bool canSlice = canSliceViewTensor(given, shape);
  if (gatherTensorData && (!given.is_contiguous() || (given.storage_offset() && !canSlice))) {
    Tensor nothing = Tensor();
    _tensor = gatherViewTensor(given, nothing);
    if (!_tensor.has_storage()) {
      _tensor = given.clone(MemoryFormat::Contiguous);
    }
    buffer = getMTLBufferStorage(_tensor);
  }
  if (given.is_contiguous() && given.storage_offset() && canSlice) {
    _value = getMPSGraphTensorDataForView(given, shape, type);
  } else {
    _value = [[[MPSGraphTensorData alloc] initWithMTLBuffer:buffer
                                                      shape:shape ? shape : getMPSShape(_tensor)
                                                   dataType:type] autorelease];
  }
  _placeholder = graphTensor;
}

void runMPSGraph(MPSStream* stream, MPSGraph* graph, NSDictionary* feeds, NSDictionary* results) {
  stream->executeMPSGraph(graph, feeds, results);
}

} // namespace at::native::mps
