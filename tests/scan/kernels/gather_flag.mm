// dialects: 2.2 2.4
// The gather flag of the constructor before macOS 15 was asked for; a view that cannot be sliced lands at the start.
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {

using namespace mps;

// - func: ungathered.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: ungathered_out_mps
Tensor& ungathered_out_mps(const Tensor& self, Tensor& out) {
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("ungathered", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, out, nil, /*gatherTensorData=*/false); // expect: misplaced * out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  return out;
}

} // namespace at::native
