"""Activation functions, forward, backward and in place."""

from __future__ import annotations

import os
from collections.abc import Callable

import torch
from torch.nn import functional

from tests.operator_sweep.inputs import ANY, FLOATS, between, given, one, shaped, special
from tests.operator_sweep.rows import Row

# torch_npu reads it; with 1 it takes kernels that agree better with other devices.
COMPATIBLE = os.environ.get("TORCH_NPU_USE_COMPATIBLE_IMPL") == "1"
DROPPED = "torch_npu drops the approximation, op-plugin GeluOutKernelNpuOpApi.cpp"
VENDOR = "an operator of torch_npu that no other device has"
LAYOUT = "ATen takes other vector instructions for a tensor with gaps, which torch_npu closes first"
WIDE = shaped((6,), (3, 4), (2, 4, 6))
FAR = between(-30, 30)

Function = Callable[..., torch.Tensor]
EACH: dict[str, Function] = {
    "relu": functional.relu,
    "relu6": functional.relu6,
    "leaky_relu": lambda x: functional.leaky_relu(x, 0.2),
    "threshold": lambda x: functional.threshold(x, 0.5, -1.0),
    "elu": functional.elu,
    "elu_alpha": lambda x: functional.elu(x, 1.7),
    "selu": functional.selu,
    "celu": lambda x: functional.celu(x, 1.3),
    "gelu": functional.gelu,
    "silu": functional.silu,
    "mish": functional.mish,
    "softplus": functional.softplus,
    "softplus_beta": lambda x: functional.softplus(x, 2.0, 3.0),
    "softsign": functional.softsign,
    "logsigmoid": functional.logsigmoid,
    "tanhshrink": functional.tanhshrink,
    "hardtanh": functional.hardtanh,
    "hardtanh_bounds": lambda x: functional.hardtanh(x, -2.0, 0.5),
    "hardswish": functional.hardswish,
    "hardsigmoid": functional.hardsigmoid,
    "hardshrink": lambda x: functional.hardshrink(x, 0.7),
    "softshrink": lambda x: functional.softshrink(x, 0.7),
    "clamp_log_std": lambda x: torch.clamp(x, -20, 2),
    "log_std_of_tanh": lambda x: -5 + 0.5 * (2 + 5) * (torch.tanh(x) + 1),
}
IN_PLACE: dict[str, Function] = {
    "relu_": torch.relu_,
    "relu6_": lambda x: functional.relu6(x, inplace=True),
    "leaky_relu_": lambda x: functional.leaky_relu_(x, 0.2),
    "threshold_": lambda x: functional.threshold(x, 0.5, -1.0, inplace=True),
    "elu_": functional.elu_,
    "selu_": functional.selu_,
    "celu_": functional.celu_,
    "silu_": lambda x: functional.silu(x, inplace=True),
    "mish_": lambda x: functional.mish(x, inplace=True),
    "hardtanh_": functional.hardtanh_,
    "hardswish_": lambda x: functional.hardswish(x, inplace=True),
    "hardsigmoid_": lambda x: functional.hardsigmoid(x, inplace=True),
}
OVER_A_DIMENSION: dict[str, Function] = {
    "softmax": lambda x: functional.softmax(x, -1),
    "softmax_first": lambda x: functional.softmax(x, 0),
    "log_softmax": lambda x: functional.log_softmax(x, -1),
    "log_softmax_first": lambda x: functional.log_softmax(x, 0),
    "softmin": lambda x: functional.softmin(x, -1),
    "glu": lambda x: functional.glu(x, -1),
}

ROWS = [
    *[Row(name, call, one(), FLOATS, True, 1e-6, reason=LAYOUT) for name, call in EACH.items()],
    *[Row(f"{name}_far", call, one(FAR), FLOATS, True, 1e-6, reason=LAYOUT) for name, call in EACH.items()],
    *[Row(f"{name}_special", call, special, FLOATS, tolerance=1e-6, reason=LAYOUT) for name, call in EACH.items()],
    *[Row(name, call, one(), FLOATS, tolerance=1e-6, reason=LAYOUT) for name, call in IN_PLACE.items()],
    *[Row(name, call, WIDE, FLOATS, True, 1e-6, reason=LAYOUT) for name, call in OVER_A_DIMENSION.items()],
    Row(
        "npu_gelu_tanh",
        lambda x: torch.ops.npu.npu_gelu(x, approximate="tanh"),
        one(),
        FLOATS,
        True,
        1e-6,
        expected=lambda x: functional.gelu(x, approximate="tanh"),
        reason=VENDOR,
    ),
    Row(
        "npu_gelu",
        lambda x: torch.ops.npu.npu_gelu(x, approximate="none"),
        one(),
        FLOATS,
        True,
        1e-6,
        expected=functional.gelu,
        reason=VENDOR,
    ),
    Row(
        "gelu_tanh",
        lambda x: functional.gelu(x, approximate="tanh"),
        one(),
        FLOATS,
        True,
        1e-6,
        expected=None if COMPATIBLE else functional.gelu,
        reason=LAYOUT if COMPATIBLE else DROPPED,
    ),
    Row("softmax_0_dim", lambda x: functional.softmax(x, 0), given(lambda dtype: (ANY((), dtype),)), FLOATS),
    Row("softmax_empty", lambda x: functional.softmax(x, -1), given(lambda dtype: (ANY((0, 3), dtype),)), FLOATS),
    Row(
        "softmax_to_float32",
        lambda x: functional.softmax(x, -1, dtype=torch.float32),
        WIDE,
        FLOATS,
        tolerance=1e-6,
        reason=LAYOUT,
    ),
    Row(
        "log_softmax_to_float32",
        lambda x: x.log_softmax(-1, dtype=torch.float32),
        WIDE,
        FLOATS,
        tolerance=1e-6,
        reason=LAYOUT,
    ),
    Row(
        "softmax_infinite",
        lambda x, m: functional.softmax(x.masked_fill(m, float("-inf")), -1),
        given(lambda dtype: (ANY((3, 4), dtype), torch.eye(3, 4).bool())),
        FLOATS,
        True,
        1e-6,
        reason=LAYOUT,
    ),
    Row(
        "prelu",
        functional.prelu,
        given(
            lambda dtype: (ANY((5, 3), dtype), ANY((3,), dtype)),
            lambda dtype: (ANY((2, 3, 4), dtype), ANY((1,), dtype)),
        ),
        FLOATS,
        True,
        1e-6,
        reason=LAYOUT,
    ),
    Row("rrelu_evaluation", lambda x: functional.rrelu(x, 0.1, 0.3, training=False), WIDE, FLOATS, True),
    Row("relu_whole", functional.relu, one(), (torch.int64, torch.int32)),
    Row(
        "sigmoid_double_backward",
        lambda x: torch.autograd.grad(torch.sigmoid(x.requires_grad_()).sum(), x, create_graph=True)[0].pow(2).sum(),
        WIDE,
        tolerance=1e-6,
        reason=LAYOUT,
    ),
]
