"""Which kernel an MPS tensor reaches, through which overloads, and where the kernel's outputs are."""

import pytest

from patchkit.errors import InputError
from patchkit.scan.registry import load_registry, matching_uses

YAML = """\
- func: blend(Tensor self, Tensor other, *, Scalar weight=1) -> Tensor
  structured_delegate: blend.out
  variants: function, method
- func: blend_(Tensor(a!) self, Tensor other, *, Scalar weight=1) -> Tensor(a!)
  structured_delegate: blend.out
  variants: method
- func: blend.out(Tensor self, Tensor other, *, Scalar weight=1, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    CPU, CUDA: blend_out
    MPS: blend_out_mps
- func: shake_(Tensor(a!) self, float by=1, *, Generator? generator=None) -> Tensor(a!)
  variants: method
  dispatch:
    CPU, CUDA, MPS: at::native::shake_
  autogen: shake, shake.out
- func: count(Tensor self) -> (Tensor, Tensor)
  dispatch:
    MPS: count_mps
- func: keep.Tensor(Tensor self, Tensor to) -> Tensor
  dispatch:
    CPU: keep_cpu
    CompositeExplicitAutograd: keep
- func: keep.out(Tensor self, Tensor to, *, Tensor(a!) out) -> Tensor(a!)
- func: mixed(Tensor self) -> Tensor
- func: only_cpu(Tensor self) -> Tensor
  dispatch:
    CPU, CUDA: only_cpu
- func: stats(Tensor self, Tensor(a!) mean, Tensor(b!) var) -> Tensor
  dispatch:
    MPS: stats_mps
- func: join.out(Tensor[] parts, int dim=0, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  precomputed:
  - dim -> int dim, bool dense
  - MemoryFormat format
  dispatch:
    MPS: join_out_mps
- func: join(Tensor[] parts, int dim=0) -> Tensor
  structured_delegate: join.out
- func: paint_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)
  dispatch:
    MPS: paint_mps_
- func: paint_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)
  dispatch:
    MPS: paint_mps_
- func: thin(Tensor self) -> Tensor
  dispatch:
    CPU: thin_cpu
    SparseMPS: thin_sparse_mps
"""


def make_tree(root, yaml_text, files=None):
    native = root / "aten/src/ATen/native"
    (native / "mps/operations").mkdir(parents=True)
    (native / "native_functions.yaml").write_text(yaml_text)
    for name, text in (files or {}).items():
        path = native / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.fixture
def registry(tmp_path):
    return load_registry(make_tree(tmp_path, YAML))


def outputs(registry, kernel):
    return {
        use.overload.name: [(o.name, o.position, o.owner) for o in use.outputs] for use in registry.kernels[kernel].uses
    }


def test_structured_kernel_is_reached_by_its_delegates(registry):
    kernel = registry.kernels["blend_out_mps"]
    assert kernel.structured
    assert set(kernel.overloads) == {"blend", "blend_", "blend.out"}


def test_structured_outputs_stand_last_and_are_fresh_only_for_functional_calls(registry):
    assert outputs(registry, "blend_out_mps") == {
        "blend": [("out", 3, "fresh")],
        "blend_": [("out", 3, "caller")],
        "blend.out": [("out", 3, "caller")],
    }


def test_unstructured_in_place_output_is_self(registry):
    assert outputs(registry, "shake_") == {"shake_": [("self", 0, "caller")]}


def test_unstructured_functional_outputs_are_returned(registry):
    assert outputs(registry, "count_mps") == {"count": [("", None, "returned"), ("", None, "returned")]}


def test_written_arguments_of_a_functional_name_are_the_callers(registry):
    assert outputs(registry, "stats_mps") == {
        "stats": [("mean", 1, "caller"), ("var", 2, "caller"), ("", None, "returned")]
    }


def test_precomputed_parameters_change_the_parameter_list(registry):
    use = registry.kernels["join_out_mps"].uses[0]
    assert [parameter.name for parameter in use.parameters] == ["parts", "dim", "dense", "format", "out"]
    assert use.outputs[0].position == 4


def test_composite_kernel_is_what_mps_falls_back_on(registry):
    assert registry.kernels["keep"].keys == {"CompositeExplicitAutograd"}


def test_entry_without_a_table_is_composite_and_named_after_the_operator(registry):
    assert registry.kernels["mixed"].keys == {"CompositeImplicitAutograd"}
    assert registry.kernels["keep_out"].overloads == ("keep.out",)


def test_kernels_of_other_backends_are_not_reached(registry):
    assert "only_cpu" not in registry.kernels
    assert "keep_cpu" not in registry.kernels


