"""What the emulated device needs, found without importing torch: platform, torch, torch_npu.

torch and torch_npu are looked up in the interpreter that will run the script, which need not be the one that runs
npuport. They are found, not imported: an installed torch_npu makes ``import torch`` load CANN.
"""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from npuport.emulator.errors import EmulatorError
from npuport.facts.pairs import torch_release

MACHINES = ("x86_64", "aarch64")

# Run in the interpreter that is asked for. -P and -I would change what it finds, so neither is used.
_FIND_PACKAGES = """
import importlib.util, json, platform, sys
found = {"python": platform.python_version(), "c_library": platform.libc_ver(sys.executable)[0]}
for name in ("torch", "torch_npu"):
    spec = importlib.util.find_spec(name)
    found[name] = spec.origin if spec else None
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Installation:
    """The torch and torch_npu of one interpreter.

    Attributes:
        python: the interpreter.
        torch: folder of the package torch.
        torch_npu: folder of the package torch_npu.
        torch_version: such as ``2.13.0+cpu``.
        torch_npu_version: such as ``2.13.0.post1``.
    """

    python: str
    torch: Path
    torch_npu: Path
    torch_version: str
    torch_npu_version: str


def check_platform() -> None:
    """Raise EmulatorError unless this is Linux on a processor for which there are torch_npu wheels."""
    if sys.platform != "linux":
        raise EmulatorError(f"the emulated device needs Linux, as torch_npu does; this is {platform.system()}")
    if platform.machine() not in MACHINES:
        raise EmulatorError(f"the emulated device needs {' or '.join(MACHINES)}; this machine is {platform.machine()}")


def installation(python: str) -> Installation:
    """The torch and torch_npu of an interpreter.

    Raises:
        EmulatorError: the interpreter does not run, has no torch or no torch_npu, a torch for CUDA or ROCm, a C
            library other than glibc, or a torch and a torch_npu that do not pair.
    """
    found = find_packages(python)
    if found["c_library"] != "glibc":
        raise EmulatorError(f"the emulated device needs glibc, as torch_npu does; {python} runs on another C library")
    torch, torch_npu = (_package_folder(python, name, found[name]) for name in ("torch", "torch_npu"))
    torch_variables = version_variables(torch)
    installed = Installation(
        python, torch, torch_npu, torch_variables["__version__"], version_variables(torch_npu)["__version__"]
    )
    for variable, build in (("cuda", "CUDA"), ("hip", "ROCm")):
        if torch_variables.get(variable):
            raise EmulatorError(
                f"torch {installed.torch_version} of {python} is a build for {build}; torch_npu aborts beside it: "
                "install the CPU build of torch"
            )
    check_pair(installed)
    return installed


def check_pair(installed: Installation) -> None:
    """Raise EmulatorError unless torch and torch_npu are of one release, as the vendor demands."""
    torch, torch_npu = torch_release(installed.torch_version), torch_release(installed.torch_npu_version)
    if torch != torch_npu:
        raise EmulatorError(
            f"torch {installed.torch_version} and torch_npu {installed.torch_npu_version} of {installed.python} do "
            f"not pair; install torch=={torch_npu} for this torch_npu, or a torch_npu for torch {torch}"
        )


def _package_folder(python: str, name: str, origin: str | None) -> Path:
    if origin is None:
        raise EmulatorError(f"{python} has no {name}; the emulated device needs torch and torch_npu (npuport[npu])")
    return Path(origin).parent


def find_packages(python: str) -> dict[str, str | None]:
    """Where ``torch`` and ``torch_npu`` of an interpreter are, its version (``python``) and its ``c_library``.

    Raises:
        EmulatorError: the interpreter does not run.
    """
    try:
        done = subprocess.run([python, "-c", _FIND_PACKAGES], capture_output=True, text=True, check=False, timeout=60)
    except OSError as error:
        raise EmulatorError(f"cannot run {python}: {error.strerror or error}") from error
    except subprocess.TimeoutExpired as error:
        raise EmulatorError(f"{python} does not answer in {error.timeout:.0f} s") from error
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise EmulatorError(f"{python} cannot be asked for torch: {reason}")
    found: dict[str, str | None] = json.loads(done.stdout.splitlines()[-1])
    return found


def version_variables(package: Path) -> dict[str, str]:
    """The texts that a package's ``version.py`` assigns; ``None`` is left out.

    Raises:
        EmulatorError: there is none, or it names no version.
    """
    path = package / "version.py"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise EmulatorError(f"cannot read {path}: {error.strerror}; is {package.name} installed whole?") from error
    found = re.findall(r"^(\w+)(?:\s*:[^=\n]+)?\s*=\s*['\"]([^'\"]*)['\"]", text, re.MULTILINE)
    variables = dict(found)
    if "__version__" not in variables:
        raise EmulatorError(f"{path} names no version")
    return variables
