"""How often AdamW reads a tensor back to Python in one step: every ``.item()`` waits for the device.

The count is asserted, not a time: it does not depend on the machine.
"""

import pytest
import torch
from repro import record

REPRODUCER = {
    "group": "training",
    "title": "AdamW's .item() calls in one step",
    "ops": ["item", "_local_scalar_dense"],
    "references": [],
    "broken": "never",
    "fixed": "never",
    "macos": "all",
}

PARAMETERS = 5
VARIANTS = {
    "default": {"foreach": False},
    "foreach": {"foreach": True},
    "fused": {"fused": True},
    "capturable": {"capturable": True, "foreach": False},
    "capturable_foreach": {"capturable": True, "foreach": True},
}
# On the CPU, counted in 1.13 and 2.13: one read of the step for each parameter, two with foreach (one for
# each
# bias correction); the fused CPU kernel reads it too. On CUDA, fused and capturable exist to read nothing.
COUNTS = {
    "cpu": {"default": PARAMETERS, "foreach": 2 * PARAMETERS, "fused": PARAMETERS},
    "cuda": {"default": PARAMETERS, "fused": 0, "capturable": 0, "capturable_foreach": 0},
}


def items_per_step(device, **settings):
    """Count ``aten::item`` events of the second step of AdamW over five parameters, with the profiler."""
    parameters = [torch.ones(4, 4, device=device, requires_grad=True) for _ in range(PARAMETERS)]
    try:
        optimizer = torch.optim.AdamW(parameters, lr=0.01, **settings)
        for parameter in parameters:
            parameter.grad = torch.ones_like(parameter)
        optimizer.step()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            optimizer.step()
    except (TypeError, RuntimeError, AssertionError, NotImplementedError) as refusal:
        pytest.skip(f"this release refuses {settings} on {device.type}: {str(refusal)[:120]}")
    count = sum(event.name == "aten::item" for event in profile.events())
    record.fact("items", count)
    return count


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_items_per_step(name, device):
    count = items_per_step(device, **VARIANTS[name])
    if name not in COUNTS.get(device.type, {}):
        pytest.skip(f"no count is established for {name} on {device.type}; this release makes {count}")
    assert count == COUNTS[device.type][name]


def seconds_of_steps(model, batch, state):
    """Median time of one compiled forward and backward while ``state`` is alive in memory, in seconds."""
    times = []
    for _ in range(12):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        model(batch).pow(2).mean().backward()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1000)
    assert state is not None
    return sorted(times[2:])[5]


@pytest.mark.benchmark
def test_memory_of_optimizer_state_beside_compiled_forward_and_backward(device):
    if device.type != "cuda" or not hasattr(torch, "compile"):
        pytest.skip("measures torch.compile on CUDA")
    width = 4096
    layers = [torch.nn.Linear(width, width), torch.nn.GELU(), torch.nn.Linear(width, width)]
    model = torch.nn.Sequential(*layers).to(device)
    batch = torch.randn(512, width, device=device)
    compiled = torch.compile(model)
    compiled(batch).sum().backward()
    # AdamW keeps two tensors as large as each weight; Adafactor one row and one column of sums
    factored = [(p.new_zeros(p.shape[0]), p.new_zeros(p.shape[-1])) for p in model.parameters()]
    small = seconds_of_steps(compiled, batch, factored)
    full = [(torch.zeros_like(p), torch.zeros_like(p)) for p in model.parameters()]
    large = seconds_of_steps(compiled, batch, full)
    record.fact("seconds_beside_factored_state", small)
    record.fact("seconds_beside_adamw_state", large)
    record.fact("ratio_adamw_to_factored", large / small)
    assert large > 0
    assert small > 0
