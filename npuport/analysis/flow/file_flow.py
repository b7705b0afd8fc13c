"""What flows through one file of a program, as rules ask it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from npuport.analysis.flow.declarations import Function, Scope
from npuport.analysis.flow.evaluation import Recording
from npuport.analysis.flow.events import Event
from npuport.analysis.flow.frequency import Level, Reason
from npuport.analysis.flow.losses import LossInput
from npuport.analysis.flow.value import TENSOR, UNKNOWN, Value
from npuport.analysis.flow.visits import visit
from npuport.analysis.walk import FUNCTIONS

if TYPE_CHECKING:
    from npuport.analysis.flow.program import ProgramFlow


class FileFlow:
    """What flows through one file: events for rules to filter, and values of expressions."""

    def __init__(self, program: ProgramFlow, scope: Scope) -> None:
        self.program = program
        self.scope = scope
        self._inherent: dict[str, frozenset[ast.AST]] = {}

    @cached_property
    def _recorded(self) -> Recording:
        recording = Recording()
        origins = [found.origin[1] for found in self.reaching_loss]
        for function in self.scope.functions:
            if function.eventful or any(_stands_in(function, line) for line in origins):
                visit(self.program.knowledge, function, recording)
        return recording

    @cached_property
    def _by_kind(self) -> dict[str, list[Event]]:
        found: dict[str, list[Event]] = {}
        for event in self._recorded.events:
            found.setdefault(event.kind, []).append(event)
        return found

    def events(self, *kinds: str) -> Iterable[Event]:
        """The events of some kinds, function after function in the order of the file."""
        if len(kinds) == 1:
            return self._by_kind.get(kinds[0], [])
        return [event for kind in kinds for event in self._by_kind.get(kind, [])]

    def value(self, node: ast.AST) -> Value:
        """What an expression may be; unknown in functions in which nothing happens that rules look for."""
        return self._recorded.values.get(node, UNKNOWN)

    def made_at(self, line: int, dtype: str) -> Event | None:
        """Where a tensor of a doubtful dtype is made on a line: the innermost expression; None where it is not told."""
        for event in self.events("made"):
            if getattr(event.node, "lineno", 0) == line and dtype in event.value.atoms[TENSOR].dtypes:
                return event
        return None

    def carrying(self, made: Event) -> Iterator[ast.AST]:
        """The expressions of the file that may give the tensor of an event ``made``, from there on."""
        tensor = made.value.atoms[TENSOR]
        for node, value in self._recorded.values.items():
            atom = value.atoms.get(TENSOR)
            if atom is not None and atom.origin == tensor.origin and atom.dtypes & tensor.dtypes:
                yield node

    def level(self, event: Event) -> Level:
        """How often an event happens."""
        return self.program.frequencies.level(event.function, event.frame)

    def level_of(self, function: Function, statement: ast.stmt) -> Level:
        """How often a statement of a function is reached."""
        return self.program.frequencies.level(function, self._recorded.frames.get(statement))

    def callers(self, function: Function) -> list[Function]:
        """The functions of the program that call a function."""
        functions = self.program.knowledge.functions.values()
        return [other for other in functions if any(callee == function.key for callee, _, _ in other.calls)]

    def reasons(self, event: Event) -> list[Reason]:
        """Why an event happens as often as it does."""
        return self.program.frequencies.reasons(event.function, event.frame)

    def steps_several(self, event: Event) -> bool:
        """Whether the loop around an event, here or in a caller, may be one that steps several environments."""
        files = {self.scope.key, *(reason.file for reason in self.reasons(event))}
        return any(map(self.program.steps_several, files))

    def is_inherent(self, event: Event) -> bool:
        """Whether an event is the action on its way to the environment."""
        function = event.function
        if function.key not in self._inherent:
            self._inherent[function.key] = self.program.actions.inherent(function)
        return event.node in self._inherent[function.key]

    def explain(self, line: int) -> tuple[Level, list[Reason]] | None:
        """How often a line runs, and why; None where no statement begins there."""
        frequencies = self.program.frequencies
        self.program.knowledge.load(self.scope.key)
        for function in reversed(self.scope.functions):  # inner functions stand behind those around them
            recording = Recording()
            visit(self.program.knowledge, function, recording)
            for statement, frame in recording.frames.items():
                if statement.lineno == line and not isinstance(statement, FUNCTIONS):
                    return frequencies.level(function, frame), frequencies.reasons(function, frame)
        return None

    @cached_property
    def reaching_loss(self) -> list[LossInput]:
        """The tensors made in this file that reach a loss anywhere in the program with a dtype they should not have."""
        return [loss for loss in self.program.loss_inputs if loss.origin[0] == self.scope.key]

    @property
    def stays_on_host(self) -> bool:
        """Whether the file's program never names an accelerator although it trains."""
        return self.program.stays_on_host(self.scope.key)


def _stands_in(function: Function, line: int) -> bool:
    node = function.node
    if node is None:
        return False
    return isinstance(node, ast.Module) or node.lineno <= line <= (node.end_lineno or 0)
