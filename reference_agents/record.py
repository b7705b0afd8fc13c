"""Makes the stored runs anew: ``python -m npuport.reference_agents.record --agent ppo --env-id CartPole-v1 --jobs 2``.

They are made on the CPU, each seed in a process of its own with one thread, and written to ``runs``.
"""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
import multiprocessing
import platform
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from npuport.reference_agents import dqn, ppo
from npuport.reference_agents.checkpoints import identity
from npuport.reference_agents.command_line import arguments_for
from npuport.reference_agents.evaluation import mean_return
from npuport.reference_agents.stored import RUNS_FOLDER, SeedRun, StoredRun, stored_run_path, write_stored_run

AGENTS: dict[str, ModuleType] = {"dqn": dqn, "ppo": ppo}
RECORDED = (
    ("ppo", "CartPole-v1"),
    ("dqn", "CartPole-v1"),
    ("ppo", "Acrobot-v1"),
    ("dqn", "Acrobot-v1"),
    ("ppo", "Pendulum-v1"),
)
GREEDY_EPISODES = 100
# The evaluation's environments start from other seeds than those of training.
_EVALUATION_SEEDS = 10_000


def hyperparameters(agent: str, environment: str) -> dict[str, Any]:
    """What an agent learns with on an environment, as it is stored."""
    module = AGENTS[agent]
    values = identity(arguments_for(module.Arguments, module.SETTINGS, env_id=environment))
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    return {name: value for name, value in plain.items() if name not in ("env_id", "seed", "total_steps")}


def run_seed(agent: str, environment: str, seed: int) -> SeedRun:
    """Trains one seed with the settings of the environment, and evaluates the policy that comes out."""
    module = AGENTS[agent]
    arguments = arguments_for(module.Arguments, module.SETTINGS, env_id=environment, seed=seed)
    start = time.monotonic()
    trained, episodes = module.train(arguments)
    seconds = time.monotonic() - start
    greedy = mean_return(trained.greedy, environment, GREEDY_EPISODES, _EVALUATION_SEEDS + seed)
    return SeedRun(
        seed=seed,
        transitions=[transitions for transitions, _ in episodes.finished],
        returns=[round(episodic_return, 4) for _, episodic_return in episodes.finished],
        greedy_return=round(greedy, 4),
        seconds=round(seconds, 2),
    )


def versions() -> dict[str, str]:
    """Of what the returns may depend on, the processor's instructions included."""
    packages = {name: importlib.metadata.version(name) for name in ("npuport", "torch", "numpy", "gymnasium")}
    processor = f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"
    return {**packages, "python": platform.python_version(), "processor": processor}


def record(agent: str, environment: str, seeds: list[int], jobs: int) -> StoredRun:
    """Runs all seeds, `jobs` at a time."""
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        runs = list(pool.map(functools.partial(run_seed, agent, environment), seeds))
    module = AGENTS[agent]
    total_steps = arguments_for(module.Arguments, module.SETTINGS, env_id=environment).total_steps
    return StoredRun(agent, environment, total_steps, "cpu", versions(), hyperparameters(agent, environment), runs)


def main(words: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agent", choices=sorted(AGENTS), help="only this agent; else all that are recorded")
    parser.add_argument("--env-id", help="only this environment")
    parser.add_argument("--seeds", type=int, default=20, help="how many")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="how many seeds at a time")
    parser.add_argument("--folder", type=Path, default=RUNS_FOLDER, help="where the files go")
    options = parser.parse_args(words)
    chosen = [
        (agent, environment)
        for agent, environment in RECORDED
        if options.agent in (None, agent) and options.env_id in (None, environment)
    ]
    if not chosen:
        parser.error(f"{options.agent or 'any agent'} is not recorded on {options.env_id}")
    for agent, environment in chosen:
        run = record(
            agent, environment, list(range(options.first_seed, options.first_seed + options.seeds)), options.jobs
        )
        path = stored_run_path(agent, environment, options.folder)
        write_stored_run(run, path)
        greedy = sorted(seed.greedy_return for seed in run.seeds)
        print(f"{path.name}: greedy returns {', '.join(f'{value:.1f}' for value in greedy)}", file=sys.stderr)


if __name__ == "__main__":
    main()
