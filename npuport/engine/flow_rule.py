"""Rules that ask what flows through the program and how often: the base that they share."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from npuport.analysis.flow.events import Event
from npuport.analysis.flow.frequency import Reason
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import ACCELERATOR, ASSUMED, HOST, TENSOR, Atom
from npuport.analysis.module import Module
from npuport.analysis.vocabulary import GPU_LIBRARIES
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix
from npuport.engine.rule import Hit, Rule

# Over so many calls a device is no longer assumed: each of them may be where the tensor was put elsewhere.
_FAR = 4
_BOTH = frozenset({HOST, ACCELERATOR})
_ON_DEVICE = "on the training device"
_LOWERED = {Severity.ERROR: Severity.WARNING, Severity.WARNING: Severity.NOTE, Severity.NOTE: Severity.NOTE}


@dataclass(frozen=True)
class Unfounded(Hit):
    """A hit of which too much is assumed to be told."""


class FlowRule(Rule):
    """Base class of rules about values and frequencies. Subclasses write ``find``.

    One finding a line: ``a.item(), b.item()`` is one thing to mend.

    Attributes:
        about_device: the finding only matters where tensors live on an accelerator: silent in programs that
            train and never name one, a note in code that says nothing of devices.
        about_frequency: how often the place runs is part of the finding, and a doubt where it is guessed.
    """

    uses_flow = True
    about_device: ClassVar[bool] = True
    about_frequency: ClassVar[bool] = True

    def find(self, module: Module, flow: FileFlow) -> Iterable[Hit]:
        """Yield what is wrong in ``module``, most important first within a line."""
        raise NotImplementedError

    def check(self, module: Module) -> Iterator[Hit]:
        """The hits of ``find``, one a line."""
        if not module.is_attached and not module.uses_torch:
            return
        if self.triggers.torch and "torch" not in module.source.text:
            return  # tensors that other files made: the gate leaves it out as well
        flow = module.flow
        if not flow.scope.traits.imports_torch and not GPU_LIBRARIES.isdisjoint(module.libraries):
            return  # JAX's .item() beside a helper that imports torch
        if not flow.program.uses_torch(flow.scope.key) or (self.about_device and flow.stays_on_host):
            return
        rows: set[int] = set()
        for hit in self.find(module, flow):
            row = getattr(hit.node, "lineno", 0)
            if row not in rows and not isinstance(hit, Unfounded):
                rows.add(row)
                yield hit

    def hit(
        self,
        flow: FileFlow,
        event: Event,
        message: str,
        *,
        node: ast.AST | None = None,
        fix: Fix | None = None,
        severity: Severity | None = None,
        doubts: Iterable[str] = (),
        evidence: Iterable[str] = (),
        topic: str | None = None,
    ) -> Hit:
        """A hit at an event, with how often it happens and why.

        Args:
            flow: the file's flow.
            event: what happens.
            message: what is wrong.
            node: the place, where it is not that of the event.
            fix: what would mend it.
            severity: the weight where nothing is assumed; the rule's own where it is not given.
            doubts: what is assumed ("x is a tensor"): any makes the finding weigh one step less.
            topic: of the finding, where it is not the rule's.
            evidence: steps that led to the finding, before those of the frequency.
        """
        doubtful = list(doubts)
        frequencies = flow.program.frequencies
        if self.about_frequency and frequencies.is_guess(event.function):
            doubtful.append(f"how often {event.function.name} runs, by its name")
        weight = severity or self.severity
        if doubtful:
            weight = _LOWERED[weight]
        if self.about_device and not flow.program.names_accelerator(flow.scope.key):
            weight = Severity.NOTE
            doubtful.append("that the program runs on an accelerator, which it never names")
        reasons = flow.reasons(event) if self.about_frequency else []
        atom = event.value.get(TENSOR)
        elsewhere = any(_ON_DEVICE in doubt for doubt in doubtful) or (atom is not None and atom.devices >= _BOTH)
        made = Unfounded if self.about_device and elsewhere and _is_far(flow, reasons) else Hit
        steps = [*evidence, *(step_text(reason, flow.scope.key) for reason in reasons)]
        return made(
            node or event.node,
            message,
            fix,
            weight,
            (*steps, *(f"assumed: {doubt}" for doubt in doubtful)),
            how_often=flow.level(event).word if self.about_frequency else None,
            topic=topic,
        )


def device_doubts(atom: Atom | None) -> list[str]:
    """What is assumed of a tensor: that it exists, and that it lives on the training device."""
    if atom is None:
        return [f"that it is a tensor {_ON_DEVICE}"]
    return [f"that the tensor is {_ON_DEVICE}"] if ASSUMED in atom.devices else []


def _is_far(flow: FileFlow, reasons: list[Reason]) -> bool:
    """Whether the loop that makes a place run often says nothing of the device there."""
    if sum(reason.is_call for reason in reasons) >= _FAR:
        return True
    return bool(reasons) and flow.program.trains_on_host(reasons[0].file)


def step_text(reason: Reason, file: str) -> str:
    """One step of an explanation; the file is named where it is another one."""
    place = f"line {reason.line}" if reason.file == file else f"{os.path.basename(reason.file)}:{reason.line}"
    return f"{reason.text} ({place})"
