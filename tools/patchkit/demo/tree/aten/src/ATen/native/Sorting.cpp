// Part of patchkit's miniature tree: meta functions that say the strides of their outputs themselves.
#include <ATen/TensorMeta.h>
#include <ATen/WrapDimUtils.h>

namespace at::meta {

// Raw strides are a wish for a fresh output; a tensor that the caller gave is passed on with the strides it has.
TORCH_META_FUNC2(sort, stable)
(const Tensor& self, std::optional<bool> stable, int64_t dim, bool descending) {
  TORCH_CHECK(dim < self.dim(), "sort: no dimension ", dim);
  const auto strides = self.is_non_overlapping_and_dense() ? self.strides().vec() : std::vector<int64_t>{};
  set_output_raw_strided(0, self.sizes(), strides, self.options());
  set_output_raw_strided(1, self.sizes(), strides, self.options().dtype(kLong));
}

TORCH_META_FUNC(cumsum)(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  maybe_wrap_dim(dim, self.dim());
  set_output_raw_strided(0, self.sizes(), {}, self.options().dtype(dtype.value_or(self.scalar_type())));
}

// Contiguous is a demand: where the caller's tensor is not, the wrapper passes a proxy and copies it back.
TORCH_META_FUNC(linalg_cross)(const Tensor& input, const Tensor& other, int64_t dim) {
  TORCH_CHECK(input.size(dim) == 3 && other.size(dim) == 3, "linalg.cross: vectors must have three components");
  set_output_contiguous(0, input.sizes(), input.options());
}

} // namespace at::meta
