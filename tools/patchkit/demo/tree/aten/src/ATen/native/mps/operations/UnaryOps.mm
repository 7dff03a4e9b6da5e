// Operators on one tensor.
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {
namespace mps {

typedef MPSGraphTensor* (^UnaryOpBlock)(MPSGraph*, MPSGraphTensor*);

static void unary_op(const Tensor& self, const Tensor& output, const std::string& op_name, UnaryOpBlock unaryBlock) {
  if (self.numel() == 0) {
    return;
  }

  Tensor dense = output;
  bool copy_back = false;
  if (!output.is_contiguous() || output.storage_offset() != 0) {
    dense = at::empty(output.sizes(), output.options());
    copy_back = true;
  }

  @autoreleasepool {
    std::string key = op_name + getTensorsStringKey({self, output});
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      newCachedGraph->inputTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, self);
      MPSGraphTensor* input = castMPSTensor(mpsGraph, newCachedGraph->inputTensor_, output.scalar_type());
      newCachedGraph->outputTensor_ = unaryBlock(mpsGraph, input);
    });

    Placeholder selfPlaceholder = Placeholder(cachedGraph->inputTensor_, self);
    Placeholder outputPlaceholder = Placeholder(cachedGraph->outputTensor_, dense);
    NSDictionary* feeds = @{selfPlaceholder.getMPSGraphTensor() : selfPlaceholder.getMPSGraphTensorData()};
    NSDictionary* results = @{outputPlaceholder.getMPSGraphTensor() : outputPlaceholder.getMPSGraphTensorData()};
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, results);

    if (copy_back) {
      output.copy_(dense);
    }
  }
}

} // namespace mps

#define UNARY_IMPL_MPS(func_out, graph_method)                                              \
  TORCH_IMPL_FUNC(func_out)(const Tensor& self, const Tensor& output) {                     \
    mps::unary_op(self, output, #func_out, ^(MPSGraph * mpsGraph, MPSGraphTensor * input) { \
      return [mpsGraph graph_method##WithTensor:input name:nil];                            \
    });                                                                                     \
  }

UNARY_IMPL_MPS(sqrt_out_mps, squareRoot)
UNARY_IMPL_MPS(exp_out_mps, exponent)
UNARY_IMPL_MPS(tan_out_mps, tan)

// log(self / (1 - self)), with self moved into [eps, 1 - eps] first
Tensor& logit_out_mps(const Tensor& self, std::optional<double> eps, Tensor& result) {
  using namespace mps;
  if (result.numel() == 0) {
    return result;
  }

  const bool needs_copy = !self.is_contiguous() || self.storage_offset();
  Tensor dense = needs_copy ? at::empty(result.sizes(), result.options()) : result;

  @autoreleasepool {
    std::string key = "logit" + getTensorsStringKey({self}) + std::to_string(eps.value_or(-1.0));
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      MPSGraphTensor* input = mpsGraphRankedPlaceHolder(mpsGraph, self);
      MPSGraphTensor* one = [mpsGraph constantWithScalar:1.0 dataType:input.dataType];
      MPSGraphTensor* inside = input;
      if (eps.has_value()) {
        MPSGraphTensor* low = [mpsGraph constantWithScalar:*eps dataType:input.dataType];
        MPSGraphTensor* high = [mpsGraph subtractionWithPrimaryTensor:one secondaryTensor:low name:nil];
        inside = [mpsGraph clampWithTensor:input minValueTensor:low maxValueTensor:high name:nil];
      }
      MPSGraphTensor* rest = [mpsGraph subtractionWithPrimaryTensor:one secondaryTensor:inside name:nil];
      MPSGraphTensor* odds = [mpsGraph divisionWithPrimaryTensor:inside secondaryTensor:rest name:nil];
      newCachedGraph->inputTensor_ = input;
      newCachedGraph->outputTensor_ = [mpsGraph logarithmWithTensor:odds name:nil];
    });

    Placeholder selfPlaceholder = Placeholder(cachedGraph->inputTensor_, self);
    Placeholder outputPlaceholder = Placeholder(cachedGraph->outputTensor_, dense);
    NSDictionary* feeds = @{selfPlaceholder.getMPSGraphTensor() : selfPlaceholder.getMPSGraphTensorData()};
    NSDictionary* results = @{outputPlaceholder.getMPSGraphTensor() : outputPlaceholder.getMPSGraphTensorData()};
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, results);

    if (needs_copy) {
      result.copy_(dense);
    }
  }
  return result;
}

// running sum along one dimension
TORCH_IMPL_FUNC(cumsum_out_mps)
(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype, const Tensor& result) {
  using namespace mps;
  if (result.numel() == 0) {
    return;
  }

  Tensor dense = result.contiguous();
  @autoreleasepool {
    std::string key = "cumsum" + getTensorsStringKey({self, result}) + std::to_string(dim);
    auto cachedGraph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>(key, [&](auto mpsGraph, auto newCachedGraph) {
      newCachedGraph->inputTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, self);
      MPSGraphTensor* addends = castMPSTensor(mpsGraph, newCachedGraph->inputTensor_, result.scalar_type());
      newCachedGraph->outputTensor_ = [mpsGraph cumulativeSumWithTensor:addends axis:dim name:nil];
    });

    Placeholder selfPlaceholder = Placeholder(cachedGraph->inputTensor_, self);
    Placeholder outputPlaceholder = Placeholder(cachedGraph->outputTensor_, dense);
    NSDictionary* feeds = @{selfPlaceholder.getMPSGraphTensor() : selfPlaceholder.getMPSGraphTensorData()};
    NSDictionary* results = @{outputPlaceholder.getMPSGraphTensor() : outputPlaceholder.getMPSGraphTensorData()};
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, results);
  }
  result.copy_(dense);
}

} // namespace at::native
