"""Measures what the emulated device costs: training against the plain CPU, start-up, and its build.

    python benchmarks/emulator_speed.py [--rounds 3] [--build]

Two agents of ``fixtures/agents`` in the portable style, unchanged, train in turns on the CPU and on the emulated
device, one thread each. Of each the CPU time of a short run is taken from that of a long one, so that start-up does not
count; the least of all rounds counts, since the machine's other work can only add to it. Exit status 1 where a limit is
missed.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from npuport.device.choice import child_environment, choose_device
from npuport.emulator.build import built_emulator

AGENTS = Path(__file__).parent.parent / "fixtures" / "agents"
DEVICES = ("cpu", "emulated")
LEAST_SPEED = 0.3  # of the CPU's
LONGEST_START = 3.0  # seconds above plain torch
LONGEST_BUILD = 90.0  # seconds on two processors

START = {"cpu": "import torch; torch.zeros(1)", "emulated": "import torch; torch.zeros(1).npu()"}


@dataclass(frozen=True)
class Agent:
    """A training script of the fixtures and the two lengths, in environment steps, between which it is timed."""

    name: str
    options: tuple[str, ...]
    short: int
    long: int

    def command(self, steps: int) -> list[str]:
        script = AGENTS / self.name / "portable" / "train.py"
        return [sys.executable, str(script), "--total-timesteps", str(steps), *self.options]


# The short runs have begun to train: DQN after 200 steps, PPO after 64.
TRAINED = (
    Agent("dqn_argparse", ("--log-every", "100000"), 400, 2400),
    Agent("ppo_tyro", ("--num-steps", "64"), 512, 4096),
)


@dataclass(frozen=True)
class Cost:
    """Seconds of one process."""

    cpu: float
    wall: float


def cost_of(command: list[str], environment: dict[str, str]) -> Cost:
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} fails:\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu, time.perf_counter() - begin)


def environments() -> dict[str, dict[str, str]]:
    base = {**os.environ, "OMP_NUM_THREADS": "1"}
    return {kind: child_environment(choose_device(kind), base, "strict", lambda done, of: None) for kind in DEVICES}


def steps_a_second(agent: Agent, prepared: dict[str, dict[str, str]], rounds: int) -> dict[str, float]:
    """Environment steps a second of CPU time, by device."""
    costs: dict[tuple[str, int], list[float]] = {}
    for _ in range(rounds):
        for kind in DEVICES:
            for steps in (agent.short, agent.long):
                costs.setdefault((kind, steps), []).append(cost_of(agent.command(steps), prepared[kind]).cpu)
    least = {key: min(seconds) for key, seconds in costs.items()}
    return {kind: (agent.long - agent.short) / (least[kind, agent.long] - least[kind, agent.short]) for kind in DEVICES}


def starts(prepared: dict[str, dict[str, str]], rounds: int) -> dict[str, Cost]:
    found: dict[str, list[Cost]] = {kind: [] for kind in DEVICES}
    for _ in range(rounds):
        for kind in DEVICES:
            found[kind].append(cost_of([sys.executable, "-c", START[kind]], prepared[kind]))
    return {kind: least(costs) for kind, costs in found.items()}


def least(costs: Iterable[Cost]) -> Cost:
    costs = list(costs)
    return Cost(min(cost.cpu for cost in costs), min(cost.wall for cost in costs))


def build() -> Cost:
    """A build from nothing, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        kept = os.environ.get("NPUPORT_CACHE_DIR")
        os.environ["NPUPORT_CACHE_DIR"] = folder
        try:
            built_emulator(sys.executable)
        finally:
            os.environ.pop("NPUPORT_CACHE_DIR")
            if kept is not None:
                os.environ["NPUPORT_CACHE_DIR"] = kept
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Cost(cpu, time.perf_counter() - begin)


def main() -> int:
    """Measure, print, and say whether the limits hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--build", action="store_true", help="measure a build from nothing too")
    options = parser.parse_args()
    missed = False
    if options.build:
        built = build()
        # Two compilers run at once; the CPU time tells what that takes where other work slows them.
        print(f"build: {built.wall:.0f} s, CPU time {built.cpu:.0f} s (limit {LONGEST_BUILD:.0f} s on two processors)")
        missed |= built.cpu / 2 > LONGEST_BUILD
    prepared = environments()
    found = starts(prepared, options.rounds)
    above = found["emulated"].cpu - found["cpu"].cpu
    print(
        f"start-up above plain torch: {above:.2f} s of CPU time, {found['emulated'].wall - found['cpu'].wall:.2f} s "
        f"(plain {found['cpu'].wall:.2f} s; limit {LONGEST_START:.0f} s)"
    )
    missed |= above > LONGEST_START
    for agent in TRAINED:
        speeds = steps_a_second(agent, prepared, options.rounds)
        ratio = speeds["emulated"] / speeds["cpu"]
        print(
            f"{agent.name}: {ratio:.2f} of the CPU's speed, {speeds['emulated']:.0f} against {speeds['cpu']:.0f} "
            f"steps a second (limit {LEAST_SPEED})"
        )
        missed |= ratio < LEAST_SPEED
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
