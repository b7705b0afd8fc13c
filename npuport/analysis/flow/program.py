"""The flow of a whole program: evaluates functions until nothing changes, then answers file by file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property

# Evaluating needs both; they register what they handle.
from npuport.analysis.flow import expressions, statements
from npuport.analysis.flow.actions import Actions
from npuport.analysis.flow.declarations import Body, Function, Scope, declare
from npuport.analysis.flow.evaluation import Evaluation, Recording
from npuport.analysis.flow.events import Event
from npuport.analysis.flow.frequency import Frequencies, Level, Reason
from npuport.analysis.flow.knowledge import Knowledge
from npuport.analysis.flow.linking import Linker, connect, link
from npuport.analysis.flow.losses import LossInput
from npuport.analysis.flow.types import value_of_annotation
from npuport.analysis.flow.value import (
    CLASS,
    DEVICE,
    INSTANCE,
    MAPPING,
    SEQUENCE,
    TEXT,
    UNKNOWN,
    Atom,
    Value,
    join,
)
from npuport.analysis.walk import FUNCTIONS

__all__ = ["FileFlow", "ProgramFlow", "expressions", "statements"]

# A second visit finds 4 findings in 100, a third 1 in 100, each for half the time of the first.
MAX_VISITS = 2
_ANYWHERE = Value(Atom(DEVICE, devices=frozenset({"?"})))
_DEVICE_PARAMETER = re.compile(r"dev|dvc")

_MAKES_ENVIRONMENT = re.compile(r"\bgym(?:nasium)?\.(?:make|vector)|\.make\(|\bmake_vec\(|import gym")
_NAMES_ACCELERATOR = re.compile(
    r"cuda|\bnpu\b|\"npu|'npu|\bdevice\b|accelerator|\bdvc\b|\bxpu\b|_npu\b|use_gpu|\bhpu\b"
)
_CHECKS_OFF = "set_default_validate_args(False)"


class ProgramFlow:
    """Values and frequencies of the files of one run.

    Args:
        trees: syntax tree of each file, by path.
        texts: text of each file, by path.
    """

    def __init__(self, trees: Mapping[str, ast.Module], texts: Mapping[str, str]) -> None:
        linker = Linker(trees)
        scopes = [declare(key, tree) for key, tree in trees.items()]
        for scope in scopes:
            link(scope, linker)
        connect({scope.key: scope for scope in scopes})
        self.knowledge = Knowledge(scopes, linker)
        self._texts = dict(texts)
        self._settle(function for scope in scopes for function in scope.functions)
        self.frequencies = Frequencies(self.knowledge, self.knowledge.functions.values())

    def _settle(self, functions: Iterable[Function], within: str | None = None) -> None:
        """Evaluate functions until nothing changes, or each was visited often enough; ``within`` one file only."""
        knowledge = self.knowledge
        knowledge.settled = False
        for function in list(functions):
            knowledge.visit_again(function)
        while knowledge.queue:
            function = knowledge.queue.popleft()
            knowledge.queued.discard(function.key)
            if function.visits < MAX_VISITS and (within is None or function.file == within):
                function.visits += 1
                visit(knowledge, function)
        knowledge.settled = True

    def replace(self, key: str, tree: ast.Module, text: str) -> None:
        """Take a new text for one file; what it tells the others is not followed into them."""
        scope = declare(key, tree)
        link(scope, self.knowledge.linker)
        self.knowledge.replace(scope)
        self._texts[key] = text
        self._settle(scope.functions, within=key)
        functions = [function for function in self.knowledge.functions.values() if function.file == key]
        self.frequencies = Frequencies(self.knowledge, functions, known=self.frequencies)
        self.actions.forget(key)

    @cached_property
    def actions(self) -> Actions:
        """Which reads are the action on its way to the environment."""
        return Actions(self.knowledge)

    @cached_property
    def _traits(self) -> dict[str, tuple[bool, bool, bool, bool]]:
        """By component: makes an environment, makes an optimiser, names an accelerator, turns argument checks off."""
        traits: dict[str, tuple[bool, bool, bool, bool]] = {}
        for scope in self.knowledge.scopes.values():
            text = self._texts.get(scope.key, "")
            own = (
                _MAKES_ENVIRONMENT.search(text) is not None,
                "optim" in text,
                _NAMES_ACCELERATOR.search(text) is not None,
                _CHECKS_OFF in text,
            )
            known = traits.get(scope.component, (False,) * 4)
            traits[scope.component] = tuple(a or b for a, b in zip(known, own, strict=True))  # type: ignore[assignment]
        return traits

    @property
    def loss_inputs(self) -> set[LossInput]:
        """All tensors of doubtful dtype that reach a loss."""
        return {found for function in self.knowledge.functions.values() for found in function.losses}

    def stays_on_host(self, file: str) -> bool:
        """Whether a whole program, with environment and optimiser, never names an accelerator."""
        environment, optimizer, accelerator, _ = self._traits[self.knowledge.scopes[file].component]
        return environment and optimizer and not accelerator

    def names_accelerator(self, file: str) -> bool:
        """Whether a file's program names an accelerator or a device anywhere."""
        return self._traits[self.knowledge.scopes[file].component][2]

    def checks_arguments(self, file: str) -> bool:
        """Whether distributions validate their arguments in a file's program."""
        return not self._traits[self.knowledge.scopes[file].component][3]

    def file(self, key: str) -> FileFlow:
        """The events and values of one file."""
        return FileFlow(self, self.knowledge.scopes[key])


