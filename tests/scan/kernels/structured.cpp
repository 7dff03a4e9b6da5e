#include <ATen/TensorIterator.h>
#include <ATen/TensorMeta.h>

namespace at::meta {

TORCH_META_FUNC(itered)(const Tensor& self) {
  build_unary_op(maybe_get_output(), self);
}

TORCH_META_FUNC(stubbed)(const Tensor& self) {
  build_unary_op(maybe_get_output(), self);
}

TORCH_META_FUNC(raw)(const Tensor& self) {
  set_output_raw_strided(0, self.sizes(), {}, self.options());
}

TORCH_META_FUNC(unproxied)(const Tensor& self) {
  set_output_raw_strided(0, self.sizes(), {}, self.options());
}

TORCH_META_FUNC(formatted)(const Tensor& self) {
  set_output_raw_strided(0, self.sizes(), {}, self.options().memory_format(self.suggest_memory_format()));
}

TORCH_META_FUNC(scalar)(const Tensor& self) {
  set_output_raw_strided(0, {}, {}, self.options());
}

TORCH_META_FUNC(proxied)(const Tensor& self) {
  set_output_contiguous(0, self.sizes(), self.options());
}

} // namespace at::meta

namespace at::native {

DEFINE_DISPATCH(stubbed_stub);

TORCH_IMPL_FUNC(stubbed_out)(const Tensor& self, const Tensor& result) {
  stubbed_stub(device_type(), *this);
}

} // namespace at::native
