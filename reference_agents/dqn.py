"""DQN for an NPU, in one file: ``python -m npuport.reference_agents.dqn --env-id CartPole-v1 --device npu:0``.

Double DQN (van Hasselt et al. 2016) with n-step returns, layer normalisation and a target network that follows
slowly. It acts by the target network: that is an average of the last hundred updates or so, which no single one spoils.
What the advice of npuport asks for is here:

- Many environments are stepped at once. One vector step costs one copy up and one copy down, whatever their number:
  observations, finished transitions and the numbers of the sampled ones go up in one packed float32 block; greedy
  actions come down together with the latest loss.
- The replay memory is allocated once, on the device. Every tensor has the same shape in every step.
- All chance is drawn on the host from one seeded generator, so every device explores and samples the same.
- All parameters lie in one tensor: zeroing, clipping, Adam and the target network cost a few kernels each.
- No update waits for the device. Updates are queued, and run while the host steps the environments.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from npuport.reference_agents.checkpoints import Diverged, load_checkpoint, resumed, save_checkpoint
from npuport.reference_agents.command_line import arguments_for, open_device, parse, run, seed_everything
from npuport.reference_agents.environments import (
    environment_state,
    load_environment_state,
    make_environments,
    observation_scale,
)
from npuport.reference_agents.episodes import Episodes
from npuport.reference_agents.flat_parameters import adam, adam_state, clip_gradient, flattened, load_adam_state
from torch import nn


@dataclass(frozen=True)
class Arguments:
    """DQN on vector environments. Steps are transitions, summed over all environments."""

    env_id: str = "CartPole-v1"
    seed: int = 1
    total_steps: int = 50_000
    device: str = "cpu"
    output_folder: Path | None = None  # for episodes.csv, TensorBoard events and checkpoint.pt
    checkpoint_every: int = 10_000
    stop_after: int | None = None  # steps after which to leave a checkpoint and stop, for another run to go on
    resume: Path | None = None  # a checkpoint.pt; what it was trained with is then read from it
    environments: int = 16
    hidden: tuple[int, ...] = (64, 64)
    observation_scale: tuple[float, ...] = (1.0,)
    reward_scale: float = 0.1  # action values of some ones: the loss is linear beyond errors of 1
    replay_size: int = 32_768
    learning_starts: int = 1_024
    batch_size: int = 128
    updates_per_step: int = 4  # in each step of the vector environment
    n_step: int = 5
    gamma: float = 0.98
    learning_rate: float = 1e-3
    final_learning_rate: float = 2e-5
    target_rate: float = 0.01
    largest_gradient: float = 10.0
    final_exploration: float = 0.01
    exploration_part: float = 0.2  # of all steps, over which exploration falls from 1


# What differs from the defaults. The scales bring the observations to about -1 to 1.
SETTINGS: dict[str, dict[str, Any]] = {
    "CartPole-v1": {"observation_scale": (0.5, 0.5, 5.0, 0.5)},
    "Acrobot-v1": {"observation_scale": (1.0, 1.0, 1.0, 1.0, 0.2, 0.1), "gamma": 0.99, "final_exploration": 0.02},
}


def q_network(inputs: int, hidden: tuple[int, ...], actions: int) -> nn.Sequential:
    """Observations (rows, inputs) to action values (rows, actions)."""
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(inputs, width), nn.LayerNorm(width), nn.ReLU()]
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, actions))


@dataclass
class Steps:
    """One step of the vector environment; arrays of float32, (environments,) and (environments, inputs)."""

    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    ended: np.ndarray  # terminated or cut off
    live: np.ndarray  # 0 where the environment only reset itself: no transition, and never learnt from
    next_observations: np.ndarray


def n_step_rows(window: deque[Steps], gamma: float) -> np.ndarray:
    """The transitions that began in the first step of the window, (environments, 2 * inputs + 4).

    Columns: observation; observation n steps later, or at the end of the episode; action; discounted return up to
    there; discount of the value there, 0 where the episode terminated; live.
    """
    later_observations = window[-1].next_observations
    returns, discounts = np.zeros_like(window[-1].rewards), np.ones_like(window[-1].rewards)
    for step in reversed(window):
        ended = step.ended == 1
        returns = step.rewards + gamma * np.where(ended, 0, returns)
        discounts = gamma * np.where(ended, 1 - step.terminated, discounts)
        later_observations = np.where(ended[:, None], step.next_observations, later_observations)
    first = window[0]
    columns = np.stack((first.actions, returns, discounts, first.live), axis=1)
    return np.concatenate((first.observations, later_observations, columns), axis=1)


class Agent:
    """Everything that lives on the device."""

    TENSORS = ("parameters", "target_parameters", "replay", "loss")

    def __init__(self, arguments: Arguments, inputs: int, actions: int) -> None:
        self.arguments, self.inputs, self.device = arguments, inputs, open_device(arguments.device)
        self.scale = np.array(arguments.observation_scale, dtype=np.float32)
        # Initialised on the host: one seed gives the same networks on every device.
        self.network = q_network(inputs, arguments.hidden, actions).to(self.device)
        self.target_network = q_network(inputs, arguments.hidden, actions).to(self.device)
        self.parameters, self.target_parameters = flattened(self.network), flattened(self.target_network)
        self.target_parameters.data.copy_(self.parameters.data)
        self.optimizer = adam(self.parameters, arguments.learning_rate)

        self.columns = [inputs, inputs, 1, 1, 1, 1]  # see n_step_rows
        self.row = sum(self.columns)
        self.replay = torch.zeros(arguments.replay_size, self.row, device=self.device)
        self.samples = torch.zeros(arguments.updates_per_step * arguments.batch_size, self.row, device=self.device)
        self.loss = torch.zeros(1, device=self.device)
        self.sizes = [arguments.environments * inputs, arguments.environments * self.row, len(self.samples)]
        # A copy from pinned memory does not wait. The memory is free again when the actions have come down.
        self.staging = torch.zeros(sum(self.sizes), pin_memory=self.device.type != "cpu")

    def act(self, observations: np.ndarray, rows: np.ndarray, slot: int, indices: np.ndarray) -> np.ndarray:
        """One copy up and one down: stores rows, gathers samples; gives the greedy actions and then the loss."""
        np.concatenate((observations, rows, indices), axis=None, out=self.staging.numpy())
        block = self.staging.to(self.device, non_blocking=True)
        device_observations, device_rows, device_indices = block.split(self.sizes)
        self.replay[slot : slot + len(rows)].copy_(device_rows.view(-1, self.row))
        torch.index_select(self.replay, 0, device_indices.long(), out=self.samples)
        with torch.no_grad():
            actions = self.target_network(device_observations.view(-1, self.inputs)).argmax(1)
        down: np.ndarray = torch.cat((actions.float(), self.loss)).cpu().numpy()
        return down

    @torch.no_grad()
    def greedy(self, observations: np.ndarray) -> np.ndarray:
        """Actions without chance, for observations as an environment gives them."""
        scaled = torch.from_numpy(observations.astype(np.float32) * self.scale).to(self.device)
        actions: np.ndarray = self.target_network(scaled).argmax(1).cpu().numpy()
        return actions

    def learn(self, learning_rate: float) -> None:
        """The updates of one vector step, on the rows that the last `act` sampled."""
        size = self.arguments.batch_size
        self.optimizer.param_groups[0]["lr"] = learning_rate
        targets = self.targets()
        for batch, batch_targets in zip(self.samples.split(size), targets.split(size), strict=True):
            observations, _, actions, _, _, live = batch.split(self.columns, dim=1)
            values = self.network(observations).gather(1, actions.long())
            loss = (live * nn.functional.smooth_l1_loss(values, batch_targets, reduction="none")).mean()
            self.parameters.grad.zero_()
            loss.backward()
            clip_gradient(self.parameters, self.arguments.largest_gradient)
            self.optimizer.step()
            self.target_parameters.data.lerp_(self.parameters.data, self.arguments.target_rate)
        self.loss = loss.detach().view(1)

    @torch.no_grad()
    def targets(self) -> torch.Tensor:
        """What the action values of all samples should be, (samples, 1): once for all updates of a vector step."""
        _, later_observations, _, returns, discounts, _ = self.samples.split(self.columns, dim=1)
        best = self.network(later_observations).argmax(1, keepdim=True)
        return returns + discounts * self.target_network(later_observations).gather(1, best)

    def state(self) -> dict[str, Any]:
        """All of it, on the CPU."""
        tensors = {name: getattr(self, name).detach().cpu() for name in self.TENSORS}
        return {"adam": adam_state(self.optimizer), **tensors}

    def load(self, state: dict[str, Any]) -> None:
        """Takes over a state, bit by bit."""
        for name in self.TENSORS:
            getattr(self, name).data.copy_(state[name])
        load_adam_state(self.optimizer, state["adam"])


class Collector:
    """Everything that lives on the host: environments, chance, and what happened in the last n steps."""

    def __init__(self, arguments: Arguments) -> None:
        self.arguments, self.chance = arguments, np.random.default_rng(arguments.seed)
        self.episodes = Episodes(arguments.environments, arguments.total_steps, arguments.output_folder)
        self.envs = make_environments(arguments.env_id, arguments.environments, discrete=True)
        self.actions = int(self.envs.single_action_space.n)
        self.scale = observation_scale(self.envs, arguments.observation_scale)
        observations = self.envs.reset(seed=arguments.seed)[0] * self.scale
        none = np.zeros(arguments.environments, dtype=np.float32)
        start = Steps(observations, none, none, none, none, none, observations)
        self.window = deque([start] * arguments.n_step, maxlen=arguments.n_step)
        self.greedy = none
        self.vector_steps = 0

    def step(self, exploration: float) -> np.ndarray:
        """Steps all environments, each at random with probability `exploration`, else by the last greedy action."""
        last, count = self.window[-1], self.arguments.environments
        explore = self.chance.random(count) < exploration
        actions = np.where(explore, self.chance.integers(self.actions, size=count), self.greedy).astype(np.int64)
        observations, rewards, terminated, truncated, _ = self.envs.step(actions)
        scaled_rewards = rewards * self.arguments.reward_scale
        columns = (actions, scaled_rewards, terminated, terminated | truncated, 1 - last.ended)
        acted, rewarded, terminal, ended, live = np.stack(columns).astype(np.float32)
        scaled: np.ndarray = observations.astype(np.float32) * self.scale
        self.window.append(Steps(last.next_observations, acted, rewarded, terminal, ended, live, scaled))
        self.vector_steps += 1
        self.episodes.add(rewards, ended, live)
        return scaled

    def draw(self) -> tuple[int, np.ndarray]:
        """Where in the replay memory the rows of this step go, and which rows are sampled, that step's included."""
        count, size = self.arguments.environments, self.arguments.replay_size
        slot = (self.vector_steps - 1) % (size // count) * count
        filled = min(self.vector_steps, size // count) * count
        return slot, self.chance.integers(filled, size=self.arguments.updates_per_step * self.arguments.batch_size)

    def state(self) -> dict[str, Any]:
        """All of it, as tensors and plain data."""
        return {
            "environments": environment_state(self.envs),
            "chance": self.chance.bit_generator.state,
            "episodes": self.episodes.state(),
            "window": [{name: torch.from_numpy(array) for name, array in vars(steps).items()} for steps in self.window],
            "greedy": torch.from_numpy(self.greedy),
            "vector_steps": self.vector_steps,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Takes over a state, bit by bit."""
        load_environment_state(self.envs, state["environments"])
        self.chance.bit_generator.state = state["chance"]
        self.episodes.load(state["episodes"])
        for steps in state["window"]:
            self.window.append(Steps(**{name: tensor.numpy() for name, tensor in steps.items()}))
        self.greedy, self.vector_steps = state["greedy"].numpy(), state["vector_steps"]


def vector_step(arguments: Arguments, collector: Collector, agent: Agent) -> None:
    """Steps all environments once, then queues the updates; they run while the host makes the next step."""
    done = collector.episodes.transitions / arguments.total_steps
    explored = min(done / arguments.exploration_part, 1)
    observations = collector.step(1 + explored * (arguments.final_exploration - 1))
    rows, (slot, indices) = n_step_rows(collector.window, arguments.gamma), collector.draw()
    down = agent.act(observations, rows, slot, indices)
    collector.greedy, loss = down[:-1], float(down[-1])
    if not math.isfinite(loss):
        raise Diverged(f"the loss is {loss} at transition {collector.episodes.transitions}")
    if collector.episodes.transitions >= arguments.learning_starts:
        agent.learn(arguments.learning_rate + done * (arguments.final_learning_rate - arguments.learning_rate))


def train(arguments: Arguments) -> tuple[Agent, Episodes]:
    """Trains until enough transitions were made; raises `Diverged` when the loss is no longer finite."""
    arguments, states = resumed(arguments)
    seed_everything(arguments.seed)
    collector = Collector(arguments)
    agent = Agent(arguments, len(collector.window[-1].observations[0]), collector.actions)
    parts: dict[str, Collector | Agent] = {"collector": collector, "agent": agent}
    load_checkpoint(parts, states)
    end = min(arguments.stop_after or arguments.total_steps, arguments.total_steps)
    with collector.episodes as episodes:
        while episodes.transitions < end:
            until = min(episodes.transitions + arguments.checkpoint_every, end)
            while episodes.transitions < until:
                vector_step(arguments, collector, agent)
            save_checkpoint(parts, arguments)
    return agent, episodes


def npuport_agent(env_id: str, seed: int, steps: int, device: str) -> Callable[[np.ndarray], np.ndarray]:
    """What `npuport validate` calls: trains, and gives the policy without chance."""
    arguments = arguments_for(Arguments, SETTINGS, env_id=env_id, seed=seed, total_steps=steps, device=device)
    agent, _ = train(arguments)
    greedy: Callable[[np.ndarray], np.ndarray] = agent.greedy
    return greedy


if __name__ == "__main__":
    run(lambda: train(parse(Arguments, SETTINGS)))
