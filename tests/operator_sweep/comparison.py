"""What counts as a difference between two results."""

from __future__ import annotations

import torch


def difference(expected: object, actual: object, tolerance: float) -> str:
    """Says how `actual`, from the device, differs from `expected`, from the CPU; empty where it does not.

    Structure, dtype and shape must be equal always. Values must be equal bit for bit (a NaN equals a NaN) where
    `tolerance` is 0; else within it, relative to the larger of 1 and the expected value. It is that of float32; a
    coarser dtype's is larger by as much as its epsilon.
    """
    if isinstance(expected, torch.Tensor):
        if not isinstance(actual, torch.Tensor):
            return f"a tensor on the CPU, {type(actual).__name__} on the device"
        return _tensor_difference(expected, actual, tolerance)
    if isinstance(expected, (tuple, list)):
        if not isinstance(actual, (tuple, list)) or len(actual) != len(expected):
            return f"{len(expected)} results on the CPU, other on the device"
        for number, (left, right) in enumerate(zip(expected, actual, strict=True)):
            if found := difference(left, right, tolerance):
                return f"result {number}: {found}"
        return ""
    return "" if expected == actual else f"{expected!r} on the CPU, {actual!r} on the device"


def _tensor_difference(expected: torch.Tensor, actual: torch.Tensor, tolerance: float) -> str:
    actual = actual.detach().cpu()
    expected = expected.detach()
    if actual.dtype != expected.dtype:
        return f"{expected.dtype} on the CPU, {actual.dtype} on the device"
    if actual.shape != expected.shape:
        return f"shape {tuple(expected.shape)} on the CPU, {tuple(actual.shape)} on the device"
    if torch.equal(expected, actual) or _close(expected, actual, tolerance):
        return ""
    return f"{_short(expected)} on the CPU, {_short(actual)} on the device"


def _close(expected: torch.Tensor, actual: torch.Tensor, tolerance: float) -> bool:
    if expected.is_complex():
        return _close(torch.view_as_real(expected), torch.view_as_real(actual), tolerance)
    if not expected.is_floating_point():
        return False
    left, right = expected.double(), actual.double()
    near = (left == right) | (left.isnan() & right.isnan())
    if tolerance:
        coarseness = torch.finfo(expected.dtype).eps / torch.finfo(torch.float32).eps
        near |= (left - right).abs() <= tolerance * coarseness * left.abs().clamp(min=1)
    return bool(near.all())


def _short(tensor: torch.Tensor) -> str:
    text = str(tensor.tolist())
    return text if len(text) < 160 else text[:160] + "..."
