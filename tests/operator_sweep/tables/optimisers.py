"""torch's optimisers and torch_npu's fused ones over twenty steps: parameters and states must be the CPU's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tests.operator_sweep.inputs import ANY, given
from tests.operator_sweep.rows import Row

STEPS = 20
PARAMETERS = given(lambda dtype: (ANY((4, 3), dtype), ANY((3,), dtype), ANY((5, 4), dtype), ANY((5, 3), dtype)))
ROUNDING = "the step is one kernel that keeps its constants in float32"
CHOICE = "torch takes lists of tensors on the device and single ones on the CPU"

Optimiser = Callable[..., torch.optim.Optimizer]


def steps(optimiser: Optimiser, **options: Any) -> Callable[..., object]:
    """Parameters, and what the optimiser keeps of each, after steps down a squared error."""

    def run(weight: torch.Tensor, bias: torch.Tensor, inputs: torch.Tensor, targets: torch.Tensor) -> object:
        parameters = [weight.clone().requires_grad_(), bias.clone().requires_grad_()]
        chosen = optimiser(parameters, **options)
        for _ in range(STEPS):
            chosen.zero_grad()
            error = torch.tanh(inputs @ parameters[0] + parameters[1]) - targets
            (error * error).mean().backward()
            chosen.step()
        kept = [chosen.state[parameter] for parameter in parameters]
        states = [
            value.float() for state in kept for _, value in sorted(state.items()) if isinstance(value, torch.Tensor)
        ]
        return [*[parameter.detach() for parameter in parameters], *states]

    return run


SETTINGS: dict[str, tuple[Optimiser, dict[str, Any]]] = {
    "sgd": (torch.optim.SGD, {"lr": 0.1}),
    "sgd_momentum": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
    "sgd_nesterov": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "adam": (torch.optim.Adam, {"lr": 0.01}),
    "adam_decay": (torch.optim.Adam, {"lr": 0.01, "weight_decay": 0.1, "eps": 1e-5}),
    "adam_amsgrad": (torch.optim.Adam, {"lr": 0.01, "amsgrad": True}),
    "adam_maximize": (torch.optim.Adam, {"lr": 0.01, "maximize": True}),
    "adamw": (torch.optim.AdamW, {"lr": 0.01, "weight_decay": 0.1}),
    "adamw_amsgrad": (torch.optim.AdamW, {"lr": 0.01, "amsgrad": True}),
    "rmsprop": (torch.optim.RMSprop, {"lr": 0.01}),
    "rmsprop_centred": (torch.optim.RMSprop, {"lr": 0.01, "centered": True, "momentum": 0.9}),
    "adagrad": (torch.optim.Adagrad, {"lr": 0.1}),
    "adadelta": (torch.optim.Adadelta, {"lr": 1.0}),
    "adamax": (torch.optim.Adamax, {"lr": 0.01}),
    "nadam": (torch.optim.NAdam, {"lr": 0.01}),
    "radam": (torch.optim.RAdam, {"lr": 0.01}),
    "rprop": (torch.optim.Rprop, {"lr": 0.01}),
}


def plain() -> list[Row]:
    """Each optimiser as torch chooses, tensor by tensor, and over lists."""
    rows = []
    for name, (optimiser, options) in SETTINGS.items():
        rows += [
            Row(name, steps(optimiser, **options), PARAMETERS, tolerance=1e-6, reason=CHOICE),
            Row(f"{name}_single", steps(optimiser, foreach=False, **options), PARAMETERS),
            Row(f"{name}_foreach", steps(optimiser, foreach=True, **options), PARAMETERS),
        ]
    return rows


def fused() -> list[Row]:
    """What torch calls fused."""
    return [
        Row("adam_fused", steps(torch.optim.Adam, lr=0.01, fused=True), PARAMETERS),
        Row("adam_fused_amsgrad", steps(torch.optim.Adam, lr=0.01, amsgrad=True, fused=True), PARAMETERS),
        Row(
            "adamw_fused",
            steps(torch.optim.AdamW, lr=0.01, weight_decay=0.1, fused=True),
            PARAMETERS,
            tolerance=1e-6,
            reason=ROUNDING,
        ),
        Row(
            "adamw_fused_amsgrad",
            steps(torch.optim.AdamW, lr=0.01, amsgrad=True, fused=True),
            PARAMETERS,
            tolerance=1e-6,
            reason=ROUNDING,
        ),
        Row(
            "adamw_fused_maximize",
            steps(torch.optim.AdamW, lr=0.01, maximize=True, fused=True),
            PARAMETERS,
            tolerance=1e-6,
            reason=ROUNDING,
        ),
        Row(
            "sgd_fused",
            steps(torch.optim.SGD, lr=0.1, fused=True),
            PARAMETERS,
            refused="momentum must be positive",
            reason="torch_npu checks it, op-plugin FusedSgdKernelOpApi.cpp",
        ),
        Row(
            "sgd_fused_momentum",
            steps(torch.optim.SGD, lr=0.1, momentum=0.9, weight_decay=0.01, fused=True),
            PARAMETERS,
            tolerance=1e-6,
            reason=ROUNDING,
        ),
        Row(
            "sgd_fused_nesterov",
            steps(torch.optim.SGD, lr=0.1, momentum=0.9, nesterov=True, fused=True),
            PARAMETERS,
            tolerance=1e-6,
            reason=ROUNDING,
        ),
    ]


ROWS = [*plain(), *fused()]
