"""Meta functions: proxies, layouts of fresh outputs, and which file and line says so."""

import pytest

from patchkit.scan.registry import load_registry

HEADER = """\
- func: op(Tensor self, int dim=0, bool keepdim=False) -> Tensor
  structured_delegate: op.out
- func: op_(Tensor(a!) self, int dim=0, bool keepdim=False) -> Tensor(a!)
  structured_delegate: op.out
- func: op.out(Tensor self, int dim=0, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
{extra}  dispatch:
    MPS: op_out_mps
"""
ITERATOR = """\
void TensorIteratorBase::build_one(const TensorBase& out, const TensorBase& a) { build(config); }
void TensorIteratorBase::build(Config& config) { if (!quick(config)) { allocate(); } }
bool TensorIteratorBase::quick(const Config& config) {
  for (auto i : range(n_)) {
    set_output_raw_strided(i, shape_, {}, opts(i).memory_format(MemoryFormat::ChannelsLast), names_);
  }
  return done;
}
void TensorIteratorBase::allocate() {
  auto wanted = permuted(op.bytes);
  set_output_raw_strided(i, shape, wanted, opts(i), names_);
}
bool TensorIteratorBase::is_contiguous() const { return true; }
"""


def make_registry(root, cpp, *, extra="", files=None):
    native = root / "aten/src/ATen/native"
    native.mkdir(parents=True)
    (native / "native_functions.yaml").write_text(HEADER.format(extra=extra))
    for name, text in {"Ops.cpp": cpp, **(files or {})}.items():
        path = native / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return load_registry(root)


def meta(root, cpp, **options):
    return make_registry(root, cpp, **options).meta("op.out")[0]


def layouts(root, statements, **options):
    text = f"TORCH_META_FUNC(op)(const Tensor& self, int64_t dim, bool keepdim) {{\n{statements}\n}}\n"
    return set(meta(root, text, **options).functional_layout)


def test_empty_strides_are_contiguous_and_raw_strided_makes_no_proxy(tmp_path):
    text = "TORCH_META_FUNC(op)(const Tensor& self) {\n  set_output_raw_strided(0, s, {}, self.options());\n}\n"
    found = meta(tmp_path, text)
    assert not found.proxied
    assert found.functional_layout == {"contiguous"}
    assert not found.scalar
    assert [(site.file, site.line, site.function) for site in found.sites] == [
        ("aten/src/ATen/native/Ops.cpp", 2, "op")
    ]


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("set_output_raw_strided(0, s, {}, self.options().dtype(kLong));", {"contiguous"}),
        (
            "set_output_raw_strided(0, s, {}, self.options().memory_format(self.suggest_memory_format()));",
            {"channels_last"},
        ),
        (
            "auto f = self.suggest_memory_format();\n"
            "set_output_raw_strided(0, s, {}, self.options().memory_format(f).dtype(kLong));",
            {"channels_last"},
        ),
        (
            "auto o = self.options();\n"
            "set_output_raw_strided(0, s, {}, o.memory_format(LEGACY_CONTIGUOUS_MEMORY_FORMAT));",
            {"contiguous"},
        ),
        (
            "auto o = self.options().memory_format(at::MemoryFormat::Contiguous);\n"
            "if (dim) { o = o.dtype(kFloat); }\n"
            "set_output_raw_strided(0, s, {}, o);",
            {"contiguous"},
        ),
        ("set_output_raw_strided(0, s, self.strides(), self.options());", {"preserved"}),
        (
            "std::vector<int64_t> st = dense(self)\n ? self.strides().vec()\n : infer(self.strides());\n"
            "set_output_raw_strided(0, s, st, self.options());",
            {"preserved"},
        ),
        ("auto st = column_major(s, true);\nset_output_raw_strided(0, s, st, self.options());", {"explicit"}),
        (
            "auto st = c10::contiguous_strides(s);\nset_output_raw_strided(0, s, st, self.options());",
            {"contiguous"},
        ),
        (
            "if (dim == 3) {\n set_output_raw_strided(0, s, {}, self.options());\n} else {\n"
            " auto o = self.options();\n"
            " set_output_raw_strided(0, s, {}, o.memory_format(self.suggest_memory_format()));\n}",
            {"contiguous", "channels_last"},
        ),
        ("set_output_raw_strided(0, s, {}, self.options().memory_format(mystery(self)));", {"unknown"}),
        ("TORCH_CHECK(false);", {"unknown"}),
        ("// set_output_raw_strided(0, s, {}, self.options());", {"unknown"}),
        ("set_output(0, s, {}, self.options());", {"contiguous"}),
        ("set_output(s, self.options());", {"contiguous"}),
    ],
)
def test_layout_follows_strides_and_memory_format(tmp_path, statements, expected):
    assert layouts(tmp_path, statements) == expected


