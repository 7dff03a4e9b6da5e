// The interface of torch 2.5 to 2.14: macOS 15 honours strides unless a site switches that off.
namespace at::native::mps {

id<MTLBuffer> getMTLBufferStorage(const TensorBase& t) {
  return (id<MTLBuffer>)t.storage().data();
}

bool needsGather(const TensorBase& t) {
  static const bool at_least_15 = is_macos_13_or_newer(MacOSVersion::MACOS_VER_15_0_PLUS);
  return !at_least_15 && (!t.is_contiguous() || t.storage_offset());
}

MPSNDArray* getStridedMPSNDArray(const TensorBase& t, MPSNDArray* whole) {
  return [whole arrayViewWithShape:getMPSShape(t.sizes()) strides:getMPSShape(t.strides())];
}

Placeholder::Placeholder(MPSGraphTensor* graphTensor,
                         const Tensor& given,
                         MPSShape* shape,
                         bool gatherTensorData,
                         MPSDataType type,
                         bool useMPSStridedAPI)
    : _tensor(given) {
  id<MTLBuffer> buffer = getMTLBufferStorage(given);
  static const bool at_least_15 = is_macos_13_or_newer(MacOSVersion::MACOS_VER_15_0_PLUS);
  const bool reads_strides = at_least_15 && useMPSStridedAPI;
  if (!reads_strides && gatherTensorData && (!given.is_contiguous() || given.storage_offset())) {
    Tensor nothing = Tensor();
    _tensor = gatherViewTensor(given, nothing);
    if (!_tensor.has_storage()) {
      _tensor = given.clone(MemoryFormat::Contiguous);
    }
    buffer = getMTLBufferStorage(_tensor);
  }
  if (!reads_strides || (_tensor.is_contiguous() && !_tensor.storage_offset())) {
    _value = [[[MPSGraphTensorData alloc] initWithMTLBuffer:buffer
                                                      shape:shape ? shape : getMPSShape(_tensor)
                                                   dataType:type] autorelease];
  } else {
    MPSNDArray* whole = [[[MPSNDArray alloc] initWithBuffer:buffer
                                                     offset:given.storage_offset() * given.element_size()
                                                 descriptor:describe(given, type)] autorelease];
    _value = [[[MPSGraphTensorData alloc] initWithMPSNDArray:getStridedMPSNDArray(_tensor, whole)] autorelease];
  }
  _placeholder = graphTensor;
}

void runMPSGraph(MPSStream* stream, MPSGraph* graph, NSDictionary* feeds, NSDictionary* results) {
  stream->executeMPSGraph(graph, feeds, results);
}

void runMPSGraph(MPSStream* stream, MPSGraph* graph, NSDictionary* feeds, Placeholder& result) {
  stream->executeMPSGraph(graph, feeds, dictionaryFromPlaceholders(result));
}

} // namespace at::native::mps