def test_other_keys_of_the_backend_count(registry):
    assert registry.kernels["thin_sparse_mps"].keys == {"SparseMPS"}


def test_joint_dispatch_keys_are_split(registry):
    assert dict(registry.overloads["blend.out"].dispatch) == {
        "CPU": "blend_out",
        "CUDA": "blend_out",
        "MPS": "blend_out_mps",
    }


def test_overload_fields_are_those_of_the_entry(registry):
    overload = registry.overloads["shake_"]
    assert overload.autogen == ("shake", "shake.out")
    assert overload.variants == ("method",)
    assert overload.line == YAML.split("- func: shake_")[0].count("\n") + 1
    assert registry.overloads["blend.out"].structured_inherits == "TensorIteratorBase"


@pytest.mark.parametrize(
    ("types", "expected"),
    [(["Tensor&", "const Scalar&"], "paint_.Scalar"), (["Tensor&", "const Tensor&"], "paint_.Tensor")],
)
def test_members_of_a_cpp_overload_set_are_told_apart_by_their_parameters(registry, types, expected):
    uses = matching_uses(registry.kernels["paint_mps_"], types)
    assert [use.overload.name for use in uses] == [expected]


def test_an_unusual_signature_keeps_all_overloads(registry):
    assert len(matching_uses(registry.kernels["paint_mps_"], ["Tensor&"])) == 2


def test_triggers_name_the_kind_of_call(registry):
    triggers = {use.overload.name: use.triggers for use in registry.kernels["blend_out_mps"].uses}
    assert triggers == {"blend": ("functional",), "blend_": ("inplace",), "blend.out": ("out",)}


def test_backward_operators_have_the_backward_trigger(tmp_path):
    text = "- func: fold_backward(Tensor grad) -> Tensor\n  dispatch:\n    MPS: fold_backward_mps\n"
    found = load_registry(make_tree(tmp_path, text))
    assert found.kernels["fold_backward_mps"].uses[0].triggers == ("backward",)


REGISTERING = """\
static Tensor& twist_out_mps(const Tensor& self, Tensor& out) { return out; }
TORCH_LIBRARY_IMPL(aten, MPS, m) {
  m.impl("twist.out", twist_out_mps);
  // m.impl("dull.out", dull_out_mps);
  m.impl("flat", torch::CppFunction::makeFallthrough());
}
"""
TWIST = """\
- func: twist(Tensor self) -> Tensor
  structured_delegate: twist.out
- func: twist_(Tensor(a!) self) -> Tensor(a!)
  structured_delegate: twist.out
- func: twist.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU, CUDA: twist_out
- func: dull.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CPU: dull_out
- func: flat(Tensor self) -> Tensor
  dispatch:
    CPU: flat
"""


def test_kernels_registered_in_objective_cpp_are_reached_with_their_delegates(tmp_path):
    found = load_registry(make_tree(tmp_path, TWIST, {"mps/operations/Twist.mm": REGISTERING}))
    assert outputs(found, "twist_out_mps") == {
        "twist.out": [("out", 1, "caller")],
        "twist": [("out", 1, "fresh")],
        "twist_": [("out", 1, "caller")],
    }
    assert not found.kernels["twist_out_mps"].structured


def test_registrations_in_comments_and_fallthroughs_do_not_count(tmp_path):
    found = load_registry(make_tree(tmp_path, TWIST, {"mps/operations/Twist.mm": REGISTERING}))
    assert list(found.kernels) == ["twist_out_mps"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- func: f(Tensor self) -> Tensor\n- func: f(Tensor self) -> Tensor\n", "line 2: f is listed twice"),
        (
            "- func: f(Tensor self) -> Tensor\n  structured_delegate: f.out\n",
            "structured_delegate f.out is not",
        ),
        ("- func: f(Tensor self) -> Tensor\n  dispatch: CPU\n", "'dispatch' is not a table"),
    ],
)
def test_inconsistent_entries_are_refused_with_a_line(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        load_registry(make_tree(tmp_path, text))


def test_a_bad_schema_is_refused_with_its_line_when_it_is_read(tmp_path):
    found = load_registry(make_tree(tmp_path, "- func: f(Tensor) -> Tensor\n"))
    with pytest.raises(InputError, match=r"native_functions.yaml line 1: 'Tensor' is not"):
        found.overloads["f"]


def test_an_unknown_overload_is_a_key_error(registry):
    with pytest.raises(KeyError):
        registry.overloads["nothing"]
