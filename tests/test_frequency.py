"""How often lines run: loops, gates, calls, callbacks, names."""

from __future__ import annotations

import textwrap

import pytest

from tests.flow_of_text import flow_of, flow_of_files

STEP_LOOP = """\
import gymnasium as gym
import torch

def act(net, obs):
    return net(obs).argmax()  # step

def train(net, optimizer, buffer):
    env = gym.make("CartPole-v1")
    obs, _ = env.reset()
    for step in range(1000):
        action = act(net, obs)  # step
        obs, reward, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            obs, _ = env.reset()  # iteration
        if step % 4 == 0:
            update(net, optimizer, buffer.sample(64))  # update
        if step % 100 == 0:
            print(step)  # iteration

def update(net, optimizer, batch):
    loss = net(batch).mean()  # update
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for name, parameter in net.named_parameters():
        parameter.grad.norm()  # update
"""
ROLLOUT = """\
import torch

def train(agent, envs, optimizer, obs):
    for iteration in range(10):
        collected = []  # iteration
        for step in range(128):
            action = agent.act(obs)  # step
            obs, reward, term, trunc, info = envs.step(action.cpu().numpy())
        for epoch in range(4):
            order = torch.randperm(128)  # iteration
            for start in range(0, 128, 32):
                loss = agent.loss(order[start:start + 32])  # update
                loss.backward()
                optimizer.step()
        kl = loss.detach()  # iteration
    print(kl)  # once
"""
ROWS = """\
import random
import torch

class Agent:
    def __init__(self):
        self.memory = []

    def learn(self, optimizer):
        rows = random.sample(self.memory, 32)
        states = [torch.tensor(row[0]) for row in rows]
        for state, action in rows:
            x = torch.tensor(state)  # transition
        torch.stack(states).sum().backward()
        optimizer.step()  # update
"""
EARLY_RETURN = """\
class Agent:
    def step(self, env, optimizer, loss):
        self.t += 1  # step
        if self.t % 100 != 0:
            return
        loss.item()  # update
        optimizer.step()
"""
CALLBACK = """\
import torch
from stable_baselines3.common.callbacks import BaseCallback

class Log(BaseCallback):
    def _on_step(self):
        x = self.model.value.item()  # step
        return True
"""
MAPPED = """\
import torch

class Buffer:
    def to_torch(self, array):
        return torch.tensor(array, device=self.device)  # update

    def sample(self, rows):
        return list(map(self.to_torch, (self.obs[rows], self.rewards[rows])))  # update

def train(net, optimizer, buffer, env):
    for step in range(1000):
        env.step(0)
        if step % 4 == 0:
            loss = net(buffer.sample(64)[0]).mean()  # update
            loss.backward()
            optimizer.step()

if __name__ == "__main__":
    train(torch.nn.Linear(4, 2), None, Buffer(), None)
"""
LIGHTNING = """\
import lightning as L
import torch

class Agent(L.LightningModule):
    def training_step(self, batch, index):
        loss = self(batch).mean()  # update
        self.log("loss", loss.item())  # update
        return loss
"""
EVALUATION = """\
import gymnasium as gym

def evaluate(net, env):
    obs, _ = env.reset()
    while True:
        action = net(obs).argmax().item()  # iteration
        obs, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            break
"""


@pytest.mark.parametrize(
    "text",
    [STEP_LOOP, ROLLOUT, ROWS, EARLY_RETURN, CALLBACK, MAPPED, LIGHTNING, EVALUATION],
    ids=["steps", "rollout", "rows", "early-return", "sb3", "map", "lightning", "evaluation"],
)
def test_lines_run_as_often_as_they_say(text: str) -> None:
    flow = flow_of(text)
    expected = {
        number: line.rpartition("# ")[2] for number, line in enumerate(text.split("\n"), start=1) if "  # " in line
    }
    found = {number: explained[0].word for number in expected if (explained := flow.explain(number)) is not None}
    assert found == expected


def test_the_explanation_names_loops_and_calls_from_the_outside_in() -> None:
    explained = flow_of(STEP_LOOP).explain(5)
    assert explained is not None
    level, reasons = explained
    assert level.phrase == "once per environment step"
    assert [(reason.line, reason.text) for reason in reasons] == [
        (10, "loop that steps the environment"),
        (11, "calls act"),
    ]


def test_levels_cross_files() -> None:
    flows = flow_of_files(
        {
            "agent.py": "class Agent:\n    def choose(self, obs):\n        return self.net(obs).item()\n",
            "main.py": textwrap.dedent(
                """\
                import gymnasium as gym
                from agent import Agent
                env, agent = gym.make("CartPole-v1"), Agent()
                obs, _ = env.reset()
                while True:
                    obs, *_ = env.step(agent.choose(obs))
                """
            ),
        }
    )
    explained = flows["agent.py"].explain(3)
    assert explained is not None
    assert explained[0].word == "step"


def test_only_the_way_of_the_action_is_inherent() -> None:
    flow = flow_of(
        """\
        def select(net, obs):
            probabilities = net(obs).softmax(-1)
            action = probabilities.argmax()
            return action.item(), probabilities.max().item()

        def rollout(env, net, obs):
            while True:
                action, p = select(net, obs)
                obs, reward, terminated, truncated, info = env.step(action)
        """
    )
    assert [flow.is_inherent(event) for event in flow.events("read")] == [True, False]