class FileFlow:
    """What flows through one file: events for rules to filter, and values of expressions."""

    def __init__(self, program: ProgramFlow, scope: Scope) -> None:
        self.program = program
        self.scope = scope
        self._inherent: dict[str, frozenset[ast.AST]] = {}

    @cached_property
    def _recorded(self) -> Recording:
        recording = Recording()
        for function in self.scope.functions:
            if function.eventful:
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

    def is_inherent(self, event: Event) -> bool:
        """Whether an event is the action on its way to the environment."""
        function = event.function
        if function.key not in self._inherent:
            self._inherent[function.key] = self.program.actions.inherent(function)
        return event.node in self._inherent[function.key]

    def explain(self, line: int) -> tuple[Level, list[Reason]] | None:
        """How often a line runs, and why; None where no statement begins there."""
        frequencies = self.program.frequencies
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
        own = self.scope.key
        return sorted(
            (found for found in self.program.loss_inputs if found.origin[0] == own),
            key=lambda found: (found.origin, found.dtype, found.loss),
        )

    @property
    def stays_on_host(self) -> bool:
        """Whether the file's program never names an accelerator although it trains."""
        return self.program.stays_on_host(self.scope.key)


def visit(knowledge: Knowledge, function: Function, recording: Recording | None = None) -> None:
    """Evaluate one function once; with ``recording``, for rules, once nothing changes any more."""
    run = Evaluation(knowledge, function, recording)
    known = function.calls, function.facts, function.losses
    function.calls, function.facts, function.losses = [], [], set()
    # An expression nested more deeply than Python's stack: the function keeps what is known so far.
    with suppress(RecursionError):
        _run(run, function.node)
    run.conclude()
    if recording is not None:
        function.calls, function.facts, function.losses = known


def _run(run: Evaluation, node: Body | None) -> None:
    if isinstance(node, ast.Module):
        statements.run_block(run, node.body)
    elif isinstance(node, ast.Lambda):
        _bind_parameters(run, node.args)
        run.returned = run.evaluate(node.body)
    elif node is not None:
        _bind_parameters(run, node.args)
        statements.run_block(run, node.body)


def _bind_parameters(run: Evaluation, arguments: ast.arguments) -> None:
    function = run.function
    instance = function.self_name
    if instance is not None and function.owner is not None:
        kind = CLASS if function.kind == "class" else INSTANCE
        run.names[instance] = Value(Atom(kind, refs=frozenset({function.owner})))
    for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if parameter.arg == instance:
            continue
        value = function.parameters.get(parameter.arg, UNKNOWN)
        if not value and parameter.annotation is not None:
            value = value_of_annotation(run, parameter.annotation)
        run.names[parameter.arg] = value
    if arguments.vararg is not None:
        element = function.parameters.get(f"*{arguments.vararg.arg}")
        run.names[arguments.vararg.arg] = Value(Atom(SEQUENCE, element=element))
    if arguments.kwarg is not None:
        run.names[arguments.kwarg.arg] = Value(Atom(MAPPING))
    _join_defaults(run, arguments, instance)


def _join_defaults(run: Evaluation, arguments: ast.arguments, instance: str | None) -> None:
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs: list[tuple[ast.arg, ast.expr | None]] = list(
        zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True)
    )
    pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    for parameter, default in pairs:
        if default is None or parameter.arg == instance:
            continue
        value = run.quietly(default)
        if _DEVICE_PARAMETER.search(parameter.arg) and (TEXT in value.atoms or DEVICE in value.atoms):
            value = _ANYWHERE  # "cpu" as the default device says nothing of the run
        run.names[parameter.arg] = join(run.names[parameter.arg], value)
