"""Tensors made, filled, copied and cast."""

from __future__ import annotations

from collections.abc import Callable

import numpy
import torch

from tests.operator_sweep.inputs import ALL, FLOATS, NUMBERS, between, given, nothing, one, pair, same, special
from tests.operator_sweep.rows import Row

SMALL = between(0, 5)
TO_HOST = "only a copy to the host runs"
TO_FLOAT64 = "torch_npu casts what is on the device to float32 where float64 is asked for, with a warning"


def made(
    name: str, make: Callable[..., torch.Tensor], dtypes: tuple[torch.dtype, ...] = (torch.float32, torch.int64)
) -> Row:
    """A call that makes a tensor of a dtype on a device."""
    return Row(name, lambda x: make(dtype=x.dtype, device=x.device), nothing, dtypes)


MADE = [
    made("zeros", lambda **kind: torch.zeros(2, 3, **kind), ALL),
    made("zeros_empty", lambda **kind: torch.zeros(0, 3, **kind), ALL),
    made("ones", lambda **kind: torch.ones(2, 3, **kind), ALL),
    made("full", lambda **kind: torch.full((2, 3), 2, **kind), NUMBERS),
    made("full_0_dim", lambda **kind: torch.full((), True, **kind), (torch.bool,)),
    made("arange", lambda **kind: torch.arange(7, **kind), NUMBERS),
    made("arange_step", lambda **kind: torch.arange(9, 1, -2, **kind)),
    made("arange_fraction", lambda **kind: torch.arange(0, 1, 0.25, **kind), FLOATS),
    made("arange_empty", lambda **kind: torch.arange(0, **kind)),
    made("linspace", lambda **kind: torch.linspace(-10, 10, 51, **kind), (torch.float32,)),
    made("linspace_one", lambda **kind: torch.linspace(1, 2, 1, **kind), (torch.float32,)),
    made("logspace", lambda **kind: torch.logspace(-2, 2, 5, **kind), (torch.float32,)),
    made("range", lambda **kind: torch.range(0, 3, **kind)),
    made("eye", lambda **kind: torch.eye(3, **kind), (*FLOATS, torch.int64)),
    made("eye_wide", lambda **kind: torch.eye(2, 4, **kind)),
    made("tensor", lambda **kind: torch.tensor([[1, 0], [2, 3]], **kind), ALL),
    made("tensor_0_dim", lambda **kind: torch.tensor(1, **kind), ALL),
    made("as_tensor", lambda **kind: torch.as_tensor(numpy.arange(6).reshape(2, 3), **kind), (*FLOATS, torch.int64)),
    made("tril_indices", lambda **kind: torch.tril_indices(3, 4, **kind), (torch.int64,)),
    made("triu_indices", lambda **kind: torch.triu_indices(3, 4, **kind), (torch.int64,)),
    made("scalar_tensor", lambda **kind: torch.scalar_tensor(1.5, **kind), FLOATS),
    made("hann_window", lambda **kind: torch.hann_window(8, **kind), (torch.float32,)),
]

LIKE = [
    Row("zeros_like", torch.zeros_like, dtypes=ALL),
    Row("ones_like", torch.ones_like, dtypes=ALL),
    Row("full_like", lambda x: torch.full_like(x, 3), dtypes=NUMBERS),
    Row("full_like_bool", lambda x: torch.full_like(x, True, dtype=torch.bool)),
    Row("empty_like", lambda x: torch.empty_like(x).fill_(1), dtypes=ALL),
    Row("new_zeros", lambda x: x.new_zeros(2, 3), dtypes=ALL),
    Row("new_full", lambda x: x.new_full((2,), 3), dtypes=NUMBERS),
    Row("new_ones", lambda x: x.new_ones(3), dtypes=ALL),
    Row("new_tensor", lambda x: x.new_tensor([1, 2]), dtypes=ALL),
    Row("vander", lambda x: torch.vander(x), given(lambda dtype: (SMALL((4,), dtype),))),
    Row("cartesian_prod", torch.cartesian_prod, given(lambda dtype: (SMALL((3,), dtype), SMALL((2,), dtype)))),
    Row("combinations", torch.combinations, given(lambda dtype: (SMALL((4,), dtype),))),
    Row("complex", torch.complex, same(2)),
]

FILLED = [
    Row("zero_", lambda x: x.zero_(), dtypes=ALL),
    Row("fill_", lambda x: x.fill_(2), dtypes=ALL),
    Row("fill_fraction_", lambda x: x.fill_(1.5), dtypes=FLOATS),
    Row("fill_tensor_", lambda x, y: x.fill_(y.sum()), pair(second=SMALL), (torch.float32, torch.int64)),
    Row("copy_", lambda x, y: x.copy_(y), pair(), ALL),
    Row("copy_casting_", lambda x, y: x.copy_(y), pair(second_dtype=torch.int64), ALL),
    Row("copy_bool_", lambda x, y: x.copy_(y), pair(second_dtype=torch.bool), ALL),
    Row("copy_from_host_", lambda x: x.copy_(torch.ones(x.shape)), dtypes=ALL),
    Row("copy_to_host_", lambda x: torch.zeros(x.shape).copy_(x), dtypes=ALL, falls_back=True, reason=TO_HOST),
    Row("set_part_", lambda x: x[..., :1].fill_(1), dtypes=ALL),
    Row("item", lambda x: x.sum().item(), dtypes=(torch.int64, torch.bool)),
    Row("tolist", lambda x: x.tolist(), dtypes=ALL, falls_back=True, reason=TO_HOST),
    Row(
        "numpy",
        lambda x: x.cpu().numpy().tolist(),
        dtypes=(torch.float32, torch.int64, torch.bool),
        falls_back=True,
        reason=TO_HOST,
    ),
]


def casts() -> list[Row]:
    """From each dtype to each other."""
    rows = [
        Row(f"to_{str(dtype).removeprefix('torch.')}", lambda x, dtype=dtype: x.to(dtype), one(SMALL), ALL)
        for dtype in ALL
    ]
    return [
        *rows,
        Row("float", lambda x: x.float(), dtypes=ALL, gradient=True),
        Row("half", lambda x: x.half(), dtypes=ALL, gradient=True),
        Row("bool", lambda x: x.bool(), special, FLOATS),
        Row("type", lambda x: x.type(torch.int32), one(SMALL), ALL),
        Row("type_as", lambda x, y: x.type_as(y), pair(second_dtype=torch.bool), ALL),
        Row("double", lambda x: x.double(), dtypes=ALL, expected=lambda x: x.float(), reason=TO_FLOAT64),
        Row(
            "to_channels_last",
            lambda x: x.to(memory_format=torch.channels_last) * 2,
            given(lambda dtype: (SMALL((2, 3, 4, 5), dtype),)),
            FLOATS,
            refused="Only contiguous_format",
            reason="torch_npu knows no memory format but the contiguous one",
        ),
    ]


ROWS = [*MADE, *LIKE, *FILLED, *casts()]
