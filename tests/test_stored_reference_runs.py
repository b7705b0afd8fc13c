"""The stored runs of the reference agents are what the code still produces, and as good as they have to be.

A whole run is too long to be repeated here, and on another processor the last bits of its sums differ until some
action does. So the first seed of each is trained a short way, with the schedules of the whole run, and the episodes
that have ended by then are compared: enough updates for a changed agent to act otherwise, few enough for rounding to
leave the actions as they were. With the kernels of the oldest processors that torch knows
(``ATEN_CPU_CAPABILITY=default``), PPO's first seed on CartPole leaves the stored run, which was made with AVX-512,
after 6,134 transitions.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest

from reference_agents.results import best_mean, table
from reference_agents.stored import AGENTS, RUNS_FOLDER, load_stored_run, read_stored_run

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")  # torch alone, without what is installed beside it
pytest.importorskip("torch")
pytest.importorskip("gymnasium")
record = importlib.import_module("npuport.reference_agents.record")

STORED = sorted(RUNS_FOLDER.glob("*.json"))
# Transitions that are repeated: some episodes must have ended.
PREFIX = {"CartPole-v1": 2_000, "Acrobot-v1": 8_100, "Pendulum-v1": 3_300}


def test_every_recorded_pair_is_stored_and_nothing_else() -> None:
    assert {path.stem for path in STORED} == {f"{agent}-{environment}" for agent, environment in record.RECORDED}
    assert {agent for agent, _ in record.RECORDED} == set(AGENTS) == set(record.AGENTS)


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_stored_runs_are_those_of_the_code(path: Path) -> None:
    run = read_stored_run(path)
    assert run.hyperparameters == record.hyperparameters(run.agent, run.environment)
    module, seed = record.AGENTS[run.agent], run.seeds[0]
    arguments = record.arguments_for(
        module.Arguments,
        module.SETTINGS,
        env_id=run.environment,
        seed=seed.seed,
        stop_after=PREFIX[run.environment],
    )
    assert arguments.total_steps == run.total_steps
    _, episodes = module.train(arguments)
    made = len(episodes.finished)
    assert made >= 16
    assert [transitions for transitions, _ in episodes.finished] == seed.transitions[:made]
    assert [returned for _, returned in episodes.finished] == pytest.approx(seed.returns[:made], rel=1e-3)


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_stored_runs_are_whole(path: Path) -> None:
    run = read_stored_run(path)
    first = run.seeds[0].seed
    assert [seed.seed for seed in run.seeds] == list(range(first, first + 20))
    assert run.device == "cpu"
    assert {"npuport", "python", "torch", "numpy", "gymnasium", "processor"} == set(run.versions)
    for seed in run.seeds:
        assert seed.transitions == sorted(seed.transitions)
        # The last episodes of all environments may still have been running.
        assert run.total_steps * 0.8 < seed.transitions[-1] < run.total_steps * 1.05
    assert len({tuple(seed.returns) for seed in run.seeds}) == len(run.seeds)


@pytest.mark.parametrize("agent", AGENTS)
def test_cart_pole_is_solved_by_nearly_every_seed(agent: str) -> None:
    """PPO by its final policy; DQN during training, because the last policy is now and then an unlucky one."""
    seeds = load_stored_run(agent, "CartPole-v1").seeds
    scores = [seed.greedy_return if agent == "ppo" else best_mean(seed) for seed in seeds]
    assert sum(score >= 475 for score in scores) >= 19


def test_the_documentation_shows_what_the_stored_runs_reached() -> None:
    page = (Path(__file__).parent.parent / "docs" / "reference_agents.md").read_text(encoding="utf-8")
    assert "\n".join(table()) in page
