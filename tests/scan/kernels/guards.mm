// dialects: 2.2 2.4 2.6
// Guards and copy-backs, right and wrong; the guard is spelled out, as before needsGather() existed.
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {

using namespace mps;

// - func: bare.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: bare_out_mps
Tensor& bare_out_mps(const Tensor& self, Tensor& output) {
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("bare", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, output); // expect: lost * out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  return output;
}

// - func: bare_(Tensor(a!) self) -> Tensor(a!)
//   dispatch:
//     MPS: bare_mps_
Tensor& bare_mps_(Tensor& self) {
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("bare_", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, self); // expect: lost * inplace
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  return self;
}

// - func: guarded.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: guarded_out_mps
Tensor& guarded_out_mps(const Tensor& self, Tensor& output) {
  const bool through_copy = !output.is_contiguous() || output.storage_offset();
  Tensor dense = through_copy ? at::empty_like(output, MemoryFormat::Contiguous) : output;
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("guarded", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: cleared copy_back
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
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
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("contiguous_only", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: lost offset out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  if (through_copy) {
    output.copy_(dense);
  }
  return output;
}

// The guard asks the input.
// - func: wrong_tensor.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: wrong_tensor_out_mps
Tensor& wrong_tensor_out_mps(const Tensor& self, Tensor& output) {
  const bool through_copy = !self.is_contiguous() || self.storage_offset();
  Tensor dense = through_copy ? at::empty_like(output, MemoryFormat::Contiguous) : output;
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("wrong_tensor", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: lost * out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  if (through_copy) {
    output.copy_(dense);
  }
  return output;
}

// The same guard in place is right: there the input is the output.
// - func: right_in_place_(Tensor(a!) self) -> Tensor(a!)
//   dispatch:
//     MPS: right_in_place_mps_
Tensor& right_in_place_mps_(Tensor& self) {
  const bool through_copy = !self.is_contiguous() || self.storage_offset();
  Tensor& output = self;
  Tensor dense = through_copy ? at::empty_like(output, MemoryFormat::Contiguous) : output;
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("right_in_place", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: cleared copy_back
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  if (through_copy) {
    output.copy_(dense);
  }
  return output;
}

// - func: copied_before.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: copied_before_out_mps
Tensor& copied_before_out_mps(const Tensor& self, Tensor& output) {
  Tensor dense = at::empty_like(output, MemoryFormat::Contiguous);
  output.copy_(dense);
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("copied_before", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, output); // expect: lost * out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  return output;
}

// One way out of the kernel passes the copy-back by.
// - func: early_return.out(Tensor self, Scalar beta, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: early_return_out_mps
Tensor& early_return_out_mps(const Tensor& self, const Scalar& beta, Tensor& output) {
  const bool through_copy = !output.is_contiguous() || output.storage_offset();
  Tensor dense = through_copy ? at::empty_like(output, MemoryFormat::Contiguous) : output;
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("early_return", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: lost * all out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  if (beta.toDouble() == 0.0) {
    return output;
  }
  if (through_copy) {
    output.copy_(dense);
  }
  return output;
}

// An early return before the graph runs, with the data copied, takes nothing away.
// - func: early_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: early_copy_out_mps
Tensor& early_copy_out_mps(const Tensor& self, Tensor& output) {
  if (self.numel() == 1) {
    output.copy_(self);
    return output;
  }
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("early_copy", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, output); // expect: lost * out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  return output;
}

// The name says the opposite of the value, and the code is right.
// - func: named_backwards.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: named_backwards_out_mps
Tensor& named_backwards_out_mps(const Tensor& self, Tensor& output) {
  const bool needs_copy = output.is_contiguous() && output.storage_offset() == 0;
  Tensor dense = needs_copy ? output : at::empty_like(output, MemoryFormat::Contiguous);
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("named_backwards", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: cleared copy_back
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  if (!needs_copy) {
    output.copy_(dense);
  }
  return output;
}

// The name is right, and the code does the opposite.
// - func: coded_backwards.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: coded_backwards_out_mps
Tensor& coded_backwards_out_mps(const Tensor& self, Tensor& output) {
  const bool needs_copy = !output.is_contiguous() || output.storage_offset();
  Tensor dense = needs_copy ? output : at::empty_like(output, MemoryFormat::Contiguous);
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("coded_backwards", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: lost * out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  if (!needs_copy) {
    output.copy_(dense);
  }
  return output;
}

// - func: conditional_argument.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: conditional_argument_out_mps
Tensor& conditional_argument_out_mps(const Tensor& self, Tensor& output) {
  bool direct = output.is_contiguous() && !output.storage_offset();
  Tensor dense;
  if (!direct) {
    dense = at::empty_like(output, MemoryFormat::Contiguous);
  }
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("conditional_argument", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, !direct ? dense : output); // expect: cleared copy_back
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  if (!direct) {
    output.copy_(dense);
  }
  return output;
}

// - func: copied_when_defined.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: copied_when_defined_out_mps
Tensor& copied_when_defined_out_mps(const Tensor& self, Tensor& output) {
  Tensor dense;
  if (!output.is_contiguous() || output.storage_offset()) {
    dense = at::empty_like(output, MemoryFormat::Contiguous);
  }
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("copied_when_defined", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense.defined() ? dense : output); // expect: cleared copy_back
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  if (dense.defined()) {
    output.copy_(dense);
  }
  return output;
}

// - func: copied_when_another.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: copied_when_another_out_mps
Tensor& copied_when_another_out_mps(const Tensor& self, Tensor& output) {
  Tensor dense = output;
  if (!output.is_contiguous() || output.storage_offset()) {
    dense = at::empty_like(output, MemoryFormat::Contiguous);
  }
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("copied_when_another", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: cleared copy_back
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  if (!dense.is_same(output)) {
    output.copy_(dense);
  }
  return output;
}

// - func: always_copied.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: always_copied_out_mps
Tensor& always_copied_out_mps(const Tensor& self, Tensor& output) {
  Tensor dense = at::empty(output.sizes(), output.options());
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("always_copied", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: cleared copy_back
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  output.copy_(dense);
  return output;
}

// The temporary keeps the dense strides of the output, and is gathered itself.
// - func: preserved_temporary.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: preserved_temporary_out_mps
Tensor& preserved_temporary_out_mps(const Tensor& self, Tensor& output) {
  const bool through_copy = !output.is_contiguous() || output.storage_offset();
  Tensor dense = through_copy ? at::empty_like(output) : output;
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("preserved_temporary", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: lost strided,channels_last out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  if (through_copy) {
    output.copy_(dense);
  }
  return output;
}

// `.contiguous()` of a contiguous view is that view.
// - func: contiguous_temporary.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: contiguous_temporary_out_mps
Tensor& contiguous_temporary_out_mps(const Tensor& self, Tensor& output) {
  const bool through_copy = !output.is_contiguous() || output.storage_offset();
  Tensor dense = through_copy ? output.contiguous() : output;
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("contiguous_temporary", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: lost offset out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  if (through_copy) {
    output.copy_(dense);
  }
  return output;
}

// The temporary is written, and nobody reads it.
// - func: forgotten_temporary.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: forgotten_temporary_out_mps
Tensor& forgotten_temporary_out_mps(const Tensor& self, Tensor& output) {
  const bool through_copy = !output.is_contiguous() || output.storage_offset();
  Tensor dense = through_copy ? at::empty_like(output, MemoryFormat::Contiguous) : output;
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("forgotten_temporary", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: lost * all out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  return output;
}

// A check that raises keeps other layouts out.
// - func: checked.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: checked_out_mps
Tensor& checked_out_mps(const Tensor& self, Tensor& output) {
  TORCH_CHECK(output.is_contiguous(), "checked: out must be contiguous");
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("checked", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, output); // expect: lost offset out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  return output;
}

// Other layouts go to another implementation.
// - func: elsewhere.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: elsewhere_out_mps
Tensor& elsewhere_out_mps(const Tensor& self, Tensor& output) {
  if (!output.is_contiguous() || output.storage_offset() != 0) {
    Tensor dense = at::empty_like(output, MemoryFormat::Contiguous);
    elsewhere_out_mps(self, dense);
    return output.copy_(dense);
  }
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("elsewhere", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, output); // expect: cleared
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  return output;
}

} // namespace at::native
