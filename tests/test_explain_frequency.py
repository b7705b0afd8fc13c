"""``npuport check --explain-frequency FILE:LINE`` says how often a line runs, and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Command, write_files

AGENT = """\
class Agent:
    def act(self, observation):
        return self.net(observation).argmax().item()
"""
TRAIN = """\
import gymnasium as gym
from agent import Agent

agent = Agent()
env = gym.make("CartPole-v1")
observation, _ = env.reset()
for step in range(1000):
    observation, reward, terminated, truncated, info = env.step(agent.act(observation))
"""


def test_loops_and_calls_are_named_from_the_outside_in(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"agent.py": AGENT, "train.py": TRAIN})
    run = npuport("check", "--explain-frequency", "agent.py:3", ".")
    assert run.status == 0
    assert run.out.splitlines() == [
        "agent.py:3 runs once per environment step",
        "  train.py:7: loop that steps the environment",
        "  train.py:8: calls act",
    ]


def test_a_line_is_explained_where_its_file_is_not_among_the_paths(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"agent.py": AGENT, "other/train.py": TRAIN})
    assert npuport("check", "--explain-frequency", "agent.py:3", "other").out.startswith("agent.py:3 runs once per ")


@pytest.mark.parametrize(
    ("place", "complaint"),
    [
        ("agent.py", "--explain-frequency wants FILE:LINE, not 'agent.py'"),
        ("agent.py:x", "--explain-frequency wants FILE:LINE, not 'agent.py:x'"),
        ("missing.py:3", "missing.py: no such file"),
        ("agent.py:99", "agent.py:99: no statement begins on this line"),
        ("broken.py:1", "broken.py: it cannot be parsed"),
    ],
)
def test_a_place_that_is_none_gets_one_clear_line(npuport: Command, tmp_path: Path, place: str, complaint: str) -> None:
    write_files(tmp_path, {"agent.py": AGENT, "broken.py": "import torch\n("})
    run = npuport("check", "--explain-frequency", place)
    assert run.status == 2
    assert run.error == complaint
