"""PPO for an NPU, in one file: ``python -m npuport.reference_agents.ppo --env-id CartPole-v1 --device npu:0``.

The clipped surrogate of Schulman et al. 2017, for discrete and continuous actions. What the advice of npuport asks
for is here:

- Many environments are stepped at once. One vector step costs one copy up and one copy down, whatever their number:
  observations, what the last step gave and the noise of the next go up in one packed float32 block, straight to
  their place in the rollout; actions come down together with the latest loss.
- The rollout is allocated once, on the device. Every tensor has the same shape in every step and every minibatch.
- Advantages of the whole rollout are computed at once, in a number of kernels that grows with the logarithm of its
  length.
- All chance is drawn on the host from one seeded generator, so every device acts and shuffles the same.
- All parameters lie in one tensor: zeroing, clipping and Adam cost a few kernels each.
- No update waits for the device.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Discrete
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
    """PPO on vector environments. Steps are transitions, summed over all environments."""

    env_id: str = "CartPole-v1"
    seed: int = 1
    total_steps: int = 50_000
    device: str = "cpu"
    output_folder: Path | None = None  # for episodes.csv, TensorBoard events and checkpoint.pt
    checkpoint_every: int = 10_000
    stop_after: int | None = None  # steps after which to leave a checkpoint and stop, for another run to go on
    resume: Path | None = None  # a checkpoint.pt; what it was trained with is then read from it
    environments: int = 16
    rollout: int = 32  # steps of the vector environment in each
    epochs: int = 10
    minibatch: int = 256
    hidden: tuple[int, ...] = (64, 64)
    observation_scale: tuple[float, ...] = (1.0,)
    reward_scale: float = 1.0
    gamma: float = 0.98
    gae_lambda: float = 0.95
    learning_rate: float = 2.5e-3  # falls to 0
    clip: float = 0.2
    value_weight: float = 0.5
    largest_gradient: float = 0.5


# What differs from the defaults. Returns of CartPole are near 50, and one norm limits the gradients of actor and critic
# together: unscaled, the critic's errors drown the actor until they vanish, and then some seeds lose what they can.
SETTINGS: dict[str, dict[str, Any]] = {
    "CartPole-v1": {"reward_scale": 0.1},
    "Acrobot-v1": {
        "observation_scale": (1.0, 1.0, 1.0, 1.0, 0.2, 0.1),
        "rollout": 128,  # from shorter ones some seeds learn to wait before they have ever reached the goal
        "gamma": 0.99,
        "total_steps": 80_000,
    },
    "Pendulum-v1": {
        "observation_scale": (1.0, 1.0, 0.125),
        "reward_scale": 0.2,
        "rollout": 64,
        "minibatch": 128,
        "gamma": 0.9,
        "learning_rate": 3e-3,
        "total_steps": 100_000,
    },
}


def linear(inputs: int, outputs: int, gain: float) -> nn.Linear:
    """A layer with orthogonal weights, as PPO is known to want them."""
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


def perceptron(inputs: int, hidden: tuple[int, ...], outputs: int, last_gain: float) -> nn.Sequential:
    """Rows (rows, inputs) to (rows, outputs)."""
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [linear(inputs, width, math.sqrt(2)), nn.Tanh()]
        inputs = width
    return nn.Sequential(*layers, linear(inputs, outputs, last_gain))


class Policy(nn.Module):
    """Actor and critic. `outputs` is the number of discrete actions, or the size of a continuous one."""

    def __init__(self, inputs: int, hidden: tuple[int, ...], outputs: int, discrete: bool) -> None:
        super().__init__()
        self.discrete = discrete
        self.actor = perceptron(inputs, hidden, outputs, 0.01)
        self.critic = perceptron(inputs, hidden, 1, 1.0)
        self.log_deviation = nn.Parameter(torch.zeros(outputs))

    def act(self, observations: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        """Actions (rows, 1) or (rows, outputs), float32, from Gumbel or normal noise (rows, outputs)."""
        output = self.actor(observations)
        if self.discrete:
            return (output + noise).argmax(1, keepdim=True).float()
        return output + self.log_deviation.exp() * noise

    def log_probabilities(self, observations: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """Of actions as `act` gives them, (rows, 1)."""
        output = self.actor(observations)
        if self.discrete:
            logs: torch.Tensor = output.log_softmax(1).gather(1, actions.long())
            return logs
        standard = (actions - output) * (-self.log_deviation).exp()
        return (-0.5 * standard.square() - self.log_deviation - 0.5 * math.log(2 * math.pi)).sum(1, keepdim=True)


def advantages_of(
    rewards: torch.Tensor,
    values: torch.Tensor,
    terminated: torch.Tensor,
    ended: torch.Tensor,
    gamma: float,
    gae_lambda: float,
) -> torch.Tensor:
    """Generalised advantage estimates (Schulman et al. 2016) of a whole rollout, (steps, environments).

    `values` has one step more than the others: that of the observations after the last step. A[t] = delta[t] +
    carry[t] * A[t + 1] is a linear recurrence, so sums over 1, 2, 4, 8, ... steps give it in log2(steps) rounds.
    """
    sums = rewards + gamma * (1 - terminated) * values[1:] - values[:-1]
    carry = gamma * gae_lambda * (1 - ended)
    span = 1
    while span < len(sums):
        sums = torch.cat((sums[:-span] + carry[:-span] * sums[span:], sums[-span:]))
        carry = torch.cat((carry[:-span] * carry[span:], carry[-span:]))
        span *= 2
    return sums


def normalised(advantages: torch.Tensor, live: torch.Tensor) -> torch.Tensor:
    """Advantages (rows, 1) with mean 0 and deviation 1 over the rows that are live (1, others 0)."""
    weights = live / live.sum()
    centred = advantages - (weights * advantages).sum()
    return centred / ((weights * centred.square()).sum().sqrt() + 1e-8)


class Agent:
    """Everything that lives on the device."""

    TENSORS = ("parameters", "rollout", "loss")

    def __init__(self, arguments: Arguments, inputs: int, outputs: int, discrete: bool) -> None:
        self.arguments, self.device = arguments, open_device(arguments.device)
        self.scale = np.array(arguments.observation_scale, dtype=np.float32)
        # Initialised on the host: one seed gives the same networks on every device.
        self.policy = Policy(inputs, arguments.hidden, outputs, discrete).to(self.device)
        self.parameters = flattened(self.policy)
        self.optimizer = adam(self.parameters, arguments.learning_rate, epsilon=1e-5)
        self.loss = torch.zeros(1, device=self.device)

        # What is kept of a step: observations; of the step before them: action, reward, terminated, ended, live; noise.
        self.columns = [inputs, 1 if discrete else outputs, 1, 1, 1, 1, outputs]
        size = (arguments.environments, sum(self.columns))
        self.rollout = torch.zeros(arguments.rollout + 1, *size, device=self.device)
        # A copy from pinned memory does not wait. The memory is free again when the next actions have come down.
        self.staging = torch.zeros(size, pin_memory=self.device.type != "cpu")
        self.rows = arguments.rollout * arguments.environments
        self.order = torch.zeros(arguments.epochs, self.rows, dtype=torch.int64, device=self.device)

    def store(self, step: int, block: tuple[np.ndarray, ...]) -> None:
        """One copy up, to its place in the rollout. The arrays have the sizes of `columns`."""
        np.concatenate(block, axis=1, out=self.staging.numpy())
        self.rollout[step].copy_(self.staging, non_blocking=True)

    def act(self, step: int) -> np.ndarray:
        """One copy down: the actions for all environments, and last the latest loss; flat."""
        observations, *_, noise = self.rollout[step].split(self.columns, dim=1)
        with torch.no_grad():
            actions = self.policy.act(observations, noise)
        down: np.ndarray = torch.cat((actions.flatten(), self.loss)).cpu().numpy()
        return down

    @torch.no_grad()
    def greedy(self, observations: np.ndarray) -> np.ndarray:
        """Actions without chance, for observations as an environment gives them."""
        scaled = torch.from_numpy(observations.astype(np.float32) * self.scale).to(self.device)
        actions: np.ndarray = self.policy.act(scaled, torch.zeros_like(self.rollout[0, :1, :1])).cpu().numpy()
        return actions[:, 0].astype(np.int64) if self.policy.discrete else actions

    def learn(self, order: np.ndarray, learning_rate: float) -> None:
        """All epochs over the rollout, its rows in the order that is given for each, (epochs, rows)."""
        arguments, sizes = self.arguments, (*self.columns[:2], 1, 1, 1, 1)
        self.optimizer.param_groups[0]["lr"] = learning_rate
        self.order.copy_(torch.from_numpy(order))
        rows = self.finished_rows()
        for epoch in range(arguments.epochs):
            for batch in rows.index_select(0, self.order[epoch]).split(arguments.minibatch):
                observations, actions, live, old_logs, advantages, returns = batch.split(sizes, dim=1)
                advantages = normalised(advantages, live)
                ratios = (self.policy.log_probabilities(observations, actions) - old_logs).exp()
                clipped = ratios.clamp(1 - arguments.clip, 1 + arguments.clip)
                gains = torch.min(ratios * advantages, clipped * advantages)
                errors = (self.policy.critic(observations) - returns).square()
                loss = (live * (arguments.value_weight * errors - gains)).mean()
                self.parameters.grad.zero_()
                loss.backward()
                clip_gradient(self.parameters, arguments.largest_gradient)
                self.optimizer.step()
        self.loss = loss.detach().view(1)
        self.rollout[0].copy_(self.rollout[-1])

    @torch.no_grad()
    def finished_rows(self) -> torch.Tensor:
        """The rollout as rows to learn from: observation, action, live, log-probability, advantage, return."""
        observations = self.rollout[..., : self.columns[0]]
        _, actions, rewards, terminated, ended, live, _ = self.rollout[1:].split(self.columns, dim=2)
        values = self.policy.critic(observations)
        advantages = advantages_of(rewards, values, terminated, ended, self.arguments.gamma, self.arguments.gae_lambda)
        returns = advantages + values[:-1]
        flat = [part.reshape(self.rows, -1) for part in (observations[:-1], actions, live, advantages, returns)]
        logs = self.policy.log_probabilities(flat[0], flat[1])
        return torch.cat((*flat[:3], logs, *flat[3:]), dim=1)

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
    """Everything that lives on the host: environments and chance."""

    def __init__(self, arguments: Arguments) -> None:
        self.arguments, self.chance = arguments, np.random.default_rng(arguments.seed)
        self.episodes = Episodes(arguments.environments, arguments.total_steps, arguments.output_folder)
        self.envs = make_environments(arguments.env_id, arguments.environments)
        space = self.envs.single_action_space
        self.discrete = isinstance(space, Discrete)
        self.outputs = int(space.n) if self.discrete else int(space.shape[0])
        self.scale = observation_scale(self.envs, arguments.observation_scale)
        self.observations = self.envs.reset(seed=arguments.seed)[0] * self.scale
        self.ended = np.zeros(arguments.environments, dtype=np.float32)

    def noise(self) -> np.ndarray:
        """What makes the next actions random, (environments, outputs): Gumbel for discrete ones, else normal."""
        size = (self.arguments.environments, self.outputs)
        return self.chance.gumbel(size=size) if self.discrete else self.chance.standard_normal(size)

    def step(self, down: np.ndarray) -> tuple[np.ndarray, ...]:
        """Steps all environments by actions that came down; gives the block that goes up."""
        count, space = self.arguments.environments, self.envs.single_action_space
        actions = down.reshape(count, -1)
        taken = actions[:, 0].astype(np.int64) if self.discrete else np.clip(actions, space.low, space.high)
        observations, rewards, terminated, truncated, _ = self.envs.step(taken)
        live, self.ended = 1 - self.ended, (terminated | truncated).astype(np.float32)
        self.episodes.add(rewards, self.ended, live)
        self.observations = observations.astype(np.float32) * self.scale
        columns = np.stack((rewards * self.arguments.reward_scale, terminated, self.ended, live), axis=1)
        return self.observations, actions, columns, self.noise()

    def orders(self) -> np.ndarray:
        """The rows of a rollout in one random order for each epoch."""
        rows = np.arange(self.arguments.rollout * self.arguments.environments)
        return np.stack([self.chance.permutation(rows) for _ in range(self.arguments.epochs)])

    def state(self) -> dict[str, Any]:
        """All of it, as tensors and plain data."""
        arrays = {name: torch.from_numpy(getattr(self, name)) for name in ("observations", "ended")}
        return {
            "environments": environment_state(self.envs),
            "chance": self.chance.bit_generator.state,
            "episodes": self.episodes.state(),
            **arrays,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Takes over a state, bit by bit."""
        load_environment_state(self.envs, state["environments"])
        self.chance.bit_generator.state = state["chance"]
        self.episodes.load(state["episodes"])
        self.observations, self.ended = state["observations"].numpy(), state["ended"].numpy()