def test_memory_format_is_followed_into_a_helper(tmp_path):
    helper = (
        "static MemoryFormat pick(const Tensor& a) {\n std::optional<MemoryFormat> f = std::nullopt;\n"
        " for (x) { f = a.suggest_memory_format(); }\n if (none) { return MemoryFormat::Contiguous; }\n"
        " return f.value();\n}\n"
    )
    text = helper + (
        "TORCH_META_FUNC(op)(const Tensor& self) { auto f = pick(self);\n"
        "set_output_raw_strided(0, s, {}, self.options().memory_format(f)); }\n"
    )
    assert meta(tmp_path, text).functional_layout == {"contiguous", "channels_last"}


@pytest.mark.parametrize(
    ("call", "proxied", "expected"),
    [
        ("set_output_strided(0, s, column_major(s), self.options());", True, {"explicit"}),
        ("set_output_contiguous(0, s, self.options());", True, {"contiguous"}),
        (
            "if (a) { set_output_contiguous(0, s, o); } else { set_output_raw_strided(0, s, {}, o); }",
            False,
            {"contiguous"},
        ),
    ],
)
def test_only_the_strided_setters_make_proxies(tmp_path, call, proxied, expected):
    found = meta(tmp_path, f"TORCH_META_FUNC(op)(const Tensor& self) {{ {call} }}\n")
    assert (found.proxied, found.functional_layout) == (proxied, expected)


def test_in_place_overloads_never_get_a_proxy(tmp_path):
    text = "TORCH_META_FUNC(op)(const Tensor& self) { set_output_contiguous(0, s, self.options()); }\n"
    registry = make_registry(tmp_path, text)
    proxied = {use.overload.name: registry.outputs(use)[0].proxied for use in registry.kernels["op_out_mps"].uses}
    assert proxied == {"op": False, "op_": False, "op.out": True}


def test_only_fresh_and_proxied_outputs_have_a_known_layout(tmp_path):
    text = "TORCH_META_FUNC(op)(const Tensor& self) { set_output_raw_strided(0, s, {}, self.options()); }\n"
    registry = make_registry(tmp_path, text)
    known = {use.overload.name: registry.outputs(use)[0].layouts for use in registry.kernels["op_out_mps"].uses}
    assert known == {"op": {"contiguous"}, "op_": frozenset(), "op.out": frozenset()}


def test_iterator_methods_keep_permuted_inputs(tmp_path):
    text = "TORCH_META_FUNC(op)(const Tensor& self) { build_one(maybe_get_output(), self); }\n"
    found = meta(
        tmp_path,
        text,
        extra="  structured_inherits: TensorIteratorBase\n",
        files={"../TensorIterator.cpp": ITERATOR},
    )
    assert found.functional_layout == {"preserved", "channels_last"}
    assert not found.proxied


def test_iterator_layouts_are_known_without_its_source(tmp_path):
    text = "TORCH_META_FUNC(op)(const Tensor& self) { build_one(maybe_get_output(), self); }\n"
    found = meta(tmp_path, text, extra="  structured_inherits: TensorIteratorBase\n")
    assert found.functional_layout == {"preserved", "channels_last"}


def test_methods_that_set_no_output_do_not_count(tmp_path):
    text = (
        "TORCH_META_FUNC(op)(const Tensor& self) { if (is_contiguous()) { }\n"
        "set_output_raw_strided(0, s, {}, self.options()); }\n"
    )
    found = meta(
        tmp_path,
        text,
        extra="  structured_inherits: TensorIteratorBase\n",
        files={"../TensorIterator.cpp": ITERATOR},
    )
    assert found.functional_layout == {"contiguous"}


def test_iterator_built_by_a_helper_is_followed(tmp_path):
    text = (
        "static void prepare(TensorIteratorBase& iter, const Tensor& a) { iter.build_one(a, a); }\n"
        "TORCH_META_FUNC(op)(const Tensor& self) { prepare(*this, self); }\n"
    )
    found = meta(
        tmp_path,
        text,
        extra="  structured_inherits: TensorIteratorBase\n",
        files={"../TensorIterator.cpp": ITERATOR},
    )
    assert found.functional_layout == {"preserved", "channels_last"}


