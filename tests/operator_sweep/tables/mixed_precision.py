"""Autocast and gradient scaling, in half precision and in bfloat16, forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch.nn import functional

from tests.operator_sweep.inputs import ANY, SIGNED_UNIT, Case, Inputs, given
from tests.operator_sweep.rows import Row

TYPES = (torch.float16, torch.bfloat16)
LISTS_DIFFER = "each device has its own list of what autocast computes in half precision"
HALF = "the results are rounded to half precision, in sums of another order"


def network(dtype: torch.dtype, call: Callable[..., torch.Tensor]) -> Callable[..., object]:
    """A call under autocast; its result, the dtype of that, and the gradients of the weights."""

    def run(*tensors: torch.Tensor) -> object:
        leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors]
        with torch.autocast(tensors[0].device.type, dtype=dtype):
            result = call(*leaves)
        result.float().square().mean().backward()
        return result.float(), str(result.dtype), [leaf.grad for leaf in leaves]

    return run


def named(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def perceptron(x: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    return functional.linear(functional.relu(functional.linear(x, first)), second)


def convolution(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return functional.conv2d(x, weight, stride=2).flatten(1)


def value_loss(x: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    return functional.mse_loss(perceptron(x, first, second).float(), torch.zeros(5, 2, device=x.device))


LAYERS = given(lambda dtype: (SIGNED_UNIT((5, 4), dtype), SIGNED_UNIT((6, 4), dtype), SIGNED_UNIT((2, 6), dtype)))
CONVOLUTION = given(lambda dtype: (SIGNED_UNIT((2, 3, 6, 6), dtype), SIGNED_UNIT((4, 3, 3, 3), dtype)))
MATRICES = given(lambda dtype: (SIGNED_UNIT((3, 4), dtype), SIGNED_UNIT((4, 5), dtype)))

CALLS: dict[str, tuple[Callable[..., torch.Tensor], Inputs]] = {
    "linear": (perceptron, LAYERS),
    "matmul": (torch.matmul, MATRICES),
    "conv2d": (convolution, CONVOLUTION),
    "value_loss": (value_loss, LAYERS),
    "cross_entropy": (lambda x, y: functional.cross_entropy(x @ y, torch.tensor([0, 2, 1], device=x.device)), MATRICES),
    "tanh": (lambda x, y: torch.tanh(x @ y), MATRICES),
}
# What autocast computes in float32 on the device and in half precision on the CPU.
WIDENED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "layer_norm": lambda x: functional.layer_norm(x, (5,)),
    "exp": torch.exp,
    "log": lambda x: x.abs().add(1).log(),
    "pow": lambda x: x.pow(3),
    "softplus": functional.softplus,
    "norm": lambda x: torch.norm(x, dim=-1),
    "sum": torch.sum,
    "cumsum": lambda x: x.cumsum(0),
    "smooth_l1": lambda x: functional.smooth_l1_loss(x, torch.zeros_like(x)),
}


def widened(dtype: torch.dtype) -> list[Row]:
    """Each of those after a product, against the product cast to float32 first."""
    rows = []
    for name, function in WIDENED.items():
        given_half = network(dtype, lambda x, y, function=function: function(x @ y))
        given_float = network(dtype, lambda x, y, function=function: function((x @ y).float()))
        name = f"autocast_{name}_{named(dtype)}"
        rows.append(Row(name, given_half, MATRICES, tolerance=1e-2, expected=given_float, reason=LISTS_DIFFER))
    return rows


def autocast() -> list[Row]:
    """Each call under each dtype."""
    return [
        Row(f"autocast_{name}_{named(dtype)}", network(dtype, call), inputs, tolerance=1e-2, reason=HALF)
        for name, (call, inputs) in CALLS.items()
        for dtype in TYPES
    ]


def scaled_training(dtype: torch.dtype, bad_step: int | None) -> Callable[..., object]:
    """Ten steps with a GradScaler: scales, and parameters; one step's gradient may be made infinite."""

    def run(x: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> object:
        parameters = [first.detach().clone().requires_grad_(), second.detach().clone().requires_grad_()]
        optimiser = torch.optim.Adam(parameters, lr=0.01)
        scaler = torch.amp.GradScaler(x.device.type, init_scale=2.0**8, growth_interval=4)
        scales = []
        for step in range(10):
            optimiser.zero_grad()
            with torch.autocast(x.device.type, dtype=dtype):
                loss = value_loss(x, *parameters)
            scaler.scale(loss * (float("inf") if step == bad_step else 1)).backward()
            scaler.unscale_(optimiser)
            torch.nn.utils.clip_grad_norm_(parameters, 0.5)
            scaler.step(optimiser)
            scaler.update()
            scales.append(scaler.get_scale())
        return scales, parameters, scaler.state_dict()["_growth_tracker"]

    return run


def gradients(dtype: torch.dtype) -> Iterator[Case]:
    yield Case("finite", (ANY((3, 4), dtype), ANY((5,), dtype)))
    for label, value in (("infinite", float("inf")), ("not a number", float("nan"))):
        bad = ANY((5,), dtype)
        bad[2] = value
        yield Case(label, (ANY((3, 4), dtype), bad))


def unscale(*tensors: torch.Tensor) -> object:
    """What GradScaler.unscale_ runs."""
    found = torch.zeros((), device=tensors[0].device)
    inverse = torch.full((), 0.25, device=tensors[0].device)
    torch._amp_foreach_non_finite_check_and_unscale_(list(tensors), found, inverse)
    return found


def update_scale(found: float) -> Callable[..., object]:
    """What GradScaler.update runs, from a scale and the number of good steps."""

    def run(scale: torch.Tensor, good: torch.Tensor) -> object:
        bad = torch.full((), found, device=scale.device)
        return torch._amp_update_scale_(scale, good, bad, 2.0, 0.5, 4)

    return run


SCALES = given(
    lambda dtype: (torch.tensor(64.0), torch.tensor(1, dtype=torch.int32)),
    lambda dtype: (torch.tensor(64.0), torch.tensor(3, dtype=torch.int32)),
    lambda dtype: (torch.tensor(3e38), torch.tensor(3, dtype=torch.int32)),
)

ROWS = [
    *autocast(),
    *[row for dtype in TYPES for row in widened(dtype)],
    Row("unscale", unscale, gradients),
    Row("update_scale_good", update_scale(0.0), SCALES),
    Row("update_scale_bad", update_scale(1.0), SCALES),
    *[
        Row(f"scaler_{named(dtype)}", scaled_training(dtype, None), LAYERS, tolerance=2e-2, reason=HALF)
        for dtype in TYPES
    ],
    Row("scaler_infinite", scaled_training(torch.float16, 5), LAYERS, tolerance=2e-2, reason=HALF),
]
