"""How a Python user reaches an overload, read from the tree where it says so."""

import pytest

from patchkit.scan.registry import load_registry

YAML = """\
- func: blend(Tensor self) -> Tensor
  variants: function, method
- func: blend_(Tensor(a!) self) -> Tensor(a!)
  variants: function, method
- func: blend.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
- func: whisper_(Tensor(a!) self) -> Tensor(a!)
  variants: method
- func: lone_(Tensor(a!) self) -> Tensor(a!)
- func: peek(Tensor(a) self) -> Tensor(a)
  variants: method
- func: _inner(Tensor self) -> Tensor
- func: _inner.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
- func: __and__.Tensor(Tensor self, Tensor other) -> Tensor
  variants: method, function
- func: linalg_turn(Tensor self) -> Tensor
  python_module: linalg
- func: linalg_turn.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  python_module: linalg
- func: soft(Tensor self) -> Tensor
  python_module: nn
- func: soft.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  python_module: nn
- func: soft_(Tensor(a!) self) -> Tensor(a!)
  python_module: nn
- func: grow1d(Tensor self) -> Tensor
  python_module: nn
- func: _grow_exact1d(Tensor self) -> Tensor
  python_module: nn
- func: hidden(Tensor self) -> Tensor
  python_module: nn
- func: soft_backward(Tensor grad, Tensor self) -> Tensor
  python_module: nn
- func: soft_backward.grad_input(Tensor grad, Tensor self, *, Tensor(a!) grad_input) -> Tensor(a!)
  python_module: nn
- func: put_(Tensor(a!) self, Tensor src) -> Tensor(a!)
  variants: method
- func: pick.Tensor(Tensor self, Tensor index) -> Tensor
  variants: function, method
- func: secret(Tensor self) -> Tensor
- func: scaled.Scalar(Tensor self, Scalar by) -> Tensor
  variants: function, method
"""

FILES = {
    "tools/autograd/gen_python_functions.py": """\
_SKIP_PYTHON_BINDINGS = [
    "put_",
    "pick",
    "secret",  # reason
    ".*_backward",
    ".*_backward_(out|input)",
]
SKIP_PYTHON_BINDINGS_SIGNATURES = [
    "scaled.Scalar(Tensor self, Scalar by) -> Tensor",
]
""",
    "tools/autograd/templates/python_variable_methods.cpp": 'rows = { {"put_", put, FLAGS}, };\n',
    "aten/src/ATen/TensorIndexing.h": "inline Tensor get(Tensor self) { return self.pick({index}); }\n",
    "torch/nn/functional.py": """\
softly = _add_docstr(
    torch._C._nn.soft, "doc")

def soft_with(input, inplace=False):
    return torch._C._nn.soft_(input)

def grow(input, mode):
    if mode == "exact":
        return torch._C._nn._grow_exact1d(input)
    return torch._C._nn.grow1d(input)
""",
}


def make_registry(root, files):
    native = root / "aten/src/ATen/native"
    native.mkdir(parents=True)
    (native / "native_functions.yaml").write_text(YAML)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return load_registry(root)


@pytest.fixture
def registry(tmp_path):
    return make_registry(tmp_path, FILES)


@pytest.mark.parametrize(
    ("name", "public", "python"),
    [
        ("blend", True, "torch.blend()"),
        ("blend_", True, "Tensor.blend_()"),
        ("blend.out", True, "torch.blend(out=)"),
        ("whisper_", True, "Tensor.whisper_()"),
        ("lone_", True, "torch.lone_()"),
        ("peek", True, "Tensor.peek()"),
        ("_inner", False, "torch.ops.aten._inner.default"),
        ("_inner.out", False, "torch.ops.aten._inner.out"),
        ("__and__.Tensor", True, "Tensor.__and__()"),
        ("linalg_turn", True, "torch.linalg.turn()"),
        ("linalg_turn.out", True, "torch.linalg.turn(out=)"),
        ("soft", True, "torch.nn.functional.softly()"),
        ("soft.out", True, "torch.nn.functional.softly(out=)"),
        ("soft_", True, "torch.nn.functional.soft_with()"),
        ("grow1d", True, "torch.nn.functional.grow()"),
        ("_grow_exact1d", True, "torch.nn.functional.grow()"),
        ("hidden", False, "torch._C._nn.hidden()"),
        ("soft_backward", True, "Tensor.backward()"),
        ("soft_backward.grad_input", False, "torch.ops.aten.soft_backward.grad_input"),
        ("put_", True, "Tensor.put_()"),
        ("pick.Tensor", True, "Tensor.__getitem__()"),
        ("secret", False, "torch.ops.aten.secret.default"),
        ("scaled.Scalar", False, "torch.ops.aten.scaled.Scalar"),
    ],
)
def test_overload_is_public_as_the_tree_binds_it(registry, name, public, python):
    overload = registry.overloads[name]
    assert (overload.public, overload.python) == (public, python)


@pytest.mark.parametrize(
    ("name", "public", "python"),
    [
        ("soft", True, "torch.nn.functional.soft()"),
        ("soft.out", False, "torch._C._nn.soft(out=)"),
        ("soft_backward.grad_input", False, "torch.ops.aten.soft_backward.grad_input"),
        ("put_", True, "Tensor.put_()"),
        ("secret", True, "torch.secret()"),
    ],
)
def test_a_sparse_checkout_without_the_binding_files_falls_back_on_conventions(tmp_path, name, public, python):
    overload = make_registry(tmp_path, {}).overloads[name]
    assert (overload.public, overload.python) == (public, python)


@pytest.mark.parametrize(
    "source", ["_SKIP_PYTHON_BINDINGS = [\n  f(x),\n]\n", "_SKIP_PYTHON_BINDINGS = [\n  '(',\n]\n"]
)
def test_an_unreadable_skip_list_falls_back_on_conventions(tmp_path, source):
    registry = make_registry(tmp_path, {"tools/autograd/gen_python_functions.py": source})
    assert registry.overloads["blend"].public
    assert not registry.overloads["soft_backward.grad_input"].public