REDUCTION = """\
inline DimVector shape_of(const Tensor& self, IntArrayRef dims, bool keepdim) { return {}; }
inline void reduce_meta(
    impl::MetaBase& meta, const Tensor& self, OptionalIntArrayRef opt_dims, bool keepdim) {
  DimVector dims_ = vector_of(opt_dims, self.dim());
  auto shape = shape_of(self, dims_, keepdim);
  meta.set_output_raw_strided(0, shape, {}, self.options());
}
"""


@pytest.mark.parametrize(
    ("call", "scalar"),
    [
        ("reduce_meta(*this, self, {}, false);", True),
        ("reduce_meta(*this, self, {}, keepdim);", False),
        ("reduce_meta(*this, self, dim, false);", False),
        ("set_output_raw_strided(0, {}, {}, self.options());", True),
        (
            "if (a) { set_output_raw_strided(0, {}, {}, o); }\nelse { set_output_raw_strided(0, {n}, {}, o); }",
            False,
        ),
    ],
)
def test_outputs_that_are_always_zero_dim_are_scalar(tmp_path, call, scalar):
    text = f"TORCH_META_FUNC(op)(const Tensor& self, int64_t dim, bool keepdim) {{ {call} }}\n"
    found = meta(tmp_path, text, files={"ReduceUtils.h": REDUCTION})
    assert (found.scalar, found.functional_layout) == (scalar, {"contiguous"})


def test_template_helpers_are_followed(tmp_path):
    text = (
        "template <bool x = false, typename Meta>\nvoid shared(Meta& meta, const Tensor& self) {\n"
        " meta.set_output_raw_strided(0, s, {}, self.options()); }\n"
        "TORCH_META_FUNC(op)(const Tensor& self) { shared</*x=*/true>(*this, self); }\n"
    )
    assert meta(tmp_path, text).functional_layout == {"contiguous"}


def test_macro_made_meta_functions_are_found(tmp_path):
    text = (
        "#define MAKE_META(name) \\\n  TORCH_META_FUNC(name)(const Tensor& self) { \\\n"
        "    set_output_contiguous(0, self.sizes(), self.options()); \\\n  }\n\n"
        "MAKE_META(other)\nMAKE_META(op)\n"
    )
    found = meta(tmp_path, text)
    assert found.proxied
    assert found.sites[0].line == 7


def test_macros_used_inside_a_meta_function_are_read(tmp_path):
    text = (
        "#define COMMON() \\\n  set_output_raw_strided(0, self.sizes(), {}, self.options());\n"
        "TORCH_META_FUNC(op)(const Tensor& self) { COMMON(); }\n"
    )
    assert meta(tmp_path, text).functional_layout == {"contiguous"}


def test_meta_function_of_an_overload_has_its_name_pasted(tmp_path):
    native = tmp_path / "aten/src/ATen/native"
    native.mkdir(parents=True)
    (native / "native_functions.yaml").write_text(HEADER.format(extra="").replace("func: op(", "func: op.dim("))
    (native / "Ops.cpp").write_text(
        "TORCH_PRECOMPUTE_META_FUNC2(op, dim)(const Tensor& self) {\n"
        " set_output_raw_strided(0, s, {}, self.options()); return TORCH_PRECOMPUTE_STRUCT2(op, dim)(); }\n"
    )
    assert load_registry(tmp_path).meta("op.out")[0].functional_layout == {"contiguous"}


def test_recursive_helpers_end(tmp_path):
    text = "void again(MetaBase& meta) { again(meta); }\n"
    text += "TORCH_META_FUNC(op)(const Tensor& self) { again(*this); }\n"
    assert meta(tmp_path, text).functional_layout == {"unknown"}


def test_meta_of_any_overload_of_the_group_is_the_same(tmp_path):
    text = "TORCH_META_FUNC(op)(const Tensor& self) { set_output_contiguous(0, s, self.options()); }\n"
    registry = make_registry(tmp_path, text)
    assert registry.meta("op") == registry.meta("op_") == registry.meta("op.out") != ()


def test_a_tree_without_cpp_files_has_unknown_metas(tmp_path):
    native = tmp_path / "aten/src/ATen/native"
    native.mkdir(parents=True)
    (native / "native_functions.yaml").write_text(HEADER.format(extra=""))
    found = load_registry(tmp_path).meta("op.out")[0]
    assert (found.functional_layout, found.sites) == ({"unknown"}, ())


def test_files_of_other_backends_are_not_read(tmp_path):
    text = "TORCH_META_FUNC(op)(const Tensor& self) { set_output_contiguous(0, s, self.options()); }\n"
    registry = make_registry(tmp_path, "", files={"cuda/Ops.cpp": text})
    assert registry.meta("op.out")[0].sites == ()
