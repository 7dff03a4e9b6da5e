// Activations.
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {

// self * clamp(self + 3, 0, 6) / 6
Tensor& hardswish_out_mps(const Tensor& self, Tensor& output) {
  using namespace mps;
  output.resize_(self.sizes());
  if (output.numel() == 0) {
    return output;
  }

  @autoreleasepool {
    std::string key = "hardswish" + getTensorsStringKey({self});
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      MPSGraphTensor* input = mpsGraphRankedPlaceHolder(mpsGraph, self);
      MPSGraphTensor* zero = [mpsGraph constantWithScalar:0.0 dataType:input.dataType];
      MPSGraphTensor* three = [mpsGraph constantWithScalar:3.0 dataType:input.dataType];
      MPSGraphTensor* six = [mpsGraph constantWithScalar:6.0 dataType:input.dataType];
      MPSGraphTensor* moved = [mpsGraph additionWithPrimaryTensor:input secondaryTensor:three name:nil];
      MPSGraphTensor* gate = [mpsGraph clampWithTensor:moved minValueTensor:zero maxValueTensor:six name:nil];
      MPSGraphTensor* product = [mpsGraph multiplicationWithPrimaryTensor:input secondaryTensor:gate name:nil];
      newCachedGraph->inputTensor_ = input;
      newCachedGraph->outputTensor_ = [mpsGraph divisionWithPrimaryTensor:product secondaryTensor:six name:nil];
    });

    Placeholder selfPlaceholder = Placeholder(cachedGraph->inputTensor_, self);
    Placeholder outputPlaceholder = Placeholder(cachedGraph->outputTensor_, output);
    NSDictionary* feeds = @{selfPlaceholder.getMPSGraphTensor() : selfPlaceholder.getMPSGraphTensorData()};
    NSDictionary* results = @{outputPlaceholder.getMPSGraphTensor() : outputPlaceholder.getMPSGraphTensorData()};
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, results);
  }
  return output;
}

// The fresh output takes over a channels_last layout, and is lost there like a caller's.
Tensor hardswish_mps(const Tensor& input) {
  Tensor gated = at::empty_like(input, input.suggest_memory_format());
  hardswish_out_mps(input, gated);
  return gated;
}

Tensor& hardswish_mps_(Tensor& input) {
  return hardswish_out_mps(input, input);
}

// grad_output, where self lies inside (min_val, max_val)
Tensor& hardtanh_backward_out_mps(const Tensor& grad_output,
                                  const Tensor& self,
                                  const Scalar& min_val,
                                  const Scalar& max_val,
                                  Tensor& grad_input) {
  using namespace mps;
  struct HardtanhCachedGraph : public MPSCachedGraph {
    HardtanhCachedGraph(MPSGraph* graph) : MPSCachedGraph(graph) {}
    MPSGraphTensor *gradOutputTensor = nil, *inputTensor = nil, *gradInputTensor = nil;
  };

  grad_input.resize_(self.sizes());
  if (grad_input.numel() == 0) {
    return grad_input;
  }

  const bool needs_copy = !grad_input.is_contiguous() || grad_input.storage_offset();
  Tensor dense = needs_copy ? at::empty_like(grad_input, MemoryFormat::Contiguous) : grad_input;
  if (min_val.toDouble() >= max_val.toDouble()) {
    dense.zero_();
    if (needs_copy) {
      grad_input.copy_(dense);
    }
    return grad_input;
  }

  @autoreleasepool {
    std::string key = "hardtanh_backward" + getTensorsStringKey({grad_output, self}) +
        std::to_string(min_val.toDouble()) + ":" + std::to_string(max_val.toDouble());
    auto cachedGraph = LookUpOrCreateCachedGraph<HardtanhCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      MPSGraphTensor* gradient = mpsGraphRankedPlaceHolder(mpsGraph, grad_output);
      MPSGraphTensor* input = mpsGraphRankedPlaceHolder(mpsGraph, self);
      MPSGraphTensor* low = [mpsGraph constantWithScalar:min_val.toDouble() dataType:input.dataType];
      MPSGraphTensor* high = [mpsGraph constantWithScalar:max_val.toDouble() dataType:input.dataType];
      MPSGraphTensor* zero = [mpsGraph constantWithScalar:0.0 dataType:input.dataType];
      MPSGraphTensor* above = [mpsGraph greaterThanWithPrimaryTensor:input secondaryTensor:low name:nil];
      MPSGraphTensor* below = [mpsGraph lessThanWithPrimaryTensor:input secondaryTensor:high name:nil];
      MPSGraphTensor* inside = [mpsGraph logicalANDWithPrimaryTensor:above secondaryTensor:below name:nil];
      newCachedGraph->gradOutputTensor = gradient;
      newCachedGraph->inputTensor = input;
      newCachedGraph->gradInputTensor = [mpsGraph selectWithPredicateTensor:inside
                                                        truePredicateTensor:gradient
                                                       falsePredicateTensor:zero
                                                                       name:nil];
    });

    Placeholder gradOutputPlaceholder = Placeholder(cachedGraph->gradOutputTensor, grad_output);
    Placeholder selfPlaceholder = Placeholder(cachedGraph->inputTensor, self);
    Placeholder gradInputPlaceholder = Placeholder(cachedGraph->gradInputTensor, dense);
    NSDictionary* feeds = @{
      gradOutputPlaceholder.getMPSGraphTensor() : gradOutputPlaceholder.getMPSGraphTensorData(),
      selfPlaceholder.getMPSGraphTensor() : selfPlaceholder.getMPSGraphTensorData(),
    };
    NSDictionary* results = @{gradInputPlaceholder.getMPSGraphTensor() : gradInputPlaceholder.getMPSGraphTensorData()};
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, results);
  }
  return grad_input;
}

} // namespace at::native
