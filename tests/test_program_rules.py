"""Rules that look across the files of a program, and findings of one rule with topics of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Command, write_files

AGENT = """import torch


class Agent:
    def __init__(self):
        self.net = torch.nn.Linear(4, 2)
        self.net.to("cuda")


def rollout(index):
    return torch.zeros(4, device="cuda")


def play(index):
    return index + 1
"""
TRAINER = """import multiprocessing as mp

import torch

from agent import Agent, play, rollout


def main():
    agent = Agent()
    worker = mp.Process(target={target}, args=(1,))
    worker.start()


if __name__ == "__main__":
    main()
"""
WORKERS = """import multiprocessing as mp

import torch


def work(index):
    return torch.zeros(4, device="cuda")


def start():
    worker = mp.Process(target=work, args=(1,))
    worker.start()
"""
STARTER = """import torch
from workers import start


def main():
    net = torch.nn.Linear(4, 2).to("cuda")
    start()
    return net
"""


def rows(npuport: Command, code: str) -> list[tuple[str, int]]:
    found = json.loads(npuport("check", "--no-cache", "--select", code, "--output-format", "json").out)
    return [(Path(finding["filename"]).name, finding["location"]["row"]) for finding in found]


def test_an_agent_of_another_file_touches_the_device_before_the_fork(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"agent.py": AGENT, "trainer.py": TRAINER.format(target="rollout")})
    assert rows(npuport, "NPU703") == [("trainer.py", 10)]


def test_a_worker_that_only_plays_is_left_alone(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"agent.py": AGENT, "trainer.py": TRAINER.format(target="play")})
    assert rows(npuport, "NPU703") == []


@pytest.mark.parametrize("text", ['mp.set_start_method("spawn")', "mp.set_start_method(method)"])
def test_a_start_method_chosen_in_another_file_counts(npuport: Command, tmp_path: Path, text: str) -> None:
    main = f"import torch.multiprocessing as mp\nimport trainer\n\nmethod = input()\n{text}\ntrainer.main()\n"
    write_files(tmp_path, {"agent.py": AGENT, "trainer.py": TRAINER.format(target="rollout"), "main.py": main})
    assert rows(npuport, "NPU703") == []


def test_a_caller_in_another_file_touches_the_device_first(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"workers.py": WORKERS, "starter.py": STARTER})
    assert rows(npuport, "NPU703") == [("workers.py", 11)]


def test_a_caller_that_touches_the_device_afterwards_does_not_count(npuport: Command, tmp_path: Path) -> None:
    later = STARTER.replace("    start()\n    return net\n", "").replace("    net =", "    start()\n    net =")
    write_files(tmp_path, {"workers.py": WORKERS, "starter.py": later})
    assert rows(npuport, "NPU703") == []


def test_a_selection_through_a_mask_is_about_shapes_and_an_assignment_about_operators(
    npuport: Command, tmp_path: Path
) -> None:
    code = (
        "import torch\n\n\ndef learn(net, optimizer, device):\n    mask = torch.zeros(4, device=device).bool()\n"
        "    values = net(mask)\n    values[mask] = 0.0\n    kept = torch.ones(4, device=device)[mask]\n"
        "    (kept + values).mean().backward()\n    optimizer.step()\n"
    )
    write_files(tmp_path, {"agent.py": code})
    run = npuport("check", "--no-cache", "--select", "NPU603", "--output-format", "json")
    found = {finding["location"]["row"]: finding["topic"] for finding in json.loads(run.out)}
    assert found == {7: "op", 8: "shape"}


PICKING = "from stable_baselines3 import PPO\n\nmodel = PPO('MlpPolicy', 'CartPole-v1')\n"


def test_a_library_that_picks_its_device_is_not_told_so_in_its_own_tests(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"tests/test_run.py": PICKING})
    assert rows(npuport, "NPU113") == [("test_run.py", 3)]
    write_files(tmp_path, {"stable_baselines3/__init__.py": "class PPO: ...\n"})
    assert rows(npuport, "NPU113") == []


SAVING = """import torch

net = torch.nn.Linear(4, 2).to("cuda")


def {function}(path):
    torch.save(net.state_dict(), path)
    net.load_state_dict(torch.load(path))
"""


@pytest.mark.parametrize(
    ("name", "function", "found"),
    [("agent.py", "keep", True), ("test_agent.py", "keep", True), ("test_agent.py", "test_keeping", False)],
)
def test_a_test_loads_what_it_saved_on_the_same_machine(
    npuport: Command, tmp_path: Path, name: str, function: str, found: bool
) -> None:
    write_files(tmp_path, {name: SAVING.format(function=function)})
    assert rows(npuport, "NPU801") == ([(name, 7)] if found else [])
    assert rows(npuport, "NPU802") == ([(name, 8)] if found else [])
