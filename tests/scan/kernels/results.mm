// dialects: 2.4 2.6
// The forms in which a Placeholder becomes a result.
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {

using namespace mps;

// - func: literal.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: literal_out_mps
Tensor& literal_out_mps(const Tensor& self, Tensor& output) {
  @autoreleasepool {
    auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("literal", doubled(self));
    Placeholder input = Placeholder(graph->inputTensor_, self);
    Placeholder result = Placeholder(graph->outputTensor_, output); // expect: lost * out
    runMPSGraph(getCurrentMPSStream(),
                graph->graph(),
                @{input.getMPSGraphTensor() : input.getMPSGraphTensorData()},
                @{result.getMPSGraphTensor() : result.getMPSGraphTensorData()});
  }
  return output;
}

// - func: by_name.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: by_name_out_mps
Tensor& by_name_out_mps(const Tensor& self, Tensor& output) {
  @autoreleasepool {
    auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("by_name", doubled(self));
    auto input = Placeholder(graph->inputTensor_, self);
    auto result = Placeholder(graph->outputTensor_, output); // expect: lost * out
    auto feeds = dictionaryFromPlaceholders(input);
    auto results = dictionaryFromPlaceholders(result);
    runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  }
  return output;
}

// - func: direct.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: direct_out_mps
Tensor& direct_out_mps(const Tensor& self, Tensor& output) {
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("direct", doubled(self));
  Placeholder input(graph->inputTensor_, self);
  Placeholder result(graph->outputTensor_, output); // expect: lost * out
  runMPSGraph(getCurrentMPSStream(), graph->graph(), dictionaryFromPlaceholders(input), result);
  return output;
}

// - func: braces.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: braces_out_mps
Tensor& braces_out_mps(const Tensor& self, Tensor& output) {
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("braces", doubled(self));
  Placeholder input{graph->inputTensor_, self};
  Placeholder result{graph->outputTensor_, output}; // expect: lost * out
  runMPSGraph(getCurrentMPSStream(), graph->graph(), dictionaryFromPlaceholders(input), result);
  return output;
}

// - func: mutable_dictionary.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: mutable_dictionary_out_mps
Tensor& mutable_dictionary_out_mps(const Tensor& self, Tensor& output) {
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("mutable_dictionary", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, output); // expect: lost * out
  NSMutableDictionary* feeds = [[NSMutableDictionary new] autorelease];
  NSMutableDictionary* results = [[[NSMutableDictionary alloc] initWithCapacity:1] autorelease];
  feeds[input.getMPSGraphTensor()] = input.getMPSGraphTensorData();
  results[result.getMPSGraphTensor()] = result.getMPSGraphTensorData();
  runMPSGraph(getCurrentMPSStream(), graph->graph(), feeds, results);
  return output;
}

// - func: set_object.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: set_object_out_mps
Tensor& set_object_out_mps(const Tensor& self, Tensor& output) {
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("set_object", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, output); // expect: lost * out
  NSMutableDictionary* results = [NSMutableDictionary dictionary];
  [results setObject:result.getMPSGraphTensorData() forKey:result.getMPSGraphTensor()];
  runMPSGraph(getCurrentMPSStream(), graph->graph(), dictionaryFromPlaceholders(input), results);
  return output;
}

// - func: mutable_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: mutable_copy_out_mps
Tensor& mutable_copy_out_mps(const Tensor& self, Tensor& output) {
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("mutable_copy", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, output); // expect: lost * out
  NSMutableDictionary* results =
      [[@{result.getMPSGraphTensor() : result.getMPSGraphTensorData()} mutableCopy] autorelease];
  runMPSGraph(getCurrentMPSStream(), graph->graph(), dictionaryFromPlaceholders(input), results);
  return output;
}

// One of two results is copied back.
// - func: paired.values(Tensor self, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)
//   dispatch:
//     MPS: paired_out_mps
std::tuple<Tensor&, Tensor&> paired_out_mps(const Tensor& self, Tensor& values, Tensor& indices) {
  const bool through_copy = !values.is_contiguous() || values.storage_offset();
  Tensor dense = through_copy ? at::empty_like(values, MemoryFormat::Contiguous) : values;
  auto graph = LookUpOrCreateCachedGraph<PairCachedGraph>("paired", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder first = Placeholder(graph->valuesTensor_, dense); // expect: cleared copy_back
  Placeholder second = Placeholder(graph->indicesTensor_, indices); // expect: lost * out
  auto results = dictionaryFromPlaceholders(first, second);
  runMPSGraph(getCurrentMPSStream(), graph->graph(), dictionaryFromPlaceholders(input), results);
  if (through_copy) {
    values.copy_(dense);
  }
  return std::tuple<Tensor&, Tensor&>(values, indices);
}

// Both results have a temporary of their own.
// - func: guarded_pair.values(Tensor self, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)
//   dispatch:
//     MPS: guarded_pair_out_mps
std::tuple<Tensor&, Tensor&> guarded_pair_out_mps(const Tensor& self, Tensor& values, Tensor& indices) {
  Tensor dense_values = at::empty_like(values, MemoryFormat::Contiguous);
  Tensor dense_indices = at::empty_like(indices, MemoryFormat::Contiguous);
  auto graph = LookUpOrCreateCachedGraph<PairCachedGraph>("guarded_pair", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder first = Placeholder(graph->valuesTensor_, dense_values); // expect: cleared copy_back
  Placeholder second = Placeholder(graph->indicesTensor_, dense_indices); // expect: cleared copy_back
  auto results = dictionaryFromPlaceholders(first, second);
  runMPSGraph(getCurrentMPSStream(), graph->graph(), dictionaryFromPlaceholders(input), results);
  values.copy_(dense_values);
  indices.copy_(dense_indices);
  return std::tuple<Tensor&, Tensor&>(values, indices);
}

// A result that is there only for some calls; the Placeholder is made empty and assigned in a branch.
// - func: weighted.out(Tensor self, bool weighted, *, Tensor(a!) out, Tensor(b!) weight) -> (Tensor(a!), Tensor(b!))
//   dispatch:
//     MPS: weighted_out_mps
std::tuple<Tensor&, Tensor&> weighted_out_mps(const Tensor& self, bool weighted, Tensor& output, Tensor& weight) {
  auto graph = LookUpOrCreateCachedGraph<PairCachedGraph>("weighted", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->valuesTensor_, output); // expect: lost * out
  Placeholder sum = Placeholder();
  NSMutableDictionary* results = [[NSMutableDictionary new] autorelease];
  results[result.getMPSGraphTensor()] = result.getMPSGraphTensorData();
  if (weighted) {
    sum = Placeholder(graph->indicesTensor_, weight); // expect: lost * out
    results[sum.getMPSGraphTensor()] = sum.getMPSGraphTensorData();
  }
  runMPSGraph(getCurrentMPSStream(), graph->graph(), dictionaryFromPlaceholders(input), results);
  return std::tuple<Tensor&, Tensor&>(output, weight);
}

// The graph's result goes through one Placeholder or the other.
// - func: either.out(Tensor self, bool swap, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: either_out_mps
Tensor& either_out_mps(const Tensor& self, bool swap, Tensor& output) {
  Tensor dense = at::empty_like(output, MemoryFormat::Contiguous);
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("either", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result;
  if (swap) {
    result = Placeholder(graph->outputTensor_, dense); // expect: cleared copy_back
  } else {
    result = Placeholder(graph->outputTensor_, output); // expect: lost * out
  }
  runMPSGraph(getCurrentMPSStream(), graph->graph(), dictionaryFromPlaceholders(input), result);
  if (swap) {
    output.copy_(dense);
  }
  return output;
}

// The same Placeholder is fed and written: an in-place update of a caller's tensor.
// - func: fed_and_written_(Tensor(a!) self, Tensor other) -> Tensor(a!)
//   dispatch:
//     MPS: fed_and_written_mps_
Tensor& fed_and_written_mps_(Tensor& self, const Tensor& other) {
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("fed_and_written", doubled(other));
  Placeholder before = Placeholder(graph->inputTensor_, self);
  Placeholder after = Placeholder(graph->outputTensor_, self); // expect: lost * inplace
  runMPSGraph(getCurrentMPSStream(), graph->graph(), dictionaryFromPlaceholders(before), after);
  return self;
}

// The graph writes a buffer of the kernel's own, whose data goes on to the output.
// - func: staged.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
//   dispatch:
//     MPS: staged_out_mps
Tensor& staged_out_mps(const Tensor& self, Tensor& output) {
  Tensor stage = at::empty({self.numel()}, self.options());
  auto graph = LookUpOrCreateCachedGraph<MPSUnaryCachedGraph>("staged", doubled(self));
  Placeholder input = Placeholder(graph->inputTensor_, self);
  Placeholder result = Placeholder(graph->outputTensor_, stage); // expect: cleared copy_back
  runMPSGraph(getCurrentMPSStream(), graph->graph(), dictionaryFromPlaceholders(input), result);
  output.copy_(stage.view(output.sizes()));
  return output;
}

} // namespace at::native
