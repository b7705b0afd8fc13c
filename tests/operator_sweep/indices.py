"""Indices and masks for the rows that read and write by them."""

from __future__ import annotations

import torch

from tests.operator_sweep.inputs import ANY, between, given, shaped

ROWS_OF_FOUR = between(0, 3)
MASK = between(0, 1)
MATRICES = shaped((4, 3), (4, 3, 2))


def index(*shape: int) -> torch.Tensor:
    """Whole numbers from 0 to 3, which may occur twice."""
    return ROWS_OF_FOUR(shape, torch.int64)


def without_repetition(*shape: int) -> torch.Tensor:
    """Along the first dimension each of 0, 1, ... once, in another order in each column."""
    return ANY(shape, torch.float32).argsort(0)


def mask(*shape: int) -> torch.Tensor:
    return MASK(shape, torch.bool)


WITH_INDEX = given(
    lambda dtype: (ANY((4, 3), dtype), index(5)),
    lambda dtype: (ANY((3, 4), dtype).t(), index(6)[::2]),
    lambda dtype: (ANY((4, 2, 3), dtype), index(2, 3)),
    lambda dtype: (ANY((4, 3), dtype), index(0)),
    lambda dtype: (ANY((4,), dtype), index(4)),
)
WITH_MASK = given(
    lambda dtype: (ANY((4, 3), dtype), mask(4, 3)),
    lambda dtype: (ANY((4, 3), dtype), mask(4)),
    lambda dtype: (ANY((3, 4), dtype).t(), torch.zeros(4, dtype=torch.bool)),
    lambda dtype: (ANY((4, 3), dtype), torch.ones(4, 3, dtype=torch.bool)),
    lambda dtype: (ANY((0, 3), dtype), mask(0)),
)
ALONG_FIRST = given(
    lambda dtype: (ANY((4, 3), dtype), index(5, 3)),
    lambda dtype: (ANY((4, 3), dtype), index(2, 2)),
    lambda dtype: (ANY((3, 4), dtype).t(), index(3, 5).t()),
    lambda dtype: (ANY((4, 3), dtype), index(0, 3)),
)
# A row of each index, its source, and columns not all of which are written.
SCATTERED = given(
    lambda dtype: (ANY((4, 3), dtype), without_repetition(4, 3), ANY((4, 3), dtype)),
    lambda dtype: (ANY((4, 3), dtype), without_repetition(2, 2), ANY((2, 2), dtype)),
    lambda dtype: (ANY((3, 4), dtype).t(), without_repetition(4, 3), ANY((3, 4), dtype).t()),
)
ADDED = given(
    lambda dtype: (ANY((4, 3), dtype), index(5, 3), ANY((5, 3), dtype)),
    lambda dtype: (ANY((3, 4), dtype).t(), index(3, 3), ANY((3, 3), dtype)),
)
ROWS_ADDED = given(
    lambda dtype: (ANY((4, 3), dtype), index(5), ANY((5, 3), dtype)),
    lambda dtype: (ANY((3, 4), dtype).t(), index(2), ANY((3, 2), dtype).t()),
)
