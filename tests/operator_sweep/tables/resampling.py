"""Resampling of images: nearest, linear, cubic, and by a grid, forward and backward."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from tests.operator_sweep.inputs import ANY, SIGNED_UNIT, Inputs, given, shaped
from tests.operator_sweep.rows import Row

LINES = shaped((2, 3, 5))
IMAGES = shaped((2, 3, 4, 5))
GRID = given(lambda dtype: (ANY((2, 3, 4, 5), dtype), SIGNED_UNIT((2, 6, 4, 2), dtype)))
ORDER = "neighbours are added in another order over a tensor with gaps"


def resampling(name: str, inputs: Inputs = IMAGES, **options: Any) -> Row:
    """functional.interpolate with these options, with gradients."""
    return Row(
        name, lambda x: functional.interpolate(x, **options), inputs, gradient=True, tolerance=2e-6, reason=ORDER
    )


def grid_sample(name: str, **options: Any) -> Row:
    """functional.grid_sample with these options, with gradients."""
    return Row(
        name,
        lambda x, grid: functional.grid_sample(x, grid, **options),
        GRID,
        gradient=True,
        tolerance=2e-6,
        reason=ORDER,
    )


ROWS = [
    resampling("nearest_1d", LINES, scale_factor=2),
    resampling("linear_1d", LINES, size=9, mode="linear"),
    resampling("linear_1d_aligned", LINES, size=9, mode="linear", align_corners=True),
    resampling("nearest", size=(6, 7)),
    resampling("nearest_factor", scale_factor=2.5),
    resampling("nearest_exact", size=(6, 7), mode="nearest-exact"),
    resampling("bilinear", size=(6, 7), mode="bilinear"),
    resampling("bilinear_smaller", size=(2, 3), mode="bilinear"),
    resampling("bilinear_aligned", size=(6, 7), mode="bilinear", align_corners=True),
    resampling("bicubic", size=(6, 7), mode="bicubic"),
    resampling("area", size=(2, 2), mode="area"),
    grid_sample("grid_sample", align_corners=False),
    grid_sample("grid_sample_aligned", align_corners=True),
    grid_sample("grid_sample_nearest", mode="nearest", align_corners=False),
    grid_sample("grid_sample_border", padding_mode="border", align_corners=False),
    Row(
        "affine_grid",
        lambda x: functional.affine_grid(x, [2, 3, 4, 5], align_corners=False),
        given(lambda dtype: (ANY((2, 2, 3), dtype),)),
        (torch.float32,),
        tolerance=1e-6,
        reason=ORDER,
    ),
]
