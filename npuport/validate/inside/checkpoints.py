"""Whether what was saved reloads on the CPU, bit by bit, at the same shapes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

# Nesting of containers in a checkpoint that is followed; a state dict of an optimiser has four levels.
_DEPTH = 8


def examined(torch: ModuleType, saved: Any, file: Any) -> dict[str, Any]:
    """Reload a file that the script wrote, onto the CPU, and compare its tensors with those that were saved.

    Returns:
        ``tensors`` compared, ``on_device`` of them saved from a device, ``differing`` names of those that differ,
        ``fault`` why it could not be reloaded.
    """
    pairs = dict(tensors_in(torch, saved))
    found: dict[str, Any] = {
        "tensors": len(pairs),
        "on_device": sum(tensor.device.type != "cpu" for tensor in pairs.values()),
        "differing": [],
        "fault": "",
    }
    try:
        loaded = dict(tensors_in(torch, _loaded(torch, file)))
    except Exception as error:
        return {**found, "fault": _one_line(error)}
    found["differing"] = [name for name, tensor in pairs.items() if not _same(torch, tensor, loaded.get(name))]
    return found


def tried(torch: ModuleType, save: Callable[..., Any], optimiser: Any, file: Any) -> dict[str, Any]:
    """Save the parameters and the state of an optimiser from the CPU, as the script does not, and reload them."""
    groups = [group["params"] for group in optimiser.param_groups]
    state = {"parameters": groups, "optimiser": optimiser.state_dict()}
    moved = _on_cpu(torch, state)
    try:
        save(moved, file)
    except Exception as error:
        return {"tensors": 0, "on_device": 0, "differing": [], "fault": _one_line(error)}
    file.seek(0)
    return examined(torch, moved, file)


def tensors_in(torch: ModuleType, value: Any, name: str = "", depth: int = _DEPTH) -> Iterator[tuple[str, Any]]:
    """Tensors in dictionaries, lists, tuples and modules, with the path that leads to each."""
    if isinstance(value, torch.Tensor):
        yield name, value
    elif depth == 0:
        return
    elif isinstance(value, torch.nn.Module):
        yield from tensors_in(torch, value.state_dict(), name, depth - 1)
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from tensors_in(torch, entry, f"{name}.{key}", depth - 1)
    elif isinstance(value, list | tuple):
        for index, entry in enumerate(value):
            yield from tensors_in(torch, entry, f"{name}.{index}", depth - 1)


def _on_cpu(torch: ModuleType, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().clone()
    if isinstance(value, dict):
        return {key: _on_cpu(torch, entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_on_cpu(torch, entry) for entry in value)
    return value


def _loaded(torch: ModuleType, file: Any) -> Any:
    """The contents on the CPU, without running code where that is possible: the script wrote it a moment ago."""
    for weights_only in (True, False):
        if not isinstance(file, str | os.PathLike):
            file.seek(0)
        try:
            return torch.load(file, map_location="cpu", weights_only=weights_only)
        except Exception:
            if not weights_only:
                raise
    return None


def _same(torch: ModuleType, saved: Any, loaded: Any) -> bool:
    if loaded is None or saved.shape != loaded.shape or saved.dtype != loaded.dtype:
        return False
    host = saved.detach().cpu()
    if host.is_floating_point():
        # NaN equals itself here: a checkpoint keeps it.
        return bool(((host == loaded) | (host.isnan() & loaded.isnan())).all())
    return bool(torch.equal(host, loaded))


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
