"""What is installed for an interpreter: torch, torch_npu and CANN, read without importing or loading any of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from npuport.emulator.errors import EmulatorError
from npuport.emulator.requirements import find_packages, version_variables

# The script that sets CANN's environment names the toolkit by the first; older ones by the second.
_HOME_VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
# Where the toolkit's installer puts it unless it is told otherwise.
_USUAL_SCRIPTS = ("/usr/local/Ascend/ascend-toolkit/set_env.sh", "/usr/local/Ascend/cann/set_env.sh")


@dataclass(frozen=True)
class Package:
    """An installed package.

    Attributes:
        version: empty where it is not installed.
        accelerator: ``CUDA`` or ``ROCm`` where it is built for one.
        fault: why its version cannot be read.
    """

    version: str = ""
    accelerator: str = ""
    fault: str = ""


@dataclass(frozen=True)
class Interpreter:
    """What an interpreter has.

    Attributes:
        python: how it is called.
        version: of Python; empty where it does not run.
        fault: why it does not run.
    """

    python: str
    version: str
    torch: Package
    torch_npu: Package
    fault: str = ""


@dataclass(frozen=True)
class Cann:
    """The CANN toolkit that the environment names.

    Attributes:
        home: its folder; None where no variable names one that is there.
        version: as its installer wrote it down; empty where that was not found.
        fault: what is wrong with the environment, and what to do; empty where nothing is.
    """

    home: Path | None
    version: str = ""
    fault: str = ""


def read_interpreter(python: str) -> Interpreter:
    """What an interpreter has; no error is raised."""
    try:
        found = find_packages(python)
    except EmulatorError as error:
        return Interpreter(python, "", Package(), Package(), str(error))
    return Interpreter(python, found["python"] or "", _package(found["torch"]), _package(found["torch_npu"]))


def read_cann(environment: Mapping[str, str], scripts: tuple[str, ...] = _USUAL_SCRIPTS) -> Cann:
    """The toolkit that the environment names.

    Args:
        environment: of the process that would load it.
        scripts: where its set_env.sh may be, for advice.
    """
    for variable in _HOME_VARIABLES:
        if environment.get(variable):
            home = Path(environment[variable])
            if home.is_dir():
                return Cann(home, _version(home))
            return Cann(None, fault=f"{variable} names {home}, which is no folder")
    there = [script for script in scripts if Path(script).is_file()]
    advice = f"`source {there[0]}`" if there else "install the CANN toolkit and source its set_env.sh"
    return Cann(None, fault=f"{_HOME_VARIABLES[0]} is not set; {advice}")


def _package(origin: str | None) -> Package:
    if origin is None:
        return Package()
    try:
        variables = version_variables(Path(origin).parent)
    except EmulatorError as error:
        return Package(fault=str(error))
    builds = {"cuda": "CUDA", "hip": "ROCm"}
    accelerators = [name for variable, name in builds.items() if variables.get(variable)]
    return Package(variables["__version__"], accelerators[0] if accelerators else "")


def _version(home: Path) -> str:
    """The version that the toolkit's installer wrote, where torch_npu looks for it (torch_npu/utils/collect_env.py)."""
    with suppress(OSError):
        for path in sorted((*home.glob("ascend_*_install.info"), *home.glob("*/ascend_*_install.info"))):
            found = re.search(r"^version\s*=\s*(\S+)", path.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
            if found:
                return found[1]
    return ""
