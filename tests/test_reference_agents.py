"""The reference agents: their arithmetic against plain Python, what they learn from, exact resume, what they write."""

from __future__ import annotations

import csv
import dataclasses
import importlib
import importlib.util
import json
import os
import subprocess
import sys
from collections import deque
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Emulator, environment

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")  # torch alone, without what is installed beside it
np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
pytest.importorskip("gymnasium")
dqn = pytest.importorskip("npuport.reference_agents.dqn")
ppo = pytest.importorskip("npuport.reference_agents.ppo")

arguments_for = importlib.import_module("npuport.reference_agents.command_line").arguments_for

AGENTS = {"dqn": dqn, "ppo": ppo}
ON_CPU = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "OMP_NUM_THREADS": "1"}
# Small enough to run in a second, with several updates and episodes in it.
SMALL = {
    "dqn": {"replay_size": 512, "learning_starts": 64, "batch_size": 16, "updates_per_step": 2, "environments": 4},
    "ppo": {"rollout": 16, "epochs": 2, "minibatch": 16, "environments": 4},
}


def small(agent: str, env_id: str = "CartPole-v1", **given: Any) -> Any:
    """Arguments of a short run."""
    module = AGENTS[agent]
    return arguments_for(module.Arguments, module.SETTINGS, env_id=env_id, **{**SMALL[agent], **given})


def command_line(agent: str, *words: str | Path) -> int | str | None:
    """Runs an agent as its command line does, and gives the exit status."""
    module = AGENTS[agent]
    try:
        module.run(lambda: module.train(module.parse(module.Arguments, module.SETTINGS, list(map(str, words)))))
    except SystemExit as end:
        return end.code
    return 0


# Arithmetic


@pytest.mark.parametrize("steps", [1, 2, 5, 32])
def test_advantages_are_those_of_a_loop(steps: int) -> None:
    chance = np.random.default_rng(steps)
    rewards, values = chance.standard_normal((steps, 6)), chance.standard_normal((steps + 1, 6))
    terminated, truncated = chance.random((2, steps, 6)) < 0.2
    ended = terminated | truncated
    expected, following = np.zeros((steps, 6)), np.zeros(6)
    for step in reversed(range(steps)):
        delta = rewards[step] + 0.9 * values[step + 1] * ~terminated[step] - values[step]
        following = expected[step] = delta + 0.9 * 0.8 * ~ended[step] * following
    arrays = (rewards, values, terminated, ended)
    given = ppo.advantages_of(*(torch.as_tensor(array, dtype=torch.float32) for array in arrays), 0.9, 0.8)
    np.testing.assert_allclose(given.numpy(), expected, rtol=1e-5, atol=1e-5)


def random_steps(chance: Any, count: int, environments: int) -> list[Any]:
    """Steps as a vector environment gives them: after the end of an episode comes one that only resets."""
    observations, ended = chance.standard_normal((environments, 2)), np.zeros(environments)
    steps = []
    for _ in range(count):
        live, after = 1 - ended, chance.standard_normal((environments, 2))
        terminated, truncated = (chance.random((2, environments)) < 0.2) & (live == 1)
        ended = (terminated | truncated).astype(float)
        rewards, actions = live * chance.standard_normal(environments), chance.integers(3, size=environments)
        columns = (observations, actions, rewards, terminated.astype(float), ended, live, after)
        steps.append(dqn.Steps(*(np.asarray(column, dtype=np.float32) for column in columns)))
        observations = after
    return steps


@pytest.mark.parametrize("n_step", [1, 3])
def test_n_step_returns_are_those_of_a_loop(n_step: int) -> None:
    steps, gamma = random_steps(np.random.default_rng(7), 60, 5), 0.9
    for start in range(len(steps) - n_step + 1):
        window = deque(steps[start : start + n_step])
        for number, row in enumerate(dqn.n_step_rows(window, gamma)):
            episodic_return, discount = 0.0, 1.0
            for step in window:
                episodic_return += discount * step.rewards[number]
                discount *= gamma
                later = step.next_observations[number]
                if step.ended[number]:
                    discount *= 1 - step.terminated[number]
                    break
            first = window[0]
            expected = [*first.observations[number], *later, first.actions[number], episodic_return, discount]
            np.testing.assert_allclose(row, [*expected, first.live[number]], rtol=1e-5)


