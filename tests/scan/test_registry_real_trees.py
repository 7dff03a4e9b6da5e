"""The registry on real PyTorch trees: complete against PyYAML, and right where the code was read by hand."""

import os
from pathlib import Path

import pytest
import yaml

from patchkit.scan.registry import load_registry
from patchkit.scan.registry.schema import parse_schema
from patchkit.scan.registry.yaml_entries import read_entries
from patchkit.source.tree import NATIVE_FUNCTIONS

pytestmark = pytest.mark.real_tree

TREES = Path(os.environ.get("PATCHKIT_TREES", "")) / "src"
VERSIONS = ["1.13.1", "2.6.0"]


def tree(version):
    root = TREES / version
    if "PATCHKIT_TREES" not in os.environ or not (root / NATIVE_FUNCTIONS).is_file():
        pytest.skip(f"PATCHKIT_TREES has no unpacked {version}")
    return root


@pytest.fixture(scope="module", params=VERSIONS)
def root(request):
    return tree(request.param)


@pytest.fixture(scope="module")
def registry(root):
    return load_registry(root)


@pytest.fixture(scope="module")
def loaded(root):
    text = (root / NATIVE_FUNCTIONS).read_text(encoding="utf-8")
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def mps_kernels(registry):
    return [kernel for kernel in registry.kernels.values() if "MPS" in kernel.keys]


def test_every_entry_reads_as_pyyaml_reads_it(root, loaded):
    assert [entry.fields for entry in read_entries(root / NATIVE_FUNCTIONS, "x")] == loaded


def test_every_schema_reassembles_to_its_text(loaded):
    for item in loaded:
        schema = parse_schema(item["func"])
        head, arguments = (
            item["func"].split(" -> (")[0].rpartition(" -> ")[0] or item["func"],
            schema.arguments,
        )
        assert head.startswith(schema.name + "(")
        assert all(f"{argument.name}" in item["func"] for argument in arguments)
        # Every parameter of the text is there: names are separated by ", " outside brackets.
        written = item["func"].count("!)", 0, item["func"].rindex(" -> "))
        assert sum(argument.mutable for argument in arguments) == written


def test_every_kernel_that_a_table_names_for_mps_is_there(registry, loaded):
    named = {
        (item["func"].split("(")[0], kernel.rpartition("::")[2])
        for item in loaded
        for keys, kernel in (item.get("dispatch") or {}).items()
        if "MPS" in [key.strip() for key in keys.split(",")]
    }
    reached = {
        (use.overload.name, kernel.kernel)
        for kernel in mps_kernels(registry)
        for use in kernel.uses
        if not use.delegated
    }
    assert named <= reached


def test_every_structured_mps_kernel_has_a_meta_function_that_was_read(registry):
    unread = {
        kernel.kernel: output
        for kernel in mps_kernels(registry)
        for output in registry.meta(kernel.uses[0].overload.name)
        if kernel.structured and (not output.sites or "unknown" in output.functional_layout)
    }
    assert unread == {}


def test_written_arguments_of_an_overload_are_the_kernels_outputs(registry):
    for kernel in mps_kernels(registry):
        for use in kernel.uses:
            positions = [output.position for output in use.outputs if output.position is not None]
            assert len(set(positions)) == len(positions)
            assert all(position < len(use.parameters) for position in positions)
            if use.overload.kind == "out":
                assert [use.parameters[position].name for position in positions] == [
                    argument.name for argument in use.overload.outputs
                ]


@pytest.mark.parametrize(
    ("version", "kernel", "overloads"),
    [
        ("1.13.1", "addcmul_out_mps", {"addcmul", "addcmul_", "addcmul.out"}),
        ("1.13.1", "cat_out_mps", {"cat", "cat.out"}),
        ("1.13.1", "bitwise_not_out_mps", {"bitwise_not", "bitwise_not_", "bitwise_not.out"}),
        ("2.6.0", "normal_mps_", {"normal_"}),
        ("2.6.0", "topk_out_mps", {"topk", "topk.values"}),
    ],
)
def test_kernel_is_reached_by_its_overloads(version, kernel, overloads):
    assert set(load_registry(tree(version)).kernels[kernel].overloads) == overloads


