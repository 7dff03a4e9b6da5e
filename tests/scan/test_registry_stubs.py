"""Stubs, operators and functions called in the native files: who leads there, and with whose tensor."""

import pytest

from patchkit.scan.registry import load_registry

YAML = """\
- func: blend(Tensor self, Tensor other) -> Tensor
  structured_delegate: blend.out
  variants: function, method
- func: blend_(Tensor(a!) self, Tensor other) -> Tensor(a!)
  structured_delegate: blend.out
  variants: method
- func: blend.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    CPU, CUDA, MPS: blend_out
- func: pick.out(Tensor self, Tensor mask, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CPU, CUDA, MPS: pick_out
- func: pick(Tensor self, Tensor mask) -> Tensor
  variants: function, method
  dispatch:
    CPU, CUDA, MPS: pick
- func: shift.Tensor(Tensor self, Tensor by) -> Tensor
  dispatch:
    CPU, CUDA, MPS: shift
- func: shift.Scalar(Tensor self, Scalar by) -> Tensor
  dispatch:
    CPU, CUDA, MPS: shift
- func: shift_.Tensor(Tensor(a!) self, Tensor by) -> Tensor(a!)
  variants: method
  dispatch:
    CPU, CUDA, MPS: shift_
- func: shake_(Tensor(a!) self, float low=0, float high=1, *, Generator? generator=None) -> Tensor(a!)
  variants: method
  dispatch:
    MPS: shake_mps_
- func: shaken_like(Tensor self) -> Tensor
  dispatch:
    CompositeExplicitAutograd: shaken_like
- func: shaken(int[] size) -> Tensor
  dispatch:
    CompositeExplicitAutograd: shaken
- func: _inner(Tensor self) -> Tensor
  dispatch:
    MPS: inner_mps
- func: _inner.out(Tensor self, int dim=0, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    MPS: inner_out_mps
- func: outer(Tensor self) -> Tensor
- func: outer.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
"""
DEFAULT = {
    "Ops.cpp": """\
#define MAKE_IMPL(out_name, stub_name) \\
  TORCH_IMPL_FUNC(out_name)(const Tensor& self, const Tensor& other, const Tensor& result) { \\
    stub_name(device_type(), *this); \\
  }
#define MAKE_META(name) \\
  TORCH_META_FUNC(name)(const Tensor& self, const Tensor& other) { \\
    build_pair(maybe_get_output(), self, other); \\
  }
MAKE_META(blend)
MAKE_IMPL(blend_out, blend_stub)

Tensor& pick_out(const Tensor& self, const Tensor& mask, Tensor& out) {
  auto iter = at::TensorIteratorConfig()
    .check_all_same_dtype(false)
    .add_output(out)
    .add_const_input(mask)
    .build();
  pick_stub(iter.device_type(), iter, 3);
  return out;
}
Tensor pick(const Tensor& self, const Tensor& mask) {
  Tensor ret = at::empty({0}, self.options());
  at::native::pick_out(self, mask, ret);
  return ret;
}

Tensor shift(const Tensor& self, const Tensor& by) {
  Tensor result;
  auto iter = TensorIterator::binary_op(result, self, by);
  shift_stub(iter.device_type(), iter);
  return iter.output();
}
Tensor shift(const Tensor& self, const Scalar& by) {
  auto full = at::empty(self.sizes(), self.options());
  shift_all(full, self, by, shift_stub);
  return full;
}
Tensor& shift_(Tensor& self, const Tensor& by) {
  TensorIteratorConfig config;
  config.set_check_mem_overlap(false);
  config.add_output(self);
  config.add_input(by);
  auto iter = config.build();
  shift_stub(iter.device_type(), iter);
  return self;
}

Tensor shaken_like(const Tensor& self) {
  auto result = at::empty_like(self);
  return result.shake_(0, 1);
}
Tensor shaken(IntArrayRef size) {
  auto result = at::empty(size);
  result.shake_();
  return result;
}

Tensor outer(const Tensor& self) { return at::_inner(self); }
Tensor& outer_out(const Tensor& self, Tensor& out) {
  if (out.is_contiguous()) { at::_inner_out(out, self); return out; }
  auto tmp = at::empty_like(out, MemoryFormat::Contiguous);
  at::_inner_out(tmp, self, 0);
  return out.copy_(tmp);
}
""",
    "Shift.h": """\
template <typename Stub>
inline void shift_all(const Tensor& out, const Tensor& self, const Scalar& by, Stub& given) {
  auto target = const_cast<Tensor&>(out);
  given(self.device().type(), target, self);
}
""",
    "mps/operations/Kernels.mm": """\
#define REGISTER_UNARY(NAME) \\
  static void NAME##_kernel_mps(TensorIteratorBase& iter) { run(iter); } \\
  REGISTER_DISPATCH(NAME##_stub, NAME##_kernel_mps)
namespace at::native {
REGISTER_UNARY(blend);
REGISTER_MPS_DISPATCH(pick_stub, &mps::pick_kernel)
REGISTER_DISPATCH(shift_stub, &shift_kernel);
// REGISTER_DISPATCH(dead_stub, &dead_kernel)
}
""",
}


def make_registry(root, files):
    native = root / "aten/src/ATen/native"
    native.mkdir(parents=True)
    (native / "native_functions.yaml").write_text(YAML)
    for name, text in files.items():
        path = native / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return load_registry(root)


