"""Plays a ``torch.cuda`` with two GPUs and writes down what is asked of it.

No GPU is used: that two snippets make the same calls, moves and factory calls in the same order shows that a
rewrite changes nothing on CUDA, as far as these calls go; it is no run on a GPU.
"""

from __future__ import annotations

import re
from typing import Any
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode

# What a machine with two idle GPUs would answer; every other call gives an object that takes anything.
_ANSWERS: dict[str, Any] = {
    "is_available": True,
    "device_count": 2,
    "current_device": 0,
    "is_bf16_supported": True,
    "is_initialized": True,
    "memory_allocated": 512,
    "max_memory_allocated": 1024,
    "memory_reserved": 2048,
    "max_memory_reserved": 4096,
    "mem_get_info": (100, 200),
    "initial_seed": 1,
    "get_device_name": "a GPU",
    "get_rng_state": torch.zeros(1, dtype=torch.uint8),
    "get_rng_state_all": [torch.zeros(1, dtype=torch.uint8)],
}
# Submodules and types that a snippet reads but does not call.
_LEFT_ALONE = {"amp", "nvtx", "random", "memory", "streams", "graphs"}


class RecordedCuda(TorchFunctionMode):  # type: ignore[misc, unused-ignore]
    """While it is entered, ``torch.cuda`` answers as above and tensors that go to CUDA stay where they are."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        for name, value in vars(torch.cuda).items():
            if callable(value) and not name.startswith("_") and name not in _LEFT_ALONE and not name.endswith("Tensor"):
                setattr(torch.cuda, name, self._recorder(name))
        for name in ("range_push", "range_pop", "mark"):
            setattr(torch.cuda.nvtx, name, self._recorder(f"nvtx.{name}"))

    def _recorder(self, name: str) -> Any:
        def record(*args: Any, **keywords: Any) -> Any:
            self.calls.append(f"{name} {_plain(args)} {_plain(sorted(keywords.items()))}")
            return _ANSWERS[name] if name in _ANSWERS else mock.MagicMock(name=name)

        return record

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        keywords = dict(kwargs or {})
        name = getattr(func, "__name__", str(func))
        if name == "cuda":  # Tensor.cuda(device=None, non_blocking=False)
            device = args[1] if len(args) > 1 else keywords.get("device")
            self.calls.append(f"move to {_cuda_device(device)} {keywords.get('non_blocking', False)}")
            return args[0]
        targets = [value for value in (*args[1:], keywords.get("device")) if _names_cuda(value)]
        if name == "to" and targets:
            self.calls.append(f"move to {_cuda_device(targets[0])} {keywords.get('non_blocking', False)}")
            return args[0]
        if _names_cuda(keywords.get("device")):
            self.calls.append(f"{name} on {_cuda_device(keywords['device'])}")
            keywords["device"] = "cpu"
        return func(*args, **keywords)


def _names_cuda(value: Any) -> bool:
    if isinstance(value, torch.device):
        return bool(value.type == "cuda")
    return isinstance(value, str) and value.startswith("cuda")


def _cuda_device(value: Any) -> str:
    if value is None:
        return "cuda"
    return f"cuda:{value}" if isinstance(value, int) else str(value)


def _plain(value: Any) -> str:
    return re.sub(r"0x[0-9a-f]+|id='\d+'", "", repr(value))
