// dialects: 2.15
// The interface of 2.15: nothing is gathered, strides and offset are honoured.
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {

using namespace mps;

// - func: bare.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: bare_out_mps
Tensor& bare_out_mps(const Tensor& self, Tensor& out) {
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("bare", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, out); // expect: cleared strides_honoured
  runMPSGraph(getCurrentMPSStream(), graph->graph(), dictionaryFromPlaceholders(input), result);
  return out;
}

// - func: preserved(Tensor self) -> Tensor
//   dispatch:
//     MPS: preserved_mps
Tensor preserved_mps(const Tensor& self) {
  Tensor out = at::empty_like(self);
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("preserved", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, out); // expect: cleared
  runMPSGraph(getCurrentMPSStream(), graph->graph(), dictionaryFromPlaceholders(input), result);
  return out;
}

// The temporary is never copied back: that needs no gather to go wrong.
// - func: forgotten_temporary.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: forgotten_temporary_out_mps
Tensor& forgotten_temporary_out_mps(const Tensor& self, Tensor& out) {
  Tensor dense = out.is_contiguous() ? out : at::empty_like(out, MemoryFormat::Contiguous);
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("forgotten_temporary", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: lost strided,channels_last out
  runMPSGraph(getCurrentMPSStream(), graph->graph(), dictionaryFromPlaceholders(input), result);
  return out;
}

// The handle is pointed at a new tensor, which the caller never sees.
// - func: rebound.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: rebound_out_mps
Tensor& rebound_out_mps(const Tensor& self, Tensor& out) {
  if (!out.is_contiguous()) {
    out = at::empty(out.sizes(), out.options()); // expect: dropped strided,channels_last out
  }
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("rebound", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, out); // expect: cleared
  runMPSGraph(getCurrentMPSStream(), graph->graph(), dictionaryFromPlaceholders(input), result);
  return out;
}

} // namespace at::native
