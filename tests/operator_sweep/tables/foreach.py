"""The same operation on each tensor of a list: what optimisers and gradient clipping are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn import utils

from tests.operator_sweep.inputs import ANY, FLOATS, POSITIVE, SIGNED_UNIT, Case, Inputs, Values
from tests.operator_sweep.rows import Row

LISTS = 30  # more than torch_npu passes in one call


def lists(count: int, values: Values = ANY, *others: Values) -> Inputs:
    """Tensors for `count` lists of equal shapes, one list after the other; values as in ``inputs.same``."""

    def cases(dtype: torch.dtype) -> Iterator[Case]:
        kinds = (values, *others)
        shapes: list[tuple[int, ...]] = [(3, 4), (), (7,), (0,), (2, 2, 2)]
        for label, chosen in (("mixed", shapes), ("one", shapes[:1]), ("many", shapes[-1:] * LISTS)):
            tensors = [kinds[min(number, len(kinds) - 1)](shape, dtype) for number in range(count) for shape in chosen]
            yield Case(label, tuple(tensors))

    return cases


def cut(tensors: tuple[torch.Tensor, ...], count: int) -> list[list[torch.Tensor]]:
    """The lists that ``lists`` put one after the other."""
    length = len(tensors) // count
    return [list(tensors[number * length : (number + 1) * length]) for number in range(count)]


def on_lists(count: int, call: Callable[..., Any]) -> Callable[..., object]:
    """`call` on lists of tensors; what works in place gives the first list."""

    def on_tensors(*tensors: torch.Tensor) -> object:
        arguments = cut(tensors, count)
        result = call(*arguments)
        return tuple(arguments[0] if result is None else result)

    return on_tensors


FUNCTIONS: dict[str, Values] = {
    "abs": ANY, "acos": SIGNED_UNIT, "asin": SIGNED_UNIT, "atan": ANY, "ceil": ANY, "cos": ANY, "cosh": ANY, "erf": ANY,
    "erfc": ANY, "exp": ANY, "expm1": ANY, "floor": ANY, "frac": ANY, "log": POSITIVE, "log10": POSITIVE,
    "log1p": POSITIVE, "log2": POSITIVE, "neg": ANY, "reciprocal": POSITIVE, "round": ANY, "sigmoid": ANY, "sign": ANY,
    "sin": ANY, "sinh": ANY, "sqrt": POSITIVE, "tan": SIGNED_UNIT, "tanh": ANY, "trunc": ANY,
}  # fmt: skip


def of_one_list() -> list[Row]:
    """Each function into new tensors and in place."""
    rows = []
    for name, values in FUNCTIONS.items():
        for form in (name, f"{name}_"):
            call = on_lists(1, getattr(torch, f"_foreach_{form}"))
            rows.append(Row(form, call, lists(1, values), (torch.float32, torch.float16)))
    return rows


def of_two_lists() -> list[Row]:
    """Each operation with a list, a number and a number each, into new tensors and in place."""
    rows = []
    for name in ("add", "sub", "mul", "div", "maximum", "minimum", "pow"):
        values = POSITIVE if name == "pow" else ANY
        for form in (name, f"{name}_"):
            call: Callable[..., object] = getattr(torch, f"_foreach_{form}")
            rows += [
                Row(f"{form}_list", on_lists(2, call), lists(2, values, POSITIVE), FLOATS),
                Row(f"{form}_number", on_lists(1, lambda x, call=call: call(x, 2.5)), lists(1, values), FLOATS),
                Row(f"{form}_numbers", on_lists(1, lambda x, call=call: call(x, numbers(x))), lists(1, values), FLOATS),
            ]
    return rows


def numbers(tensors: list[torch.Tensor]) -> list[float]:
    """A number for each tensor."""
    return [0.5 + index for index, _ in enumerate(tensors)]


def clipped(call: Callable[[list[torch.Tensor]], object]) -> Callable[..., object]:
    """Clips gradients of parameters; gives what the call gives and the gradients."""

    def on_gradients(*gradients: torch.Tensor) -> object:
        parameters = [torch.zeros_like(gradient).requires_grad_() for gradient in gradients]
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient.clone()
        result = call(parameters)
        found = [parameter.grad for parameter in parameters]
        return (found, result) if isinstance(result, torch.Tensor) else (found,)

    return on_gradients


ADDED = [
    Row("add_alpha_", on_lists(2, lambda x, y: torch._foreach_add_(x, y, alpha=0.5)), lists(2), FLOATS),
    Row("add_tensor_", on_lists(1, lambda x: torch._foreach_add_(x, torch.ones((), device=x[0].device))), lists(1)),
    Row(
        "mul_tensor_", on_lists(1, lambda x: torch._foreach_mul_(x, torch.full((), 0.5, device=x[0].device))), lists(1)
    ),
    Row("add_whole_", on_lists(1, lambda x: torch._foreach_add_(x, 1)), lists(1), (torch.int64, torch.int32)),
    Row("sub_alpha", on_lists(2, lambda x, y: torch._foreach_sub(x, y, alpha=3)), lists(2), FLOATS),
    Row("pow_of_number", on_lists(1, lambda x: torch._foreach_pow(2.0, x)), lists(1), (torch.float32,)),
    Row("clamp_min", on_lists(1, lambda x: torch._foreach_clamp_min(x, 0.5)), lists(1), FLOATS),
    Row("clamp_max_", on_lists(1, lambda x: torch._foreach_clamp_max_(x, 0.5)), lists(1), FLOATS),
    Row("addcmul", on_lists(3, lambda x, y, z: torch._foreach_addcmul(x, y, z, 0.5)), lists(3), FLOATS),
    Row("addcmul_", on_lists(3, lambda x, y, z: torch._foreach_addcmul_(x, y, z, 0.5)), lists(3), FLOATS),
    Row("addcmul_numbers_", on_lists(3, lambda x, y, z: torch._foreach_addcmul_(x, y, z, numbers(x))), lists(3)),
    Row(
        "addcdiv",
        on_lists(3, lambda x, y, z: torch._foreach_addcdiv(x, y, z, 0.5)),
        lists(3, ANY, ANY, POSITIVE),
        FLOATS,
    ),
    Row(
        "addcdiv_",
        on_lists(3, lambda x, y, z: torch._foreach_addcdiv_(x, y, z, -0.5)),
        lists(3, ANY, ANY, POSITIVE),
        FLOATS,
    ),
    Row(
        "addcdiv_numbers_",
        on_lists(3, lambda x, y, z: torch._foreach_addcdiv_(x, y, z, numbers(x))),
        lists(3, ANY, ANY, POSITIVE),
    ),
    Row(
        "addcdiv_tensor_",
        on_lists(3, lambda x, y, z: torch._foreach_addcdiv_(x, y, z, torch.tensor(numbers(x)))),
        lists(3, ANY, ANY, POSITIVE),
    ),
    Row(
        "addcdiv_tensor",
        on_lists(3, lambda x, y, z: torch._foreach_addcdiv(x, y, z, torch.tensor(numbers(x)))),
        lists(3, ANY, ANY, POSITIVE),
    ),
    Row(
        "addcmul_tensor_",
        on_lists(3, lambda x, y, z: torch._foreach_addcmul_(x, y, z, torch.tensor(numbers(x)))),
        lists(3),
    ),
    Row("lerp", on_lists(2, lambda x, y: torch._foreach_lerp(x, y, 0.3)), lists(2), FLOATS),
    Row("lerp_", on_lists(2, lambda x, y: torch._foreach_lerp_(x, y, 0.3)), lists(2), FLOATS),
    Row("lerp_list_", on_lists(3, torch._foreach_lerp_), lists(3), FLOATS),
    Row("norm", on_lists(1, torch._foreach_norm), lists(1), FLOATS),
    Row("norm_one", on_lists(1, lambda x: torch._foreach_norm(x, 1)), lists(1)),
    Row("norm_infinite", on_lists(1, lambda x: torch._foreach_norm(x, float("inf"))), lists(1)),
    Row("copy_", on_lists(2, torch._foreach_copy_), lists(2), FLOATS),
    Row("zero_", on_lists(1, torch._foreach_zero_), lists(1), FLOATS),
    Row("max", on_lists(1, torch._foreach_max), lists(1)),
]

CLIPPED = [
    Row("clip_grad_norm_", clipped(lambda x: utils.clip_grad_norm_(x, 0.5)), lists(1), FLOATS),
    Row("clip_grad_norm_foreach_", clipped(lambda x: utils.clip_grad_norm_(x, 0.5, foreach=True)), lists(1), FLOATS),
    Row("clip_grad_norm_single_", clipped(lambda x: utils.clip_grad_norm_(x, 0.5, foreach=False)), lists(1), FLOATS),
    Row("clip_grad_norm_one_", clipped(lambda x: utils.clip_grad_norm_(x, 10.0, norm_type=1)), lists(1)),
    Row("clip_grad_norm_infinite_", clipped(lambda x: utils.clip_grad_norm_(x, 0.5, float("inf"))), lists(1)),
    Row("clip_grad_value_", clipped(lambda x: utils.clip_grad_value_(x, 0.5)), lists(1), FLOATS),
    Row("clip_grad_value_single_", clipped(lambda x: utils.clip_grad_value_(x, 0.5, foreach=False)), lists(1), FLOATS),
    Row("parameters_to_vector", lambda *x: utils.parameters_to_vector(x), lists(1), FLOATS),
]

ROWS = [*of_one_list(), *of_two_lists(), *ADDED, *CLIPPED]
