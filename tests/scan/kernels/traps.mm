// dialects: 2.2 2.6
// Ways of naming, passing and copying a tensor that must not change what becomes of it.
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {

using namespace mps;

// A view of the output is lost with it.
// - func: flattened.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: flattened_out_mps
Tensor& flattened_out_mps(const Tensor& self, Tensor& out) {
  Tensor flat = out.view({-1});
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("flattened", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, flat); // expect: lost * out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  return out;
}

// - func: squeezed.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: squeezed_out_mps
Tensor& squeezed_out_mps(const Tensor& self, Tensor& out) {
  auto squeezed = out.dim() > 1 ? out.squeeze(0) : out;
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("squeezed", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, squeezed); // expect: lost * out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  return out;
}

// - func: aliased.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: aliased_out_mps
Tensor& aliased_out_mps(const Tensor& self, Tensor& out) {
  auto& alias = out;
  const Tensor& again = alias;
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("aliased", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, again); // expect: lost * out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  return out;
}

// - func: const_cast.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: const_cast_out_mps
Tensor& const_cast_out_mps(const Tensor& self, Tensor& out) {
  const Tensor& fixed = out;
  Tensor& open = const_cast<Tensor&>(fixed);
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("const_cast", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, open); // expect: lost * out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  return out;
}

// - func: cloned.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: cloned_out_mps
Tensor& cloned_out_mps(const Tensor& self, Tensor& out) {
  Tensor dense = out.clone(MemoryFormat::Contiguous);
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("cloned", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: cleared copy_back
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  out.copy_(dense);
  return out;
}

// `.contiguous()` is a copy of a strided tensor, and the tensor itself where it has only an offset.
// - func: made_dense.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: made_dense_out_mps
Tensor& made_dense_out_mps(const Tensor& self, Tensor& out) {
  Tensor dense = out.contiguous();
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("made_dense", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: lost offset out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  out.copy_(dense);
  return out;
}

// The copy-back depends on something else than the temporary does.
// - func: copied_once_only.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: copied_once_only_out_mps
Tensor& copied_once_only_out_mps(const Tensor& self, Tensor& out) {
  const bool needs_copy = !out.is_contiguous() || out.storage_offset();
  Tensor dense = needs_copy ? at::empty_like(out, MemoryFormat::Contiguous) : out;
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("copied_once_only", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: lost * all out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  if (needs_copy && self.is_contiguous()) {
    out.copy_(dense);
  }
  return out;
}

// - func: copied_from.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: copied_from_out_mps
Tensor& copied_from_out_mps(const Tensor& self, Tensor& out) {
  Tensor dense = at::empty_like(out, MemoryFormat::Contiguous);
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("copied_from", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: cleared copy_back
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  at::_copy_from(dense, out, false);
  return out;
}

// - func: copied_in_lambda.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: copied_in_lambda_out_mps
Tensor& copied_in_lambda_out_mps(const Tensor& self, Tensor& out) {
  Tensor dense = at::empty_like(out, MemoryFormat::Contiguous);
  auto finish = [&]() { out.copy_(dense); };
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("copied_in_lambda", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: cleared copy_back
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  finish();
  return out;
}

// The caller's old data goes into the temporary.
// - func: copied_the_wrong_way.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: copied_the_wrong_way_out_mps
Tensor& copied_the_wrong_way_out_mps(const Tensor& self, Tensor& out) {
  Tensor dense = at::empty_like(out, MemoryFormat::Contiguous);
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("copied_the_wrong_way", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: lost * all out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  dense.copy_(out);
  return out;
}

// Another tensor than the one the graph wrote is copied.
// - func: copied_elsewhere.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: copied_elsewhere_out_mps
Tensor& copied_elsewhere_out_mps(const Tensor& self, Tensor& out) {
  Tensor dense = at::empty_like(out, MemoryFormat::Contiguous);
  Tensor spare = at::zeros_like(out, MemoryFormat::Contiguous);
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("copied_elsewhere", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: lost * all out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  out.copy_(spare);
  return out;
}

// - func: nested_guard.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: nested_guard_out_mps
Tensor& nested_guard_out_mps(const Tensor& self, Tensor& out) {
  Tensor dense = out;
  if (!out.is_contiguous()) {
    dense = at::empty_like(out, MemoryFormat::Contiguous);
  } else if (out.storage_offset() > 0) {
    dense = at::empty_like(out, MemoryFormat::Contiguous);
  }
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("nested_guard", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: cleared copy_back
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  if (!dense.is_same(out)) {
    out.copy_(dense);
  }
  return out;
}

// - func: guard_in_switch.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: guard_in_switch_out_mps
Tensor& guard_in_switch_out_mps(const Tensor& self, Tensor& out) {
  Tensor dense = out;
  const bool needs_copy = !out.is_contiguous() || out.storage_offset();
  switch (static_cast<int>(needs_copy)) {
    case 1:
      dense = at::empty_like(out, MemoryFormat::Contiguous);
      break;
    default:
      break;
  }
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("guard_in_switch", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: cleared copy_back
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  if (needs_copy) {
    out.copy_(dense);
  }
  return out;
}

// `not`, `and`, `or` are spelled out.
// - func: yields.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: yields_out_mps
Tensor& yields_out_mps(const Tensor& self, Tensor& out) {
  const bool fine = out.is_contiguous() and not out.storage_offset();
  Tensor dense = not fine ? at::empty_like(out, MemoryFormat::Contiguous) : out;
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("yields", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: cleared copy_back
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  if (not fine) {
    out.copy_(dense);
  }
  return out;
}

// What stands in a comment or a string is no code.
// - func: commented.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: commented_out_mps
Tensor& commented_out_mps(const Tensor& self, Tensor& out) {
  // Tensor dense = at::empty_like(out, MemoryFormat::Contiguous);
  const std::string remark = "out.copy_(dense); // }";
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("commented", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, out); // expect: lost * out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  /* out.copy_(dense); */
  return out;
}

// A path that raises returns nothing to lose.
// - func: early_error.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: early_error_out_mps
Tensor& early_error_out_mps(const Tensor& self, Tensor& out) {
  Tensor dense = at::empty_like(out, MemoryFormat::Contiguous);
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("early_error", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: cleared copy_back
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  if (self.dim() > 4) {
    throw std::runtime_error("too many dimensions");
  }
  out.copy_(dense);
  return out;
}

} // namespace at::native
