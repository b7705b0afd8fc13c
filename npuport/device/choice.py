"""The device that a script runs on: a real NPU, else the emulated one; the CPU only where it is asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from npuport.device.npu import NODES, Answer, real_npu
from npuport.emulator.build import build_state, built_emulator
from npuport.emulator.environment import emulated_environment
from npuport.sources.errors import UsageError

DeviceKind = Literal["npu", "emulated", "cpu"]
KINDS: tuple[DeviceKind, ...] = ("npu", "emulated", "cpu")
Progress = Callable[[int, int], None]

EMULATED_NAME = "emulated Ascend device"


@dataclass(frozen=True)
class Device:
    """A device that is ready.

    Attributes:
        kind: one of ``KINDS``.
        reason: why it was taken, in words, to follow its name.
        name: the model of a real NPU; for the others, what they are.
        python: the interpreter that runs on it.
    """

    kind: DeviceKind
    reason: str
    name: str
    python: str = sys.executable


def choose_device(
    wanted: str | None,
    python: str = sys.executable,
    environment: Mapping[str, str] = os.environ,
    nodes: Path = NODES,
    answer: Answer | None = None,
) -> Device:
    """The device that is wanted, else the best one that is ready.

    Nothing is built: the emulated device counts as ready where it is built or can be.

    Args:
        wanted: one of ``KINDS``, or None for a real NPU where there is one and the emulated device elsewhere.
        python: the interpreter that will run on it.
        environment: in which a real NPU is looked for.
        nodes: the folder of device nodes.
        answer: of ``real_npu``, where it was asked already.

    Raises:
        UsageError: the device is not ready; one line says why and what to do.
    """
    if wanted is not None and wanted not in KINDS:
        raise UsageError(f"no device {wanted!r}; there are {', '.join(KINDS)}")
    if wanted == "cpu":
        return Device("cpu", "it was asked for", "CPU", python)
    if wanted == "emulated":
        return _emulated(python, "it was asked for")
    answer = answer or real_npu(python, environment, nodes)
    if not answer.fault:
        return Device("npu", "it was asked for" if wanted else "a tensor could be made on it", answer.name, python)
    if wanted == "npu":
        raise UsageError(f"no NPU is ready: {answer.fault}; `npuport doctor` says more")
    no_npu = f"no NPU is ready: {answer.fault}"
    try:
        return _emulated(python, no_npu)
    except UsageError as error:
        raise UsageError(f"{no_npu}; nor the emulated device: {error}; `--device cpu` runs on the CPU") from error


def child_environment(
    device: Device, base: Mapping[str, str], dtype_checks: str = "strict", progress: Progress | None = None
) -> dict[str, str]:
    """The environment of a child that runs on a device; the emulated one is built now where it is not yet.

    Args:
        device: of ``choose_device``.
        base: the environment to start from; it is not changed.
        dtype_checks: which dtypes the emulated device refuses, one of ``npuport.sources.settings.DTYPE_CHECKS``.
        progress: called while it is built, with the number of files that are done, and of all.

    Raises:
        EmulatorError: the emulated device cannot be built.
    """
    if device.kind == "emulated":
        return emulated_environment(built_emulator(device.python, progress), base, dtype_checks)
    if device.kind == "cpu":
        # An installed torch_npu without CANN makes `import torch` die otherwise.
        return {**base, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    return dict(base)


def _emulated(python: str, reason: str) -> Device:
    state = build_state(python)
    if state.fault:
        raise UsageError(state.fault)
    return Device("emulated", reason, EMULATED_NAME, python)
