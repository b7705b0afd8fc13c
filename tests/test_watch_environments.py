"""Transitions and episodes, however environments are made, wrapped, and spread over processes.

Every script counts for itself; what is watched must be the same.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npuport.device.choice import choose_device
from npuport.observe.measurement import Measurement
from npuport.observe.run import RunOptions, watch

pytest.importorskip("gymnasium")

CPU = choose_device("cpu")


def watched(folder: Path, text: str, **options: object) -> Measurement:
    path = folder / "train.py"
    path.write_text(text)
    measured = watch(
        RunOptions(str(path), device=CPU, capture_output=True, counting=False, **options)  # type: ignore[arg-type]
    )
    assert measured.outcome.ending in ("finished", "steps"), measured.output
    return measured


SINGLE = """\
import json
import gymnasium as gym
from gymnasium.envs.classic_control import CartPoleEnv


class Halved(gym.RewardWrapper):
    def reward(self, reward):
        return reward / 2


class Repeated(gym.Wrapper):
    def step(self, action):
        total = 0.0
        for _ in range(3):
            observation, reward, terminated, truncated, info = self.env.step(action)
            total += reward
            if terminated or truncated:
                break
        return observation, total, terminated, truncated, info


class Adaptor(gym.Env):
    "Holds an environment without being a wrapper."

    def __init__(self):
        self.inner = gym.make("CartPole-v1")
        self.observation_space, self.action_space = self.inner.observation_space, self.inner.action_space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.inner.reset(seed=seed)

    def step(self, action):
        observation, reward, *rest = self.inner.step(action)
        return observation, reward - 100.0, *rest


class Derived(CartPoleEnv):
    def step(self, action):
        return super().step(action)


