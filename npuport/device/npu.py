"""Whether a real NPU answers: signs of one are looked for, then a tensor is made on it in a child process."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# The driver makes one node a device; containers get those that they may use.
NODES = Path("/dev")
TENSOR_LIMIT = 120.0  # seconds: the first start of a device takes a real one some tens of them

# The first cause of a failed import says more than torch's own "Failed to load the backend extension".
_MAKE_TENSOR = """
import ctypes, json
answer = {}
try:
    import torch
    import torch_npu
    answer["count"] = torch.npu.device_count()
    if float((torch.ones(2, device="npu") + 1).sum()) != 4.0:
        raise RuntimeError("1 + 1 is not 2 on the device")
    answer["name"] = torch.npu.get_device_name()
    answer["emulated"] = hasattr(ctypes.CDLL("libascendcl.so"), "npuport_read_counts")
except BaseException as error:
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__
    text = (str(error).strip().splitlines() or [""])[0]
    answer["fault"] = f"{type(error).__name__}: {text}" if text else type(error).__name__
print(json.dumps(answer), flush=True)
"""


@dataclass(frozen=True)
class Signs:
    """What a machine with an NPU driver has.

    Attributes:
        npu_smi: path of the driver's tool; None where it is not on the path.
        nodes: names of the device nodes, such as ``davinci0``.
    """

    npu_smi: str | None
    nodes: tuple[str, ...]

    def __bool__(self) -> bool:
        return self.npu_smi is not None or bool(self.nodes)

    def __str__(self) -> str:
        return " and ".join((["npu-smi"] if self.npu_smi else []) + [f"/dev/{node}" for node in self.nodes])


@dataclass(frozen=True)
class Answer:
    """What came of making a tensor.

    Attributes:
        name: of the device, as torch_npu calls it; empty where there is a fault.
        count: how many devices there are.
        emulated: the libraries that answered are the emulated device's.
        fault: why there is no tensor, in one line; empty where there is one.
    """

    name: str = ""
    count: int = 0
    emulated: bool = False
    fault: str = ""


def signs_of_npu(environment: Mapping[str, str], nodes: Path = NODES) -> Signs:
    """Signs of a driver. Without one no tensor can be made, and seconds of importing torch are spared."""
    found = sorted(path.name for path in nodes.glob("davinci[0-9]*"))
    return Signs(shutil.which("npu-smi", path=environment.get("PATH")), tuple(found))


def real_npu(python: str, environment: Mapping[str, str] = os.environ, nodes: Path = NODES) -> Answer:
    """What a real NPU answers; nothing is tried where there is no sign of one."""
    if not signs_of_npu(environment, nodes):
        return Answer(fault="neither npu-smi nor a node /dev/davinci* is here")
    answer = make_tensor(python, environment)
    if answer.emulated:
        return Answer(fault="what answers is an emulated device, from LD_LIBRARY_PATH")
    return answer


def make_tensor(python: str, environment: Mapping[str, str] = os.environ, limit: float = TENSOR_LIMIT) -> Answer:
    """Make a tensor on the device "npu" in a child of an interpreter; no error is raised.

    Args:
        python: the interpreter whose torch and torch_npu are tried.
        environment: of the child.
        limit: seconds after which the child is killed.
    """
    try:
        done = subprocess.run(
            [python, "-c", _MAKE_TENSOR],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=limit,
            env=dict(environment),
        )
    except subprocess.TimeoutExpired:
        return Answer(fault=f"making a tensor on it took more than {limit:.0f} s")
    except OSError as error:
        return Answer(fault=f"cannot run {python}: {error.strerror or error}")
    return _answer(done)


def _answer(done: subprocess.CompletedProcess[str]) -> Answer:
    try:
        data = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return Answer(fault=f"making a tensor on it ended with {_ending(done.returncode)}: {_last_line(done.stderr)}")
    return Answer(fault=data["fault"]) if "fault" in data else Answer(**data)


def _ending(status: int) -> str:
    return f"exit status {status}" if status >= 0 else signal.Signals(-status).name


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no output"])[-1]