@pytest.mark.parametrize(
    ("version", "name", "proxied", "layouts", "scalar"),
    [
        ("1.13.1", "addcmul", False, {"preserved", "channels_last"}, False),
        ("1.13.1", "cat", False, {"contiguous", "channels_last"}, False),
        ("1.13.1", "topk", False, {"contiguous"}, False),
        ("1.13.1", "any", False, {"contiguous"}, True),
        ("1.13.1", "any.dim", False, {"contiguous"}, False),
        ("1.13.1", "upsample_nearest2d", False, {"channels_last"}, False),
        ("2.6.0", "sigmoid_backward", False, {"preserved", "channels_last"}, False),
        ("2.6.0", "addmm", False, {"contiguous"}, False),
        ("2.6.0", "sort.stable", False, {"preserved"}, False),
        ("2.6.0", "linalg_inv_ex", True, {"explicit"}, False),
        ("2.6.0", "scatter_reduce.two", False, {"contiguous"}, False),
    ],
)
def test_first_output_is_laid_out_as_its_meta_function_says(version, name, proxied, layouts, scalar):
    output = load_registry(tree(version)).meta(name)[0]
    assert (output.proxied, output.functional_layout, output.scalar) == (proxied, layouts, scalar)


def test_only_one_mps_kernel_of_2_6_has_proxied_outputs():
    registry = load_registry(tree("2.6.0"))
    proxied = {
        kernel.kernel
        for kernel in mps_kernels(registry)
        if kernel.structured and any(output.proxied for output in registry.meta(kernel.uses[0].overload.name))
    }
    assert proxied == {"linalg_inv_ex_out_mps"}


@pytest.mark.parametrize(
    ("name", "public", "python"),
    [
        ("addcmul_", True, "Tensor.addcmul_()"),
        ("addcmul.out", True, "torch.addcmul(out=)"),
        ("elu", True, "torch.nn.functional.elu()"),
        ("gelu.out", True, "torch.nn.functional.gelu(out=)"),
        ("_softmax.out", False, "torch.ops.aten._softmax.out"),
        ("copy_", True, "Tensor.copy_()"),
        ("elu_backward", True, "Tensor.backward()"),
        ("linalg_inv_ex.inverse", True, "torch.linalg.inv_ex(out=)"),
    ],
)
def test_overloads_are_called_from_python_as_documented(name, public, python):
    overload = load_registry(tree("2.6.0")).overloads[name]
    assert (overload.public, overload.python) == (public, python)


def test_every_stub_of_the_mps_folder_leads_to_operators(registry):
    assert {name for name, stub in registry.stubs.items() if not stub.overloads} == set()


@pytest.mark.parametrize(
    ("stub", "expected"),
    [
        ("where_kernel", {("where.self_out", "caller"), ("where.self", "fresh")}),
        ("index_stub", {("index.Tensor", "fresh"), ("index.Tensor_out", "caller")}),
        (
            "scatter_reduce_two_stub",
            {
                ("scatter_reduce.two", "fresh"),
                ("scatter_reduce_.two", "caller"),
                ("scatter_reduce.two_out", "caller"),
            },
        ),
    ],
)
def test_stub_outputs_come_from_where_the_code_says(stub, expected):
    calls = load_registry(tree("2.6.0")).stubs[stub].calls
    assert {(origin.overload, origin.owner) for call in calls for origin in call.origins[0]} == expected


def test_fresh_tensors_that_keep_strides_reach_in_place_random_operators(registry):
    fresh = {
        origin.overload
        for call in registry.operator_calls("normal_")
        for origin in call.origins[0]
        if origin.owner == "fresh" and "preserved" in origin.layouts
    }
    assert "randn_like" in fresh
    assert "randn" not in fresh


def test_underscored_operators_are_reached_through_public_ones(registry):
    assert "softmax.int" in registry.public_routes("_softmax")
    assert registry.public_routes("_index_put_impl_") == ("index_put_",)
