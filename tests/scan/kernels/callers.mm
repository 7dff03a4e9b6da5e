// dialects: 2.2 2.6
// Whose tensor it is: fresh ones, callers' ones, and both through one function.
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {

using namespace mps;

static void run_doubled(const Tensor& self, const Tensor& target) {
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("doubled", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, target); // expect: lost * out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
}

static void prepare_and_run(const Tensor& self, const Tensor& target) {
  TORCH_CHECK(self.numel() == target.numel(), "sizes differ");
  run_doubled(self, target);
}

// The same function with a fresh tensor is safe, with a caller's it is not; two calls deep.
// - func: deep(Tensor self) -> Tensor
//   dispatch:
//     MPS: deep_mps
Tensor deep_mps(const Tensor& self) {
  Tensor fresh = at::empty(self.sizes(), self.options());
  prepare_and_run(self, fresh);
  return fresh;
}

// - func: deep.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: deep_out_mps
Tensor& deep_out_mps(const Tensor& self, Tensor& out) {
  prepare_and_run(self, out);
  return out;
}

static void run_fresh_only(const Tensor& self, Tensor& target) {
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("fresh_only", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, target); // expect: cleared
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
}

// - func: fresh_only(Tensor self) -> Tensor
//   dispatch:
//     MPS: fresh_only_mps
Tensor fresh_only_mps(const Tensor& self) {
  Tensor target = at::empty(self.sizes(), self.scalar_type(), std::nullopt, kMPS, std::nullopt, std::nullopt);
  run_fresh_only(self, target);
  return target;
}

// - func: fresh_only.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: fresh_only_out_mps
Tensor& fresh_only_out_mps(const Tensor& self, Tensor& out) {
  Tensor target = at::empty(self.sizes(), self.options());
  run_fresh_only(self, target);
  out.copy_(target);
  return out;
}

// - func: fresh(Tensor self) -> Tensor
//   dispatch:
//     MPS: fresh_mps
Tensor fresh_mps(const Tensor& self) {
  Tensor output = at::empty_like(self, MemoryFormat::Contiguous);
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("fresh", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, output); // expect: cleared fresh_contiguous
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  return output;
}

// - func: preserved(Tensor self) -> Tensor
//   dispatch:
//     MPS: preserved_mps
Tensor preserved_mps(const Tensor& self) {
  Tensor output = at::empty_like(self);
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("preserved", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, output); // expect: lost strided,channels_last functional
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  return output;
}

// - func: suggested(Tensor self) -> Tensor
//   dispatch:
//     MPS: suggested_mps
Tensor suggested_mps(const Tensor& self) {
  const auto format = self.suggest_memory_format();
  Tensor output = at::empty(self.sizes(), self.scalar_type(), c10::nullopt, kMPS, c10::nullopt, format);
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("suggested", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, output); // expect: lost channels_last functional
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  return output;
}

// Only the gradient of an operator: the functional form of a backward overload.
// - func: preserved_backward(Tensor grad_output) -> Tensor
//   dispatch:
//     MPS: preserved_backward_mps
Tensor preserved_backward_mps(const Tensor& grad_output) {
  Tensor grad_input = at::empty_like(grad_output);
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("preserved_backward", doubled(grad_output));
  Placeholder input = Placeholder(graph->inputTensor_, grad_output);
  Placeholder result = Placeholder(graph->outputTensor_, grad_input); // expect: lost strided,channels_last backward
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  return grad_input;
}

// resize_ to the same sizes keeps strides.
// - func: resized.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: resized_out_mps
Tensor& resized_out_mps(const Tensor& self, Tensor& out) {
  out.resize_(self.sizes());
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("resized", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, out); // expect: lost * out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  return out;
}

// - func: resized(Tensor self) -> Tensor
//   dispatch:
//     MPS: resized_mps
Tensor resized_mps(const Tensor& self) {
  Tensor out = at::empty({0}, self.options());
  return resized_out_mps(self, out);
}

// - func: maybe.out(Tensor self, Tensor? weight, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: maybe_out_mps
Tensor& maybe_out_mps(const Tensor& self, const std::optional<Tensor>& weight_opt, Tensor& out) {
  std::optional<Tensor> kept = out;
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("maybe", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, kept.value()); // expect: lost * out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  return out;
}

// An optional tensor that the operator updates.
// - func: updated(Tensor self, Tensor(a!)? running) -> Tensor
//   dispatch:
//     MPS: updated_mps
Tensor updated_mps(const Tensor& self, const std::optional<Tensor>& running_opt) {
  Tensor output = at::empty(self.sizes(), self.options());
  const bool has_running = running_opt.has_value() && running_opt->defined();
  auto graph = LookUpOrCreateCachedGraph<PairCachedGraph>("updated", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->valuesTensor_, output); // expect: cleared fresh_contiguous
  Placeholder running = Placeholder();
  NSMutableDictionary* results = [[NSMutableDictionary new] autorelease];
  results[result.getMPSGraphTensor()] = result.getMPSGraphTensorData();
  if (has_running) {
    running = Placeholder(graph->indicesTensor_, *running_opt); // expect: lost * inplace
    results[running.getMPSGraphTensor()] = running.getMPSGraphTensorData();
  }
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  return output;
}

// - func: argument.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: argument_out_mps
Tensor& argument_out_mps(const Tensor& self_t, Tensor& out_t) {
  TensorArg self{self_t, "self", 1}, out{out_t, "out", 2};
  checkAllSameGPU("argument_out_mps", {self, out});
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("argument", doubled(*self));
  Placeholder input = Placeholder(graph->inputTensor_, *self);
  Placeholder result = Placeholder(graph->outputTensor_, *out); // expect: lost * out
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  return out_t;
}

static bool dense_stand_in(const Tensor& output, Tensor& dense) {
  if (output.is_contiguous() && !output.storage_offset()) {
    dense = output;
    return false;
  }
  dense = at::empty_like(output, MemoryFormat::Contiguous);
  return true;
}

// The temporary comes back through a reference parameter.
// - func: referenced.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: referenced_out_mps
Tensor& referenced_out_mps(const Tensor& self, Tensor& out) {
  Tensor dense;
  const bool through_copy = dense_stand_in(out, dense);
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("referenced", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, dense); // expect: cleared copy_back
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  if (through_copy) {
    out.copy_(dense);
  }
  return out;
}

// A lambda that the stream's queue runs.
// - func: queued.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: queued_out_mps
Tensor& queued_out_mps(const Tensor& self, Tensor& out) {
  MPSStream* stream = getCurrentMPSStream();
  dispatch_sync(stream->queue(), ^() {
    @autoreleasepool {
      auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("queued", doubled(self));
      Placeholder input = Placeholder(graph->inputTensor_, self);
      Placeholder result = Placeholder(graph->outputTensor_, out); // expect: lost * out
      NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
      NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
      runMPSGraph(stream, graph->graph(), feeds, results);
    }
  });
  return out;
}

// A lambda of the kernel's own, called twice.
// - func: twice.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: twice_out_mps
Tensor& twice_out_mps(const Tensor& self, Tensor& out) {
  Tensor half = at::empty(self.sizes(), self.options());
  auto run = [&](const Tensor& from, const Tensor& into) {
    auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("twice", doubled(from));
    Placeholder input = Placeholder(graph->inputTensor_, from);
    Placeholder result = Placeholder(graph->outputTensor_, into); // expect: lost * out
    NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
    NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
    runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  };
  run(self, half);
  run(half, out);
  return out;
}

// A kernel that nothing reaches.
static Tensor& forgotten_mps(const Tensor& self, Tensor& out) {
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("forgotten", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, out); // expect: cleared unreachable
  NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};
  NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  return out;
}

#define MAKE_DOUBLED(name)                                                                             \
  Tensor& name##_out_mps(const Tensor& self, Tensor& out) {                                            \
    auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>(#name, doubled(self));                 \
    Placeholder input = Placeholder(graph->inputTensor_, self);                                        \
    Placeholder result = Placeholder(graph->outputTensor_, out); /* expect: lost * out */              \
    NSDictionary* feeds = @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()};                \
    NSDictionary* results = @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()};            \
    runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);                                \
    return out;                                                                                        \
  }

// - func: made_once.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: made_once_out_mps
MAKE_DOUBLED(made_once)
// - func: made_twice.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: made_twice_out_mps
MAKE_DOUBLED(made_twice)

} // namespace at::native
