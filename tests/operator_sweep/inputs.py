"""The tensors that rows are run on. All are made on the CPU, the same in every run.

A layout is what a kernel may meet: no dimension, no element, transposed, strided, expanded. An input function takes a
dtype and yields labelled cases; each case has the tensor arguments of one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import torch

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
NUMBERS = (*FLOATS, *INTEGERS)
ALL = (*NUMBERS, torch.bool)


@dataclass(frozen=True)
class Case:
    """The tensor arguments of one call, and what they are called in a report."""

    label: str
    tensors: tuple[torch.Tensor, ...]


Inputs: TypeAlias = "Callable[[torch.dtype], Iterable[Case]]"
Maker: TypeAlias = "Callable[[torch.dtype], tuple[torch.Tensor, ...]]"
Values: TypeAlias = "Callable[[tuple[int, ...], torch.dtype], torch.Tensor]"

_state = torch.Generator()


def between(low: float, high: float) -> Values:
    """Uniform values; whole numbers for whole dtypes, where a negative bound of an unsigned dtype becomes 0."""

    def values(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        if dtype == torch.bool:
            return torch.randint(0, 2, shape, generator=_state).bool()
        if not dtype.is_floating_point:
            first = max(0, int(low)) if dtype == torch.uint8 else int(low)
            return torch.randint(first, int(high) + 1, shape, generator=_state).to(dtype)
        return (torch.rand(shape, generator=_state) * (high - low) + low).to(dtype)

    return values


ANY = between(-4, 4)
POSITIVE = between(1, 5)
NOT_NEGATIVE = between(0, 5)
UNIT = between(0, 1)
SIGNED_UNIT = between(-0.99, 0.99)


def layouts(values: Values, dtype: torch.dtype) -> Iterator[tuple[str, torch.Tensor]]:
    """One tensor of each layout."""
    yield "0-dim", values((), dtype)
    yield "empty", values((0, 3), dtype)
    yield "vector", values((19,), dtype)
    yield "matrix", values((3, 4), dtype)
    yield "transposed", values((4, 3), dtype).t()
    yield "strided", values((6, 8), dtype)[::2, 1::2]
    yield "expanded", values((1, 4), dtype).expand(3, 4)
    yield "permuted", values((2, 3, 4), dtype).permute(2, 0, 1)


def one(values: Values = ANY) -> Inputs:
    """One tensor, in each layout."""

    def cases(dtype: torch.dtype) -> Iterator[Case]:
        for label, tensor in layouts(values, dtype):
            yield Case(label, (tensor,))

    return cases


def same(count: int, values: Values = ANY, *others: Values) -> Inputs:
    """Some tensors of one shape, all in the same layout; `others` are the values of the second, third, ... tensor."""

    def cases(dtype: torch.dtype) -> Iterator[Case]:
        kinds = [values, *others]
        columns = [list(layouts(kinds[min(index, len(kinds) - 1)], dtype)) for index in range(count)]
        for row in zip(*columns, strict=True):
            yield Case(row[0][0], tuple(tensor for _, tensor in row))

    return cases


def pair(values: Values = ANY, second: Values | None = None, second_dtype: torch.dtype | None = None) -> Inputs:
    """Two tensors: of one shape, broadcast in each way, and in layouts that differ."""

    def cases(dtype: torch.dtype) -> Iterator[Case]:
        other, other_dtype = second or values, second_dtype or dtype
        shapes: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
            ((), ()),
            ((7,), (7,)),
            ((3, 4), (3, 4)),
            ((3, 4), (4,)),
            ((3, 1), (1, 4)),
            ((3, 4), ()),
            ((), (3, 4)),
            ((0, 4), (4,)),
            ((2, 1, 4), (3, 1)),
        ]
        for left, right in shapes:
            yield Case(f"{left} with {right}", (values(left, dtype), other(right, other_dtype)))
        yield Case("transposed with matrix", (values((4, 3), dtype).t(), other((3, 4), other_dtype)))
        yield Case("strided with expanded", (values((6, 8), dtype)[::2, ::2], other((1, 4), other_dtype).expand(3, 4)))

    return cases


def given(*makers: Maker) -> Inputs:
    """What each function makes for a dtype; for calls whose tensors depend on each other."""

    def cases(dtype: torch.dtype) -> Iterator[Case]:
        for number, make in enumerate(makers):
            yield Case(f"case {number}", make(dtype))

    return cases


def shaped(*shapes: tuple[int, ...], values: Values = ANY) -> Inputs:
    """One tensor of each shape, and each also with its last two dimensions swapped in memory."""

    def cases(dtype: torch.dtype) -> Iterator[Case]:
        for shape in shapes:
            yield Case(str(shape), (values(shape, dtype),))
            if len(shape) > 1:
                swapped = (*shape[:-2], shape[-1], shape[-2])
                yield Case(f"{shape} transposed", (values(swapped, dtype).transpose(-1, -2),))

    return cases


def nothing(dtype: torch.dtype) -> Iterator[Case]:
    """For calls that make tensors: the argument is empty and says which device and dtype are wanted."""
    yield Case("anew", (torch.empty(0, dtype=dtype),))


def special(dtype: torch.dtype) -> Iterator[Case]:
    """Infinities, NaN, both zeros, halves and large numbers."""
    inf, nan = float("inf"), float("nan")
    values = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -1.5, 3.0, -7.25, 1e4, -6e4, inf, -inf, nan]
    yield Case("special", (torch.tensor(values, dtype=dtype),))
    yield Case("special, strided", (torch.tensor(values, dtype=dtype)[::2],))


def begin(name: str) -> None:
    """Makes the values depend on the row's name only, not on the rows before."""
    _state.manual_seed(sum(ord(letter) * (position + 1) for position, letter in enumerate(name)))
