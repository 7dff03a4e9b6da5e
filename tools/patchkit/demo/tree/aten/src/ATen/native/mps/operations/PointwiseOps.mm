// Operators on three tensors, element by element.
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {
namespace mps {

struct TernaryCachedGraph : public MPSCachedGraph {
  TernaryCachedGraph(MPSGraph* graph) : MPSCachedGraph(graph) {}
  MPSGraphTensor *selfTensor = nil, *firstTensor = nil, *secondTensor = nil;
  MPSGraphTensor *valueTensor = nil, *outputTensor = nil;
};

typedef MPSGraphTensor* (^CombineBlock)(MPSGraph*, MPSGraphTensor*, MPSGraphTensor*);

// self + value * combine(tensor1, tensor2)
static void add_scaled_combination(const Tensor& self,
                                   const Tensor& tensor1,
                                   const Tensor& tensor2,
                                   const Scalar& value,
                                   const Tensor& output,
                                   const std::string& op_name,
                                   CombineBlock combine) {
  if (output.numel() == 0) {
    return;
  }

  MPSStream* stream = getCurrentMPSStream();
  @autoreleasepool {
    std::string key = op_name + getTensorsStringKey({self, tensor1, tensor2});
    auto cachedGraph = LookUpOrCreateCachedGraph<TernaryCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      newCachedGraph->selfTensor = mpsGraphRankedPlaceHolder(mpsGraph, self);
      newCachedGraph->firstTensor = mpsGraphRankedPlaceHolder(mpsGraph, tensor1);
      newCachedGraph->secondTensor = mpsGraphRankedPlaceHolder(mpsGraph, tensor2);
      newCachedGraph->valueTensor = mpsGraphScalarPlaceHolder(mpsGraph, value);

      MPSGraphTensor* combined = combine(mpsGraph, newCachedGraph->firstTensor, newCachedGraph->secondTensor);
      MPSGraphTensor* scaled = [mpsGraph multiplicationWithPrimaryTensor:combined
                                                         secondaryTensor:newCachedGraph->valueTensor
                                                                    name:@"scaled"];
      newCachedGraph->outputTensor = [mpsGraph additionWithPrimaryTensor:newCachedGraph->selfTensor
                                                         secondaryTensor:scaled
                                                                    name:nil];
    });

    MPSScalar valueScalar = getMPSScalar(value, self.scalar_type());
    Placeholder selfPlaceholder = Placeholder(cachedGraph->selfTensor, self);
    Placeholder firstPlaceholder = Placeholder(cachedGraph->firstTensor, tensor1);
    Placeholder secondPlaceholder = Placeholder(cachedGraph->secondTensor, tensor2);
    Placeholder outputPlaceholder = Placeholder(cachedGraph->outputTensor, output);

    NSDictionary<MPSGraphTensor*, MPSGraphTensorData*>* feeds = @{
      selfPlaceholder.getMPSGraphTensor() : selfPlaceholder.getMPSGraphTensorData(),
      firstPlaceholder.getMPSGraphTensor() : firstPlaceholder.getMPSGraphTensorData(),
      secondPlaceholder.getMPSGraphTensor() : secondPlaceholder.getMPSGraphTensorData(),
      cachedGraph->valueTensor : getMPSGraphTensorFromScalar(stream, valueScalar),
    };
    NSDictionary<MPSGraphTensor*, MPSGraphTensorData*>* results = @{
      outputPlaceholder.getMPSGraphTensor() : outputPlaceholder.getMPSGraphTensorData(),
    };
    runMPSGraph(stream, cachedGraph->graph(), feeds, results);
  }
}

} // namespace mps

TORCH_IMPL_FUNC(addcmul_out_mps)
(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value, const Tensor& output) {
  mps::add_scaled_combination(
      self, tensor1, tensor2, value, output, "addcmul", ^(MPSGraph* mpsGraph, MPSGraphTensor* a, MPSGraphTensor* b) {
        return [mpsGraph multiplicationWithPrimaryTensor:a secondaryTensor:b name:@"product"];
      });
}

TORCH_IMPL_FUNC(addcdiv_out_mps)
(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value, const Tensor& output) {
  mps::add_scaled_combination(
      self, tensor1, tensor2, value, output, "addcdiv", ^(MPSGraph* mpsGraph, MPSGraphTensor* a, MPSGraphTensor* b) {
        return [mpsGraph divisionWithPrimaryTensor:a secondaryTensor:b name:@"quotient"];
      });
}

// self + weight * (end - self)
TORCH_IMPL_FUNC(lerp_Scalar_mps)
(const Tensor& self, const Tensor& end, const Scalar& weight, const Tensor& output) {
  using namespace mps;
  if (output.numel() == 0) {
    return;
  }

  const bool use_temporary = !output.is_contiguous() || output.storage_offset();
  Tensor temporary;
  if (use_temporary) {
    temporary = at::empty(output.sizes(), output.options());
  }

  MPSStream* stream = getCurrentMPSStream();
  @autoreleasepool {
    std::string key = "lerp_Scalar" + getTensorsStringKey({self, end});
    auto cachedGraph = LookUpOrCreateCachedGraph<TernaryCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      newCachedGraph->selfTensor = mpsGraphRankedPlaceHolder(mpsGraph, self);
      newCachedGraph->firstTensor = mpsGraphRankedPlaceHolder(mpsGraph, end);
      newCachedGraph->valueTensor = mpsGraphScalarPlaceHolder(mpsGraph, weight);
      MPSGraphTensor* distance = [mpsGraph subtractionWithPrimaryTensor:newCachedGraph->firstTensor
                                                        secondaryTensor:newCachedGraph->selfTensor
                                                                   name:@"distance"];
      MPSGraphTensor* step = [mpsGraph multiplicationWithPrimaryTensor:distance
                                                       secondaryTensor:newCachedGraph->valueTensor
                                                                  name:@"step"];
      newCachedGraph->outputTensor = [mpsGraph additionWithPrimaryTensor:newCachedGraph->selfTensor
                                                         secondaryTensor:step
                                                                    name:nil];
    });

    MPSScalar weightScalar = getMPSScalar(weight, self.scalar_type());
    Placeholder selfPlaceholder = Placeholder(cachedGraph->selfTensor, self);
    Placeholder endPlaceholder = Placeholder(cachedGraph->firstTensor, end);
    Placeholder outputPlaceholder = Placeholder(cachedGraph->outputTensor, use_temporary ? temporary : output);

    NSDictionary<MPSGraphTensor*, MPSGraphTensorData*>* feeds = @{
      selfPlaceholder.getMPSGraphTensor() : selfPlaceholder.getMPSGraphTensorData(),
      endPlaceholder.getMPSGraphTensor() : endPlaceholder.getMPSGraphTensorData(),
      cachedGraph->valueTensor : getMPSGraphTensorFromScalar(stream, weightScalar),
    };
    NSDictionary<MPSGraphTensor*, MPSGraphTensorData*>* results = @{
      outputPlaceholder.getMPSGraphTensor() : outputPlaceholder.getMPSGraphTensorData(),
    };
    runMPSGraph(stream, cachedGraph->graph(), feeds, results);

    if (use_temporary) {
      output.copy_(temporary);
    }
  }
}

} // namespace at::native
