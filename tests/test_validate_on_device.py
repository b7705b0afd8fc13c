"""``npuport validate`` from end to end: a small agent on the emulated device against itself on the CPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npuport.cli import main
from npuport.observe.measurement import measurement_from_json
from npuport.validate.checks import per_transition
from tests.conftest import Emulator

# One copy up and one down a step; learns a little in every tenth.
AGENT = """
import sys

import gymnasium as gym
import torch

seed, steps, name = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
torch.manual_seed(seed)
device = torch.device(name)
network = torch.nn.Linear(4, 2).to(device)
optimiser = torch.optim.SGD(network.parameters(), lr=0.01)
env = gym.make("CartPole-v1")
observation, _ = env.reset(seed=seed)
for step in range(steps):
    values = network(torch.from_numpy(observation).to(device))
    if step % 10 == 9:
        loss = torch.nn.functional.mse_loss(values, torch.ones_like(values))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    observation, _, terminated, truncated, _ = env.step(int(values.argmax()))
    if terminated or truncated:
        observation, _ = env.reset()
"""
STEPS = 400


def test_an_agent_on_the_device_against_itself_on_the_cpu(
    emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("train.py", "original.py"):
        Path(name).write_text(AGENT)
    command = ["validate", "train.py", "--device", "emulated", "--against", "original.py", "--seeds", "1"]
    command += ["--against-args", f"{{seed}} {STEPS} cpu", "--output-format", "json", "-q"]
    assert main.run([*command, "--", "{seed}", str(STEPS), "npu:0"]) == 3, "one seed gives no verdict"
    data = json.loads(capsys.readouterr().out)
    port = measurement_from_json(data["counted"]["port"])
    assert (port.transitions, port.updates, port.device_parameters) == (STEPS, STEPS // 10, True)
    counted = per_transition(port)
    assert counted["up"] == pytest.approx(1.0, abs=0.02) and counted["down"] == pytest.approx(1.0, abs=0.02)
    states = {check["name"]: check["state"] for check in data["checks"]}
    assert "broken" not in states.values()
    assert states["repeatability"] == states["checkpoint"] == states["first updates"] == "ok"
    assert [line["place"]["line"] for line in data["lines"][:2]] == [15, 21]
    # A network this small gives the same numbers on the device and on the CPU.
    assert data["reasons"]["identical"] == [1]
