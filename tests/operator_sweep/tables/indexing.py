"""Reading by index or mask."""

from __future__ import annotations

import torch

from tests.operator_sweep.indices import (
    ALONG_FIRST,
    MATRICES,
    WITH_INDEX,
    WITH_MASK,
    index,
    mask,
)
from tests.operator_sweep.inputs import ALL, ANY, FLOATS, NUMBERS, given
from tests.operator_sweep.rows import Row

ROWS = [
    Row("index", lambda x, i: x[i], WITH_INDEX, ALL, gradient=True),
    Row(
        "index_by_0_dim",
        lambda x, i: x[i],
        given(lambda dtype: (ANY((4, 3), dtype), index())),
        ALL,
        falls_back=True,
        reason="torch reads such an index on the host",
    ),
    Row("index_negative", lambda x, i: x[i - 4], WITH_INDEX, FLOATS),
    Row("index_int32", lambda x, i: x[i.int()], WITH_INDEX, FLOATS),
    Row(
        "index_two",
        lambda x, i, j: x[i, j],
        given(
            lambda dtype: (ANY((4, 4), dtype), index(5), index(5)),
            lambda dtype: (ANY((4, 4, 2), dtype), index(5, 1), index(3)),
        ),
        ALL,
        gradient=True,
    ),
    Row(
        "index_second",
        lambda x, i: x[:, i],
        given(lambda dtype: (ANY((3, 4), dtype), index(5)), lambda dtype: (ANY((3, 4, 2), dtype), index(2, 2))),
        FLOATS,
        gradient=True,
    ),
    Row(
        "index_apart",
        lambda x, i, j: x[i, :, j],
        given(lambda dtype: (ANY((4, 3, 4), dtype), index(5), index(5))),
        FLOATS,
        gradient=True,
    ),
    Row("index_list", lambda x: x[[0, 2, 2]], MATRICES, FLOATS, gradient=True),
    Row(
        "index_actions",
        lambda x, i: x[torch.arange(4, device=x.device), i],
        given(lambda dtype: (ANY((4, 4), dtype), index(4))),
        FLOATS,
        gradient=True,
    ),
    Row("index_mask", lambda x, m: x[m], WITH_MASK, ALL, gradient=True),
    Row("index_byte_mask", lambda x, m: x[m.byte()], WITH_MASK, FLOATS),
    Row("gather", lambda x, i: x.gather(0, i), ALONG_FIRST, ALL, gradient=True),
    Row(
        "gather_last",
        lambda x, i: x.gather(1, i),
        given(lambda dtype: (ANY((3, 4), dtype), index(3, 1)), lambda dtype: (ANY((3, 4), dtype), index(2, 6))),
        ALL,
        gradient=True,
    ),
    Row("gather_0_dim", lambda x, i: x.gather(0, i * 0), given(lambda dtype: (ANY((), dtype), index())), FLOATS),
    Row(
        "take_along_dim",
        lambda x, i: torch.take_along_dim(x, i, 1),
        given(lambda dtype: (ANY((3, 4), dtype), index(3, 2))),
        FLOATS,
        gradient=True,
    ),
    Row(
        "index_select",
        lambda x, i: x.index_select(0, i),
        given(lambda dtype: (ANY((4, 3), dtype), index(5)), lambda dtype: (ANY((3, 4), dtype).t(), index(0))),
        ALL,
        gradient=True,
    ),
    Row(
        "index_select_last",
        lambda x, i: x.index_select(-1, i.int()),
        given(lambda dtype: (ANY((3, 4), dtype), index(5))),
        FLOATS,
        gradient=True,
    ),
    Row(
        "take",
        lambda x, i: x.take(i),
        given(lambda dtype: (ANY((2, 4), dtype), index(3, 2)), lambda dtype: (ANY((4, 2), dtype).t(), index(5))),
        ALL,
        gradient=True,
    ),
    Row(
        "masked_select",
        lambda x, m: x.masked_select(m),
        given(
            lambda dtype: (ANY((4, 3), dtype), mask(4, 3)),
            lambda dtype: (ANY((4, 3), dtype), mask(3)),
            lambda dtype: (ANY((0,), dtype), mask(0)),
        ),
        ALL,
        gradient=True,
    ),
    Row(
        "where",
        torch.where,
        given(
            lambda dtype: (mask(4, 3), ANY((4, 3), dtype), ANY((4, 3), dtype)),
            lambda dtype: (mask(4, 1), ANY((3,), dtype), ANY((), dtype)),
            lambda dtype: (mask(0), ANY((0,), dtype), ANY((), dtype)),
        ),
        ALL,
        gradient=True,
    ),
    Row("where_numbers", lambda x: torch.where(x > 0, x, 0.0), MATRICES, FLOATS, gradient=True),
    Row(
        "where_promoting",
        lambda m, x, y: torch.where(m, x, y),
        given(lambda dtype: (mask(4, 3), ANY((4, 3), dtype), ANY((4, 3), torch.int64))),
        FLOATS,
    ),
    Row("where_places", lambda x: torch.where(x > 0), MATRICES, NUMBERS),
]
