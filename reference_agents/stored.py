"""Stored runs of the reference agents: what ``npuport validate`` compares a port with. Imports no torch.

A stored run is one JSON file, ``runs/<agent>-<environment>.json``, written by ``record`` and read here.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from npuport.sources.errors import UsageError

AgentName: TypeAlias = Literal["dqn", "ppo"]
AGENTS: tuple[AgentName, ...] = get_args(AgentName)
RUNS_FOLDER = Path(__file__).parent / "runs"
FORMAT = 1


@dataclass(frozen=True)
class SeedRun:
    """One seed.

    Attributes:
        seed: as given to ``--seed``.
        transitions: live transitions over all environments when each training episode ended, rising.
        returns: undiscounted return of the same episodes.
        greedy_return: mean return of the final policy without exploration, over ``greedy_episodes`` episodes.
        seconds: wall time of training, without the greedy evaluation.
    """

    seed: int
    transitions: list[int]
    returns: list[float]
    greedy_return: float
    seconds: float


@dataclass(frozen=True)
class StoredRun:
    """All seeds of one agent on one environment, under one set of hyper-parameters.

    Attributes:
        total_steps: live transitions that every seed was trained for, over all environments.
        device: ``cpu``, ``npu`` or ``emulated``.
        versions: of npuport, python, torch, numpy, gymnasium; ``processor``: what the numbers were made on.
        hyperparameters: every argument of the agent that changes what it learns, as its command line names them.
    """

    agent: str
    environment: str
    total_steps: int
    device: str
    versions: dict[str, str]
    hyperparameters: dict[str, Any]
    seeds: list[SeedRun]


def stored_run_path(agent: str, environment: str, folder: Path = RUNS_FOLDER) -> Path:
    """Where the stored run of an agent on an environment lies, whether or not it exists."""
    return folder / f"{agent}-{environment}.json"


def stored_environments(agent: str, folder: Path = RUNS_FOLDER) -> list[str]:
    """The environments that an agent has a stored run for, in alphabetical order."""
    return sorted(path.stem.removeprefix(f"{agent}-") for path in folder.glob(f"{agent}-*.json"))


def load_stored_run(agent: str, environment: str, folder: Path = RUNS_FOLDER) -> StoredRun:
    """The stored run of an agent on an environment; `UsageError` names those that exist where there is none."""
    path = stored_run_path(agent, environment, folder)
    if not path.is_file():
        known = [f"{name} on {each}" for name in AGENTS for each in stored_environments(name, folder)]
        raise UsageError(f"no stored run of {agent} on {environment}; stored: {', '.join(known) or 'none'}")
    return read_stored_run(path)


def read_stored_run(path: Path) -> StoredRun:
    """A stored run from any file, a user's own included; `UsageError` where it is not one."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: not a readable JSON file: {error}") from error
    if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
        raise UsageError(f"{path}: not a stored run in format {FORMAT}, as npuport.reference_agents.record writes it")
    try:
        run = StoredRun(**{**data, "seeds": [SeedRun(**seed) for seed in data["seeds"]]})
    except (TypeError, KeyError) as error:
        raise UsageError(f"{path}: a stored run with missing or unknown fields: {error}") from error
    for seed in run.seeds:
        if len(seed.transitions) != len(seed.returns):
            raise UsageError(f"{path}: seed {seed.seed} has not as many transitions as returns")
    return run


def write_stored_run(run: StoredRun, path: Path) -> None:
    """Writes a stored run: one line a seed, so that a changed seed is a changed line."""
    fields = {"format": FORMAT, **{name: value for name, value in vars(run).items() if name != "seeds"}}
    lines = [f" {json.dumps(name)}: {json.dumps(value)}" for name, value in fields.items()]
    seeds = [f"  {json.dumps(dataclasses.asdict(seed), separators=(',', ':'))}" for seed in run.seeds]
    lines.append(' "seeds": [\n' + ",\n".join(seeds) + "\n ]")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
