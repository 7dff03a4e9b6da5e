// dialects: 1.13
// The interface of 1.13: every view a caller can make is copied, contiguous or not.
#include <ATen/native/mps/OperationUtils.h>

namespace at {
namespace native {

using namespace mps;

// - func: bare.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: bare_out_mps
Tensor& bare_out_mps(const Tensor& self, Tensor& output) {
  MPSGraphCache* cache_ = MPSGraphCache::getInstance();
  @autoreleasepool {
    string key = "bare_out_mps" + getTensorsStringKey({self});
    CachedGraph* cachedGraph = static_cast<CachedGraph *>(cache_->LookUp(key));
    if (!cachedGraph) {
      MPSCachedGraph *tmpCachedGraph = cache_->CreateCachedGraph(key, ^ MPSCachedGraph * () {
        CachedGraph *newCachedGraph = nil;
        @autoreleasepool {
          MPSGraph* mpsGraph = make_mps_graph();
          newCachedGraph = new CachedGraph(mpsGraph);
          newCachedGraph->inputTensor_ = mpsGraphRankedPlaceHolder(mpsGraph, self);
          newCachedGraph->outputTensor_ = [mpsGraph squareWithTensor:newCachedGraph->inputTensor_ name:nil];
        }
        return newCachedGraph;
      });
      cachedGraph = static_cast<CachedGraph *>(tmpCachedGraph);
    }
    Placeholder input = Placeholder(cachedGraph->inputTensor_, self);
    Placeholder result = Placeholder(cachedGraph->outputTensor_, output); // expect: lost * out
    NSDictionary<MPSGraphTensor *, MPSGraphTensorData *> *feeds = @{
      input.getMPSGraphTensor() : input.getMPSGraphTensorData()
    };
    NSDictionary<MPSGraphTensor *, MPSGraphTensorData *> *results = @{
      result.getMPSGraphTensor() : result.getMPSGraphTensorData()
    };
    runMPSGraph(getCurrentMPSStream(), cachedGraph->graph(), feeds, results);
  }
  return output;
}

// - func: guarded.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: guarded_out_mps
Tensor& guarded_out_mps(const Tensor& self, Tensor& output) {
  const bool through_copy = output.is_view() || !output.is_contiguous();
  Tensor dense = through_copy ? at::empty_like(output, MemoryFormat::Contiguous) : output;
  auto graph = find_graph("guarded", self);
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: cleared copy_back
  runMPSGraph(getCurrentMPSStream(), graph->graph(),
              @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()},
              @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()});
  if (through_copy) {
    output.copy_(dense);
  }
  return output;
}

// - func: contiguous_only.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: contiguous_only_out_mps
Tensor& contiguous_only_out_mps(const Tensor& self, Tensor& output) {
  const bool through_copy = !output.is_contiguous();
  Tensor dense = through_copy ? at::empty_like(output, MemoryFormat::Contiguous) : output;
  auto graph = find_graph("contiguous_only", self);
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: lost offset out
  runMPSGraph(getCurrentMPSStream(), graph->graph(),
              @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()},
              @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()});
  if (through_copy) {
    output.copy_(dense);
  }
  return output;
}

// The guard of later releases: a contiguous view without an offset, such as buf[:2], is still lost.
// - func: later_guard.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: later_guard_out_mps
Tensor& later_guard_out_mps(const Tensor& self, Tensor& output) {
  const bool through_copy = !output.is_contiguous() || output.storage_offset();
  Tensor dense = through_copy ? at::empty_like(output, MemoryFormat::Contiguous) : output;
  auto graph = find_graph("later_guard", self);
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: lost offset out
  runMPSGraph(getCurrentMPSStream(), graph->graph(),
              @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()},
              @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()});
  if (through_copy) {
    output.copy_(dense);
  }
  return output;
}

// - func: fresh(Tensor self) -> Tensor
//   dispatch:
//     MPS: fresh_mps
Tensor fresh_mps(const Tensor& self) {
  Tensor output = empty_mps(self.sizes(), self.scalar_type(), c10::nullopt, kMPS, c10::nullopt, c10::nullopt);
  auto graph = find_graph("fresh", self);
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, output); // expect: cleared fresh_contiguous
  runMPSGraph(getCurrentMPSStream(), graph->graph(),
              @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()},
              @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()});
  return output;
}

} // namespace native
} // namespace at
