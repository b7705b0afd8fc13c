"""Writing by index or mask."""

from __future__ import annotations

import torch

from tests.operator_sweep.indices import (
    ADDED,
    ROWS_ADDED,
    SCATTERED,
    WITH_INDEX,
    WITH_MASK,
    index,
    mask,
    without_repetition,
)
from tests.operator_sweep.inputs import ALL, ANY, FLOATS, NUMBERS, given, shaped
from tests.operator_sweep.rows import Row

NO_KERNEL = "op-plugin has no kernel; torch_npu warns that it falls back to the CPU"


def put(x: torch.Tensor, where: object, value: object) -> torch.Tensor:
    """x[where] = value, with a result."""
    x = x.clone()
    x[where] = value
    return x


ROWS = [
    Row(
        "index_put",
        lambda x, i, v: put(x, i, v),
        given(
            lambda dtype: (ANY((4, 3), dtype), without_repetition(4)[:2], ANY((2, 3), dtype)),
            lambda dtype: (ANY((4,), dtype), without_repetition(4), ANY((), dtype)),
            lambda dtype: (ANY((4, 3), dtype), index(0), ANY((3,), dtype)),
        ),
        ALL,
        gradient=True,
    ),
    Row("index_put_number", lambda x, i: put(x, i, 1), WITH_INDEX, ALL),
    Row(
        "index_put_two",
        lambda x, i, j, v: put(x, (i, j), v),
        given(lambda dtype: (ANY((4, 4), dtype), without_repetition(4), index(4), ANY((4,), dtype))),
        ALL,
    ),
    Row(
        "index_put_second",
        lambda x, i, v: put(x, (slice(None), i), v),
        given(lambda dtype: (ANY((3, 4), dtype), without_repetition(4)[:2], ANY((3, 2), dtype))),
        FLOATS,
    ),
    Row(
        "index_put_slice",
        lambda x, v: put(x, (slice(1, 3), slice(None)), v),
        given(
            lambda dtype: (ANY((4, 3), dtype), ANY((2, 3), dtype)),
            lambda dtype: (ANY((3, 4), dtype).t(), ANY((3,), dtype)),
        ),
        ALL,
        gradient=True,
    ),
    Row("index_put_mask", lambda x, m: put(x, m, 0), WITH_MASK, ALL, gradient=True),
    Row(
        "index_put_mask_tensor",
        lambda x, m, v: put(x, m, v[: int(m.sum())]),
        given(lambda dtype: (ANY((6,), dtype), mask(6), ANY((6,), dtype))),
        FLOATS,
    ),
    Row(
        "index_put_accumulate",
        lambda x, i, v: x.index_put((i,), v, accumulate=True),
        given(
            lambda dtype: (ANY((4,), dtype), index(9), ANY((9,), dtype)),
            lambda dtype: (ANY((4, 3), dtype), index(5), ANY((5, 3), dtype)),
            lambda dtype: (ANY((4, 3), dtype), index(0), ANY((0, 3), dtype)),
        ),
        (torch.float32, torch.int64, torch.int32),
        gradient=True,
    ),
    Row(
        "index_put_",
        lambda x, i, v: x.index_put_((i,), v),
        given(lambda dtype: (ANY((4,), dtype), without_repetition(4), ANY((4,), dtype))),
        ALL,
    ),
    Row(
        "index_put_accumulate_",
        lambda x, i, j, v: x.index_put_((i, j), v, accumulate=True),
        given(lambda dtype: (ANY((4, 4), dtype), index(9), index(9), ANY((9,), dtype))),
        (torch.float32, torch.int64),
    ),
    Row(
        "index_put_colon_accumulate_",
        lambda x, i, v: torch.ops.aten.index_put_(x, [None, i], v, True),
        given(lambda dtype: (ANY((3, 4), dtype), index(5), ANY((3, 5), dtype))),
    ),
    Row("index_add", lambda x, i, s: x.index_add(0, i, s), ROWS_ADDED, (torch.float32, torch.int64), gradient=True),
    Row("index_add_alpha_", lambda x, i, s: x.index_add_(0, i, s, alpha=2), ROWS_ADDED, (torch.float32, torch.int64)),
    Row(
        "index_copy",
        lambda x, i, s: x.index_copy(0, i, s),
        given(lambda dtype: (ANY((4, 3), dtype), without_repetition(4)[:2], ANY((2, 3), dtype))),
        ALL,
        gradient=True,
    ),
    Row(
        "index_copy_",
        lambda x, i, s: x.index_copy_(1, i, s),
        given(lambda dtype: (ANY((3, 4), dtype), without_repetition(4)[:2], ANY((3, 2), dtype))),
        ALL,
    ),
    Row(
        "index_fill",
        lambda x, i: x.index_fill(0, i, 2),
        given(lambda dtype: (ANY((4, 3), dtype), index(2))),
        NUMBERS,
        gradient=True,
    ),
    Row(
        "index_fill_", lambda x, i: x.index_fill_(1, i, -1), given(lambda dtype: (ANY((3, 4), dtype), index(2))), FLOATS
    ),
    Row("scatter", lambda x, i, s: x.scatter(0, i, s), SCATTERED, ALL, gradient=True),
    Row("scatter_", lambda x, i, s: x.scatter_(0, i, s), SCATTERED, ALL),
    Row(
        "scatter_part_of",
        lambda x, i, s: x.scatter(0, i, s),
        given(lambda dtype: (ANY((4, 3), dtype), without_repetition(2, 2), ANY((4, 3), dtype))),
        ALL,
    ),
    Row(
        "scatter_number",
        lambda x, i: x.scatter(1, i, 1),
        given(lambda dtype: (ANY((3, 4), dtype), index(3, 1)), lambda dtype: (ANY((4, 3), dtype).t(), index(3, 2))),
        ALL,
        gradient=True,
    ),
    Row(
        "scatter_number_", lambda x, i: x.scatter_(1, i, 1), given(lambda dtype: (ANY((3, 4), dtype), index(3, 1))), ALL
    ),
    Row(
        "scatter_reduce_add",
        lambda x, i, s: x.scatter(0, i, s, reduce="add"),
        ADDED,
        (torch.float32, torch.int64),
        falls_back=True,
        reason=NO_KERNEL,
    ),
    Row(
        "scatter_reduce_multiply_",
        lambda x, i, s: x.scatter_(0, i, s, reduce="multiply"),
        SCATTERED,
        (torch.float32, torch.int64),
        falls_back=True,
        reason=NO_KERNEL,
    ),
    Row(
        "scatter_add",
        lambda x, i, s: x.scatter_add(0, i, s),
        ADDED,
        (torch.float32, torch.int64, torch.int32),
        gradient=True,
    ),
    Row("scatter_add_", lambda x, i, s: x.scatter_add_(0, i, s), ADDED, (torch.float32, torch.int64)),
    Row("scatter_half", lambda x, i, s: x.scatter_add(0, i, s), SCATTERED, (torch.float16, torch.bfloat16)),
    Row(
        "select_scatter",
        lambda x, v: torch.select_scatter(x, v, 0, 1),
        given(lambda dtype: (ANY((4, 3), dtype), ANY((3,), dtype))),
        FLOATS,
        gradient=True,
    ),
    Row(
        "slice_scatter",
        lambda x, v: torch.slice_scatter(x, v, 0, 1, 3),
        given(lambda dtype: (ANY((4, 3), dtype), ANY((2, 3), dtype))),
        FLOATS,
        gradient=True,
    ),
    Row(
        "put_",
        lambda x, i, s: x.put_(i, s),
        given(lambda dtype: (ANY((2, 4), dtype), without_repetition(4), ANY((4,), dtype))),
        ALL,
    ),
    Row(
        "put_accumulate_",
        lambda x, i, s: x.put_(i, s, accumulate=True),
        given(lambda dtype: (ANY((2, 4), dtype), index(5), ANY((5,), dtype))),
        (torch.float32, torch.int64),
    ),
    Row(
        "masked_fill",
        lambda x, m: x.masked_fill(m, -1e4),
        given(
            lambda dtype: (ANY((4, 3), dtype), mask(4, 3)),
            lambda dtype: (ANY((4, 3), dtype), mask(3)),
            lambda dtype: (ANY((), dtype), mask()),
        ),
        FLOATS,
        gradient=True,
    ),
    Row("masked_fill_infinite", lambda x, m: x.masked_fill(m, float("-inf")), WITH_MASK, FLOATS),
    Row(
        "masked_fill_number_",
        lambda x, m: x.masked_fill_(m, 1),
        given(lambda dtype: (ANY((4, 3), dtype), mask(4, 3)), lambda dtype: (ANY((3, 4), dtype).t(), mask(4, 1))),
        ALL,
    ),
    Row(
        "masked_fill_tensor",
        lambda x, m, v: x.masked_fill(m, v),
        given(lambda dtype: (ANY((4, 3), dtype), mask(4, 3), ANY((), dtype))),
        ALL,
    ),
    Row(
        "masked_scatter",
        lambda x, m, s: x.masked_scatter(m, s),
        given(lambda dtype: (ANY((4, 3), dtype), mask(4, 3), ANY((12,), dtype))),
        FLOATS,
        gradient=True,
    ),
    Row("fill_diagonal_", lambda x: x.fill_diagonal_(2), shaped((3, 4)), FLOATS),
]
