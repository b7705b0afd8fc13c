"""Maximum and average pooling, plain and adaptive, forward and backward."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional

from tests.operator_sweep.inputs import ANY, FLOATS, Inputs, given, shaped
from tests.operator_sweep.rows import Row

LINES = shaped((2, 3, 8))
IMAGES = shaped((2, 3, 8, 6))
UNBATCHED = shaped((3, 8, 6))
VOLUMES = shaped((2, 2, 4, 6, 4))
FLOAT = (torch.float32,)
ORDER = "gradients of overlapping windows are added in another order"


def pooling(
    name: str, call: Callable[..., object], inputs: Inputs = IMAGES, dtypes: tuple[torch.dtype, ...] = FLOATS
) -> Row:
    """A row with gradients."""
    return Row(name, call, inputs, dtypes, gradient=True, tolerance=1e-6, reason=ORDER)


def pooled(dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
    """Largest values and where they were; torch_npu's own places are a bit mask that only it can read."""
    values, places = functional.max_pool2d(ANY((2, 3, 8, 6), dtype), 2, return_indices=True)
    return values, places


ROWS = [
    pooling("max_pool1d", lambda x: functional.max_pool1d(x, 2), LINES),
    pooling("max_pool1d_stride", lambda x: functional.max_pool1d(x, 3, 2, 1), LINES),
    pooling("max_pool2d", lambda x: functional.max_pool2d(x, 2)),
    pooling("max_pool2d_unbatched", lambda x: functional.max_pool2d(x, 2), UNBATCHED),
    pooling("max_pool2d_stride", lambda x: functional.max_pool2d(x, 3, 2)),
    pooling("max_pool2d_padding", lambda x: functional.max_pool2d(x, 3, 2, 1)),
    pooling("max_pool2d_ceil", lambda x: functional.max_pool2d(x, 3, 2, ceil_mode=True)),
    pooling("max_pool2d_oblong", lambda x: functional.max_pool2d(x, (2, 3), (2, 1))),
    pooling(
        "max_pool2d_equal_values",
        lambda x: functional.max_pool2d(x, 2),
        given(lambda dtype: (torch.ones(1, 1, 4, 4, dtype=dtype),)),
    ),
    pooling("max_pool3d", lambda x: functional.max_pool3d(x, 2), VOLUMES, FLOAT),
    pooling("avg_pool1d", lambda x: functional.avg_pool1d(x, 2), LINES),
    pooling("avg_pool2d", lambda x: functional.avg_pool2d(x, 2)),
    pooling("avg_pool2d_unbatched", lambda x: functional.avg_pool2d(x, 2), UNBATCHED),
    pooling("avg_pool2d_padding", lambda x: functional.avg_pool2d(x, 3, 2, 1)),
    pooling("avg_pool2d_without_padding", lambda x: functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False)),
    pooling("avg_pool2d_ceil", lambda x: functional.avg_pool2d(x, 3, 2, ceil_mode=True)),
    pooling("avg_pool2d_divisor", lambda x: functional.avg_pool2d(x, 2, divisor_override=3), IMAGES, FLOAT),
    pooling("avg_pool3d", lambda x: functional.avg_pool3d(x, 2), VOLUMES, FLOAT),
    pooling("adaptive_avg_pool1d", lambda x: functional.adaptive_avg_pool1d(x, 3), LINES),
    pooling("adaptive_avg_pool2d", lambda x: functional.adaptive_avg_pool2d(x, (3, 2))),
    pooling("adaptive_avg_pool2d_one", lambda x: functional.adaptive_avg_pool2d(x, 1)),
    pooling("adaptive_avg_pool3d", lambda x: functional.adaptive_avg_pool3d(x, (2, 3, 2)), VOLUMES, FLOAT),
    pooling("adaptive_max_pool1d", lambda x: functional.adaptive_max_pool1d(x, 3), LINES, FLOAT),
    pooling("adaptive_max_pool2d", lambda x: functional.adaptive_max_pool2d(x, (3, 2)), IMAGES, FLOAT),
    pooling("lp_pool2d", lambda x: functional.lp_pool2d(x.abs() + 1, 2, 2), IMAGES, FLOAT),
    pooling("max_unpool2d", lambda x, places: functional.max_unpool2d(x, places, 2), given(pooled), FLOAT),
]
