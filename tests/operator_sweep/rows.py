"""Rows of the tables: one call, held against the CPU or, where it draws random numbers, against its distribution."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from tests.operator_sweep import counts
from tests.operator_sweep.comparison import difference
from tests.operator_sweep.inputs import Case, Inputs, begin, one

DEVICE = "npu"
ANY_LAYOUT = one()


@dataclass(frozen=True)
class Row:
    """A call over tensors that must give on the device what it gives on the CPU, for each dtype and each case.

    Arguments are compared after the call too, so that calls that write into them need no more than this. A case that
    the CPU refuses is none, but each dtype must have one that it takes.
    """

    name: str
    call: Callable[..., object]
    inputs: Inputs = ANY_LAYOUT
    dtypes: Sequence[torch.dtype] = (torch.float32,)
    # Whether gradients with regard to every floating-point argument are compared, for float32.
    gradient: bool = False
    tolerance: float = 0.0
    # torch_npu has no kernel for the call and runs it on the CPU.
    falls_back: bool = False
    # What the device should give, over CPU tensors, where torch_npu's front end means something else than the CPU.
    expected: Callable[..., object] | None = None
    # Part of the error with which torch_npu refuses the call.
    refused: str = ""
    # Why a tolerance, a fallback, a different result or a refusal is right; with its source.
    reason: str = ""

    def failures(self) -> Iterator[str]:
        """One line a difference."""
        if (self.tolerance or self.falls_back or self.expected or self.refused) and not self.reason:
            yield "the row gives no reason"
        for dtype in self.dtypes:
            begin(self.name)
            taken = 0
            for case in self.inputs(dtype):
                where = f"{str(dtype).removeprefix('torch.')}, {case.label}"
                try:
                    found = self._forward(case)
                    if not found and self.gradient and dtype == torch.float32:
                        found = self._backward(case)
                except _NotACase:
                    continue
                taken += 1
                if found:
                    yield f"{where}: {found}"
            if not taken:
                yield f"{dtype}: the CPU takes none of the cases"

    def _forward(self, case: Case) -> str:
        arguments = [_copy_with_layout(tensor) for tensor in case.tensors]
        on_device = [_on_device(tensor) for tensor in case.tensors]
        try:
            expected = (self.expected or self.call)(*arguments)
        except (RuntimeError, IndexError, NotImplementedError) as error:
            raise _NotACase from error
        try:
            counts.start()
            actual = self.call(*on_device)
            on_cpu = counts.ran_on_the_cpu()
            problem = difference(expected, actual, self.tolerance)
        except Exception as error:
            return "" if self.refused and self.refused in str(error) else f"raises {_in_short(error)}"
        if self.refused:
            return "is not refused"
        if problem:
            return problem
        if on_cpu != self.falls_back and any(tensor.numel() for tensor in case.tensors):
            return "runs on the CPU" if on_cpu else "does not run on the CPU"
        for number, (before, after) in enumerate(zip(arguments, on_device, strict=True)):
            if problem := difference(before, after, self.tolerance):
                return f"argument {number} after the call: {problem}"
        return ""

    def _backward(self, case: Case) -> str:
        expected = _gradients(self.expected or self.call, [_copy_with_layout(tensor) for tensor in case.tensors])
        try:
            actual = _gradients(self.call, [_on_device(tensor) for tensor in case.tensors])
        except Exception as error:
            return f"backward raises {_in_short(error)}"
        problem = difference(expected, actual, self.tolerance)
        return f"gradient: {problem}" if problem else ""


@dataclass(frozen=True)
class RandomRow:
    """A call that draws numbers: held to its seed, its range and its first two moments.

    `draw` gets the device and returns one tensor of some thousand independent numbers.
    """

    name: str
    draw: Callable[[str], torch.Tensor]
    mean: float
    deviation: float
    low: float = float("-inf")
    high: float = float("inf")
    whole: bool = False

    def failures(self) -> Iterator[str]:
        """One line a property that does not hold."""
        torch.manual_seed(11)
        first, second = self.draw(DEVICE), self.draw(DEVICE)
        torch.manual_seed(11)
        again = self.draw(DEVICE)
        like = self.draw("cpu")
        if first.dtype != like.dtype or first.shape != like.shape:
            yield f"{like.dtype} {tuple(like.shape)} on the CPU, {first.dtype} {tuple(first.shape)} on the device"
        if not torch.equal(first.cpu(), again.cpu()):
            yield "the same seed gives other numbers"
        if torch.equal(first.cpu(), second.cpu()):
            yield "two draws give the same numbers"
        numbers = first.cpu().double().flatten()
        count = numbers.numel()
        # Five standard errors: a sound operator fails once in two million seeds, and the seed is fixed.
        if abs(numbers.mean().item() - self.mean) > 5 * self.deviation / count**0.5:
            yield f"mean {numbers.mean().item():.4f}, expected {self.mean:.4f}"
        if self.deviation and not 0.9 < numbers.std().item() / self.deviation < 1.1:
            yield f"standard deviation {numbers.std().item():.4f}, expected {self.deviation:.4f}"
        if numbers.min().item() < self.low or numbers.max().item() > self.high:
            yield f"numbers from {numbers.min().item()} to {numbers.max().item()}"
        if self.whole and not torch.equal(numbers, numbers.round()):
            yield "numbers that are not whole"


class _NotACase(Exception):
    """The CPU refuses these arguments."""


def _copy_with_layout(tensor: torch.Tensor) -> torch.Tensor:
    """A copy with the sizes, strides and offset of the original, down to elements that share memory."""
    return _view_like(tensor, _whole_storage(tensor).clone())


def _on_device(tensor: torch.Tensor) -> torch.Tensor:
    return _view_like(tensor, _whole_storage(tensor).to(DEVICE))


def _whole_storage(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())


def _view_like(tensor: torch.Tensor, storage: torch.Tensor) -> torch.Tensor:
    return storage.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())


def _gradients(call: Callable[..., object], arguments: list[torch.Tensor]) -> list[torch.Tensor | None]:
    """Gradients of a weighted sum of all differentiable results."""
    inputs = [argument.requires_grad_() for argument in arguments if argument.is_floating_point()]
    results = call(*arguments)
    tensors = results if isinstance(results, (tuple, list)) else [results]
    outputs = [tensor for tensor in tensors if isinstance(tensor, torch.Tensor) and tensor.requires_grad]
    weights = [_weights(output) for output in outputs]
    return list(torch.autograd.grad(outputs, inputs, weights, allow_unused=True))


def _weights(output: torch.Tensor) -> torch.Tensor:
    numbers = torch.arange(output.numel(), dtype=torch.float32) % 7 / 4 - 0.7
    return numbers.reshape(output.shape).to(output.dtype).to(output.device)


def _in_short(error: Exception) -> str:
    """An error in one line: torch_npu's own first line and the emulated device's reason."""
    lines = str(error).strip().splitlines()
    reasons = [line for line in lines[1:] if line.startswith(("aclnn", "emulated device"))]
    return " | ".join([*lines[:1], *reasons])[:400]
