"""torch.cuda names, environment variables and their NPU twins, from ``data/torch_npu_api.json``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from npuport.facts.releases import DATA, release_line


@dataclass(frozen=True)
class Twin:
    """What takes the place of one CUDA name.

    Attributes:
        cuda: the full CUDA name, e.g. ``torch.cuda.CUDAGraph``.
        npu: the full NPU name, or None where there is none.
        status: ``same-name``, ``renamed``, ``mapped``, ``portable``, ``env`` or ``none``.
        note: what else is known of it.
    """

    cuda: str
    npu: str | None
    status: str
    note: str


# Same name, another meaning (torch_npu 2.13.0 wheel, npu/utils.py): the NPU's answer is None
# unless TORCH_NPU_DEVICE_CAPABILITY is set, so `major, minor = ...` is a TypeError.
CHANGED_MEANING = {
    "torch.cuda.get_device_capability": "gives None on an NPU, so unpacking or indexing it is a TypeError; "
    "to choose bfloat16 ask is_bf16_supported()",
}

# Read from the history of Ascend/pytorch and its release branches.
_SINCE = {
    "torch.cuda.ipc_collect": "7.2.0",
    "torch.cuda.memory._set_allocator_settings": "7.3.0",
}

# Private, but used by RLHF code; present in torch_npu/npu/memory.py of the 2.13.0 wheel.
_PRIVATE_TWINS = {
    "torch.cuda.memory._set_allocator_settings": "torch.npu.memory._set_allocator_settings",
}

# These submodules of torch.cuda hold names that torch.npu has at its top. Importing below torch.npu runs a
# file a second time under another name, so the top is the safe place to take them from.
_FLATTENED = ("memory", "random", "streams", "graphs")


def _load(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((DATA / name).read_bytes())
    return data


@cache
def _table() -> dict[str, Twin]:
    rows = _load("torch_npu_api.json")["apis"]
    table = {row["cuda"]: Twin(row["cuda"], row["npu"], row["status"], row["note"]) for row in rows}
    for cuda, npu in _PRIVATE_TWINS.items():
        table[cuda] = Twin(cuda, npu, "same-name", "")
    return table


@cache
def torch_cuda_names() -> frozenset[str]:
    """The top-level names of torch.cuda, as ``from torch.cuda import *`` may bring them."""
    prefix = "torch.cuda."
    return frozenset(
        name[len(prefix) :] for name in _table() if name.startswith(prefix) and "." not in name[len(prefix) :]
    )


def twin_of(dotted: str, target: str) -> Twin | None:
    """The twin of a dotted CUDA name under the torch_npu release ``target``.

    Returns:
        None for a name that the facts do not know. A name that appeared only in a later release line than
        the target's comes back with ``npu`` None and the release in ``note``.
    """
    found = _flattened(dotted) or _table().get(dotted)
    if found is None:
        return None
    since = _SINCE.get(found.cuda)
    if since and found.npu and release_line(target) < release_line(since):
        return Twin(found.cuda, None, "none", f"torch_npu has it from release line {since}")
    return found


def _flattened(dotted: str) -> Twin | None:
    """``torch.cuda.memory.empty_cache`` is ``torch.cuda.empty_cache`` under a longer name."""
    parts = dotted.split(".")
    if len(parts) == 4 and parts[:2] == ["torch", "cuda"] and parts[2] in _FLATTENED:
        return _table().get(f"torch.cuda.{parts[3]}")
    return None


@cache
def environment_twins() -> dict[str, Twin]:
    """CUDA and NCCL environment variables by name, with the twin's name without ``env:``."""
    rows = [twin for name, twin in _table().items() if name.startswith("env:")]
    return {
        twin.cuda[4:]: Twin(twin.cuda[4:], twin.npu[4:] if twin.npu else None, twin.status, twin.note) for twin in rows
    }
