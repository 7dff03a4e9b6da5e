// Part of patchkit's miniature tree: meta functions built on TensorIterator. The iterator passes a tensor that the
// caller gave for the output on as it is, and gives a fresh output the strides of permuted inputs.
#include <ATen/TensorIterator.h>
#include <ATen/TensorMeta.h>

namespace at::meta {

TORCH_META_FUNC(addcmul)
(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value) {
  build_ternary_op(maybe_get_output(), self, tensor1, tensor2);
}

TORCH_META_FUNC(addcdiv)
(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value) {
  TORCH_CHECK(!isIntegralType(tensor2.scalar_type(), true), "addcdiv: an integer divisor is not supported");
  build_ternary_op(maybe_get_output(), self, tensor1, tensor2);
}

TORCH_META_FUNC2(lerp, Scalar)(const Tensor& self, const Tensor& end, const Scalar& weight) {
  TORCH_CHECK(self.scalar_type() == end.scalar_type(), "lerp: self and end must have the same type");
  build_binary_op(maybe_get_output(), self, end);
}

TORCH_META_FUNC(sqrt)(const Tensor& self) {
  build_unary_float_op(maybe_get_output(), self);
}

TORCH_META_FUNC(exp)(const Tensor& self) {
  build_unary_float_op(maybe_get_output(), self);
}

TORCH_META_FUNC(tan)(const Tensor& self) {
  build_unary_float_op(maybe_get_output(), self);
}

TORCH_META_FUNC(clamp)(const Tensor& self, const OptionalScalarRef min, const OptionalScalarRef max) {
  TORCH_CHECK(min || max, "clamp: give min, max or both");
  build_unary_op(maybe_get_output(), self);
}

} // namespace at::meta
