"""Reductions, with and without dimensions, and running sums, products and extremes."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tests.operator_sweep.inputs import (
    ALL,
    ANY,
    FLOATS,
    INTEGERS,
    NUMBERS,
    POSITIVE,
    between,
    given,
    one,
    same,
    shaped,
    special,
)
from tests.operator_sweep.rows import Row

FEW_VALUES = between(-2, 2)
COUNTS = between(0, 6)
# Neither without dimension nor without element.
FILLED = shaped((5,), (3, 4), (2, 3, 4))
FILLED_FEW = shaped((5,), (3, 4), (2, 3, 4), values=FEW_VALUES)
MATRICES = shaped((3, 4), (2, 3, 4), (4, 0))
ORDER = "the sum runs in memory order, and torch_npu closes gaps first"

ORDERS = (0.0, 0.5, 1.0, 3.0, 4.0, -1.0, float("inf"), float("-inf"))


def order_of(order: float) -> Callable[..., object]:
    return lambda x: torch.linalg.vector_norm(x, order, dim=0)


def distance(order: float) -> Callable[..., object]:
    return lambda x, y: torch.dist(x, y, order)


SUMS = [
    Row("sum", torch.sum, dtypes=ALL, gradient=True, tolerance=1e-6, reason=ORDER),
    Row("sum_last", lambda x: x.sum(-1), MATRICES, ALL, gradient=True, tolerance=1e-6, reason=ORDER),
    Row("sum_two_dims", lambda x: x.sum((0, 1), keepdim=True), MATRICES, NUMBERS, tolerance=1e-6, reason=ORDER),
    Row("sum_to_float32", lambda x: x.sum(dtype=torch.float32), dtypes=ALL, tolerance=1e-6, reason=ORDER),
    Row("sum_of_bool_to_int32", lambda x: x.sum(0, dtype=torch.int32), MATRICES, (torch.bool,)),
    Row("nansum", torch.nansum, special, FLOATS),
    Row("nansum_dim", lambda x: torch.nansum(x, 0), FILLED, FLOATS, tolerance=1e-6, reason=ORDER),
    Row("mean", torch.mean, dtypes=FLOATS, gradient=True, tolerance=1e-6, reason=ORDER),
    Row("mean_dim", lambda x: x.mean(0), FILLED, FLOATS, gradient=True, tolerance=1e-6, reason=ORDER),
    Row("mean_two_dims", lambda x: x.mean((-1, -2), keepdim=True), MATRICES, tolerance=1e-6, reason=ORDER),
    Row("mean_to_float32", lambda x: x.mean(dtype=torch.float32), dtypes=ALL, tolerance=1e-6, reason=ORDER),
    Row("prod", torch.prod, one(POSITIVE), (torch.float32, torch.int64), gradient=True, tolerance=1e-6, reason=ORDER),
    Row("prod_dim", lambda x: x.prod(0), FILLED, (torch.float32, torch.int64, torch.int32)),
    Row("sum_to_size", lambda x: x.sum_to_size(1, 4), shaped((3, 4)), FLOATS, tolerance=1e-6, reason=ORDER),
    Row("trace", torch.trace, shaped((3, 4), (4, 4)), gradient=True),
    Row("cumsum", lambda x: x.cumsum(0), FILLED, (*FLOATS, torch.int64, torch.int32, torch.bool), gradient=True),
    Row("cumsum_last", lambda x: x.cumsum(-1), dtypes=(torch.float32, torch.int64)),
    Row("cumprod", lambda x: x.cumprod(0), FILLED, (torch.float32, torch.int64), gradient=True),
    Row("logsumexp", lambda x: torch.logsumexp(x, -1), MATRICES, FLOATS, gradient=True, tolerance=1e-6, reason=ORDER),
    Row("logsumexp_two_dims", lambda x: x.logsumexp((0, 1), keepdim=True), MATRICES, tolerance=1e-6, reason=ORDER),
    Row("count_nonzero", torch.count_nonzero, one(FEW_VALUES), ALL),
    Row("count_nonzero_dim", lambda x: torch.count_nonzero(x, 0), FILLED_FEW, ALL),
]

SPREADS = [
    Row("std", torch.std, FILLED, FLOATS, gradient=True, tolerance=1e-6, reason=ORDER),
    Row("std_biased", lambda x: x.std(unbiased=False), FILLED, FLOATS, tolerance=1e-6, reason=ORDER),
    Row("std_dim", lambda x: x.std(0, keepdim=True), FILLED, FLOATS, gradient=True, tolerance=1e-6, reason=ORDER),
    Row("var", torch.var, FILLED, FLOATS, gradient=True, tolerance=1e-6, reason=ORDER),
    Row("var_dim", lambda x: x.var(-1, correction=0), FILLED, FLOATS, gradient=True, tolerance=1e-6, reason=ORDER),
    Row("var_mean", lambda x: torch.var_mean(x, 0), FILLED, tolerance=1e-6, reason=ORDER),
    Row("std_mean", lambda x: torch.std_mean(x, 0), FILLED, tolerance=1e-6, reason=ORDER),
    Row("norm", torch.norm, FILLED, FLOATS, gradient=True, tolerance=1e-6, reason=ORDER),
    Row(
        "norm_dim", lambda x: x.norm(dim=-1, keepdim=True), FILLED, FLOATS, gradient=True, tolerance=1e-6, reason=ORDER
    ),
    Row("norm_one", lambda x: x.norm(p=1), FILLED, gradient=True, tolerance=1e-6, reason=ORDER),
    Row("norm_infinite", lambda x: torch.linalg.vector_norm(x, float("inf")), FILLED, gradient=True),
    Row("vector_norm", torch.linalg.vector_norm, FILLED, FLOATS, gradient=True, tolerance=1e-6, reason=ORDER),
    Row("vector_norm_dim", lambda x: torch.linalg.vector_norm(x, 3, dim=0), FILLED, tolerance=1e-6, reason=ORDER),
    *[Row(f"norm_{order}", order_of(order), FILLED, FLOATS, tolerance=4e-6, reason=ORDER) for order in ORDERS],
    *[Row(f"dist_{order}", distance(order), same(2), tolerance=4e-6, reason=ORDER) for order in ORDERS],
    Row(
        "normalize",
        lambda x: torch.nn.functional.normalize(x, dim=-1),
        FILLED,
        gradient=True,
        tolerance=1e-6,
        reason=ORDER,
    ),
]

EXTREMES = [
    Row("max", torch.max, FILLED, ALL, gradient=True),
    Row("min", torch.min, FILLED, ALL, gradient=True),
    Row("max_0_dim", torch.max, given(lambda dtype: (ANY((), dtype),)), NUMBERS),
    Row("max_dim", lambda x: x.max(-1), FILLED, NUMBERS, gradient=True),
    Row("max_dim_kept", lambda x: x.max(0, keepdim=True), FILLED, NUMBERS),
    Row("max_equal_values", lambda x: x.max(-1), FILLED_FEW, INTEGERS),
    Row("max_special", lambda x: x.max(-1), special, FLOATS),
    Row("min_dim", lambda x: x.min(-1), FILLED, NUMBERS, gradient=True),
    Row("amax", lambda x: x.amax(-1), FILLED, ALL, gradient=True),
    Row("amax_two_dims", lambda x: x.amax((0, 1), keepdim=True), shaped((3, 4), (2, 3, 4)), NUMBERS),
    Row("amax_all", lambda x: x.amax(), FILLED, NUMBERS),
    Row("amin", lambda x: x.amin(-1), FILLED, ALL, gradient=True),
    Row("aminmax", lambda x: tuple(torch.aminmax(x)), FILLED, NUMBERS),
    Row("aminmax_dim", lambda x: tuple(torch.aminmax(x, dim=0)), FILLED, NUMBERS),
    Row("aminmax_older", torch._aminmax, FILLED, NUMBERS),
    Row("aminmax_older_dim", lambda x: torch._aminmax(x, 0), FILLED, NUMBERS),
    Row("argmax", torch.argmax, FILLED_FEW, NUMBERS),
    Row("argmax_dim", lambda x: x.argmax(-1), FILLED_FEW, NUMBERS),
    Row("argmax_dim_kept", lambda x: x.argmax(0, keepdim=True), FILLED, NUMBERS),
    Row("argmin", torch.argmin, FILLED_FEW, NUMBERS),
    Row("argmin_dim", lambda x: x.argmin(dim=1, keepdim=True), shaped((3, 4), values=FEW_VALUES), NUMBERS),
    Row("any", torch.any, one(FEW_VALUES), ALL),
    Row("any_dim", lambda x: x.any(-1), MATRICES, ALL),
    Row("all", torch.all, one(FEW_VALUES), ALL),
    Row("all_dim", lambda x: x.all(0, keepdim=True), MATRICES, ALL),
    Row("cummax", lambda x: x.cummax(0), FILLED, (torch.float32, torch.int64)),
    Row("cummin", lambda x: x.cummin(-1), FILLED, (torch.float32, torch.int64)),
]

COUNTED = [
    Row(
        "bincount",
        torch.bincount,
        given(lambda dtype: (COUNTS((20,), dtype),), lambda dtype: (COUNTS((0,), dtype),)),
        (torch.int64, torch.int32),
    ),
    Row(
        "bincount_weighted",
        lambda x, w: torch.bincount(x, w, 9),
        given(lambda dtype: (COUNTS((20,), torch.int64), ANY((20,), dtype))),
    ),
    Row("histc", lambda x: torch.histc(x, 8, -4, 4), given(lambda dtype: (ANY((50,), dtype),))),
]

ROWS = [*SUMS, *SPREADS, *EXTREMES, *COUNTED]
