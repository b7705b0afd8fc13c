"""An interpreter in which releases of torch and torch_npu seem to be installed; importing them ends the process."""

from __future__ import annotations

import os
from pathlib import Path

from tests.conftest import environment, write_files


def installed(folder: Path, torch: str = "2.13.0+cpu", torch_npu: str = "2.13.0", cuda: str = "None") -> dict[str, str]:
    """The environment of an interpreter in which these releases seem to be installed."""
    write_files(
        folder,
        {
            "torch/__init__.py": "raise SystemExit('torch was imported')",
            "torch/version.py": f"__version__ = '{torch}'\ncuda: str | None = {cuda}\n",
            "torch_npu/__init__.py": "raise SystemExit('torch_npu was imported')",
            "torch_npu/version.py": f"__version__ = '{torch_npu}'\n",
        },
    )
    return environment(PYTHONPATH=str(folder), NPUPORT_CACHE_DIR=str(folder / "cache"), PATH=os.environ["PATH"])
