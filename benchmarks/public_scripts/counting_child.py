"""Runs a script in this process, ends it after some environment steps, and leaves what was counted as JSON.

    python counting_child.py RESULT STEPS SCRIPT ARGUMENT...

Stands in for ``npuport run`` until that can be called from here.
"""

from __future__ import annotations

import ctypes
import json
import runpy
import sys
import traceback
from pathlib import Path
from typing import Any

import gymnasium
import torch  # noqa: TC002  (it is imported here, before the script does)
from torch.optim.optimizer import register_optimizer_step_post_hook

from benchmarks.gymnasium_0_29 import install


class EnoughSteps(BaseException):
    """The run has made the steps that were asked for."""


class Counter:
    """Environment steps, updates, and the emulated device's events after the first step."""

    def __init__(self, steps: int) -> None:
        self.limit = steps
        self.transitions = 0
        self.updates = 0
        self.on_device = False
        try:
            self.device: Any = ctypes.CDLL("libascendcl.so")
        except OSError:
            self.device = None

    def step(self) -> None:
        if self.transitions == 0 and self.device:
            self.device.npuport_reset_counts()
        self.transitions += 1
        if self.transitions > self.limit:
            self.transitions -= 1
            raise EnoughSteps

    def update(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        self.updates += 1
        self.on_device = self.on_device or any(
            parameter.device.type == "npu" for group in optimizer.param_groups for parameter in group["params"]
        )

    def counts(self) -> dict[str, dict[str, int]]:
        if self.device is None:
            return {}
        room = 1 << 20
        buffer = ctypes.create_string_buffer(room)
        self.device.npuport_read_counts(buffer, ctypes.c_int64(room))
        rows = [line.rsplit(None, 2) for line in buffer.value.decode().splitlines()]
        return {name: {"calls": int(calls), "bytes": int(moved)} for name, calls, moved in rows}


def main() -> None:
    result, steps, script, *arguments = sys.argv[1:]
    counter = Counter(int(steps))
    inner = gymnasium.wrappers.PassiveEnvChecker.step

    def step(self: Any, action: Any) -> Any:
        counter.step()
        return inner(self, action)

    gymnasium.wrappers.PassiveEnvChecker.step = step
    register_optimizer_step_post_hook(counter.update)
    install()
    sys.argv = [script, *arguments]
    sys.path[0] = str(Path(script).parent)
    ending, error = "finished", ""
    try:
        runpy.run_path(script, run_name="__main__")
    except EnoughSteps:
        ending = "steps"
    except SystemExit as end:
        ending = "finished" if not end.code else "exited"
        error = str(end.code or "")
    except BaseException as end:
        ending, error = "crashed", f"{type(end).__name__}: {str(end).splitlines()[0] if str(end) else ''}"
        traceback.print_exc()
    told = {
        "script": script,
        "arguments": arguments,
        "device": "emulated" if counter.device else "cpu",
        "outcome": {"ending": ending, "error": error, "place": {"filename": "", "line": 0}},
        "transitions": counter.transitions,
        "updates": counter.updates,
        "device_parameters": counter.on_device,
        "device_tensors": counter.on_device,
        "setup": {},
        "counts": counter.counts(),
        "lines": [],
        "loss_inputs": [],
        "non_finite": [],
        "episodes": [],
    }
    Path(result).write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main()
