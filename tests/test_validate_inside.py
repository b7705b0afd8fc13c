"""What validate adds to a watched script's process: environments, checkpoints, ``npuport_agent``; on the CPU."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from npuport.device.choice import choose_device
from npuport.observe.measurement import Measurement
from npuport.observe.run import RunOptions, watch
from npuport.validate.arms import seed_run
from npuport.validate.inside import checkpoints
from npuport.validate.passes import PROBE

torch = pytest.importorskip("torch")

TRAIN = """
def train(env_id, seed, steps, device):
    import gymnasium as gym
    import torch

    env = gym.make(env_id)
    network = torch.nn.Linear(4, 2)
    optimiser = torch.optim.Adam(network.parameters())
    observation, _ = env.reset(seed=seed)
    for step in range(steps):
        observation, _, terminated, truncated, _ = env.step(step % 2)
        loss = network(torch.as_tensor(observation)).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if terminated or truncated:
            observation, _ = env.reset()
    return network
"""


def run(folder: Path, text: str, *, function: bool = False) -> Measurement:
    """Run a script, or its function, on the CPU with the probe in it."""
    script = folder / "train.py"
    script.write_text(TRAIN + text)
    options = RunOptions(str(script), device=choose_device("cpu"), extra_hook=PROBE, counting=False, cwd=folder)
    if function:
        arguments = (str(script), "CartPole-v1", "3", "40", "cpu")
        runner = "npuport.validate.inside.agent_function"
        options = RunOptions(
            runner, arguments, True, device=options.device, extra_hook=PROBE, counting=False, capture_output=True
        )
    return watch(options)


def probed(measurement: Measurement) -> dict[str, Any]:
    assert measurement.outcome.ending == "finished", (measurement.outcome, measurement.output)
    found: dict[str, Any] = measurement.extra["validate"]
    return found


def test_a_script_that_saves_nothing_has_its_optimiser_tried(tmp_path: Path) -> None:
    found = probed(run(tmp_path, "train('CartPole-v1', 1, 30, 'cpu')\n"))
    assert found["environments"] == {"CartPole-v1": {"threshold": 475.0, "steps": 500}}
    # Weight and bias, and for each of them Adam's step and both of its averages.
    assert found["checkpoint"] == {"of": "optimiser", "tensors": 8, "on_device": 0, "differing": [], "fault": ""}


def test_a_script_that_saves_has_its_own_checkpoint_examined(tmp_path: Path) -> None:
    text = """
import torch
network = train("CartPole-v1", 1, 30, "cpu")
torch.save(network.state_dict(), "first.pt")
with open("second.pt", "wb") as file:
    torch.save({"network": network, "step": 30}, file)
    print(file.tell())
"""
    found = probed(run(tmp_path, text))
    assert found["checkpoint"] == {"of": "script", "tensors": 2, "on_device": 0, "differing": [], "fault": ""}
    assert (tmp_path / "first.pt").exists() and (tmp_path / "second.pt").stat().st_size > 1000


def test_the_function_is_called_and_the_script_is_not_run(tmp_path: Path) -> None:
    text = """
def npuport_agent(env_id, seed, steps, device):
    train(env_id, seed, steps, device)
    return 123.5

if __name__ == "__main__":
    raise SystemExit("the script was run")
"""
    measurement = run(tmp_path, text, function=True)
    assert probed(measurement)["evaluation"] == 123.5
    assert measurement.transitions == 40
    assert str(tmp_path / "train.py") in measurement.user_files


def test_a_function_that_returns_something_else_is_told(tmp_path: Path) -> None:
    text = "def npuport_agent(env_id, seed, steps, device):\n    return [1.0]\n"
    measurement = run(tmp_path, text, function=True)
    assert measurement.outcome.ending == "crashed"
    assert "returned list: expected a policy" in measurement.outcome.error


def test_a_policy_is_evaluated_and_its_episodes_are_not_training(tmp_path: Path) -> None:
    text = """
def npuport_agent(env_id, seed, steps, device):
    train(env_id, seed, steps, device)
    return lambda observations: (observations[:, 2] + observations[:, 3] > 0).astype(int)
"""
    measurement = run(tmp_path, text, function=True)
    found = probed(measurement)
    assert found["evaluation"] > 400.0, "this policy balances the pole"
    assert (found["trained"], measurement.transitions > 40_000) == (40, True)
    trained = seed_run(3, measurement, 40)
    assert (trained.transitions, trained.evaluation) == (40, found["evaluation"])
    assert sum(episode.length for episode in trained.episodes) <= 40


# Comparing, without a child ---------------------------------------------------------------------------------------


def saved(value: object) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(value, file)
    return file


def test_what_differs_is_named() -> None:
    kept = {"a": torch.tensor([1.0, float("nan")]), "b": {"c": [torch.arange(3), 7]}}
    assert checkpoints.examined(torch, kept, saved(kept))["differing"] == []
    other = {"a": torch.tensor([1.0, float("nan")]), "b": {"c": [torch.arange(1, 4), 7]}}
    assert checkpoints.examined(torch, kept, saved(other)) == {
        "tensors": 2, "on_device": 0, "differing": [".b.c.0"], "fault": "",
    }  # fmt: skip
    changed = {"a": kept["a"].double(), "b": kept["b"]}
    assert checkpoints.examined(torch, kept, saved(changed))["differing"] == [".a"]


def test_a_file_that_does_not_load_is_a_fault() -> None:
    found = checkpoints.examined(torch, {"a": torch.zeros(2)}, io.BytesIO(b"no checkpoint"))
    assert found["fault"] and not found["differing"]


def test_an_optimiser_goes_through_a_file_and_back() -> None:
    parameter = torch.nn.Parameter(torch.ones(3))
    optimiser = torch.optim.Adam([parameter])
    parameter.sum().backward()
    optimiser.step()
    file = io.BytesIO()
    found = checkpoints.tried(torch, torch.save, optimiser, file)
    assert found == {"tensors": 4, "on_device": 0, "differing": [], "fault": ""}
    assert file.tell() > 0 and "torch" in sys.modules
