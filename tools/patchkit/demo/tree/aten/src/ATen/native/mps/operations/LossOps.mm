// Losses: an out variant, and a functional one that allocates for it.
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {
namespace mps {

static MPSGraphTensor* reduce(MPSGraph* mpsGraph, MPSGraphTensor* losses, int64_t reduction) {
  if (reduction == Reduction::None) {
    return losses;
  }
  return reduction == Reduction::Mean ? [mpsGraph meanOfTensor:losses axes:nil name:@"mean"]
                                      : [mpsGraph reductionSumWithTensor:losses axes:nil name:@"sum"];
}

} // namespace mps

// delta * (|d| - delta / 2) where |d| > delta, d * d / 2 elsewhere; d = input - target
Tensor& huber_loss_out_mps(const Tensor& input, const Tensor& target, int64_t reduction, double delta, Tensor& output) {
  using namespace mps;
  TORCH_CHECK(delta > 0, "huber_loss: delta must be positive");
  struct LossCachedGraph : public MPSCachedGraph {
    LossCachedGraph(MPSGraph* graph) : MPSCachedGraph(graph) {}
    MPSGraphTensor *inputTensor = nil, *targetTensor = nil, *outputTensor = nil;
  };

  if (reduction == Reduction::None) {
    output.resize_(input.sizes());
  } else {
    output.resize_({});
  }
  if (output.numel() == 0) {
    return output;
  }

  @autoreleasepool {
    std::string key =
        "huber_loss" + getTensorsStringKey({input, target}) + std::to_string(reduction) + ":" + std::to_string(delta);
    auto cachedGraph = LookUpOrCreateCachedGraph<LossCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      MPSGraphTensor* inputTensor = mpsGraphRankedPlaceHolder(mpsGraph, input);
      MPSGraphTensor* targetTensor = mpsGraphRankedPlaceHolder(mpsGraph, target);
      MPSGraphTensor* half = [mpsGraph constantWithScalar:0.5 dataType:inputTensor.dataType];
      MPSGraphTensor* bound = [mpsGraph constantWithScalar:delta dataType:inputTensor.dataType];
      MPSGraphTensor* difference = [mpsGraph subtractionWithPrimaryTensor:inputTensor
                                                          secondaryTensor:targetTensor
                                                                     name:nil];
      MPSGraphTensor* distance = [mpsGraph absoluteWithTensor:difference name:nil];
      MPSGraphTensor* near = [mpsGraph minimumWithPrimaryTensor:distance secondaryTensor:bound name:nil];
      // With near = min(|d|, delta) both branches are near * (|d| - near / 2).
      MPSGraphTensor* halfNear = [mpsGraph multiplicationWithPrimaryTensor:near secondaryTensor:half name:nil];
      MPSGraphTensor* reach = [mpsGraph subtractionWithPrimaryTensor:distance secondaryTensor:halfNear name:nil];
      MPSGraphTensor* losses = [mpsGraph multiplicationWithPrimaryTensor:near secondaryTensor:reach name:nil];
      newCachedGraph->inputTensor = inputTensor;
      newCachedGraph->targetTensor = targetTensor;
      newCachedGraph->outputTensor = reduce(mpsGraph, losses, reduction);
    });

    Placeholder inputPlaceholder = Placeholder(cachedGraph->inputTensor, input);
    Placeholder targetPlaceholder = Placeholder(cachedGraph->targetTensor, target);
    Placeholder outputPlaceholder = Placeholder(cachedGraph->outputTensor, output);
    NSDictionary* feeds = @{
      inputPlaceholder.getMPSGraphTensor() : inputPlaceholder.getMPSGraphTensorData(),
      targetPlaceholder.getMPSGraphTensor() : targetPlaceholder.getMPSGraphTensorData(),
    };
    NSDictionary* results = @{outputPlaceholder.getMPSGraphTensor() : outputPlaceholder.getMPSGraphTensorData()};
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, results);
  }
  return output;
}

Tensor huber_loss_mps(const Tensor& input, const Tensor& target, int64_t reduction, double delta) {
  Tensor loss = at::empty({0}, input.options());
  huber_loss_out_mps(input, target, reduction, delta, loss);
  return loss;
}

} // namespace at::native
