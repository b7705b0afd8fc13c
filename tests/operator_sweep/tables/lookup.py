"""Tables of vectors, one-hot codes, membership, places of values."""

from __future__ import annotations

import torch
from torch.nn import functional

from tests.operator_sweep.indices import (
    index,
)
from tests.operator_sweep.inputs import ALL, ANY, FLOATS, NUMBERS, between, given, pair, same, shaped
from tests.operator_sweep.rows import Row

FEW_VALUES = between(-2, 2)

ROWS = [
    Row(
        "one_hot",
        lambda i: functional.one_hot(i, 5),
        given(lambda dtype: (index(6),), lambda dtype: (index(2, 3),), lambda dtype: (index(),)),
        (torch.int64,),
    ),
    Row("one_hot_counted", functional.one_hot, given(lambda dtype: (index(6),)), (torch.int64,)),
    Row(
        "embedding",
        lambda i, w: functional.embedding(i, w),
        given(
            lambda dtype: (index(5), ANY((4, 3), dtype)),
            lambda dtype: (index(2, 3), ANY((4, 3), dtype)),
            lambda dtype: (index(), ANY((4, 3), dtype)),
            lambda dtype: (index(0), ANY((4, 3), dtype)),
        ),
        FLOATS,
        gradient=True,
    ),
    Row(
        "embedding_padding",
        lambda i, w: functional.embedding(i, w, padding_idx=1),
        given(lambda dtype: (index(9), ANY((4, 3), dtype))),
        FLOATS,
        gradient=True,
    ),
    Row(
        "embedding_by_frequency",
        lambda i, w: functional.embedding(i, w, scale_grad_by_freq=True),
        given(lambda dtype: (index(9), ANY((4, 3), dtype))),
        gradient=True,
    ),
    Row(
        "embedding_int32",
        lambda i, w: functional.embedding(i.int(), w),
        given(lambda dtype: (index(5), ANY((4, 3), dtype))),
        gradient=True,
    ),
    Row(
        "embedding_renorm",
        lambda i, w: functional.embedding(i, w, max_norm=1.0),
        given(lambda dtype: (index(5), ANY((4, 3), dtype))),
    ),
    Row("isin_number", lambda x: torch.isin(x, 2), shaped((4, 3), values=FEW_VALUES), (torch.float32, torch.int64)),
    Row("isin_of_number", lambda x: torch.isin(2, x), shaped((4, 3), values=FEW_VALUES), (torch.float32, torch.int64)),
    Row("isin_tensor", torch.isin, pair(FEW_VALUES), (torch.float32, torch.int64)),
    Row(
        "searchsorted",
        lambda x, y: torch.searchsorted(x.sort().values, y),
        same(2),
        (torch.float32, torch.int64, torch.int32),
    ),
    Row(
        "searchsorted_right",
        lambda x, y: torch.searchsorted(x.sort().values, y, right=True, out_int32=True),
        same(2, FEW_VALUES),
        (torch.int64,),
    ),
    Row(
        "searchsorted_number",
        lambda x: torch.searchsorted(x.sort().values, 1.5),
        given(lambda dtype: (ANY((9,), dtype),)),
    ),
    Row("bucketize", lambda x: torch.bucketize(x, torch.arange(-3.0, 3.0, device=x.device)), shaped((4, 3))),
    Row("nonzero", torch.nonzero, shaped((5,), (4, 3), (0, 3), values=FEW_VALUES), ALL),
    Row("nonzero_0_dim", torch.nonzero, given(lambda dtype: (torch.ones((), dtype=dtype),)), ALL),
    Row("nonzero_tuple", lambda x: x.nonzero(as_tuple=True), shaped((5,), (4, 3), values=FEW_VALUES), ALL),
    Row("argwhere", torch.argwhere, shaped((4, 3), values=FEW_VALUES), NUMBERS),
    Row("flatnonzero", lambda x: x.flatten().nonzero().squeeze(1), shaped((4, 3), values=FEW_VALUES), NUMBERS),
]
