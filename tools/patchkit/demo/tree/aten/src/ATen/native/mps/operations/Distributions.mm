// Random fills: each operator overwrites its own tensor through one helper.
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {
namespace mps {

struct FillCachedGraph : public MPSCachedGraph {
  FillCachedGraph(MPSGraph* graph) : MPSCachedGraph(graph) {}
  MPSGraphTensor *stateTensor = nil, *filledTensor = nil;
};

typedef MPSGraphTensor* (^ShapeSamplesBlock)(MPSGraph*, MPSGraphTensor*);

template <typename scalar_t>
Tensor& random_fill_mps(Tensor& self,
                        scalar_t low,
                        scalar_t high,
                        std::optional<Generator> gen,
                        const std::string& op_name,
                        ShapeSamplesBlock shapeSamples) {
  if (self.numel() == 0) {
    return self;
  }

  const Tensor state = nextPhiloxState(gen);
  @autoreleasepool {
    std::string key = op_name + getTensorsStringKey({self}) + std::to_string(low) + ":" + std::to_string(high);
    auto cachedGraph = LookUpOrCreateCachedGraph<FillCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      newCachedGraph->stateTensor = mpsGraphRankedPlaceHolder(mpsGraph, state);
      MPSGraphRandomOpDescriptor* interval =
          [MPSGraphRandomOpDescriptor descriptorWithDistribution:MPSGraphRandomDistributionUniform
                                                        dataType:getMPSDataType(self.scalar_type())];
      interval.min = static_cast<float>(low);
      interval.max = static_cast<float>(high);
      MPSGraphTensor* samples = [mpsGraph randomTensorWithShape:getMPSShape(self)
                                                     descriptor:interval
                                                    stateTensor:newCachedGraph->stateTensor
                                                           name:nil][0];
      newCachedGraph->filledTensor = shapeSamples ? shapeSamples(mpsGraph, samples) : samples;
    });

    Placeholder statePlaceholder = Placeholder(cachedGraph->stateTensor, state);
    Placeholder filledPlaceholder = Placeholder(cachedGraph->filledTensor, self);
    NSDictionary<MPSGraphTensor*, MPSGraphTensorData*>* feeds = @{
      statePlaceholder.getMPSGraphTensor() : statePlaceholder.getMPSGraphTensorData(),
    };
    NSDictionary<MPSGraphTensor*, MPSGraphTensorData*>* results = @{
      filledPlaceholder.getMPSGraphTensor() : filledPlaceholder.getMPSGraphTensorData(),
    };
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, results);
  }

  return self;
}

} // namespace mps

Tensor& uniform_mps_(Tensor& self, double from, double to, std::optional<Generator> gen) {
  TORCH_CHECK(from <= to, "uniform_: from must not be greater than to");
  return mps::random_fill_mps<double>(self, from, to, gen, "uniform", nil);
}

// -log(1 - u) / lambda
Tensor& exponential_mps_(Tensor& self, double lambda, std::optional<Generator> gen) {
  TORCH_CHECK(lambda > 0, "exponential_: lambda must be positive");
  return mps::random_fill_mps<double>(
      self, 0.0, 1.0, gen, "exponential", ^(MPSGraph* mpsGraph, MPSGraphTensor* samples) {
        MPSGraphTensor* one = [mpsGraph constantWithScalar:1.0 dataType:samples.dataType];
        MPSGraphTensor* rate = [mpsGraph constantWithScalar:-lambda dataType:samples.dataType];
        MPSGraphTensor* rest = [mpsGraph subtractionWithPrimaryTensor:one secondaryTensor:samples name:nil];
        MPSGraphTensor* logarithm = [mpsGraph logarithmWithTensor:rest name:nil];
        return [mpsGraph divisionWithPrimaryTensor:logarithm secondaryTensor:rate name:nil];
      });
}

// floor(u) on [from, to)
Tensor& random_mps_(Tensor& self, int64_t from, std::optional<int64_t> to, std::optional<Generator> gen) {
  return mps::random_fill_mps<int64_t>(
      self, from, to.value_or(1 << 24), gen, "random", ^(MPSGraph* mpsGraph, MPSGraphTensor* samples) {
        return [mpsGraph floorWithTensor:samples name:nil];
      });
}

} // namespace at::native
