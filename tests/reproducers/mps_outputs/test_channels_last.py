"""Layers that keep channels_last: their fresh result is dense, not contiguous, and is lost like any other."""

import pytest
import torch
import torch.nn.functional as F
from repro.layouts import CHANNELS_LAST, CONTIGUOUS, each_layout
from repro.outputs import check_functional, check_out, normal

REPRODUCER = {
    "group": "mps_outputs",
    "title": "layers with a channels_last result",
    "ops": [
        "max_pool2d_with_indices",
        "avg_pool2d",
        "avg_pool2d.out",
        "adaptive_avg_pool2d",
        "_adaptive_avg_pool2d",
        "upsample_nearest2d",
        "upsample_bilinear2d",
        "upsample_nearest2d.out",
        "native_batch_norm",
        "convolution",
        "_convolution",
        "mkldnn_convolution",
        "thnn_conv2d",
        "_slow_conv2d_forward",
        "cudnn_convolution",
    ],
    "references": [],
    "broken": "unknown",
    "fixed": "unknown",
    "macos": "<15",
    "faults": ["lost", "misplaced", "garbage"],
}

X, KERNEL = normal(2, 4, 8, 6), normal(5, 4, 3, 3, seed=1)
LAYERS = {
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 3),
    "upsample_nearest2d": lambda x: F.interpolate(x, scale_factor=2, mode="nearest"),
    "upsample_bilinear2d": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False),
    "conv2d": lambda x: F.conv2d(x, KERNEL.to(x.device)),
}
nn = torch._C._nn
OUT = {
    "avg_pool2d": lambda x, out: nn.avg_pool2d(x, 2, out=out),
    "upsample_nearest2d": lambda x, out: nn.upsample_nearest2d(x, (16, 12), out=out),
}


@pytest.mark.parametrize("name", sorted(LAYERS))
@pytest.mark.parametrize("layout", [CHANNELS_LAST, pytest.param(CONTIGUOUS, marks=pytest.mark.control)], ids=str)
def test_result(name, layout, device):
    check_functional(LAYERS[name], [X], layout, device)


@pytest.mark.parametrize("name", sorted(OUT))
@each_layout(4)
def test_out(name, layout, device):
    check_out(OUT[name], [X], layout, device)
