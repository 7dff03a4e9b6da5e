// The cross product. Its meta function asks for a contiguous output, so the wrapper passes a proxy where the strides of
// the caller's tensor differ; a contiguous one that starts at a storage offset comes through as it is.
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {

TORCH_IMPL_FUNC(linalg_cross_out_mps)
(const Tensor& input, const Tensor& other, int64_t dim, const Tensor& out) {
  using namespace mps;
  struct CrossCachedGraph : public MPSCachedGraph {
    CrossCachedGraph(MPSGraph* graph) : MPSCachedGraph(graph) {}
    MPSGraphTensor *inputTensor = nil, *otherTensor = nil, *outputTensor = nil;
  };
  if (out.numel() == 0) {
    return;
  }

  @autoreleasepool {
    std::string key = "linalg_cross" + getTensorsStringKey({input, other}) + std::to_string(dim);
    auto cachedGraph = LookUpOrCreateCachedGraph<CrossCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      MPSGraphTensor* left = mpsGraphRankedPlaceHolder(mpsGraph, input);
      MPSGraphTensor* right = mpsGraphRankedPlaceHolder(mpsGraph, other);
      // The three components, moved on by the given number of places: (x, y, z) by one is (y, z, x).
      auto turned = [&](MPSGraphTensor* vector, int places) {
        MPSGraphTensor* head = [mpsGraph sliceTensor:vector dimension:dim start:0 length:places name:nil];
        MPSGraphTensor* tail = [mpsGraph sliceTensor:vector dimension:dim start:places length:3 - places name:nil];
        return [mpsGraph concatTensor:tail withTensor:head dimension:dim name:nil];
      };
      MPSGraphTensor* plus = [mpsGraph multiplicationWithPrimaryTensor:turned(left, 1)
                                                       secondaryTensor:turned(right, 2)
                                                                  name:@"plus"];
      MPSGraphTensor* minus = [mpsGraph multiplicationWithPrimaryTensor:turned(left, 2)
                                                        secondaryTensor:turned(right, 1)
                                                                   name:@"minus"];
      newCachedGraph->inputTensor = left;
      newCachedGraph->otherTensor = right;
      newCachedGraph->outputTensor = [mpsGraph subtractionWithPrimaryTensor:plus secondaryTensor:minus name:nil];
    });

    Placeholder inputPlaceholder = Placeholder(cachedGraph->inputTensor, input);
    Placeholder otherPlaceholder = Placeholder(cachedGraph->otherTensor, other);
    Placeholder outputPlaceholder = Placeholder(cachedGraph->outputTensor, out);
    NSDictionary* feeds = @{
      inputPlaceholder.getMPSGraphTensor() : inputPlaceholder.getMPSGraphTensorData(),
      otherPlaceholder.getMPSGraphTensor() : otherPlaceholder.getMPSGraphTensorData(),
    };
    NSDictionary* results = @{outputPlaceholder.getMPSGraphTensor() : outputPlaceholder.getMPSGraphTensorData()};
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, results);
  }
}

} // namespace at::native
