// Operators that compare with bounds.
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {

TORCH_IMPL_FUNC(clamp_out_mps)
(const Tensor& self, const OptionalScalarRef min, const OptionalScalarRef max, const Tensor& result) {
  using namespace mps;
  if (result.numel() == 0) {
    return;
  }

  const double low = min ? min.get().toDouble() : -std::numeric_limits<double>::infinity();
  const double high = max ? max.get().toDouble() : std::numeric_limits<double>::infinity();
  @autoreleasepool {
    std::string key = "clamp" + getTensorsStringKey({self}) + std::to_string(low) + ":" + std::to_string(high);
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      MPSGraphTensor* input = mpsGraphRankedPlaceHolder(mpsGraph, self);
      MPSGraphTensor* lowTensor = [mpsGraph constantWithScalar:low dataType:input.dataType];
      MPSGraphTensor* highTensor = [mpsGraph constantWithScalar:high dataType:input.dataType];
      newCachedGraph->inputTensor_ = input;
      newCachedGraph->outputTensor_ = [mpsGraph clampWithTensor:input
                                                 minValueTensor:lowTensor
                                                 maxValueTensor:highTensor
                                                           name:nil];
    });

    auto selfPlaceholder = Placeholder(cachedGraph->inputTensor_, self);
    auto outputPlaceholder =
        Placeholder(cachedGraph->outputTensor_, result, /*mpsShape=*/nil, /*gatherTensorData=*/false);
    NSDictionary* feeds = @{selfPlaceholder.getMPSGraphTensor() : selfPlaceholder.getMPSGraphTensorData()};
    NSDictionary* results = @{outputPlaceholder.getMPSGraphTensor() : outputPlaceholder.getMPSGraphTensorData()};
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, results);
  }
}

} // namespace at::native
