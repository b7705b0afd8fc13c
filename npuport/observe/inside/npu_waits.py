"""Counts the functions of ``torch.npu`` that wait for the device: they are no operators, dispatch does not see them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

Waited = Callable[[str], None]


def hook(torch: ModuleType, waited: Waited) -> None:
    """Hook them where torch_npu is there; `waited` is called with the name of the event after each."""
    npu = getattr(torch, "npu", None)
    if npu is None:
        return

    def waited_if_in_use(event: str) -> None:
        if npu.is_initialized():
            waited(event)

    npu.empty_cache = _watched(npu.empty_cache, "wait.device", waited_if_in_use)
    for owner, name, event in (
        (npu, "synchronize", "wait.device"),
        (npu.Stream, "synchronize", "wait.stream"),
        (npu.Event, "synchronize", "wait.event"),
        (npu.Event, "elapsed_time", "wait.event"),
        (torch.accelerator, "synchronize", "wait.device"),
    ):
        setattr(owner, name, _watched(getattr(owner, name), event, waited))


def _watched(function: Callable[..., Any], event: str, waited: Waited) -> Callable[..., Any]:
    @functools.wraps(function)
    def watched(*arguments: Any, **options: Any) -> Any:
        result = function(*arguments, **options)
        # The time between two events waits for both.
        for _ in range(2 if function.__name__ == "elapsed_time" else 1):
            waited(event)
        return result

    return watched
