"""Sorting, what picks by order, and unique values."""

from __future__ import annotations

import torch

from tests.operator_sweep.inputs import ALL, ANY, NUMBERS, between, given, one, shaped, special
from tests.operator_sweep.rows import Row

FEW_VALUES = between(-2, 2)
FILLED = shaped((7,), (3, 4), (2, 3, 4))
FILLED_FEW = shaped((9,), (3, 4), values=FEW_VALUES)
SORTED = (torch.float32, torch.float16, torch.int64, torch.int32)

ROWS = [
    Row("sort", lambda x: tuple(x.sort()), one(), NUMBERS, gradient=True),
    Row("sort_descending", lambda x: tuple(x.sort(descending=True)), FILLED, NUMBERS, gradient=True),
    Row("sort_stable", lambda x: tuple(torch.sort(x, stable=True)), FILLED_FEW, NUMBERS),
    Row("sort_first", lambda x: tuple(torch.sort(x, dim=0)), FILLED, SORTED),
    Row("sort_special", lambda x: tuple(x.sort(stable=True)), special),
    Row("argsort", torch.argsort, FILLED, NUMBERS),
    Row("argsort_descending", lambda x: x.argsort(dim=0, descending=True), FILLED, SORTED),
    Row("msort", torch.msort, FILLED, SORTED),
    Row("topk", lambda x: tuple(x.topk(2)), FILLED, NUMBERS, gradient=True),
    Row("topk_smallest", lambda x: tuple(x.topk(2, largest=False)), FILLED, SORTED, gradient=True),
    Row("topk_first", lambda x: tuple(torch.topk(x, 2, dim=0)), FILLED, SORTED),
    Row("topk_all", lambda x: tuple(x.topk(x.shape[-1])), FILLED, SORTED),
    Row("kthvalue", lambda x: tuple(x.kthvalue(2)), FILLED, (torch.float32, torch.int64), gradient=True),
    Row("kthvalue_kept", lambda x: tuple(torch.kthvalue(x, 1, 0, keepdim=True)), FILLED, (torch.float32, torch.int64)),
    Row("median", torch.median, FILLED, (torch.float32, torch.int64), gradient=True),
    Row("median_dim", lambda x: tuple(x.median(-1)), FILLED, (torch.float32, torch.int64), gradient=True),
    Row("nanmedian", torch.nanmedian, special),
    Row("nanmedian_dim", lambda x: tuple(x.nanmedian(0)), special),
    Row("quantile", lambda x: torch.quantile(x, 0.3), FILLED, gradient=True),
    Row("quantile_dim", lambda x: torch.quantile(x, torch.tensor([0.1, 0.5], device=x.device), dim=0), FILLED),
    Row("unique", torch.unique, FILLED_FEW, ALL),
    Row("unique_empty", torch.unique, given(lambda dtype: (ANY((0,), dtype),)), NUMBERS),
    Row("unique_inverse", lambda x: torch.unique(x, return_inverse=True), FILLED_FEW, NUMBERS),
    Row("unique_counts", lambda x: torch.unique(x, return_counts=True), FILLED_FEW, NUMBERS),
    Row("unique_all", lambda x: torch.unique(x, return_inverse=True, return_counts=True), FILLED_FEW, NUMBERS),
    Row(
        "unique_dim",
        lambda x: torch.unique(x, dim=0),
        shaped((6, 2), values=between(0, 1)),
        (torch.int64, torch.float32),
    ),
    Row(
        "unique_dim_inverse",
        lambda x: torch.unique(x, return_inverse=True, dim=0),
        shaped((6, 2), values=between(0, 1)),
        (torch.int64,),
    ),
    Row("unique_consecutive", torch.unique_consecutive, FILLED_FEW, (torch.float32, torch.int64, torch.int32)),
    Row(
        "unique_consecutive_counts",
        lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True),
        FILLED_FEW,
        (torch.int64,),
    ),
    Row(
        "unique_consecutive_dim",
        lambda x: torch.unique_consecutive(x, dim=0),
        shaped((6, 2), values=between(0, 1)),
        (torch.int64,),
    ),
]
