"""Runs CleanRL's agents on the CPU before and after `fix`, under one seed, and compares the returns that they print.

    python benchmarks/same_returns.py FOLDER [PROGRAM]... [--seed SEED]

FOLDER holds CleanRL, which is copied; PROGRAM is one of the names below, by default all. Needs torch, gymnasium and
what the programs import. Prints one line a program and kind of fixes; exit status 1 where safe fixes change a return.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from difflib import unified_diff
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory

RUNNER = Path(__file__).with_name("gymnasium_0_29.py")
FIXES = {"safe": [], "unsafe": ["--unsafe-fixes"]}
CONTINUOUS = ["--env-id", "Pendulum-v1", "--total-timesteps", "2000", "--learning-starts", "600"]
# Short, and yet long enough for some hundred updates and for episodes under the learned policy.
PROGRAMS = {
    "cleanrl/dqn.py": ["--total-timesteps", "4000", "--learning-starts", "500", "--target-network-frequency", "100"],
    "cleanrl/ppo.py": ["--total-timesteps", "4096"],
    "cleanrl/sac_continuous_action.py": CONTINUOUS,
    "cleanrl/td3_continuous_action.py": CONTINUOUS,
    "cleanrl/ddpg_continuous_action.py": CONTINUOUS,
    "cleanrl/pqn.py": ["--total-timesteps", "8192"],
}


class ProgramFailed(Exception):
    """A program ended with an error; the text is what it printed last."""


def returns_of(folder: Path, program: str, arguments: Sequence[str], seed: int) -> list[str]:
    """The lines with episodic returns that a program prints.

    Raises:
        ProgramFailed: it ended with an error, or finished no episode.
    """
    done = subprocess.run(
        [sys.executable, str(RUNNER), str(folder / program), *arguments, "--seed", str(seed)],
        capture_output=True,
        text=True,
        cwd=folder,
        # One thread, and no device that a plug-in of torch brings: the same sums in the same order.
        env={**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
    )
    lines = [line for line in done.stdout.splitlines() if "episodic_return" in line]
    if done.returncode or not lines:
        raise ProgramFailed(done.stderr.strip()[-2000:] or "no episode came to its end")
    return lines


def fixed_copy(folder: Path, target: Path, options: Sequence[str]) -> Path:
    """A copy of a folder after ``npuport fix`` in the portable style."""
    shutil.copytree(folder, target)
    command = [sys.executable, "-m", "npuport", "fix", "--write", "--style", "portable", "--exit-zero", "--quiet"]
    subprocess.run([*command, *options, "."], cwd=target, check=True, stdout=subprocess.DEVNULL)
    return target


def changed_lines(before: Path, after: Path) -> int:
    """How many lines of a file went or came."""
    old, new = (path.read_text(encoding="utf-8").splitlines() for path in (before, after))
    return sum(line[0] in "+-" for line in list(unified_diff(old, new, lineterm="", n=0))[2:])


def verdict(before: Sequence[str], after: Sequence[str]) -> str:
    """``same``, or the first lines that differ."""
    for old, new in zip_longest(before, after):
        if old != new:
            return f"DIFFERENT: {old} -> {new}"
    return "same"


def compare(folder: Path, programs: Sequence[str], seed: int) -> bool:
    """Print the table; tells whether safe fixes keep all returns."""
    equal = True
    with TemporaryDirectory() as temporary:
        original = Path(temporary) / "original"
        shutil.copytree(folder, original, ignore=shutil.ignore_patterns(".git", "runs"))
        copies = {kind: fixed_copy(original, Path(temporary) / kind, options) for kind, options in FIXES.items()}
        print(f"{'program':36} {'fixes':7} {'lines':>5} {'episodes':>8}  returns")
        for program in programs:
            before = returns_of(original, program, PROGRAMS[program], seed)
            for kind, copy in copies.items():
                lines = changed_lines(original / program, copy / program)
                told = verdict(before, returns_of(copy, program, PROGRAMS[program], seed))
                print(f"{program:36} {kind:7} {lines:5} {len(before):8}  {told}", flush=True)
                equal = equal and (told == "same" or kind != "safe")
    return equal


def main() -> int:
    """Compare the programs that the command names."""
    parser = argparse.ArgumentParser(description="Returns of CleanRL's agents before and after fix.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS), metavar="PROGRAM")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    unknown = set(arguments.programs) - set(PROGRAMS)
    if unknown:
        parser.error(f"not among {', '.join(PROGRAMS)}: {', '.join(sorted(unknown))}")
    try:
        return 0 if compare(arguments.folder, arguments.programs, arguments.seed) else 1
    except ProgramFailed as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