@pytest.fixture
def registry(tmp_path):
    return make_registry(tmp_path, DEFAULT)


def origins(registry, stub, position=0):
    return {
        (origin.overload, origin.owner, origin.layouts)
        for call in registry.stubs[stub].calls
        for origin in call.origins[position]
    }


PERMUTED = frozenset({"preserved", "channels_last"})
CONTIGUOUS = frozenset({"contiguous"})
NONE = frozenset()


def test_registrations_are_found_plain_and_in_macros(registry):
    assert {name: (stub.kernel, stub.line) for name, stub in registry.stubs.items()} == {
        "blend_stub": ("blend_kernel_mps", 5),
        "pick_stub": ("pick_kernel", 6),
        "shift_stub": ("shift_kernel", 7),
    }


def test_structured_object_as_iterator_has_the_structured_outputs(registry):
    assert origins(registry, "blend_stub") == {
        ("blend", "fresh", PERMUTED),
        ("blend_", "caller", NONE),
        ("blend.out", "caller", NONE),
    }


def test_iterator_output_is_the_callers_or_resized_to_the_inputs_strides(registry):
    assert origins(registry, "pick_stub") == {
        ("pick.out", "caller", NONE),
        ("pick", "fresh", PERMUTED),
    }


def test_arguments_exclude_the_device_type_and_others_have_no_origin(registry):
    call = registry.stubs["pick_stub"].calls[0]
    assert call.arguments == ("iter", "3")
    assert call.origins[1] == ()


def test_cpp_overloads_and_stubs_handed_to_helpers_are_kept_apart(registry):
    assert origins(registry, "shift_stub") == {
        ("shift.Tensor", "fresh", PERMUTED),
        ("shift.Scalar", "fresh", CONTIGUOUS),
        ("shift_.Tensor", "caller", NONE),
    }


def test_stub_lists_all_operators_that_reach_it(registry):
    assert set(registry.stubs["shift_stub"].overloads) == {"shift.Tensor", "shift.Scalar", "shift_.Tensor"}


def test_call_sites_know_function_file_and_line(registry):
    call = registry.stubs["pick_stub"].calls[0]
    line = DEFAULT["Ops.cpp"].split("pick_stub(")[0].count("\n") + 1
    assert (call.function, call.file, call.line) == ("pick_out", "aten/src/ATen/native/Ops.cpp", line)


def test_in_place_operators_are_called_on_fresh_tensors_by_composites(registry):
    found = {
        (origin.overload, origin.owner, origin.layouts)
        for call in registry.operator_calls("shake_")
        for origin in call.origins[0]
    }
    assert found == {("shaken_like", "fresh", PERMUTED), ("shaken", "fresh", CONTIGUOUS)}


def test_out_arguments_of_the_cpp_api_are_put_last(registry):
    calls = registry.operator_calls("_inner.out")
    assert [call.arguments for call in calls] == [("self", "0", "out"), ("self", "0", "tmp")]
    assert [[origin.owner for origin in call.origins[2]] for call in calls] == [["caller"], ["fresh"]]


def test_underscored_operators_are_public_through_their_callers(registry):
    assert registry.public_routes("_inner") == ("outer",)
    assert registry.public_routes("_inner.out") == ("outer.out",)
    assert registry.public_routes("shake_") == ("shake_",)


def test_functions_of_the_mps_folder_are_found_where_they_are_called(tmp_path):
    code = "Tensor& shift_(Tensor& self, const Tensor& by) { return at::native::mps::mps_shift_(self, by); }\n"
    registry = make_registry(tmp_path, {"Ops.cpp": code})
    call = registry.function_calls("mps_shift_")[0]
    assert call.overloads == ("shift_.Tensor",)
    assert [origin.owner for origin in call.origins[0]] == ["caller"]
    assert [origin.owner for origin in call.origins[1]] == ["input"]


def test_what_cannot_be_followed_rests_on_the_schema_and_says_so(tmp_path):
    code = """\
Tensor& shift_(Tensor& self, const Tensor& by) {
  auto info = make_info(self);
  auto iter = make_iterator(info, by);
  shift_stub(iter.device_type(), iter);
  return self;
}
"""
    registry = make_registry(tmp_path, {**DEFAULT, "Ops.cpp": code})
    origin = registry.stubs["shift_stub"].calls[0].origins[0][0]
    assert (origin.owner, origin.exact) == ("caller", False)


def test_functions_that_call_each_other_end(tmp_path):
    code = """\
static Tensor one(const Tensor& a) { return two(a); }
static Tensor two(const Tensor& a) { return one(a); }
Tensor shift(const Tensor& self, const Tensor& by) {
  auto result = one(self);
  shift_stub(result.device().type(), result);
  return result;
}
"""
    registry = make_registry(tmp_path, {**DEFAULT, "Ops.cpp": code})
    assert registry.stubs["shift_stub"].calls[0].overloads == ("shift.Tensor",)


def test_a_stub_nobody_calls_has_no_operator(tmp_path):
    registry = make_registry(tmp_path, {**DEFAULT, "Ops.cpp": ""})
    assert registry.stubs["pick_stub"].calls == ()
    assert registry.stubs["pick_stub"].overloads == ()
