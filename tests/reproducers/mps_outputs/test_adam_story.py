"""A tied autoencoder whose encoder never trains: silent, and only with Adam, and only on MPS up to torch 2.3.

``encoder = decoder.weight.T.clone()`` looks like a plain copy, but ``clone`` keeps strides, so the
parameter is
not contiguous; neither is Adam's state, which is made with ``zeros_like``. On MPS ``addcmul_`` and
``addcdiv_``
then write into a temporary that is thrown away (pytorch#118115, fixed in 2.4 by pytorch#124442).
"""

import pytest
import torch
from repro import record

REPRODUCER = {
    "group": "mps_outputs",
    "title": "Adam never moves a transposed parameter",
    "ops": ["addcmul_", "addcdiv_"],
    "references": ["pytorch#118115", "pytorch#124442"],
    "broken": "<2.4",
    "fixed": "2.4",
    "macos": "all",
    "faults": ["lost", "garbage", "misplaced"],
}

INPUTS, HIDDEN, ROWS, STEPS = 16, 8, 64, 120


def data():
    """Points near a plane of fewer dimensions: there is something for an autoencoder to learn."""
    generator = torch.Generator().manual_seed(3)
    plane = torch.randn(HIDDEN, INPUTS, generator=generator)
    return torch.randn(ROWS, HIDDEN, generator=generator) @ plane / 3


def weights(device):
    """The decoder's weight and, tied at the start, the encoder's: transposed, then cloned."""
    generator = torch.Generator().manual_seed(4)
    decoder = (torch.randn(INPUTS, HIDDEN, generator=generator) / 4).to(device)
    return decoder, decoder.T.clone()


def adam(parameters):
    return torch.optim.Adam(parameters, lr=0.02, foreach=False)


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.2, foreach=False)


def train(device, make_optimizer, contiguous=False):
    """Train and give back the losses, the encoder before and after, and the optimizer's state of the
    encoder."""
    decoder, encoder = weights(device)
    if contiguous:
        encoder = encoder.contiguous()
    start = encoder.detach().clone()
    encoder.requires_grad_()
    decoder.requires_grad_()
    optimizer = make_optimizer([encoder, decoder])
    batch = data().to(device)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = ((torch.tanh(batch @ encoder.T) @ decoder.T - batch) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    return losses, start, encoder.detach(), optimizer.state[encoder]


@pytest.mark.control
def test_step_1_clone_of_a_transpose_is_not_contiguous(device):
    decoder, encoder = weights(device)
    assert encoder.stride() == decoder.T.stride() == (1, HIDDEN)
    assert not encoder.is_contiguous()


@pytest.mark.control
def test_step_2_adam_makes_its_state_with_the_same_strides(device):
    _, _, encoder, state = train(device, adam)
    assert state["exp_avg_sq"].stride() == encoder.stride()


def test_step_3_the_second_moment_becomes_the_mean_of_squared_gradients(device):
    parameter = torch.ones(6, 4).to(device).T.clone().requires_grad_()
    optimizer = torch.optim.Adam([parameter], lr=0.1, foreach=False)
    gradient = torch.arange(24.0).reshape(4, 6)
    parameter.grad = gradient.to(device)
    optimizer.step()
    state = optimizer.state[parameter]["exp_avg_sq"].cpu()
    assert torch.allclose(state, 0.001 * gradient**2), f"exp_avg_sq is {state.flatten()[:4].tolist()}"


@pytest.mark.survives("misplaced", "the encoder does move when updates land in the wrong cells; step 5 fails")
def test_step_4_the_encoder_moves(device):
    _, start, encoder, _ = train(device, adam)
    moved = (encoder.cpu() - start.cpu()).abs().mean()
    assert 0.001 < moved < 10, f"the encoder moved by {float(moved):.2e} on average in {STEPS} steps"


def test_step_5_training_does_not_depend_on_strides(device):
    losses, _, _, _ = train(device, adam)
    straight, _, _, _ = train(device, adam, contiguous=True)
    record.fact("losses", {"transposed encoder": losses, "contiguous encoder": straight})
    assert losses[-1] == pytest.approx(straight[-1], rel=0.05), (
        f"the loss ends at {losses[-1]:.4f} instead of {straight[-1]:.4f}"
    )


@pytest.mark.control
def test_step_6_contiguous_cures_it(device):
    losses, start, encoder, _ = train(device, adam, contiguous=True)
    assert losses[-1] < 0.4 * losses[0]
    assert (encoder.cpu() - start.cpu()).abs().mean() > 0.001


@pytest.mark.control
def test_step_7_sgd_hides_it(device):
    losses, start, encoder, _ = train(device, sgd)
    assert losses[-1] < losses[0]
    assert (encoder.cpu() - start.cpu()).abs().mean() > 0.001
