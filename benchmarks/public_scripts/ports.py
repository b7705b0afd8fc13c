"""The ways to bring a script to an NPU that are compared."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

# ``import torch_npu`` and the blanket import, as torch_npu's documentation tells users to write them.
_TRANSFER = "import torch_npu\nfrom torch_npu.contrib import transfer_to_npu\n"
_UNGUARDED = re.compile(r"^(?:import|from) torch_npu\b", re.MULTILINE)
_QUOTED = re.compile(r"""(["'])cuda(:\d+)?\1""")


class PortFailed(Exception):
    """``npuport fix`` could not do its job; the text is what it said."""


def replace_text(folder: Path, entry: str) -> None:
    """What an editor's search and replace does: quoted cuda names, ``torch.cuda`` and ``.cuda(``."""
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        text = _QUOTED.sub(r"\1npu\2\1", text).replace("torch.cuda", "torch.npu").replace(".cuda(", ".npu(")
        path.write_text(text, encoding="utf-8")


def transfer_to_npu(folder: Path, entry: str) -> None:
    """torch_npu's own way: one import at the top of the file that is run, which patches torch in the process."""
    path = folder / entry
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    future = [number for number, line in enumerate(lines) if line.startswith("from __future__")]
    lines.insert(future[-1] + 1 if future else 0, _TRANSFER)
    path.write_text("".join(lines), encoding="utf-8")


def fix(*options: str) -> Callable[[Path, str], None]:
    """``npuport fix --write`` with further options."""

    def port(folder: Path, entry: str) -> None:
        command = [sys.executable, "-m", "npuport", "fix", "--write", "--exit-zero", "--quiet", *options, "."]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise PortFailed(done.stderr.strip())

    return port


# By the name that the table shows.
PORTS: dict[str, Callable[[Path, str], None]] = {
    "text replacement": replace_text,
    "transfer_to_npu": transfer_to_npu,
    "fix": fix(),
    "fix --unsafe-fixes": fix("--unsafe-fixes"),
    "fix --style portable": fix("--style", "portable"),
    "fix --style portable --unsafe-fixes": fix("--style", "portable", "--unsafe-fixes"),
}


def imports_torch_npu(folder: Path) -> bool:
    """Whether a module of a program imports torch_npu without asking, so that nothing runs where it is missing."""
    return any(_UNGUARDED.search(path.read_text(encoding="utf-8")) for path in folder.rglob("*.py"))


def ported_copy(original: Path, entry: Path, target: Path, port: str) -> Path:
    """A copy of a laid out script after a port; gives the file to run.

    Raises:
        PortFailed: see there.
    """
    shutil.copytree(original, target)
    inside = entry.relative_to(original)
    PORTS[port](target, str(inside))
    return target / inside