def test_the_replay_memory_is_a_ring() -> None:
    arguments = small("dqn", replay_size=18)  # of which four blocks of four rows are used
    collector, chance = dqn.Collector(arguments), np.random.default_rng(0)
    agent = dqn.Agent(arguments, 4, 2)
    memory: dict[int, list[float]] = {}
    for number in range(11):
        observations = collector.step(exploration=1.0)
        rows = chance.standard_normal((4, agent.row)).astype(np.float32)
        slot, indices = collector.draw()
        agent.act(observations, rows, slot, indices)
        memory.update({number % 4 * 4 + row: rows[row].tolist() for row in range(4)})
        assert set(indices.tolist()) <= set(memory)
        assert agent.samples.tolist() == [memory[index] for index in indices]
    assert set(memory) == set(range(16))


@pytest.mark.parametrize("agent", AGENTS)
def test_gradients_and_parameters_stay_views_of_one_tensor(agent: str) -> None:
    trained, _ = AGENTS[agent].train(small(agent, total_steps=300))
    network = trained.network if agent == "dqn" else trained.policy
    parts = [parameter.detach().flatten() for parameter in network.parameters()]
    gradients = [parameter.grad.flatten() for parameter in network.parameters()]
    assert torch.equal(torch.cat(parts), trained.parameters.detach())
    assert torch.equal(torch.cat(gradients), trained.parameters.grad)
    assert trained.parameters.grad.abs().sum() > 0


# What is learnt from


def test_steps_that_only_reset_are_neither_counted_nor_ended() -> None:
    collector = dqn.Collector(small("dqn"))
    for _ in range(300):
        collector.step(exploration=1.0)
    episodes = collector.episodes
    assert len(episodes.finished) > 20
    # CartPole gives 1 a transition.
    running = episodes.transitions - sum(episodic_return for _, episodic_return in episodes.finished)
    assert 0 <= running == sum(episodes.state()["running"])
    assert 300 * 4 - episodes.transitions == len(episodes.finished) - int(collector.window[-1].ended.sum())


def test_dqn_learns_nothing_from_steps_that_only_reset() -> None:
    arguments, parameters = small("dqn"), []
    for garbage in (0.0, 1e6):
        torch.manual_seed(0)
        collector, agent = dqn.Collector(arguments), dqn.Agent(arguments, 4, 2)
        dead = 0
        for _ in range(80):
            observations = collector.step(exploration=1.0)
            rows = dqn.n_step_rows(collector.window, arguments.gamma)
            resets = rows[:, -1] == 0
            rows[resets, :8], rows[resets, 9] = garbage, garbage  # observations and return
            dead += int(resets.sum())
            agent.act(observations, rows, *collector.draw())
            agent.learn(1e-3)
        assert dead > 10
        parameters.append(agent.parameters.detach().clone())
    assert torch.equal(*parameters)


def test_ppo_learns_nothing_from_steps_that_only_reset() -> None:
    arguments, parameters = small("ppo", rollout=64), []
    for garbage in (0.0, 1.0):
        torch.manual_seed(0)
        collector = ppo.Collector(arguments)
        agent = ppo.Agent(arguments, 4, 2, True)
        for step in range(64):
            agent.store(step + 1, collector.step(agent.act(step)[:-1]))
        action, reward, live = 4, 5, 8
        resets = agent.rollout[1:, :, live] == 0
        assert resets.sum() > 5
        agent.rollout[1:, :, action][resets] = garbage
        agent.rollout[1:, :, reward][resets] = 1e6 * garbage
        agent.learn(np.random.default_rng(0).permuted(np.tile(np.arange(256), (2, 1)), axis=1), 1e-3)
        parameters.append(agent.parameters.detach().clone())
    assert torch.equal(*parameters)


# Resume


