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

} // namespace at::native
