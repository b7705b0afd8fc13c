"""Tensors put together, taken apart, repeated, turned round and padded; views that a device reads through."""

from __future__ import annotations

import torch
from torch.nn import functional

from tests.operator_sweep.inputs import ALL, ANY, FLOATS, Inputs, between, given, same, shaped
from tests.operator_sweep.rows import Row

REPEATS = between(0, 3)
MATRICES = shaped((3, 4), (2, 3, 4))
VOLUMES = shaped((2, 3, 3, 4, 5))
IMAGES = shaped((2, 3, 4, 5))


def unequal(*sizes: int) -> Inputs:
    """Matrices of four columns with these numbers of rows."""
    return given(lambda dtype: tuple(ANY((size, 4), dtype) for size in sizes))


def split_into(x: torch.Tensor) -> list[torch.Tensor]:
    """Parts of the last dimension, written into tensors that are there."""
    parts = [torch.empty_like(x[..., :size]) for size in (1, 3)]
    torch.split_with_sizes_copy(x, [1, 3], -1, out=parts)
    return parts


def split_wide(x: torch.Tensor) -> list[torch.Tensor]:
    """As many parts, and as wide, as torch_npu splits by one kernel, op-plugin SplitWithSizesCopyNpuOpApi.cpp."""
    parts = [torch.empty(2, 2000, device=x.device) for _ in range(33)]
    torch.split_with_sizes_copy(x, [2000] * 33, 1, out=parts)
    return parts


def views() -> list[Row]:
    """Every way to look at a tensor, followed by a kernel that must read it through its strides."""
    ways = {
        "reshape": lambda x: x.reshape(-1, 2),
        "view": lambda x: x.view(2, -1),
        "flatten": torch.flatten,
        "unflatten": lambda x: x.unflatten(-1, (2, 2)),
        "squeeze": lambda x: x[:1].squeeze(0),
        "unsqueeze": lambda x: x.unsqueeze(-2),
        "transpose": lambda x: x.transpose(0, -1),
        "permute": lambda x: x.permute(*range(x.dim())[::-1]),
        "movedim": lambda x: x.movedim(0, -1),
        "t": lambda x: x.reshape(-1, 4).t(),
        "expand": lambda x: x.unsqueeze(0).expand(3, *x.shape),
        "expand_as": lambda x: x[:1].expand_as(x),
        "broadcast_to": lambda x: torch.broadcast_to(x[..., :1], x.shape),
        "narrow": lambda x: x.narrow(-1, 1, 2),
        "slice": lambda x: x[1:, ::2],
        "select": lambda x: x[-1],
        "ellipsis": lambda x: x[..., 1],
        "none": lambda x: x[None, :, None],
        "diagonal": lambda x: torch.diagonal(x),
        "unfold": lambda x: x.unfold(-1, 2, 1),
        "as_strided": lambda x: x.reshape(-1).as_strided((2, 3), (1, 2), 1),
        "swapaxes": lambda x: x.swapaxes(0, 1),
    }
    return [
        Row(f"view_{name}", lambda x, way=way: way(x) + 1, MATRICES, ALL, gradient=True) for name, way in ways.items()
    ]


def parts() -> list[Row]:
    """Every way to take a tensor apart."""
    ways = {
        "split": lambda x: x.split(2, -1),
        "split_sizes": lambda x: x.split([1, 3], -1),
        "chunk": lambda x: x.chunk(2, -1),
        "tensor_split": lambda x: torch.tensor_split(x, 3, dim=-1),
        "unbind": lambda x: x.unbind(0),
        "meshgrid": lambda x: torch.meshgrid(x.flatten()[:3], x.flatten()[3:5], indexing="ij"),
    }
    return [
        Row(f"part_{name}", lambda x, way=way: tuple(part * 1 for part in way(x)), MATRICES, FLOATS, gradient=True)
        for name, way in ways.items()
    ]


JOINED = [
    Row("cat", lambda *x: torch.cat(x), unequal(2, 3, 1), ALL, gradient=True),
    Row("cat_last", lambda *x: torch.cat(x, -1), same(3), ALL, gradient=True),
    Row("cat_with_empty", lambda *x: torch.cat(x), unequal(2, 0, 1), ALL),
    Row("cat_nothing", lambda *x: torch.cat(x), unequal(0, 0)),
    Row(
        "cat_promoting",
        lambda x, y: torch.cat([x, y]),
        given(lambda dtype: (ANY((2, 4), dtype), ANY((1, 4), torch.int64))),
        FLOATS,
    ),
    Row("cat_single", lambda x: torch.cat([x], 0), MATRICES, ALL),
    Row("stack", lambda *x: torch.stack(x), same(3), ALL, gradient=True),
    Row("stack_last", lambda *x: torch.stack(x, -1), same(2), ALL, gradient=True),
    Row("hstack", lambda x, y: torch.hstack([x, y]), unequal(3, 3), FLOATS),
    Row("vstack", lambda x, y: torch.vstack([x, y]), unequal(2, 3), FLOATS),
    Row("dstack", lambda x, y: torch.dstack([x, y]), unequal(3, 3), FLOATS),
    Row(
        "column_stack",
        lambda x, y: torch.column_stack([x, y]),
        given(lambda dtype: (ANY((3,), dtype), ANY((3,), dtype))),
        FLOATS,
    ),
    Row("block_diag", lambda x, y: torch.block_diag(x, y), unequal(2, 3)),
    Row(
        "pad_sequence",
        lambda *x: torch.nn.utils.rnn.pad_sequence(list(x), batch_first=True),
        unequal(2, 3, 1),
        gradient=True,
    ),
]

