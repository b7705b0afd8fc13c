"""Measures the speed of `npuport check` against `ruff check` on the same files.

    python benchmarks/check_speed.py FOLDER...

The folders are copied to a temporary place, so that no cache is written beside them. Cold runs of both programs
take turns on one core, and the least CPU time of five counts: the machine's other work can only add to it. npuport
runs once with the rules that need names only, which is what compares with ruff, and once with all rules, for which
the whole program is evaluated. Then come a run with a warm cache, a run after one file of a cached project has
changed, and one file without a finding.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from npuport.engine.registry import all_rules
from npuport.sources.discovery import discover
from npuport.sources.settings import DEFAULT_EXCLUDE

RUNS = 5
# Something for the rules to look into, and nothing for them to find.
CLEAN_FILE = """\
import torch
from torch import nn


class Policy(nn.Module):
    \"\"\"Runs wherever its parameters are; nothing of it is tied to cuda.\"\"\"

    def __init__(self, observations: int, actions: int) -> None:
        super().__init__()
        self.network = nn.Sequential(nn.Linear(observations, 64), nn.Tanh(), nn.Linear(64, actions))

    def act(self, observation: torch.Tensor) -> torch.Tensor:
        return torch.distributions.Categorical(logits=self.network(observation)).sample()
"""


@dataclass(frozen=True)
class Cost:
    """What one process took, in seconds; CPU time counts its children too."""

    cpu: float
    wall: float


def program(name: str) -> str:
    """The command beside the running Python, else the one on the path."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise SystemExit(f"{name} is not installed; `make bench` installs it")
    return found


def run(command: list[str], folder: Path) -> Cost:
    """Run a command to its end; findings are no failure."""
    environment = {key: value for key, value in os.environ.items() if key != "PRE_COMMIT"}
    begin = time.perf_counter()
    child = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
    assert child.stderr is not None
    complaint = child.stderr.read().decode(errors="replace")
    child.stderr.close()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with {child.returncode}: {complaint.strip()}")
    return Cost(usage.ru_utime + usage.ru_stime, wall)


def copied(folders: list[Path], place: Path) -> list[str]:
    """Copy the folders, without their git history, under names that do not clash."""
    names: list[str] = []
    for number, folder in enumerate(folders):
        if not folder.is_dir():
            raise SystemExit(f"no such folder: {folder}")
        name = folder.resolve().name
        names.append(f"{number}_{name}" if name in names else name)
        leave_out = shutil.ignore_patterns(".git", "__pycache__", ".venv", ".npuport_cache", ".ruff_cache")
        shutil.copytree(folder, place / names[-1], ignore=leave_out, symlinks=True)
    return names


def on_one_core() -> None:
    """Stay on one core, and the children with it, where the system can do that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def names_only() -> list[str]:
    """Codes of the rules that do not ask what flows through the program."""
    return [rule.code for rule in all_rules() if not rule.uses_flow]


def changed_run(command: list[str], place: Path, files: list[Path]) -> list[float]:
    """CPU seconds of runs that each come after a change of one file, among the longest ones."""
    seconds = []
    for file in sorted(files, key=lambda file: -file.stat().st_size)[:RUNS]:
        with file.open("a", encoding="utf-8") as stream:
            stream.write("\n\ndef one_more(x):\n    return x.detach()\n")
        seconds.append(run(command, place).cpu)
    return seconds


def measure(folders: list[Path], place: Path) -> None:
    """Print the figures for copies of ``folders`` in ``place``."""
    names = copied(folders, place)
    files = discover([place / name for name in names], DEFAULT_EXCLUDE, place)
    lines = sum(file.read_bytes().count(b"\n") for file in files)
    if not files:
        raise SystemExit("there are no Python files in these folders")
    print(f"{len(files)} files, {lines} lines of {', '.join(names)}; {RUNS} runs, on one core")

    npuport = [program("npuport"), "check", "--output-format", "concise"]
    ruff = [program("ruff"), "check", "--no-cache", "--isolated", "--output-format", "concise", *names]
    by_name = [*npuport, "--no-cache", "--select", ",".join(names_only()), *names]
    runs = [(run(by_name, place), run(ruff, place), run([*npuport, "--no-cache", *names], place)) for _ in range(RUNS)]
    own, peer, whole = (min(costs, key=lambda cost: cost.cpu).cpu for costs in zip(*runs, strict=True))
    for name, seconds in (("npuport, names only", own), ("ruff", peer), ("npuport, all rules", whole)):
        speed = f"{len(files) / seconds:6.0f} files/s, {lines / seconds / 1000:6.1f} KLOC/s"
        print(f"{name:19} cold, no cache: {seconds:.3f} s CPU, {speed}")
    print(f"npuport has {peer / own:.2f} of ruff's speed with the rules that need names only")

    run([*npuport, *names], place)
    print(f"npuport, warm cache: {min(run([*npuport, *names], place).wall for _ in range(RUNS)):.3f} s wall")
    print(f"npuport, after a change of one file: {min(changed_run([*npuport, *names], place, files)):.3f} s CPU")

    (place / "clean.py").write_text(CLEAN_FILE, encoding="utf-8")
    clean = [*npuport, "--no-cache", "clean.py"]
    print(f"npuport  one clean file: {min(run(clean, place).wall for _ in range(RUNS)):.3f} s wall")


def main() -> None:
    """Measure the folders that the command line names."""
    folders = [Path(argument) for argument in sys.argv[1:]]
    if not folders or sys.argv[1].startswith("-"):
        raise SystemExit("usage: python benchmarks/check_speed.py FOLDER...")
    on_one_core()
    with tempfile.TemporaryDirectory(prefix="npuport-speed-") as place:
        measure(folders, Path(place).resolve())


if __name__ == "__main__":
    main()
