"""Convolutions in one to three dimensions, transposed ones, and their gradients."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional

from tests.operator_sweep.inputs import FLOATS, SIGNED_UNIT, Inputs, given
from tests.operator_sweep.rows import Row

HALVES = "ATen rounds half-precision convolutions and sums of gradients in blocks that depend on the layout"


def tensors(*shapes: tuple[int, ...]) -> Inputs:
    """One tensor of each shape; and again with the first one's last dimensions swapped in memory."""

    def swapped(dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
        first = shapes[0]
        turned = SIGNED_UNIT((*first[:-2], first[-1], first[-2]), dtype).transpose(-1, -2)
        return turned, *[SIGNED_UNIT(shape, dtype) for shape in shapes[1:]]

    return given(lambda dtype: tuple(SIGNED_UNIT(shape, dtype) for shape in shapes), swapped)


def convolution(
    name: str, call: Callable[..., object], *shapes: tuple[int, ...], dtypes: tuple[torch.dtype, ...] = FLOATS
) -> Row:
    """A row with gradients of input, weight and bias."""
    return Row(name, call, tensors(*shapes), dtypes, gradient=True, tolerance=2e-6, reason=HALVES)


conv1d, conv2d, conv3d = functional.conv1d, functional.conv2d, functional.conv3d
transposed1d, transposed2d = functional.conv_transpose1d, functional.conv_transpose2d
IMAGE, KERNEL = (2, 4, 7, 8), (6, 4, 3, 3)
ATARI = (2, 4, 84, 84)


def nature(x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
    """The three convolutions of Nature-DQN."""
    for weight, stride in zip(weights, (4, 2, 1), strict=True):
        x = functional.relu(conv2d(x, weight, stride=stride))
    return x.flatten(1)


ROWS = [
    convolution("conv1d", conv1d, (2, 4, 9), (6, 4, 3), (6,)),
    convolution("conv1d_without_bias", conv1d, (2, 4, 9), (6, 4, 3)),
    convolution("conv1d_causal", lambda x, w: conv1d(functional.pad(x, (4, 0)), w, dilation=2), (2, 4, 9), (6, 4, 3)),
    convolution("conv1d_unbatched", conv1d, (4, 9), (6, 4, 3), (6,)),
    convolution("conv2d", conv2d, IMAGE, KERNEL, (6,)),
    convolution("conv2d_without_bias", conv2d, IMAGE, KERNEL),
    convolution("conv2d_unbatched", conv2d, IMAGE[1:], KERNEL, (6,)),
    convolution("conv2d_stride", lambda x, w, b: conv2d(x, w, b, stride=2), IMAGE, KERNEL, (6,)),
    convolution("conv2d_strides", lambda x, w, b: conv2d(x, w, b, stride=(1, 2)), IMAGE, KERNEL, (6,)),
    convolution("conv2d_padding", lambda x, w, b: conv2d(x, w, b, padding=1), IMAGE, KERNEL, (6,)),
    convolution("conv2d_same", lambda x, w, b: conv2d(x, w, b, padding="same"), IMAGE, KERNEL, (6,)),
    convolution("conv2d_dilation", lambda x, w, b: conv2d(x, w, b, dilation=2), IMAGE, KERNEL, (6,)),
    convolution("conv2d_groups", lambda x, w, b: conv2d(x, w, b, groups=2), IMAGE, (6, 2, 3, 3), (6,)),
    convolution("conv2d_depthwise", lambda x, w, b: conv2d(x, w, b, groups=4), IMAGE, (4, 1, 3, 3), (4,)),
    convolution(
        "conv2d_depthwise_wide", lambda x, w, b: conv2d(x, w, b, groups=4, padding=1), IMAGE, (8, 1, 3, 3), (8,)
    ),
    Row(
        "conv2d_depthwise_kernel",
        lambda x, w, b: torch.ops.aten._conv_depthwise2d(x, w, [3, 3], b, [1, 1], [0, 0], [1, 1]),
        tensors(IMAGE, (4, 1, 3, 3), (4,)),
        tolerance=2e-6,
        expected=lambda x, w, b: conv2d(x, w, b, groups=4),
        reason="the CPU has no operator of this name",
    ),
    convolution("conv2d_pointwise", conv2d, IMAGE, (6, 4, 1, 1), (6,)),
    convolution("conv2d_one_image", conv2d, (1, *IMAGE[1:]), KERNEL, (6,)),
    convolution("conv2d_nature", nature, ATARI, (8, 4, 8, 8), (8, 8, 4, 4), (8, 8, 3, 3), dtypes=(torch.float32,)),
    convolution("conv3d", conv3d, (2, 2, 4, 5, 5), (3, 2, 2, 3, 3), (3,), dtypes=(torch.float32,)),
    convolution("conv_transpose1d", transposed1d, (2, 4, 7), (4, 6, 3), (6,)),
    convolution(
        "conv_transpose1d_stride",
        lambda x, w, b: transposed1d(x, w, b, stride=2, output_padding=1),
        (2, 4, 7),
        (4, 6, 3),
        (6,),
    ),
    convolution("conv_transpose2d", transposed2d, IMAGE, (4, 6, 3, 3), (6,)),
    convolution(
        "conv_transpose2d_stride",
        lambda x, w, b: transposed2d(x, w, b, stride=2, padding=1, output_padding=1),
        IMAGE,
        (4, 6, 3, 3),
        (6,),
    ),
    convolution("conv_transpose2d_groups", lambda x, w, b: transposed2d(x, w, b, groups=2), IMAGE, (4, 3, 3, 3), (6,)),
    convolution("conv_transpose2d_dilation", lambda x, w: transposed2d(x, w, dilation=2), IMAGE, (4, 6, 3, 3)),
]
