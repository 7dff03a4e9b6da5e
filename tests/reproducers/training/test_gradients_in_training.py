"""Clipping, accumulation, per-sample gradients, an implicit layer, and the hunt for the first NaN."""

import pytest
import torch
from repro.outputs import normal

REPRODUCER = {
    "group": "training",
    "title": "gradients in training loops",
    "ops": [],
    "references": [],
    "broken": "never",
    "fixed": "never",
    "macos": "all",
}


def network(device):
    torch.manual_seed(5)
    layers = [torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3)]
    return torch.nn.Sequential(*layers).to(device)


def flat_gradient(model):
    return torch.cat([p.grad.flatten() for p in model.parameters()]).cpu()


def test_clipping_to_a_global_norm_keeps_the_direction(device):
    model = network(device)
    (model(normal(5, 6).to(device)) * 100).pow(2).sum().backward()
    before = flat_gradient(model)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    after = flat_gradient(model)
    assert float(norm) == pytest.approx(float(before.norm()), rel=1e-4)
    assert float(after.norm()) == pytest.approx(1.0, rel=1e-4)
    assert float(torch.nn.functional.cosine_similarity(before, after, 0)) == pytest.approx(1.0, abs=1e-5)


def test_clipping_leaves_a_small_gradient_alone(device):
    model = network(device)
    (model(normal(5, 6).to(device)) * 1e-4).sum().backward()
    before = flat_gradient(model)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    assert torch.allclose(flat_gradient(model), before)


def test_clipping_by_value_does_change_the_direction(device):
    weight = torch.zeros(2, device=device, requires_grad=True)
    (weight * torch.tensor([10.0, 0.1], device=device)).sum().backward()
    torch.nn.utils.clip_grad_value_([weight], 1.0)
    assert weight.grad.cpu().tolist() == pytest.approx([1.0, 0.1])


def test_clipping_a_non_contiguous_gradient(device):
    weight = torch.zeros(6, 4, device=device).t().clone().requires_grad_()
    (weight * normal(4, 6).to(device) * 50).sum().backward()
    assert weight.grad.stride() == (1, 4)
    torch.nn.utils.clip_grad_norm_([weight], 1.0)
    expected = normal(4, 6)
    assert torch.allclose(weight.grad.cpu(), expected / expected.norm(), atol=1e-4)


def test_accumulated_micro_batches_equal_the_batch(device):
    batch = normal(8, 6).to(device)
    whole, parts = network(device), network(device)
    whole(batch).pow(2).mean().backward()
    for micro in batch.split(2):
        (parts(micro).pow(2).mean() / 4).backward()
    assert torch.allclose(flat_gradient(whole), flat_gradient(parts), atol=1e-6)


def test_forgetting_to_divide_scales_the_gradient(device):
    batch = normal(8, 6).to(device)
    whole, parts = network(device), network(device)
    whole(batch).pow(2).mean().backward()
    for micro in batch.split(2):
        parts(micro).pow(2).mean().backward()
    assert torch.allclose(4 * flat_gradient(whole), flat_gradient(parts), atol=1e-5)


def functional_tools():
    try:
        from torch.func import functional_call, grad, vmap
    except ImportError:
        pytest.skip("torch.func came with 2.0")
    return functional_call, grad, vmap


def test_per_sample_gradients_equal_the_loop(device):
    functional_call, grad, vmap = functional_tools()
    model = network(device)
    batch, target = normal(5, 6).to(device), normal(5, 3, seed=1).to(device)
    weights = {name: p.detach() for name, p in model.named_parameters()}

    def loss(weights, x, y):
        return (functional_call(model, weights, (x[None],)) - y).pow(2).sum()

    together = vmap(grad(loss), in_dims=(None, 0, 0))(weights, batch, target)
    for row in range(len(batch)):
        model.zero_grad()
        (model(batch[row][None]) - target[row]).pow(2).sum().backward()
        for name, p in model.named_parameters():
            assert torch.allclose(together[name][row].cpu(), p.grad.cpu(), rtol=1e-4, atol=1e-5), name


class FixedPoint(torch.autograd.Function):
    """``y = tanh(w @ y + x)``: solved by iteration, differentiated by one linear solve, not through the
    loop."""

    @staticmethod
    def forward(ctx, w, x):
        y = torch.zeros_like(x)
        for _ in range(200):
            y = torch.tanh(w @ y + x)
        ctx.save_for_backward(w, y)
        return y

    @staticmethod
    def backward(ctx, incoming):
        w, y = ctx.saved_tensors
        slope = 1 - y * y
        jacobian = torch.eye(len(y), dtype=y.dtype, device=y.device) - slope[:, None] * w
        solved = torch.linalg.solve(jacobian.t(), incoming) * slope
        return torch.outer(solved, y), solved


def fixed_point_inputs(dtype, device):
    w = (normal(4, 4) / 6).to(dtype).to(device)
    return w.requires_grad_(), normal(4, seed=2).to(dtype).to(device).requires_grad_()


def test_an_implicit_solve_passes_gradcheck(device):
    if device.type == "mps":
        pytest.skip("finite differences need float64, which MPS lacks")
    assert torch.autograd.gradcheck(FixedPoint.apply, fixed_point_inputs(torch.float64, device))


def test_an_implicit_solve_equals_backpropagation_through_the_loop(device):
    w, x = fixed_point_inputs(torch.float32, device)
    implicit = torch.autograd.grad(FixedPoint.apply(w, x).sum(), (w, x))
    y = torch.zeros_like(x)
    for _ in range(60):
        y = torch.tanh(w @ y + x)
    through = torch.autograd.grad(y.sum(), (w, x))
    for one, other in zip(implicit, through):
        assert torch.allclose(one.cpu(), other.cpu(), rtol=1e-3, atol=1e-4)


class Root(torch.nn.Module):
    def forward(self, x):
        return x.sqrt()


def first_layer_with_nan(model, x):
    """The name of the first module whose output holds a NaN, found with forward hooks."""
    found = []

    def hook_for(name):
        def hook(module, inputs, output):
            if not found and bool(torch.isnan(output).any()):
                found.append(name)

        return hook

    handles = [module.register_forward_hook(hook_for(name)) for name, module in model.named_children()]
    model(x)
    for handle in handles:
        handle.remove()
    return found[0] if found else None


def test_hooks_find_the_first_layer_that_makes_a_nan(device):
    layers = [torch.nn.Linear(6, 6), torch.nn.Tanh(), Root(), torch.nn.Linear(6, 6), torch.nn.Tanh()]
    model = torch.nn.Sequential(*layers).to(device)
    assert first_layer_with_nan(model, normal(5, 6).to(device)) == "2"


def test_hooks_find_nothing_in_a_healthy_network(device):
    assert first_layer_with_nan(network(device), normal(5, 6).to(device)) is None


def test_anomaly_mode_names_the_backward_that_made_a_nan(device):
    x = torch.zeros(3, device=device, requires_grad=True)
    with torch.autograd.detect_anomaly(), pytest.warns(UserWarning), pytest.raises(RuntimeError, match="SqrtBackward0"):
        (x.sqrt() * 0).sum().backward()