def iteration(arguments: Arguments, collector: Collector, agent: Agent) -> None:
    """One rollout, and the updates on it."""
    done = collector.episodes.transitions / arguments.total_steps
    for step in range(arguments.rollout):
        down = agent.act(step)
        if not math.isfinite(down[-1]):
            raise Diverged(f"the loss is {down[-1]} at transition {collector.episodes.transitions}")
        agent.store(step + 1, collector.step(down[:-1]))
    agent.learn(collector.orders(), arguments.learning_rate * (1 - done))


def train(arguments: Arguments) -> tuple[Agent, Episodes]:
    """Trains until enough transitions were made; raises `Diverged` when the loss is no longer finite."""
    arguments, states = resumed(arguments)
    seed_everything(arguments.seed)
    collector = Collector(arguments)
    agent = Agent(arguments, len(collector.observations[0]), collector.outputs, collector.discrete)
    if not states:
        nothing = np.zeros((arguments.environments, sum(agent.columns[1:-1])))
        agent.store(0, (collector.observations, nothing, collector.noise()))

    parts: dict[str, Collector | Agent] = {"collector": collector, "agent": agent}
    load_checkpoint(parts, states)
    end = min(arguments.stop_after or arguments.total_steps, arguments.total_steps)
    with collector.episodes as episodes:
        while episodes.transitions < end:
            until = min(episodes.transitions + arguments.checkpoint_every, end)
            while episodes.transitions < until:
                iteration(arguments, collector, agent)
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