REPEATED = [
    Row("repeat", lambda x: x.repeat(2, 1, 3), MATRICES, ALL, gradient=True),
    Row("tile", lambda x: x.tile((2,)), MATRICES, ALL, gradient=True),
    Row("repeat_interleave", lambda x: x.repeat_interleave(3), MATRICES, FLOATS, gradient=True),
    Row("repeat_interleave_dim", lambda x: x.repeat_interleave(2, dim=0), MATRICES, FLOATS, gradient=True),
    Row(
        "repeat_interleave_each",
        lambda x, n: x.repeat_interleave(n, dim=0),
        given(lambda dtype: (ANY((4, 3), dtype), REPEATS((4,), torch.int64))),
        FLOATS,
        gradient=True,
    ),
    Row(
        "repeat_interleave_numbers",
        torch.repeat_interleave,
        given(lambda dtype: (REPEATS((5,), dtype),)),
        (torch.int64,),
    ),
    Row(
        "broadcast_tensors",
        lambda x, y: tuple(z + 0 for z in torch.broadcast_tensors(x, y)),
        given(lambda dtype: (ANY((3, 1), dtype), ANY((4,), dtype))),
        ALL,
    ),
    Row(
        "repeat_interleave_flat",
        lambda x, n: x.repeat_interleave(n),
        given(lambda dtype: (ANY((4,), dtype), REPEATS((4,), torch.int64))),
        FLOATS,
        gradient=True,
    ),
    Row("split_copy", lambda x: tuple(torch.split_with_sizes_copy(x, [1, 3], -1)), MATRICES, FLOATS),
    Row("split_copy_out", split_into, MATRICES, FLOATS),
    Row("split_copy_wide", split_wide, given(lambda dtype: (ANY((2, 33 * 2000), dtype),))),
    Row("chunk_cat", lambda x, y: torch._chunk_cat([x, y], 0, 2), unequal(3, 4), FLOATS),
    Row("flip", lambda x: x.flip(0), MATRICES, ALL, gradient=True),
    Row("flip_two", lambda x: torch.flip(x, (0, -1)), MATRICES, ALL),
    Row("fliplr", torch.fliplr, MATRICES, FLOATS),
    Row("roll", lambda x: x.roll(1, 0), MATRICES, ALL, gradient=True),
    Row("roll_back", lambda x: x.roll(-2, -1), MATRICES, ALL),
    Row("roll_flat", lambda x: torch.roll(x, 3), MATRICES, FLOATS),
    Row("roll_two", lambda x: torch.roll(x, (1, 2), (0, 1)), MATRICES, FLOATS, gradient=True),
    Row("rot90", lambda x: torch.rot90(x, 1, (0, 1)), MATRICES, FLOATS),
    Row("tril", torch.tril, MATRICES, ALL, gradient=True),
    Row("triu", lambda x: torch.triu(x, 1), MATRICES, ALL, gradient=True),
    Row("tril_", lambda x: x.tril_(-1), MATRICES, FLOATS),
    Row("triu_", lambda x: x.triu_(), MATRICES, FLOATS),
    Row("diag", torch.diag, shaped((4,), (3, 4)), FLOATS, gradient=True),
    Row("diag_embed", torch.diag_embed, shaped((4,), (3, 4)), FLOATS, gradient=True),
    Row(
        "diagonal_scatter",
        lambda x, y: torch.diagonal_scatter(x, y),
        given(lambda dtype: (ANY((3, 3), dtype), ANY((3,), dtype))),
        FLOATS,
    ),
    Row("contiguous", lambda x: x.t().contiguous(), shaped((3, 4)), ALL, gradient=True),
    Row("clone", torch.clone, dtypes=ALL),
]

PADDED = [
    Row("pad", lambda x: functional.pad(x, (1, 2)), MATRICES, ALL, gradient=True),
    Row("pad_two_dims", lambda x: functional.pad(x, (1, 0, 2, 1), value=0.5), MATRICES, FLOATS, gradient=True),
    Row("pad_negative", lambda x: functional.pad(x, (-1, 1)), MATRICES, FLOATS, gradient=True),
    Row("pad_reflect_1d", lambda x: functional.pad(x, (1, 2), mode="reflect"), MATRICES, gradient=True),
    Row("pad_reflect_2d", lambda x: functional.pad(x, (1, 2, 2, 1), mode="reflect"), IMAGES, gradient=True),
    Row("pad_replicate_1d", lambda x: functional.pad(x, (1, 2), mode="replicate"), MATRICES, gradient=True),
    Row("pad_replicate_2d", lambda x: functional.pad(x, (4, 4, 4, 4), mode="replicate"), IMAGES, gradient=True),
    Row("pad_reflect_3d", lambda x: functional.pad(x, (1, 1, 1, 1, 1, 1), mode="reflect"), VOLUMES, gradient=True),
    Row("pad_replicate_3d", lambda x: functional.pad(x, (1, 2, 1, 0, 2, 1), mode="replicate"), VOLUMES, gradient=True),
    Row("pad_circular", lambda x: functional.pad(x, (1, 2), mode="circular"), shaped((2, 3, 4)), gradient=True),
    Row("channel_shuffle", lambda x: torch.channel_shuffle(x, 2), shaped((2, 4, 3, 3))),
    Row("pixel_shuffle", lambda x: functional.pixel_shuffle(x, 2), shaped((2, 4, 3, 3)), gradient=True),
    Row("unfold", lambda x: functional.unfold(x, 2), IMAGES, FLOATS, gradient=True),
    Row(
        "fold", lambda x: functional.fold(x, (4, 5), 2), given(lambda dtype: (ANY((2, 12, 12), dtype),)), gradient=True
    ),
]

ROWS = [*JOINED, *views(), *parts(), *REPEATED, *PADDED]