@pytest.mark.parametrize(
    ("agent", "env_id", "steps"),
    [
        ("dqn", "CartPole-v1", 600),
        ("dqn", "Acrobot-v1", 2200),
        ("ppo", "CartPole-v1", 600),
        ("ppo", "Pendulum-v1", 1200),
    ],
)
def test_a_resumed_run_is_the_run_that_was_never_stopped(agent: str, env_id: str, steps: int, tmp_path: Path) -> None:
    whole = small(agent, env_id, total_steps=steps)
    halves = dataclasses.replace(whole, stop_after=steps // 2, output_folder=tmp_path)
    train = AGENTS[agent].train
    expected, all_episodes = train(whole)
    train(halves)
    train(dataclasses.replace(halves, stop_after=None, resume=tmp_path / "checkpoint.pt"))
    final = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    assert len(all_episodes.finished) > 0 and final["collector"]["episodes"]["finished"] == all_episodes.finished
    state = expected.state()
    for name in expected.TENSORS:
        assert torch.equal(final["agent"][name], state[name]), name
    for name, moment in state["adam"].items():
        assert torch.equal(final["agent"]["adam"][name], moment), name
    with (tmp_path / "episodes.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows == [["transitions", "episodic_return"], *([str(a), str(b)] for a, b in all_episodes.finished)]


def test_a_checkpoint_holds_nothing_of_a_device_and_needs_no_trust(tmp_path: Path) -> None:
    dqn.train(small("dqn", total_steps=200, output_folder=tmp_path))
    assert torch.load(tmp_path / "checkpoint.pt", weights_only=True)["agent"]["parameters"].device.type == "cpu"
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".unfinished"] == []


# The command line


@pytest.mark.parametrize("agent", AGENTS)
def test_a_loss_that_is_not_finite_stops_in_one_line(
    agent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--learning-rate", "1e38", "--total-steps", "6000", "--output-folder", tmp_path)
    assert command_line(agent, *words) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith("stopped: ")
    assert (tmp_path / "episodes.csv").read_text().count("\n") > 5
    assert not (tmp_path / "checkpoint.pt").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--device", "npu:0"), "device 'npu:0' cannot be used"),
        (("--device", "bread"), "device 'bread' cannot be used"),
        (("--env-id", "Nowhere-v1"), "environment 'Nowhere-v1' cannot be made"),
        (("--env-id", "Pendulum-v1"), "environment 'Pendulum-v1' has actions Box"),
        (("--resume", "none.pt"), "none.pt: not a checkpoint that can be read"),
        (("--observation-scale", "1", "2"), "observation_scale has 2 numbers, observations of CartPole-v1 have 4"),
    ],
)
def test_bad_input_is_told_in_one_line(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line("dqn", *words) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"error: {message}")
    assert told.count("\n") == 1


def test_episodes_are_written_as_csv_and_for_tensorboard(tmp_path: Path) -> None:
    words = ["--total-steps", "600", "--seed", "5", "--output-folder", "out"]
    done = subprocess.run(
        [sys.executable, "-m", "npuport.reference_agents.ppo", *words],
        cwd=tmp_path,
        env=environment(**ON_CPU),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "of 600 transitions" in done.stderr
    _, episodes = ppo.train(arguments_for(ppo.Arguments, ppo.SETTINGS, total_steps=600, seed=5))
    with (tmp_path / "out" / "episodes.csv").open() as file:
        rows = [(int(row["transitions"]), float(row["episodic_return"])) for row in csv.DictReader(file)]
    assert rows == episodes.finished
    events = list((tmp_path / "out").glob("events.out.tfevents.*"))
    assert len(events) == (importlib.util.find_spec("tensorboard") is not None)


@pytest.mark.parametrize("more", [(), ("--select", "ALL")])
def test_check_finds_nothing(more: tuple[str, ...], tmp_path: Path) -> None:
    folder = Path(dqn.__file__).parent
    words = [sys.executable, "-m", "npuport", "check", "--no-cache", str(folder), *more]
    done = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, "All clear" in done.stdout + done.stderr) == (0, True), done.stdout
    assert not any("npuport: ignore" in path.read_text("utf-8") for path in folder.glob("*.py"))


# The emulated device

COUNTED = """
import ctypes, json, sys
from npuport.reference_agents import dqn, ppo
from npuport.reference_agents.command_line import arguments_for
agent, device = {"dqn": dqn, "ppo": ppo}[sys.argv[1]], sys.argv[2]
_, episodes = agent.train(arguments_for(agent.Arguments, agent.SETTINGS, total_steps=2000, device=device))
library = ctypes.CDLL("libascendcl.so")
library.npuport_read_counts.restype = ctypes.c_int64
text = ctypes.create_string_buffer(library.npuport_read_counts(None, ctypes.c_int64(0)) + 1)
library.npuport_read_counts(text, ctypes.c_int64(len(text)))
counts = {line.split()[0]: int(line.split()[1]) for line in text.value.decode().splitlines()}
print(json.dumps([episodes.transitions, episodes.finished, counts]))
"""


@pytest.mark.parametrize(("agent", "most_up"), [("dqn", 0.15), ("ppo", 0.08)])
def test_few_copies_and_the_same_returns_on_the_emulated_device(agent: str, most_up: float, emulator: Emulator) -> None:
    done = emulator.run(COUNTED, agent, "npu:0")
    assert done.returncode == 0, done.stderr
    transitions, finished, counts = json.loads(done.stdout.splitlines()[-1])
    assert 0.06 < counts["copy.host_to_device"] / transitions <= most_up
    assert 0.06 < counts["copy.device_to_host"] / transitions <= 0.08
    waits = sum(calls for event, calls in counts.items() if event.startswith("wait."))
    assert waits / transitions <= 0.08
    assert not [event for event in counts if event.startswith("refused")]
    module = AGENTS[agent]
    _, episodes = module.train(arguments_for(module.Arguments, module.SETTINGS, total_steps=2000))
    assert [tuple(episode) for episode in finished] == episodes.finished
