// Sequences of numbers, written into a tensor of the caller's.
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {
namespace {

struct SequenceCachedGraph : public mps::MPSCachedGraph {
  SequenceCachedGraph(MPSGraph* graph) : MPSCachedGraph(graph) {}
  MPSGraphTensor *startTensor = nil, *stepTensor = nil, *outputTensor = nil;
};

void build_sequence(MPSGraph* mpsGraph, SequenceCachedGraph* newCachedGraph, const Tensor& result) {
  newCachedGraph->startTensor = mps::mpsGraphScalarPlaceHolder(mpsGraph, Scalar(0));
  newCachedGraph->stepTensor = mps::mpsGraphScalarPlaceHolder(mpsGraph, Scalar(1));
  MPSGraphTensor* position = [mpsGraph coordinateAlongAxis:0 withShape:mps::getMPSShape(result) name:@"position"];
  MPSGraphTensor* index = mps::castMPSTensor(mpsGraph, position, result.scalar_type());
  MPSGraphTensor* distance = [mpsGraph multiplicationWithPrimaryTensor:index
                                                       secondaryTensor:newCachedGraph->stepTensor
                                                                  name:@"distance"];
  newCachedGraph->outputTensor = [mpsGraph additionWithPrimaryTensor:newCachedGraph->startTensor
                                                     secondaryTensor:distance
                                                                name:nil];
}

} // namespace

// The flag says the opposite of its name, and is used the other way round as well: the kernel is right.
Tensor& arange_mps_out(const Scalar& start, const Scalar& end, const Scalar& step, Tensor& result) {
  using namespace mps;
  const int64_t size = static_cast<int64_t>(std::ceil((end.toDouble() - start.toDouble()) / step.toDouble()));
  if (result.numel() != size) {
    result.resize_({size});
  }
  if (size == 0) {
    return result;
  }

  bool needs_temporary = result.is_contiguous() && !result.storage_offset();
  Tensor sequence = !needs_temporary ? at::empty_like(result, MemoryFormat::Contiguous) : result;

  MPSStream* stream = getCurrentMPSStream();
  @autoreleasepool {
    std::string key = "arange" + getTensorsStringKey({result});
    auto cachedGraph = LookUpOrCreateCachedGraph<SequenceCachedGraph>(
        key, [&](auto mpsGraph, auto newCachedGraph) { build_sequence(mpsGraph, newCachedGraph, result); });

    MPSScalar startScalar = getMPSScalar(start, result.scalar_type());
    MPSScalar stepScalar = getMPSScalar(step, result.scalar_type());
    Placeholder outputPlaceholder = Placeholder(cachedGraph->outputTensor, sequence);
    NSDictionary* feeds = @{
      cachedGraph->startTensor : getMPSGraphTensorFromScalar(stream, startScalar),
      cachedGraph->stepTensor : getMPSGraphTensorFromScalar(stream, stepScalar),
    };
    NSDictionary* results = @{outputPlaceholder.getMPSGraphTensor() : outputPlaceholder.getMPSGraphTensorData()};
    runMPSGraph(stream, cachedGraph->graph(), feeds, results);
  }

  if (!needs_temporary) {
    result.copy_(sequence);
  }
  return result;
}

Tensor& linspace_out_mps(const Scalar& start, const Scalar& end, int64_t steps, Tensor& result) {
  using namespace mps;
  TORCH_CHECK(steps >= 0, "linspace: the number of steps must not be negative");
  if (result.numel() != steps) {
    result.resize_({steps});
  }
  if (steps < 2) {
    return result.fill_(start);
  }

  MPSStream* stream = getCurrentMPSStream();
  @autoreleasepool {
    std::string key = "linspace" + getTensorsStringKey({result});
    auto cachedGraph = LookUpOrCreateCachedGraph<SequenceCachedGraph>(
        key, [&](auto mpsGraph, auto newCachedGraph) { build_sequence(mpsGraph, newCachedGraph, result); });

    const double step = (end.toDouble() - start.toDouble()) / static_cast<double>(steps - 1);
    MPSScalar startScalar = getMPSScalar(start, result.scalar_type());
    MPSScalar stepScalar = getMPSScalar(step, result.scalar_type());
    auto outputPlaceholder = Placeholder(cachedGraph->outputTensor, result);
    NSMutableDictionary* feeds = [[NSMutableDictionary new] autorelease];
    feeds[cachedGraph->startTensor] = getMPSGraphTensorFromScalar(stream, startScalar);
    feeds[cachedGraph->stepTensor] = getMPSGraphTensorFromScalar(stream, stepScalar);
    NSMutableDictionary* results = [[NSMutableDictionary new] autorelease];
    results[outputPlaceholder.getMPSGraphTensor()] = outputPlaceholder.getMPSGraphTensorData();
    runMPSGraph(stream, cachedGraph->graph(), feeds, results);
  }
  return result;
}

} // namespace at::native