env, scale = {make}
returns, lengths, transitions = [], [], 0
for episode in range(5):
    env.reset(seed=episode)
    total, length, ended = 0.0, 0, False
    while not ended:
        _, reward, terminated, truncated, _ = env.step(length // 2 % 2)
        total, length, transitions = total + reward * scale, length + 1, transitions + 1
        ended = terminated or truncated
    returns.append(total)
    lengths.append(length)
print(json.dumps([transitions, returns, lengths]))
"""
SINGLES = {
    "gym.make('CartPole-v1'), 1": None,
    "gym.make('CartPole-v1', max_episode_steps=7), 1": None,
    "CartPoleEnv(), 1": None,
    "Derived(), 1": None,
    "Halved(gym.make('CartPole-v1')), 2": None,
    "gym.wrappers.TimeLimit(Halved(CartPoleEnv()), 7), 2": None,
    "gym.wrappers.TransformReward(gym.make('CartPole-v1'), lambda reward: reward - 10), 1": lambda length: length,
    "Repeated(Halved(gym.make('CartPole-v1'))), 2": None,
    "Adaptor(), 1": lambda length: length,
    "gym.wrappers.RecordEpisodeStatistics(gym.wrappers.NormalizeReward(gym.make('CartPole-v1'))), 1": lambda n: n,
}


@pytest.mark.parametrize("make", SINGLES)
def test_single_environments(make: str, tmp_path: Path) -> None:
    measured = watched(tmp_path, SINGLE.replace("{make}", make))
    transitions, returns, lengths = json.loads(measured.output.splitlines()[-1])
    true_return = SINGLES[make]
    if true_return is not None:  # what the environment itself gave, not what the script saw
        returns = [float(true_return(length)) for length in lengths]
    assert measured.transitions == measured.vector_steps == transitions
    assert [episode.length for episode in measured.episodes] == lengths
    assert [episode.episodic_return for episode in measured.episodes] == pytest.approx(returns)
    assert not any(episode.cut for episode in measured.episodes)
    assert measured.environments == 1


def test_an_episode_that_the_script_cuts(tmp_path: Path) -> None:
    text = SINGLE.replace("{make}", "CartPoleEnv(), 1").replace("while not ended:", "while length < 6:")
    measured = watched(tmp_path, text)
    # The last was never reset: whether it goes on is not known.
    assert [(episode.length, episode.cut) for episode in measured.episodes] == [(6, True)] * 4
    assert measured.transitions == 30


VECTOR = """\
import json
import gymnasium as gym
import numpy as np


class Halved(gym.RewardWrapper):
    def reward(self, reward):
        return reward / 2


def make():
    return gym.make("CartPole-v1")


def make_halved():
    return Halved(gym.wrappers.RecordEpisodeStatistics(gym.make("CartPole-v1", max_episode_steps=20)))


if __name__ == "__main__":
    envs, scale = {make}
    same_step = envs.metadata["autoreset_mode"].value == "SameStep"
    envs.reset(seed=1)
    rng = np.random.default_rng(0)
    returns, running, ended, transitions = [], np.zeros(3), np.zeros(3, bool), 0
    for _ in range(200):
        _, rewards, terminated, truncated, _ = envs.step(rng.integers(0, 2, 3))
        live = np.ones(3, bool) if same_step else ~ended
        transitions += int(live.sum())
        running[live] += rewards[live] * scale
        ended = terminated | truncated
        for index in np.flatnonzero(live & ended):
            returns.append([float(running[index]), int(index)])
            running[index] = 0.0
    envs.close()
    print(json.dumps([transitions, returns]))
"""
SAME_STEP = "autoreset_mode=gym.vector.AutoresetMode.SAME_STEP"
VECTORS = (
    "gym.make_vec('CartPole-v1', 3, vectorization_mode='sync'), 1",
    "gym.make_vec('CartPole-v1', 3, vectorization_mode='sync', wrappers=[Halved]), 2",
    "gym.make_vec('CartPole-v1', 3, vectorization_mode='async'), 1",
    "gym.make_vec('CartPole-v1', 3), 1",  # its own vector entry point
    f"gym.vector.SyncVectorEnv([make_halved] * 3, {SAME_STEP}), 2",
    "gym.vector.AsyncVectorEnv([make_halved] * 3), 2",
    f"gym.vector.AsyncVectorEnv([make_halved] * 3, {SAME_STEP}), 2",
    "gym.vector.AsyncVectorEnv([make_halved] * 3, context='spawn'), 2",
    "gym.wrappers.vector.RecordEpisodeStatistics(gym.vector.SyncVectorEnv([make] * 3)), 1",
)


@pytest.mark.parametrize("make", VECTORS)
def test_vector_environments(make: str, tmp_path: Path) -> None:
    measured = watched(tmp_path, VECTOR.replace("{make}", make))
    transitions, returns = json.loads(measured.output.splitlines()[-1])
    assert (measured.transitions, measured.vector_steps, measured.environments) == (transitions, 200, 3)
    assert [[episode.episodic_return, episode.environment] for episode in measured.episodes] == returns
    assert len(returns) > 10


@pytest.mark.parametrize("make", [VECTORS[0], VECTORS[2], VECTORS[3]])
def test_max_steps_of_vector_environments(make: str, tmp_path: Path) -> None:
    measured = watched(tmp_path, VECTOR.replace("{make}", make), max_steps=20)
    assert measured.outcome.ending == "steps"
    assert 20 <= measured.transitions < 20 + 3


def test_steps_in_a_forked_child_are_not_counted(tmp_path: Path) -> None:
    text = (
        "import os\nimport gymnasium\n"
        "env = gymnasium.make('CartPole-v1')\nenv.reset(seed=0)\n"
        "child = os.fork()\n"
        "for _ in range(5 if child else 3):\n    env.step(0)\n"
        "if not child:\n    os._exit(0)\n"
        "os.waitpid(child, 0)\n"
    )
    measured = watched(tmp_path, text)
    assert measured.transitions == 5
    assert any("1 processes" in line for line in measured.not_measured)


UNSEEDED = """\
import random
import gymnasium as gym
import numpy as np

envs = {make}
observation = envs.reset()[0]
actions = [envs.action_space.sample() for _ in range(4)]
print(np.asarray(observation).tolist(), actions, random.random(), np.random.rand())
envs.close()
"""


@pytest.mark.parametrize(
    "make",
    [
        "gym.make('CartPole-v1')",
        "gym.make_vec('CartPole-v1', 3)",
        "gym.make_vec('CartPole-v1', 3, vectorization_mode='sync')",
        "gym.make_vec('CartPole-v1', 3, vectorization_mode='async')",
    ],
)
def test_what_the_script_does_not_seed_is_seeded(make: str, tmp_path: Path) -> None:
    text = UNSEEDED.replace("{make}", make)
    first, again, other = (watched(tmp_path, text, seed=seed).output for seed in (3, 3, 4))
    assert first == again != other


def test_the_scripts_own_seeds_stay(tmp_path: Path) -> None:
    text = UNSEEDED.replace("{make}", "gym.make('CartPole-v1')").replace("reset()", "reset(seed=5)")
    text = text.replace("envs =", "random.seed(1)\nnp.random.seed(1)\nenvs =").replace(
        "observation =", "envs.action_space.seed(1)\nobservation ="
    )
    assert len({watched(tmp_path, text, seed=seed).output for seed in (3, 4, None)}) == 1


def test_gym_alias(tmp_path: Path) -> None:
    text = (
        "import gym\nimport gym.spaces as spaces\nfrom gym.wrappers import TimeLimit\nimport gymnasium\n"
        "assert gym is gymnasium and spaces is gymnasium.spaces and TimeLimit is gymnasium.wrappers.TimeLimit\n"
        "env = gym.make('CartPole-v1')\nenv.reset()\nenv.step(0)\n"
    )
    assert watched(tmp_path, text, gym_alias=True).transitions == 1


def test_missing_gym_is_told_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("import gym\n")
    measured = watch(RunOptions(str(path), device=CPU, capture_output=True))
    assert measured.outcome.error == "ModuleNotFoundError: No module named 'gym'"
    assert [line for line in measured.output.splitlines() if line.startswith("npuport: ")] == [
        "npuport: gym is not installed; with --gym-alias `import gym` gives gymnasium, which suits scripts of gym 0.26"
    ]


def test_a_limit_that_could_not_be_reached_is_told(tmp_path: Path) -> None:
    told = watched(tmp_path, "print('no environment')\n", max_steps=5).not_measured
    assert len(told) == 2 and "no environment of gymnasium" in told[0] and "limit" in told[1]
