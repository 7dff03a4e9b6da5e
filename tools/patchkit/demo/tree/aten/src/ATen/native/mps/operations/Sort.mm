// Order along a dimension: two results of one graph.
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {

TORCH_IMPL_FUNC(sort_stable_out_mps)
(const Tensor& self,
 std::optional<bool> stable,
 int64_t dim,
 bool descending,
 const Tensor& values,
 const Tensor& indices) {
  using namespace mps;
  if (self.numel() == 0) {
    return;
  }
  if (self.dim() == 0) {
    values.copy_(self);
    indices.zero_();
    return;
  }

  struct SortCachedGraph : public MPSCachedGraph {
    SortCachedGraph(MPSGraph* graph) : MPSCachedGraph(graph) {}
    MPSGraphTensor *keysTensor = nil, *valuesTensor = nil, *indicesTensor = nil;
  };
  @autoreleasepool {
    std::string key = "sort_stable" + getTensorsStringKey({self}) + std::to_string(dim) + (descending ? "d" : "a");
    auto cachedGraph = LookUpOrCreateCachedGraph<SortCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      MPSGraphTensor* keys = mpsGraphRankedPlaceHolder(mpsGraph, self);
      MPSGraphTensor* order = [mpsGraph argSortWithTensor:keys axis:dim descending:descending name:@"order"];
      newCachedGraph->keysTensor = keys;
      newCachedGraph->valuesTensor = [mpsGraph gatherAlongAxis:dim
                                             withUpdatesTensor:keys
                                                 indicesTensor:order
                                                          name:@"values"];
      newCachedGraph->indicesTensor = castMPSTensor(mpsGraph, order, indices.scalar_type());
    });

    Placeholder keysPlaceholder = Placeholder(cachedGraph->keysTensor, self);
    Placeholder valuesPlaceholder = Placeholder(cachedGraph->valuesTensor, values);
    Placeholder indicesPlaceholder = Placeholder(cachedGraph->indicesTensor, indices);
    NSDictionary* feeds = @{keysPlaceholder.getMPSGraphTensor() : keysPlaceholder.getMPSGraphTensorData()};
    NSDictionary* results = @{
      valuesPlaceholder.getMPSGraphTensor() : valuesPlaceholder.getMPSGraphTensorData(),
      indicesPlaceholder.getMPSGraphTensor() : indicesPlaceholder.getMPSGraphTensorData(),
    };
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, results);
  }
}

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
