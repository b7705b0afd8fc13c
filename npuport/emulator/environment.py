"""The environment variables of a process that runs on the emulated device.

They are made for a child: CANN's own ``set_env.sh`` changes the user's shell, this changes nothing of it. Children of
that child, such as those of ``multiprocessing``, inherit them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from npuport.sources.settings import DTYPE_CHECKS

CANN = "cann"  # the folder, in a build, that stands for an installation of CANN
# torch_npu stops while it is imported unless these are there (torch_npu/_init/registry/registry_manager.py, 2.13.0).
CANN_FOLDERS = ("runtime", "compiler", "opp", "lib64")
REFUSALS = "refusals.txt"

# Of a real CANN, or of a shell that keeps torch_npu out: neither must reach the child.
_REMOVED = (
    "TORCH_DEVICE_BACKEND_AUTOLOAD",
    "ASCEND_CUSTOM_OPP_PATH",
    "ASCEND_TOOLKIT_HOME",
    "ASCEND_RT_VISIBLE_DEVICES",
)


def emulated_environment(libraries: Path, base: Mapping[str, str], dtype_checks: str = "strict") -> dict[str, str]:
    """The environment of a child that runs on the emulated device.

    Args:
        libraries: the folder that ``built_emulator`` gives.
        base: the environment to start from, mostly ``os.environ``; it is not changed.
        dtype_checks: which dtypes are refused, one of ``DTYPE_CHECKS``.
    """
    if dtype_checks not in DTYPE_CHECKS:
        raise ValueError(f"dtype checks are {', '.join(DTYPE_CHECKS)}, not {dtype_checks!r}")
    kept = {name: value for name, value in base.items() if name not in _REMOVED}
    return {
        **kept,
        "LD_LIBRARY_PATH": _library_path(libraries, base.get("LD_LIBRARY_PATH", "")),
        "ASCEND_HOME_PATH": str(libraries / CANN),
        "ASCEND_OPP_PATH": str(libraries / CANN / "opp"),
        # Kernels run in the thread that calls them, so that stacks show who did.
        "TASK_QUEUE_ENABLE": "0",
        "NPUPORT_EMULATOR_REFUSALS": str(libraries / REFUSALS),
        "NPUPORT_EMULATOR_DTYPE_CHECKS": dtype_checks,
    }


def _library_path(libraries: Path, before: str) -> str:
    """Our libraries first; folders of a real CANN are left out, lest some of its libraries are loaded beside ours."""
    kept = [folder for folder in before.split(":") if folder and not (Path(folder) / "libascendcl.so").exists()]
    return ":".join([str(libraries), *kept])
