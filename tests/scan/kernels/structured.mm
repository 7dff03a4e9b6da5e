// dialects: 2.2 2.6
// Structured kernels: what the wrapper hands over is decided by the meta function in structured.cpp.
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {

using namespace mps;

// The iterator gives a fresh output the strides of permuted inputs, and hands a given one on.
// - func: itered(Tensor self) -> Tensor
//   structured_delegate: itered.out
// - func: itered_(Tensor(a!) self) -> Tensor(a!)
//   structured_delegate: itered.out
// - func: itered.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   structured: True
//   structured_inherits: TensorIteratorBase
//   dispatch:
//     MPS: itered_out_mps
TORCH_IMPL_FUNC(itered_out_mps)(const Tensor& self, const Tensor& out) {
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("itered", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, out); // expect: lost * inplace,out,functional
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
}

// Raw strides, none given: a functional output is contiguous, a caller's comes as it is.
// - func: raw(Tensor self) -> Tensor
//   structured_delegate: raw.out
// - func: raw.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   structured: True
//   dispatch:
//     MPS: raw_out_mps
TORCH_IMPL_FUNC(raw_out_mps)(const Tensor& self, const Tensor& out) {
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("raw", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, out); // expect: lost * out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
}

// The input's memory format is asked for.
// - func: formatted(Tensor self) -> Tensor
//   structured_delegate: formatted.out
// - func: formatted.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   structured: True
//   dispatch:
//     MPS: formatted_out_mps
TORCH_IMPL_FUNC(formatted_out_mps)(const Tensor& self, const Tensor& out) {
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("formatted", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, out); // expect: lost * out,functional
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
}

// A scalar result has no strides; out= can still be an element of a buffer.
// - func: scalar(Tensor self) -> Tensor
//   structured_delegate: scalar.out
// - func: scalar.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   structured: True
//   dispatch:
//     MPS: scalar_out_mps
TORCH_IMPL_FUNC(scalar_out_mps)(const Tensor& self, const Tensor& out) {
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("scalar", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, out); // expect: lost offset out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
}

// Contiguous strides are asked for: the wrapper makes a proxy where out= has others, but not for an offset alone.
// - func: proxied(Tensor self) -> Tensor
//   structured_delegate: proxied.out
// - func: proxied.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   structured: True
//   dispatch:
//     MPS: proxied_out_mps
TORCH_IMPL_FUNC(proxied_out_mps)(const Tensor& self, const Tensor& out) {
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("proxied", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, out); // expect: lost offset out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
}

// In place the wrapper never makes a proxy.
// - func: unproxied_(Tensor(a!) self) -> Tensor(a!)
//   structured_delegate: unproxied.out
// - func: unproxied.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   structured: True
//   dispatch:
//     MPS: unproxied_out_mps
TORCH_IMPL_FUNC(unproxied_out_mps)(const Tensor& self, const Tensor& out) {
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("unproxied", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, out); // expect: lost * inplace,out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
}

// Behind a dispatch stub: the kernel gets the iterator.
static void stubbed_kernel_mps(TensorIteratorBase& iter) {
  const Tensor& self = iter.input(0);
  const Tensor& out = iter.output(0);
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("stubbed", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, out); // expect: lost * inplace,out,functional
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
}

// - func: stubbed(Tensor self) -> Tensor
//   structured_delegate: stubbed.out
// - func: stubbed_(Tensor(a!) self) -> Tensor(a!)
//   structured_delegate: stubbed.out
// - func: stubbed.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   structured: True
//   structured_inherits: TensorIteratorBase
//   dispatch:
//     CPU, CUDA, MPS: stubbed_out
REGISTER_DISPATCH(stubbed_stub, &stubbed_kernel_mps)

} // namespace at::native
