"""Mixed precision: what the gradient scaler and autocast promise, and the ranges that make them necessary."""

import pytest
import torch
import torch.nn.functional as F

REPRODUCER = {
    "group": "training",
    "title": "gradient scaling, autocast and the ranges of half types",
    "ops": ["_amp_foreach_non_finite_check_and_unscale_", "_amp_update_scale_"],
    "references": [],
    "broken": "never",
    "fixed": "never",
    "macos": "all",
}

# What autocast runs in float32 whatever comes in, and in the lower type: the device's own lists.
FLOAT32 = {
    "cuda": ["softmax", "layer_norm", "mse_loss", "nll_loss", "sum", "exp"],
    "mps": ["softmax", "layer_norm", "mse_loss", "nll_loss", "sum", "exp"],
    "cpu": ["mse_loss", "nll_loss", "prod"],
}
LOWER = ["matmul", "linear", "bmm", "conv2d"]
OPS = {
    "softmax": lambda x: F.softmax(x, -1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "mse_loss": lambda x: F.mse_loss(x, x + 1),
    "nll_loss": lambda x: F.nll_loss(x, torch.zeros(len(x), dtype=torch.int64, device=x.device)),
    "sum": lambda x: x.sum(),
    "exp": lambda x: x.exp(),
    "prod": lambda x: x.prod(),
    "matmul": lambda x: x @ x,
    "linear": lambda x: F.linear(x, x),
    "bmm": lambda x: torch.bmm(x[None], x[None]),
    "conv2d": lambda x: F.conv2d(x[None, None], x[None, None, :3, :3]),
}


def lower_type(device):
    return torch.bfloat16 if device.type == "cpu" else torch.float16


def autocast(device):
    try:
        return torch.autocast(device.type, dtype=lower_type(device))
    except RuntimeError as refusal:
        pytest.skip(f"this release has no autocast for {device.type}: {refusal}")


def make_scaler(device, **settings):
    if hasattr(torch.amp, "GradScaler"):
        scaler = torch.amp.GradScaler(device.type, **settings)
    elif device.type == "cuda":
        scaler = torch.cuda.amp.GradScaler(**settings)
    else:
        pytest.skip("this release scales gradients on CUDA only")
    if not scaler.is_enabled():
        pytest.skip("this release scales gradients on CUDA only")
    return scaler


def step(scaler, parameter, gradient, optimizer):
    parameter.grad = gradient * scaler.get_scale()
    scaler.scale(torch.zeros(1, device=parameter.device))
    scaler.step(optimizer)
    scaler.update()


def parameter_and_sgd(device):
    parameter = torch.zeros(4, device=device, requires_grad=True)
    return parameter, torch.optim.SGD([parameter], lr=1.0)


def test_scaler_backs_off_and_skips_the_step_on_inf(device):
    scaler = make_scaler(device, init_scale=1024.0, backoff_factor=0.5)
    parameter, sgd = parameter_and_sgd(device)
    step(scaler, parameter, torch.tensor([1.0, float("inf"), 1.0, 1.0], device=device), sgd)
    assert parameter.tolist() == [0.0] * 4
    assert scaler.get_scale() == 512.0


def test_scaler_skips_on_nan_too(device):
    scaler = make_scaler(device, init_scale=1024.0)
    parameter, sgd = parameter_and_sgd(device)
    step(scaler, parameter, torch.full((4,), float("nan"), device=device), sgd)
    assert parameter.tolist() == [0.0] * 4


def test_scaler_grows_after_the_interval_and_not_before(device):
    scaler = make_scaler(device, init_scale=8.0, growth_factor=2.0, growth_interval=3)
    parameter, sgd = parameter_and_sgd(device)
    scales = []
    for _ in range(6):
        step(scaler, parameter, torch.ones(4, device=device), sgd)
        scales.append(scaler.get_scale())
    assert scales == [8.0, 8.0, 16.0, 16.0, 16.0, 32.0]


def test_an_inf_starts_the_interval_again(device):
    scaler = make_scaler(device, init_scale=8.0, growth_interval=2, backoff_factor=0.5)
    parameter, sgd = parameter_and_sgd(device)
    good, bad = torch.ones(4, device=device), torch.full((4,), float("inf"), device=device)
    scales = []
    for gradient in (good, bad, good, good):
        step(scaler, parameter, gradient, sgd)
        scales.append(scaler.get_scale())
    assert scales == [8.0, 4.0, 4.0, 8.0]


def test_unscale_comes_before_clipping(device):
    scaler = make_scaler(device, init_scale=1024.0)
    parameter, sgd = parameter_and_sgd(device)
    scaler.scale((parameter * 3).sum()).backward()
    scaler.unscale_(sgd)
    norm = torch.nn.utils.clip_grad_norm_([parameter], 1.0)
    assert float(norm) == pytest.approx(6.0)
    scaler.step(sgd)
    assert parameter.tolist() == pytest.approx([-0.5] * 4, rel=1e-4)


def test_clipping_before_unscaling_shrinks_the_step(device):
    scaler = make_scaler(device, init_scale=1024.0)
    parameter, sgd = parameter_and_sgd(device)
    scaler.scale((parameter * 3).sum()).backward()
    torch.nn.utils.clip_grad_norm_([parameter], 1.0)
    scaler.step(sgd)
    assert parameter.tolist() == pytest.approx([-0.5 / 1024] * 4, rel=1e-4)


def test_unscaling_twice_is_an_error(device):
    scaler = make_scaler(device)
    parameter, sgd = parameter_and_sgd(device)
    scaler.scale(parameter.sum()).backward()
    scaler.unscale_(sgd)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(sgd)


@pytest.mark.parametrize("name", sorted({name for names in FLOAT32.values() for name in names}))
def test_autocast_runs_it_in_float32(name, device):
    if name not in FLOAT32[device.type]:
        pytest.skip(f"not on the float32 list of {device.type}")
    low = torch.rand(4, 4, device=device).to(lower_type(device))
    with autocast(device):
        assert OPS[name](low).dtype == torch.float32


@pytest.mark.parametrize("name", LOWER)
def test_autocast_runs_it_in_the_lower_type(name, device):
    x = torch.rand(4, 4, device=device)
    with autocast(device):
        assert OPS[name](x).dtype == lower_type(device)


def test_autocast_leaves_the_parameters_gradient_in_float32(device):
    weight = torch.rand(4, 4, device=device, requires_grad=True)
    with autocast(device):
        loss = (weight @ weight).float().sum()
    loss.backward()
    assert weight.grad.dtype == torch.float32


def half_gradient(device, size, scale):
    """The gradient of ``scale * size * x`` as it passes through float16, unscaled again in float32."""
    x = torch.ones(1, device=device, requires_grad=True)
    (x.half() * torch.tensor([1.0], device=device).half()).float().mul(size * scale).sum().backward()
    return float(x.grad.cpu().double() / scale)


@pytest.mark.parametrize("power", [-26, -30])
def test_a_tiny_gradient_underflows_without_scaling_and_survives_with_it(power, device):
    assert half_gradient(device, 2.0**power, 1.0) == 0.0
    assert half_gradient(device, 2.0**power, 2.0**16) == 2.0**power


def test_below_2_to_the_minus_14_float16_loses_digits_that_scaling_keeps(device):
    size = 2.0**-20 * (1 + 2.0**-8)
    assert half_gradient(device, size, 1.0) != size
    assert half_gradient(device, size, 2.0**10) == size
    assert torch.finfo(torch.float16).tiny == 2.0**-14


def test_bfloat16_has_the_range_of_float32_and_float16_has_not(device):
    big = torch.tensor([1e38, 1e5, 1e-30], device=device)
    wide, narrow = big.to(torch.bfloat16).float().cpu(), big.half().float().cpu()
    assert torch.isfinite(wide).all()
    assert (wide > 0).all()
    assert torch.isinf(narrow[:2]).all()
    assert float(narrow[2]) == 0.0


def test_bfloat16_pays_with_digits(device):
    one_and_a_bit = torch.tensor([1 + 2.0**-9], device=device)
    assert float(one_and_a_bit.to(torch.bfloat16)) == 1.0
    assert float(one_and_a_bit.half()) == 1 + 2.0**-9
