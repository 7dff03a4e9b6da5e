"""The random in-place operators leave a non-contiguous tensor as it was on MPS, macOS 14 and older.

``torch.nn.init`` on a transposed parameter then initialises nothing. Reported as pytorch#124029 and
pytorch#165257; fixed after 2.9 by pytorch#165267.
"""

import pytest
import torch
from repro.layouts import CHANNELS_LAST, CONTIGUOUS, PERMUTED, TRANSPOSED, layouts_for
from repro.outputs import check_random

REPRODUCER = {
    "group": "mps_outputs",
    "title": "random in-place operators on a non-contiguous tensor",
    "ops": [
        "normal_",
        "uniform_",
        "bernoulli_.float",
        "bernoulli_.Tensor",
        "exponential_",
        "random_",
        "log_normal_",
    ],
    "references": ["pytorch#124029", "pytorch#165257", "pytorch#165267"],
    "broken": "<2.10",
    "fixed": "2.10",
    "macos": "<15",
    "faults": ["lost", "misplaced", "garbage", "restrided"],
}

WHY = "random values written in another order into a view that covers its whole buffer are as random as before"


def each_layout(dims):
    params = []
    for layout in layouts_for(dims):
        marks = [pytest.mark.survives("misplaced", WHY)] if layout in (TRANSPOSED, PERMUTED, CHANNELS_LAST) else []
        params.append(pytest.param(layout, id=str(layout), marks=marks))
    params.append(pytest.param(CONTIGUOUS, id="contiguous", marks=pytest.mark.control))
    return pytest.mark.parametrize("layout", params)


def spread(values):
    return values.unique().numel() > values.numel() // 2 and bool((values > -100).all())


@each_layout(2)
def test_normal(layout, device):
    check_random(lambda out: out.normal_(), (8, 6), layout, device, spread)


@each_layout(4)
def test_normal_of_four_dimensions(layout, device):
    check_random(lambda out: out.normal_(), (2, 3, 4, 5), layout, device, spread)


@each_layout(2)
def test_uniform(layout, device):
    check_random(
        lambda out: out.uniform_(2, 3),
        (8, 6),
        layout,
        device,
        lambda v: spread(v) and bool(((v >= 2) & (v <= 3)).all()),
    )


@each_layout(2)
def test_bernoulli(layout, device):
    check_random(
        lambda out: out.bernoulli_(0.5),
        (8, 6),
        layout,
        device,
        lambda v: set(v.unique().tolist()) == {0.0, 1.0},
    )


@each_layout(2)
def test_bernoulli_with_a_tensor_of_probabilities(layout, device):
    halves = torch.full((8, 6), 0.5).to(device)
    check_random(
        lambda out: out.bernoulli_(halves),
        (8, 6),
        layout,
        device,
        lambda v: set(v.unique().tolist()) == {0.0, 1.0},
    )


@each_layout(2)
def test_exponential(layout, device):
    check_random(lambda out: out.exponential_(), (8, 6), layout, device, lambda v: spread(v) and bool((v >= 0).all()))


@each_layout(2)
def test_log_normal(layout, device):
    check_random(lambda out: out.log_normal_(), (8, 6), layout, device, lambda v: spread(v) and bool((v > 0).all()))


@each_layout(2)
def test_random(layout, device):
    check_random(
        lambda out: out.random_(1000, 2000),
        (8, 6),
        layout,
        device,
        lambda v: spread(v) and bool(((v >= 1000) & (v < 2000)).all()),
        dtype=torch.int64,
    )


@each_layout(2)
def test_init_of_a_transposed_parameter(layout, device):
    check_random(lambda out: torch.nn.init.normal_(out, mean=5.0), (8, 6), layout, device, spread)
