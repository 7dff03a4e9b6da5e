// Part of patchkit's miniature tree: what its kernels need of the MPS backend, in the interface of torch 2.2.
#pragma once

#include <ATen/Tensor.h>
#include <ATen/mps/MPSStream.h>
#include <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>

namespace at::native::mps {

using at::mps::getCurrentMPSStream;
using at::mps::MPSStream;

MPSDataType getMPSDataType(ScalarType scalar_type);
MPSShape* getMPSShape(const Tensor& t);
MPSShape* getMPSShape(IntArrayRef sizes);
std::string getTensorsStringKey(const TensorList& tensors);

// The whole buffer behind a tensor: where in it the tensor starts, and with which strides it goes on, is not in it.
inline id<MTLBuffer> getMTLBufferStorage(const Tensor& t) {
  return (id<MTLBuffer>)t.storage().data();
}

// Copies a tensor that MPSGraph cannot read in place into a dense one.
Tensor gatherViewTensor(const Tensor& src, Tensor& dst);

MPSGraphTensor* mpsGraphRankedPlaceHolder(MPSGraph* mpsGraph, const Tensor& t);
MPSGraphTensor* mpsGraphScalarPlaceHolder(MPSGraph* mpsGraph, const Scalar& scalar);
MPSGraphTensor* castMPSTensor(MPSGraph* mpsGraph, MPSGraphTensor* t, ScalarType type);

struct MPSScalar {
  ScalarType type = ScalarType::Undefined;
  double value = 0.0;
};
MPSScalar getMPSScalar(const Scalar& scalar, ScalarType type);
MPSGraphTensorData* getMPSGraphTensorFromScalar(MPSStream* stream, MPSScalar& scalar);

// The integers that a graph of random numbers starts from, advanced on every call.
Tensor nextPhiloxState(std::optional<Generator> gen);

// Pairs a tensor of a graph with the data of a torch tensor, for one run.
class Placeholder {
 public:
  // gatherTensorData: whether a tensor that does not lie densely at the start of its buffer may be copied.
  Placeholder(MPSGraphTensor* mpsGraphTensor,
              const Tensor& src,
              MPSShape* mpsShape = nullptr,
              bool gatherTensorData = true,
              MPSDataType dataType = MPSDataTypeInvalid);
  MPSGraphTensor* getMPSGraphTensor() const {
    return _placeholder;
  }
  MPSGraphTensorData* getMPSGraphTensorData() const {
    return _value;
  }

 private:
  MPSGraphTensor* _placeholder;
  MPSGraphTensorData* _value;
  Tensor _tensor; // the tensor, or the copy of it, for as long as the graph may use the buffer
};

struct MPSCachedGraph {
  explicit MPSCachedGraph(MPSGraph* graph) : graph_([graph retain]) {}
  virtual ~MPSCachedGraph() {
    [graph_ release];
  }
  MPSGraph* graph() const {
    return graph_;
  }

 private:
  MPSGraph* graph_ = nil;
};

struct MPSUnaryCachedGraph : public MPSCachedGraph {
  explicit MPSUnaryCachedGraph(MPSGraph* graph) : MPSCachedGraph(graph) {}
  MPSGraphTensor *inputTensor_ = nil, *outputTensor_ = nil;
};

// Returns the graph that was built under this key, or builds it.
template <typename T>
T* LookUpOrCreateCachedGraph(const std::string& key, std::function<void(MPSGraph*, T*)> build);

void runMPSGraph(MPSStream* stream, MPSGraph* graph, NSDictionary* feeds, NSDictionary* results);

} // namespace at::native::mps
