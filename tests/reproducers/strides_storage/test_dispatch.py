"""Which kernel an overload has for a device, as the installed release itself says."""

import pytest
import torch

REPRODUCER = {
    "group": "strides_storage",
    "title": "the dispatcher's own view of kernels",
    "ops": ["addcmul_", "addcdiv_", "normal_"],
    "references": [],
    "broken": "never",
    "fixed": "never",
    "macos": "all",
}

KEYS = {"cpu": "CPU", "cuda": "CUDA", "mps": "MPS"}
OVERLOADS = ["aten::addcmul_", "aten::addcmul.out", "aten::normal_", "aten::add.out", "aten::mm.out"]


@pytest.mark.parametrize("overload", OVERLOADS)
def test_the_device_has_a_kernel_of_its_own(overload, device):
    assert torch._C._dispatch_has_kernel_for_dispatch_key(overload, KEYS[device.type])


@pytest.mark.parametrize("overload", OVERLOADS)
def test_the_dump_names_the_kernel(overload, device):
    lines = torch._C._dispatch_dump(overload).splitlines()
    assert any(line.startswith(KEYS[device.type] + ":") for line in lines)


def test_a_composite_operator_has_none(device):
    assert not torch._C._dispatch_has_kernel_for_dispatch_key("aten::matmul", KEYS[device.type])
    assert torch._C._dispatch_has_kernel_for_dispatch_key("aten::matmul", "CompositeImplicitAutograd")


def test_an_unknown_key_has_none():
    assert not torch._C._dispatch_has_kernel_for_dispatch_key("aten::addcmul_", "PrivateUse3")
