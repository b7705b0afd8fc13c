"""Is this machine ready? What ``run`` would take, and each thing that it needs as one check."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from npuport.device.choice import Device, child_environment, choose_device
from npuport.device.installed import Interpreter, Package, read_cann, read_interpreter
from npuport.device.npu import NODES, Answer, make_tensor, real_npu, signs_of_npu
from npuport.emulator.build import BuildState, build_state
from npuport.emulator.cache import cache_folder
from npuport.emulator.compiler import find_compiler
from npuport.emulator.errors import EmulatorError
from npuport.emulator.requirements import check_platform
from npuport.facts.pairs import cann_of, newest_torch_npu, torch_release
from npuport.sources.errors import UsageError

INTERPRETER, NPU, EMULATED = "Python", "NPU", "Emulated device"


@dataclass(frozen=True)
class Check:
    """One thing that a device needs.

    Attributes:
        part: ``INTERPRETER``, ``NPU`` or ``EMULATED``.
        name: what is looked at.
        ok: whether it is there and fits.
        detail: what was found.
        advice: what to do where it is not ok.
    """

    part: str
    name: str
    ok: bool
    detail: str
    advice: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """What ``run`` would take, and all checks.

    Attributes:
        device: None where none is ready.
        fault: why none is, in one line.
    """

    device: Device | None
    fault: str
    checks: tuple[Check, ...]


def diagnose(
    python: str = sys.executable, environment: Mapping[str, str] = os.environ, nodes: Path = NODES
) -> Diagnosis:
    """Look at everything that a device needs; nothing is built and no error raised.

    Args:
        python: the interpreter that would run a script.
        environment: in which it would run.
        nodes: the folder of device nodes.
    """
    interpreter = read_interpreter(python)
    npu, state = real_npu(python, environment, nodes), build_state(python)
    emulated = _emulated_checks(interpreter, state, environment)
    checks = (
        *_interpreter_checks(interpreter),
        *_npu_checks(interpreter, environment, nodes, npu),
        *emulated,
    )
    try:
        device = choose_device(None, python, environment, nodes, npu)
    except UsageError as error:
        return Diagnosis(None, str(error), checks)
    if device.kind == "emulated" and not emulated[-1].ok:
        return Diagnosis(None, f"{device.reason}; the emulated device fails: {emulated[-1].detail}", checks)
    return Diagnosis(device, "", checks)


def _interpreter_checks(found: Interpreter) -> list[Check]:
    if found.fault:
        return [Check(INTERPRETER, "interpreter", False, found.fault, "name another with --python")]
    return [
        Check(INTERPRETER, "interpreter", True, f"Python {found.version}, {found.python}"),
        _torch_check(found.torch),
        _torch_npu_check(found.torch, found.torch_npu),
    ]


def _torch_check(torch: Package) -> Check:
    if not torch.version:
        return Check(INTERPRETER, "torch", False, torch.fault or "not installed", "install npuport[npu]")
    if torch.accelerator:
        detail = f"{torch.version}, a build for {torch.accelerator}, beside which torch_npu aborts"
        return Check(INTERPRETER, "torch", False, detail, "install the CPU build of torch")
    return Check(INTERPRETER, "torch", True, torch.version)


def _torch_npu_check(torch: Package, torch_npu: Package) -> Check:
    wanted = newest_torch_npu(torch.version) if torch.version else ""
    advice = f"install torch_npu=={wanted}" if wanted else "install a torch that the vendor pairs with a torch_npu"
    if not torch_npu.version:
        return Check(INTERPRETER, "torch_npu", False, torch_npu.fault or "not installed", advice)
    if not torch.version:
        return Check(INTERPRETER, "torch_npu", True, torch_npu.version)
    if torch_release(torch.version) != torch_release(torch_npu.version):
        detail = f"{torch_npu.version} does not pair with torch {torch.version}"
        return Check(INTERPRETER, "torch_npu", False, detail, advice)
    return Check(INTERPRETER, "torch_npu", True, f"{torch_npu.version}, pairs with torch {torch.version}")


def _npu_checks(found: Interpreter, environment: Mapping[str, str], nodes: Path, npu: Answer) -> list[Check]:
    signs = signs_of_npu(environment, nodes)
    driver = Check(NPU, "driver", True, str(signs))
    if not signs:
        advice = "install the NPU's driver; hand a container its devices"
        driver = Check(NPU, "driver", False, "neither npu-smi nor a node /dev/davinci*", advice)
    return [driver, _cann_check(found, environment), _tensor_check(bool(signs), npu)]


def _cann_check(found: Interpreter, environment: Mapping[str, str]) -> Check:
    cann = read_cann(environment)
    if cann.home is None:
        detail, _, advice = cann.fault.partition("; ")
        return Check(NPU, "CANN", False, detail, advice or "source CANN's set_env.sh")
    version = cann.version or "of unknown version"
    named = cann_of(found.torch_npu.version) if found.torch_npu.version else ""
    for_torch_npu = f"; the vendor names {named} for torch_npu {found.torch_npu.version}" if named else ""
    return Check(NPU, "CANN", True, f"{version} in {cann.home}{for_torch_npu}")


def _tensor_check(tried: bool, npu: Answer) -> Check:
    if not tried:
        return Check(NPU, "tensor", False, "not tried without a driver")
    if npu.fault:
        return Check(NPU, "tensor", False, npu.fault, "mend what is missing above; `npu-smi info` shows the devices")
    devices = "1 device" if npu.count == 1 else f"{npu.count} devices"
    return Check(NPU, "tensor", True, f"made on {npu.name}; {devices}")


def _emulated_checks(found: Interpreter, state: BuildState, environment: Mapping[str, str]) -> list[Check]:
    needed = [_platform_check(), _compiler_check()]
    can_run = all(check.ok for check in (*_interpreter_checks(found), *needed))
    return [*needed, _build_check(found, state, environment, told=not can_run)]


def _platform_check() -> Check:
    here = f"{platform.system()} on {platform.machine()}"
    try:
        check_platform()
    except EmulatorError as error:
        return Check(EMULATED, "platform", False, here, str(error))
    return Check(EMULATED, "platform", True, here)


def _compiler_check() -> Check:
    try:
        return Check(EMULATED, "compiler", True, find_compiler().version)
    except EmulatorError as error:
        detail, _, advice = str(error).partition("; ")
        return Check(EMULATED, "compiler", False, detail, advice)


def _build_check(found: Interpreter, state: BuildState, environment: Mapping[str, str], *, told: bool) -> Check:
    """Built and answering, or not built yet; a build that is there is tried in a child process.

    Args:
        told: why it cannot be built is another check's.
    """
    if state.fault:
        return Check(EMULATED, "build", False, "cannot be built", "see what is missing above" if told else state.fault)
    if state.libraries is None:
        return _not_built_check(cache_folder(environment))
    device = Device("emulated", "", "", found.python)
    answer = make_tensor(found.python, child_environment(device, environment))
    if answer.fault:
        return Check(EMULATED, "build", False, answer.fault, f"remove {state.libraries}, and it is built anew")
    return Check(EMULATED, "build", True, f"a tensor was made on it; {state.libraries}")


def _not_built_check(folder: Path) -> Check:
    there = next(place for place in (folder, *folder.parents) if place.exists())
    if not os.access(there, os.W_OK):
        advice = "NPUPORT_CACHE_DIR names another folder"
        return Check(EMULATED, "build", False, f"not built yet, and {there} cannot be written", advice)
    return Check(EMULATED, "build", True, f"not built yet; the first run builds it in {folder}, in about a minute")
