"""Activations: in place, into ``out=`` and as a fresh result that keeps a transposed input's strides.

Softplus: pytorch#131736. ELU: pytorch#125692. GELU, leaky ReLU, mish: pytorch#123049. SiLU: pytorch#139006.
"""

import pytest
import torch
import torch.nn.functional as F
from repro.layouts import dense_layouts, each_layout
from repro.outputs import check_functional, check_inplace, check_out, normal

REPRODUCER = {
    "group": "mps_outputs",
    "title": "activations with a non-contiguous output",
    "ops": [
        "softplus.out",
        "elu.out",
        "elu_",
        "gelu.out",
        "leaky_relu.out",
        "leaky_relu_",
        "mish.out",
        "mish_",
        "silu.out",
        "silu_",
        "hardtanh.out",
        "hardtanh_",
        "hardswish.out",
        "hardswish_",
        "hardsigmoid.out",
        "log_sigmoid_forward.output",
        "softshrink.out",
        "threshold.out",
        "threshold_",
        "relu_",
        "relu",
        "clamp.out",
        "clamp_",
        "clamp_min.out",
        "clamp_min_",
        "glu.out",
        "clamp",
    ],
    "references": ["pytorch#131736", "pytorch#125692", "pytorch#123049", "pytorch#139006"],
    "broken": "unknown",
    "fixed": "unknown",
    "macos": "<15",
    "faults": ["lost", "misplaced", "garbage", "restrided"],
}

X = normal(4, 6)
nn = torch._C._nn

OUT = {
    "softplus": lambda x, out: nn.softplus(x, out=out),
    "elu": lambda x, out: nn.elu(x, out=out),
    "gelu": lambda x, out: nn.gelu(x, out=out),
    "leaky_relu": lambda x, out: nn.leaky_relu(x, 0.2, out=out),
    "mish": lambda x, out: nn.mish(x, out=out),
    "silu": lambda x, out: nn.silu(x, out=out),
    "hardtanh": lambda x, out: nn.hardtanh(x, out=out),
    "hardswish": lambda x, out: nn.hardswish(x, out=out),
    "hardsigmoid": lambda x, out: nn.hardsigmoid(x, out=out),
    "softshrink": lambda x, out: nn.softshrink(x, out=out),
    "threshold": lambda x, out: torch.threshold(x, 0.1, 5.0, out=out) if out is not None else F.threshold(x, 0.1, 5.0),
}
IN_PLACE = {
    "elu": lambda out: F.elu_(out),
    "leaky_relu": lambda out: F.leaky_relu_(out, 0.2),
    "mish": lambda out: F.mish(out, inplace=True),
    "silu": lambda out: F.silu(out, inplace=True),
    "hardtanh": lambda out: F.hardtanh_(out),
    "hardswish": lambda out: F.hardswish(out, inplace=True),
    "relu": lambda out: F.relu_(out),
    "relu6": lambda out: F.relu6(out, inplace=True),
    "threshold": lambda out: F.threshold_(out, 0.1, 5.0),
}
FRESH = {
    "softplus": F.softplus,
    "elu": F.elu,
    "gelu": F.gelu,
    "leaky_relu": F.leaky_relu,
    "mish": F.mish,
    "silu": F.silu,
    "hardtanh": F.hardtanh,
    "hardswish": F.hardswish,
    "relu": F.relu,
}


@pytest.mark.parametrize("name", sorted(OUT))
@each_layout(2)
def test_out(name, layout, device):
    check_out(OUT[name], [X], layout, device)


@pytest.mark.parametrize("name", ["softplus", "gelu", "elu"])
@each_layout(4)
def test_out_of_four_dimensions(name, layout, device):
    check_out(OUT[name], [normal(2, 3, 4, 5)], layout, device)


@pytest.mark.parametrize("name", sorted(IN_PLACE))
@each_layout(2)
def test_in_place(name, layout, device):
    check_inplace(IN_PLACE[name], X, [], layout, device)


@pytest.mark.parametrize("name", sorted(FRESH))
@dense_layouts(2)
def test_fresh_result_of_a_transposed_input(name, layout, device):
    check_functional(FRESH[name], [X], layout, device)


@pytest.mark.parametrize("name", sorted(FRESH))
@dense_layouts(4)
def test_fresh_result_of_a_channels_last_input(name, layout, device):
    check_functional(FRESH[name], [normal(2, 3, 4, 5)], layout, device)
