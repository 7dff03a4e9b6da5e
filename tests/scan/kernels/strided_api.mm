// dialects: 2.6
// The two flags of the constructor from 2.5 to 2.14, and needsGather(), which is false on macOS 15.
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {

using namespace mps;

// - func: guarded.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: guarded_out_mps
Tensor& guarded_out_mps(const Tensor& self, Tensor& out) {
  const bool through_copy = needsGather(out);
  Tensor dense = through_copy ? at::empty_like(out, MemoryFormat::Contiguous) : out;
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("guarded", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: cleared copy_back
  runMPSGraph(getCurrentMPSStream(), graph->graph(), dictionaryFromPlaceholders(input), result);
  if (through_copy) {
    out.copy_(dense);
  }
  return out;
}

// - func: named_backwards.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: named_backwards_out_mps
Tensor& named_backwards_out_mps(const Tensor& self, Tensor& out) {
  const bool needs_gather = !needsGather(out);
  Tensor dense = needs_gather ? out : at::empty_like(out, MemoryFormat::Contiguous);
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("named_backwards", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: cleared copy_back
  runMPSGraph(getCurrentMPSStream(), graph->graph(), dictionaryFromPlaceholders(input), result);
  if (!needs_gather) {
    out.copy_(dense);
  }
  return out;
}

// - func: ungathered.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: ungathered_out_mps
Tensor& ungathered_out_mps(const Tensor& self, Tensor& out) {
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("ungathered", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, out, nil, false); // expect: misplaced * <15 out
  runMPSGraph(getCurrentMPSStream(), graph->graph(), dictionaryFromPlaceholders(input), result);
  return out;
}

// Gathered on every macOS.
// - func: unstrided.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: unstrided_out_mps
Tensor& unstrided_out_mps(const Tensor& self, Tensor& out) {
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("unstrided", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, out, nil, true, MPSDataTypeInvalid, false); // expect: lost * all out
  runMPSGraph(getCurrentMPSStream(), graph->graph(), dictionaryFromPlaceholders(input), result);
  return out;
}

// The guard looks away on macOS 15, the Placeholder does not.
// - func: unstrided_guarded.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: unstrided_guarded_out_mps
Tensor& unstrided_guarded_out_mps(const Tensor& self, Tensor& out) {
  const bool through_copy = needsGather(out);
  Tensor dense = through_copy ? at::empty_like(out, MemoryFormat::Contiguous) : out;
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("unstrided_guarded", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense, nil, true, MPSDataTypeInvalid, false); // expect: lost * >=15 out
  runMPSGraph(getCurrentMPSStream(), graph->graph(), dictionaryFromPlaceholders(input), result);
  if (through_copy) {
    out.copy_(dense);
  }
  return out;
}

// - func: neither.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: neither_out_mps
Tensor& neither_out_mps(const Tensor& self, Tensor& out) {
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("neither", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, out, nil, false, MPSDataTypeInvalid, false); // expect: misplaced * all out
  runMPSGraph(getCurrentMPSStream(), graph->graph(), dictionaryFromPlaceholders(input), result);
  return out;
}

// With gathering off on both sides an element-wise graph in place sees one dense order: only an offset goes wrong.
// - func: raw_in_place_(Tensor(a!) self) -> Tensor(a!)
//   dispatch:
//     MPS: raw_in_place_mps_
Tensor& raw_in_place_mps_(Tensor& self) {
  if (!self.is_contiguous()) {
    Tensor dense = self.clone(MemoryFormat::Contiguous);
    raw_in_place_mps_(dense);
    return self.copy_(dense);
  }
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("raw_in_place", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self, nil, false);
  Placeholder result = Placeholder(graph->outputTensor_, self, nil, false); // expect: misplaced offset <15 inplace
  runMPSGraph(getCurrentMPSStream(), graph->graph(), dictionaryFromPlaceholders(input), result);
  return self;
}

// The flag is computed: only a contiguous tensor goes ungathered.
// - func: computed_flag.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: computed_flag_out_mps
Tensor& computed_flag_out_mps(const Tensor& self, Tensor& out) {
  const bool gather = !out.is_contiguous();
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("computed_flag", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, out, nil, gather); // expect: lost * <15 out
  runMPSGraph(getCurrentMPSStream(), graph->graph(), dictionaryFromPlaceholders(input), result);
  return out;
}

// macOS 15 is asked for by the kernel itself.
// - func: asks_system.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: asks_system_out_mps
Tensor& asks_system_out_mps(const Tensor& self, Tensor& out) {
  const bool at_least_15 = is_macos_13_or_newer(MacOSVersion::MACOS_VER_15_0_PLUS);
  Tensor dense = at_least_15 ? out : at::empty_like(out, MemoryFormat::Contiguous);
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("asks_system", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: cleared
  runMPSGraph(getCurrentMPSStream(), graph->graph(), dictionaryFromPlaceholders(input), result);
  if (!at_least_15) {
    out.copy_(dense);
  }
  return out;
}

} // namespace at::native
