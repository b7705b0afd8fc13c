from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.flow.calls import last_name
from npuport.analysis.flow.events import Event
from npuport.analysis.flow.frequency import Level
from npuport.analysis.flow.library.environments import is_vector_name
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import ENVIRONMENT, VECTOR
from npuport.analysis.module import Module
from npuport.analysis.rollouts import asks_network, head_of, loop_around, plays_to_train
from npuport.engine.finding import Severity
from npuport.engine.flow_rule import FlowRule
from npuport.engine.rule import Hit, Triggers


class SingleEnvironment(FlowRule):
    """A training loop steps one environment and asks the network for one action at a time.

    What it does
    ------------
    Notes, once a file, the loop of a training program that steps one environment made by Gymnasium and runs a network
    for its action. Evaluation is left alone, and so are environments of other origin.

    Why on an NPU
    -------------
    A network with one row costs the device as much as one with a hundred: launching its operators takes longer than
    computing them. Every step also pays one copy each way and one wait. With several environments the same cost is
    shared by all of them.

    Example
    -------
    ::

        env = gymnasium.make("CartPole-v1")
        for step in range(500_000):
            action = agent.act(obs)
            obs, reward, terminated, truncated, info = env.step(action)

    Use instead
    -----------
    ::

        envs = gymnasium.make_vec("CartPole-v1", num_envs=16)
        for step in range(500_000 // 16):
            actions = agent.act(obs)
            obs, rewards, terminated, truncated, infos = envs.step(actions)

    Sources
    -------
    - Vector environments: https://gymnasium.farama.org/api/vector/
    """

    code = "NPU901"
    name = "single-environment"
    topic = "batch"
    severity = Severity.NOTE
    triggers = Triggers((".step(",), torch=False)

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        if not flow.program.names_accelerator(flow.scope.key):
            return
        for event in flow.events("step"):
            if not _is_one(event) or flow.level(event) < Level.STEP or not plays_to_train(flow, event):
                continue
            found = loop_around(module, event.frame)
            if found is not None and asks_network(flow, event.function, found[0]):
                message = "one environment: the device runs a network of one row a step; step several together"
                yield self.hit(flow, event, message, node=head_of(found[1]))
                return


def _is_one(event: Event) -> bool:
    """Whether what steps is one environment of Gymnasium; a class of the program may hold several."""
    environment = event.value.get(ENVIRONMENT)
    if environment is None or VECTOR in environment.marks or not event.value.only(ENVIRONMENT):
        return False
    call = event.node
    receiver = call.func.value if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None
    return receiver is None or not is_vector_name(last_name(receiver))
