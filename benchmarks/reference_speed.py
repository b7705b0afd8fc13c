"""Transitions a second of the reference agents and of CleanRL's scripts, in turn, on the CPU with one thread.

    python benchmarks/reference_speed.py CLEANRL [--repetitions N] [--steps N]

CLEANRL is a checkout of CleanRL, of which nothing is changed. Both sides make the same number of updates a transition,
of the same batch size, on networks of the same widths. Each program runs twice, the second time longer; what it took
longer, in seconds of the processor, is what the additional transitions cost: start-up is not in it, and neither is what
else the machine does. CleanRL counts the steps in which gymnasium 1 only resets an environment as transitions, the
reference agents do not. Prints one line a repetition and the median ratio; exit status 1 where it is below what is
asked for.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}


@dataclass(frozen=True)
class Pair:
    """A script of CleanRL, and a reference agent with the same work to do."""

    agent: str
    steps: int
    cleanrl: tuple[str, ...]
    reference: tuple[str, ...]
    least_ratio: float


PAIRS = (
    # 0.1 updates a transition: CleanRL's default, and 4 updates in a step of 40 environments.
    Pair(
        "dqn",
        20_000,
        ("--learning-starts", "1000"),
        ("--learning-starts", "1000", "--environments", "40", "--updates-per-step", "4", "--hidden", "120", "84"),
        1.5,
    ),
    # 16 updates of 128 rows on 512 transitions: CleanRL's default.
    Pair("ppo", 40_000, (), ("--epochs", "4", "--minibatch", "128"), 3.0),
)


def processor_seconds(command: list[str], folder: Path) -> float:
    """Runs a program to its end, and gives what it took of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed: {done.stderr.strip()[-1000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rate(command: list[str], option: str, steps: int, folder: Path) -> float:
    """Transitions a second, from runs of a quarter of the steps and of as many more."""
    start = steps // 4
    seconds = [processor_seconds([*command, option, str(total)], folder) for total in (start, start + steps)]
    return steps / (seconds[1] - seconds[0])


def measure(pair: Pair, cleanrl: Path, steps: int, seed: int) -> tuple[float, float]:
    """Transitions a second of CleanRL's script and of the reference agent, one after the other."""
    script = [str(cleanrl / "cleanrl" / f"{pair.agent}.py"), "--no-cuda", "--seed", str(seed), *pair.cleanrl]
    module = ["-m", f"npuport.reference_agents.{pair.agent}", "--seed", str(seed), *pair.reference]
    with TemporaryDirectory() as folder:  # CleanRL writes its events there
        theirs = rate(script, "--total-timesteps", steps, Path(folder))
        return theirs, rate(module, "--total-steps", steps, Path(folder))


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cleanrl", type=Path)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--steps", type=int, help="transitions of each run; by default 20000 of DQN, 40000 of PPO")
    options = parser.parse_args()
    ENVIRONMENT["PYTHONPATH"] = str(options.cleanrl.resolve())  # where its scripts find cleanrl_utils
    too_slow = False
    for pair in PAIRS:
        ratios = []
        for repetition in range(1, options.repetitions + 1):
            theirs, ours = measure(pair, options.cleanrl.resolve(), options.steps or pair.steps, repetition)
            ratios.append(ours / theirs)
            print(f"{pair.agent}: CleanRL {theirs:,.0f}, reference {ours:,.0f}: {ratios[-1]:.2f} times", flush=True)
        ratio = statistics.median(ratios)
        too_slow |= ratio < pair.least_ratio
        print(f"{pair.agent}: median {ratio:.2f} times, asked for {pair.least_ratio}")
    return int(too_slow)


if __name__ == "__main__":
    sys.exit(main())
