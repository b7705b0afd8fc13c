"""stable_baselines3 on the emulated device and with its own vector environments."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from npuport.device.choice import choose_device
from npuport.observe.measurement import DOWN, UP, Measurement
from npuport.observe.run import RunOptions, watch
from tests.conftest import Emulator

if importlib.util.find_spec("stable_baselines3") is None:
    pytest.skip("stable_baselines3 is not installed", allow_module_level=True)

AGENTS = """\
from stable_baselines3 import {algorithm}

model = {algorithm}("MlpPolicy", "CartPole-v1", device="npu", seed=1, {options})
model.learn({steps})
"""
OPTIONS = {"PPO": "n_steps=64, n_epochs=2, batch_size=32", "DQN": "learning_starts=32, train_freq=4"}


def watched(folder: Path, text: str, device: str, **options: object) -> Measurement:
    path = folder / "train.py"
    path.write_text(text)
    chosen = RunOptions(str(path), device=choose_device(device), capture_output=True, **options)  # type: ignore[arg-type]
    measured = watch(chosen)
    assert measured.outcome.ending in ("finished", "steps"), measured.output
    return measured


@pytest.mark.parametrize("algorithm", OPTIONS)
def test_agents_on_the_device(algorithm: str, emulator: Emulator, tmp_path: Path) -> None:
    text = AGENTS.format(algorithm=algorithm, options=OPTIONS[algorithm], steps=128)
    measured = watched(tmp_path, text, "emulated")
    assert measured.outcome.ending == "finished"
    assert measured.transitions == 128 and measured.device_parameters
    assert measured.updates == {"PPO": 2 * 2 * 2, "DQN": (128 - 32) // 4}[algorithm]
    assert measured.counts[UP].calls >= 96 and measured.counts[DOWN].calls >= 96
    # All that the library does happens on the one line of the script that lets it learn.
    assert {line.place.line for line in measured.lines if not line.setup} == {4}
    assert measured.versions["stable_baselines3"]


VECTOR = """\
import json
import gymnasium as gym
import numpy as np
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecNormalize


class Halved(gym.RewardWrapper):
    def reward(self, reward):
        return reward / 2


if __name__ == "__main__":
    envs = {make}
    envs.seed(1)
    envs.reset()
    rng = np.random.default_rng(0)
    lengths, running = [], np.zeros(3, int)
    for _ in range(100):
        running += 1
        _, _, dones, _ = envs.step(rng.integers(0, 2, 3))
        for index in np.flatnonzero(dones):
            lengths.append([int(running[index]), int(index)])
            running[index] = 0
    envs.close()
    print(json.dumps(lengths))
"""
VECTORS = (
    "make_vec_env('CartPole-v1', 3, wrapper_class=Halved)",
    "VecNormalize(make_vec_env('CartPole-v1', 3))",
    "make_vec_env('CartPole-v1', 3, wrapper_class=Halved, vec_env_cls=SubprocVecEnv)",
    "VecNormalize(make_vec_env('CartPole-v1', 3, vec_env_cls=SubprocVecEnv, vec_env_kwargs={'start_method': 'fork'}))",
)


@pytest.mark.parametrize("make", VECTORS)
def test_vector_environments(make: str, tmp_path: Path) -> None:
    measured = watched(tmp_path, VECTOR.replace("{make}", make), "cpu", counting=False)
    lengths = json.loads(measured.output.splitlines()[-1])
    assert (measured.transitions, measured.vector_steps, measured.environments) == (300, 100, 3)
    assert [[episode.length, episode.environment] for episode in measured.episodes] == lengths
    # CartPole gives 1 a step, whatever wrappers make of it.
    assert all(episode.episodic_return == episode.length for episode in measured.episodes)
    assert len(lengths) > 5


def test_max_steps(tmp_path: Path) -> None:
    text = AGENTS.format(algorithm="PPO", options=OPTIONS["PPO"], steps=100_000).replace('"npu"', '"cpu"')
    measured = watched(tmp_path, text, "cpu", max_steps=80)
    assert (measured.outcome.ending, measured.transitions) == ("steps", 80)


def test_max_updates(tmp_path: Path) -> None:
    text = AGENTS.format(algorithm="PPO", options=OPTIONS["PPO"], steps=100_000).replace('"npu"', '"cpu"')
    measured = watched(tmp_path, text, "cpu", max_updates=3)
    assert (measured.outcome.ending, measured.updates, measured.transitions) == ("steps", 3, 64)
