// Reductions.
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {

// How many elements along the given dimensions are not zero; the result is this function's own.
Tensor count_nonzero_mps(const Tensor& self, IntArrayRef dims) {
  using namespace mps;
  DimVector kept;
  for (const auto dim : c10::irange(self.dim())) {
    if (std::find(dims.begin(), dims.end(), dim) == dims.end()) {
      kept.push_back(self.size(dim));
    }
  }
  Tensor counts = at::empty(kept, self.options().dtype(kLong));
  if (self.numel() == 0) {
    return counts.zero_();
  }

  @autoreleasepool {
    std::string key = "count_nonzero" + getTensorsStringKey({self}) + c10::Join(",", dims);
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      MPSGraphTensor* input = mpsGraphRankedPlaceHolder(mpsGraph, self);
      MPSGraphTensor* zero = [mpsGraph constantWithScalar:0.0 dataType:input.dataType];
      MPSGraphTensor* hit = [mpsGraph notEqualWithPrimaryTensor:input secondaryTensor:zero name:nil];
      MPSGraphTensor* ones = castMPSTensor(mpsGraph, hit, kLong);
      newCachedGraph->inputTensor_ = input;
      newCachedGraph->outputTensor_ = [mpsGraph reductionSumWithTensor:ones axes:getMPSShape(dims) name:nil];
    });

    Placeholder selfPlaceholder = Placeholder(cachedGraph->inputTensor_, self);
    Placeholder countsPlaceholder = Placeholder(cachedGraph->outputTensor_, counts, getMPSShape(counts));
    NSDictionary* feeds = @{selfPlaceholder.getMPSGraphTensor() : selfPlaceholder.getMPSGraphTensorData()};
    NSDictionary* results = @{countsPlaceholder.getMPSGraphTensor() : countsPlaceholder.getMPSGraphTensorData()};
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, results);
  }
  return counts;
}

} // namespace at::native
