from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from npuport.analysis.flow.events import Event
from npuport.analysis.flow.frames import Place
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import TENSOR, Atom
from npuport.analysis.half_precision import names_in
from npuport.analysis.module import Module
from npuport.analysis.rollouts import Loop, head_of, loop_around
from npuport.engine.finding import Severity
from npuport.engine.flow_rule import FlowRule, device_doubts
from npuport.engine.rule import Hit, Triggers

_DISCOUNT = re.compile(r"gamma|lam(?:bda)?(?:_|$|\d)|discount|gae|tau")
_LEAST = 2  # operations a step


class StepwiseGae(FlowRule):
    """Advantages or returns are computed step by step on the device.

    What it does
    ------------
    Notes, once a function, loops backwards over time (``for t in reversed(range(steps))``) that compute with a
    discount on tensors of the device. Loops over Python numbers, NumPy arrays and tensors in host memory are fine.

    Why on an NPU
    -------------
    Each turn queues five to ten operators on a handful of numbers: for 2,048 steps that is longer than the whole
    update. One copy to the host, a loop in NumPy and one copy back takes less, and a matrix product with the powers
    of gamma * lambda takes least.

    Example
    -------
    ::

        for t in reversed(range(num_steps)):
            delta = rewards[t] + gamma * values[t + 1] * alive[t] - values[t]
            advantages[t] = last = delta + gamma * lam * alive[t] * last

    Use instead
    -----------
    ::

        host = torch.stack((rewards, values[:-1], values[1:], alive)).cpu().numpy()  # one copy
        advantages = torch.as_tensor(gae(*host, gamma, lam), device=device)  # a loop in NumPy

    Sources
    -------
    - Counted under torch_npu 2.13.0 on an emulated device: every operation of the loop is a kernel launch.
    """

    code = "NPU903"
    name = "stepwise-gae"
    topic = "batch"
    severity = Severity.NOTE
    triggers = Triggers(("reversed", "range(", "[::-1]", "flip"))

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        reported: set[str] = set()
        for loop, events in _discounting_loops(module, flow):
            function = events[0].function.key
            tensors = [atom for event in events for atom in _tensors(event)]
            # Tensors of the host and of the device do not mix: one in host memory speaks for all.
            if function in reported or any(atom.on_host for atom in tensors):
                continue
            if sum(bool(_tensors(event)) for event in events) >= _LEAST:
                reported.add(function)
                message = "a loop over time on the device launches kernels for single numbers at each step"
                yield self.hit(flow, events[0], message, node=head_of(loop), doubts=device_doubts(tensors[0]))


def _discounting_loops(module: Module, flow: FileFlow) -> list[tuple[Loop, list[Event]]]:
    """The loops backwards that name a discount, with the arithmetic in them."""
    found: dict[Place, tuple[Loop, list[Event]]] = {}
    for event in flow.events("arithmetic"):
        place = loop_around(module, event.frame)
        if place is not None and _runs_backwards(place[1]) and any(map(_DISCOUNT.search, names_in(place[1]))):
            found.setdefault(place[0], (place[1], []))[1].append(event)
    return list(found.values())


def _tensors(event: Event) -> list[Atom]:
    """The operands of an operation that must be tensors."""
    operands = (value.get(TENSOR) for value in (event.value, *event.values) if value.only(TENSOR))
    return [atom for atom in operands if atom is not None]


def _runs_backwards(loop: Loop) -> bool:
    """``reversed(...)``, ``range(n - 1, -1, -1)``, ``x[::-1]``, ``x.flip(0)``."""
    if isinstance(loop, ast.While):
        return False
    for node in ast.walk(loop.iter):
        if isinstance(node, ast.Name) and node.id == "reversed":
            return True
        if isinstance(node, ast.Attribute) and node.attr == "flip":
            return True
        steps = node.args[2:] if isinstance(node, ast.Call) else [node.step] if isinstance(node, ast.Slice) else []
        if any(isinstance(step, ast.UnaryOp) and isinstance(step.op, ast.USub) for step in steps):
            return True
    return False
