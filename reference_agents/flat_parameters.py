"""All parameters of a network in one tensor, and Adam on it."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


def flattened(network: nn.Module) -> nn.Parameter:
    """Moves all parameters of a network and their gradients into one tensor each, of which they become views.

    Zeroing and clipping gradients, Adam, and a target network that follows then cost a few kernels each, whatever the
    number of layers. Gradients must be zeroed in place (``flat.grad.zero_()``), else they are views no longer.
    """
    flat = nn.Parameter(nn.utils.parameters_to_vector(network.parameters()).detach())
    flat.grad = torch.zeros_like(flat)
    start = 0
    for parameter in network.parameters():
        end = start + parameter.numel()
        parameter.data = flat.data[start:end].view_as(parameter)
        parameter.grad = flat.grad[start:end].view_as(parameter)
        start = end
    return flat


def clip_gradient(parameters: nn.Parameter, largest: float) -> None:
    """Scales the gradient down to a norm of at most `largest`, as ``clip_grad_norm_`` does, in fewer kernels."""
    gradient = parameters.grad
    gradient.mul_((largest / (gradient.norm() + 1e-6)).clamp_(max=1))


def adam(parameters: nn.Parameter, learning_rate: float, epsilon: float = 1e-8) -> torch.optim.Adam:
    """Adam, with the fused kernel on the CPU; NPUs of many releases have none, and on one tensor do well without."""
    fused = parameters.device.type == "cpu"
    return torch.optim.Adam([parameters], learning_rate, eps=epsilon, foreach=False, fused=fused)


def adam_state(optimizer: torch.optim.Adam) -> dict[str, Any]:
    """Moments and step count, on the CPU; empty before the first update."""
    (parameters,) = optimizer.param_groups[0]["params"]
    return {name: value.cpu() for name, value in optimizer.state[parameters].items()}


def load_adam_state(optimizer: torch.optim.Adam, state: dict[str, Any]) -> None:
    """Takes over what `adam_state` gave."""
    if state:
        optimizer.load_state_dict({**optimizer.state_dict(), "state": {0: state}})
