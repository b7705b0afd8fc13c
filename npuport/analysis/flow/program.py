"""The flow of a whole program: evaluates functions until nothing changes, then answers file by file."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cached_property

# Evaluating needs both; they register what they handle.
from npuport.analysis.flow import expressions, statements
from npuport.analysis.flow.actions import Actions
from npuport.analysis.flow.contexts import Contexts
from npuport.analysis.flow.declarations import Body, Function, Scope, declare
from npuport.analysis.flow.evaluation import Evaluation, Recording
from npuport.analysis.flow.events import Event
from npuport.analysis.flow.frequency import Frequencies, Level, Reason
from npuport.analysis.flow.knowledge import Knowledge, Parse
from npuport.analysis.flow.linking import Linker, connect, link
from npuport.analysis.flow.losses import LossInput
from npuport.analysis.flow.storage import Data, StoredScope, stored
from npuport.analysis.flow.traits import Traits, traits_of
from npuport.analysis.flow.types import value_of_annotation
from npuport.analysis.flow.value import (
    CLASS,
    DEVICE,
    INSTANCE,
    MAPPING,
    SEQUENCE,
    TENSOR,
    TEXT,
    UNKNOWN,
    Atom,
    Value,
    join,
)
from npuport.analysis.walk import FUNCTIONS
from npuport.sources.errors import UsageError

__all__ = ["FileFlow", "ProgramFlow", "expressions", "statements"]

# A second visit finds 4 findings in 100, a third 1 in 100, each for half the time of the first. Small programs
# may have more, until nothing changes.
MAX_VISITS = 2
MOST_VISITS = 8
EXTRA_VISITS = 500
_ANYWHERE = Value(Atom(DEVICE, devices=frozenset({"?"})))
_DEVICE_PARAMETER = re.compile(r"dev|dvc")


class ProgramFlow:
    """Values and frequencies of the files of one program.

    Args:
        texts: syntax tree and text of each file that must be evaluated.
        known: files that are known from the cache.
        parse: gives the syntax of a known file where it is wanted after all.
        linker: says what imports mean; by itself, only these files are there.
    """

    def __init__(
        self,
        texts: Mapping[str, tuple[ast.Module, str]],
        known: Iterable[StoredScope] = (),
        parse: Parse = lambda file: None,
        linker: Linker | None = None,
    ) -> None:
        before = {entry.scope.key: entry for entry in known}
        linker = linker or Linker({*texts, *before})
        connect({key: entry.scope for key, entry in before.items()})
        self.knowledge = Knowledge([entry.scope for entry in before.values()], linker, parse)
        self.visited: set[str] = set()
        self._extra_visits = 0
        for entry in before.values():
            self.knowledge.add_reads(entry.reads)
        self._take(texts)
        self.frequencies = Frequencies(self.knowledge)

    def _take(self, texts: Mapping[str, tuple[ast.Module, str]], *, alone: bool = False) -> None:
        """Take new texts; ``alone``: what they tell the others is not followed into them."""
        knowledge = self.knowledge
        scopes = [_scope(key, tree, text, knowledge.linker) for key, (tree, text) in texts.items()]
        gone = {f.key for key in texts if key in knowledge.scopes for f in knowledge.scopes[key].functions}
        dropped = knowledge.drop_from(gone)
        old = [knowledge.replace(scope) for scope in scopes]
        connect(knowledge.scopes)
        knowledge.index_methods()
        within = frozenset(texts) if alone else None
        self._settle([function for scope in scopes for function in scope.functions], within)
        knowledge.settled = False
        knowledge.settle_dropped(dropped)
        for before, scope in zip(old, scopes, strict=True):
            if before is not None:
                knowledge.tell_differences(before, scope)
        self._settle((), within)

    def _settle(self, functions: Iterable[Function], within: Container[str] | None = None) -> None:
        """Evaluate functions until nothing changes, or each was visited often enough; ``within`` some files only."""
        knowledge = self.knowledge
        knowledge.settled = False
        for function in functions:
            knowledge.visit_again(function)
        while knowledge.queue:
            function = knowledge.queue.popleft()
            knowledge.queued.discard(function.key)
            if self._may_visit(function) and (within is None or function.file in within):
                self.visited.add(function.file)
                visit(knowledge, function)
        knowledge.settled = True

    def _may_visit(self, function: Function) -> bool:
        if function.visits >= MAX_VISITS:
            if function.visits >= MOST_VISITS or self._extra_visits >= EXTRA_VISITS:
                return False
            self._extra_visits += 1
        function.visits += 1
        return True

    def replace(self, key: str, tree: ast.Module, text: str) -> None:
        """Take a new text for one file; what it tells the others is not followed into them."""
        self._take({key: (tree, text)}, alone=True)
        self.frequencies.look_again(key)
        self.contexts.look_again(key, self.knowledge.scopes[key].functions)
        self.actions.forget(key)
        for derived in ("_traits", "loss_inputs"):
            self.__dict__.pop(derived, None)

    def stored(self) -> Iterator[tuple[str, Data]]:
        """The files that were evaluated, as data for the cache."""
        reads = self.knowledge.reads_by_function()
        for key in sorted(self.visited):
            yield key, stored(self.knowledge.scopes[key], reads)

    def view(self, key: str) -> str:
        """A digest of what rules may ask of a file beside its own values: how often, actions, losses, contexts."""
        scope = self.knowledge.scopes[key]
        parts = (
            self.frequencies.of_file(key),
            sorted(function.key for function in scope.functions if function.key in self.actions.acting),
            [loss for loss in self.loss_inputs if loss.origin[0] == key],
            self._traits[scope.component],
            [self.contexts.around(function) for function in scope.functions],
        )
        return hashlib.blake2b(repr(parts).encode(), digest_size=12).hexdigest()

    @cached_property
    def actions(self) -> Actions:
        """Which reads are the action on its way to the environment."""
        return Actions(self.knowledge)

    @cached_property
    def _traits(self) -> dict[str, Traits]:
        """The traits of every component: what any of its files says."""
        traits: dict[str, Traits] = {}
        for scope in self.knowledge.scopes.values():
            known = traits.get(scope.component)
            traits[scope.component] = scope.traits if known is None else known.joined(scope.traits)
        return traits

    @cached_property
    def contexts(self) -> Contexts:
        """Which places run without gradients or under autocast."""
        return Contexts(self.knowledge)

    @cached_property
    def loss_inputs(self) -> list[LossInput]:
        """All tensors of doubtful dtype that reach a loss."""
        found = {loss for function in self.knowledge.functions.values() for loss in function.losses}
        return sorted(found, key=lambda loss: (loss.origin, loss.dtype, loss.loss))

    def uses_torch(self, file: str) -> bool:
        """Whether any file of a program imports torch."""
        return self._traits_of(file).imports_torch

    def stays_on_host(self, file: str) -> bool:
        """Whether a whole program, with environment and optimiser, never names an accelerator."""
        traits = self._traits_of(file)
        return traits.makes_environment and traits.makes_optimizer and not traits.names_accelerator

    def trains_on_host(self, file: str) -> bool:
        """Whether a file makes its networks and optimiser itself and names no accelerator; what it imports may."""
        traits = self.knowledge.scopes[file].traits
        return traits.makes_learner and not traits.names_accelerator

    def names_accelerator(self, file: str) -> bool:
        """Whether a file's program names an accelerator or a device anywhere."""
        return self._traits_of(file).names_accelerator

    def steps_several(self, file: str) -> bool:
        """Whether a file steps several environments at once, by the name that it gives them."""
        return self.knowledge.scopes[file].traits.steps_several

    def checks_arguments(self, file: str) -> bool:
        """Whether distributions validate their arguments in a file's program."""
        return not self._traits_of(file).checks_off

    def computes_in_float64(self, file: str) -> bool:
        """Whether a file's program makes its networks or all its tensors float64."""
        return self._traits_of(file).computes_in_float64

    def observes_float32(self, file: str) -> bool:
        """Whether the environments that a file's program names give float32."""
        return self._traits_of(file).observes_float32

    def _traits_of(self, file: str) -> Traits:
        return self._traits[self.knowledge.scopes[file].component]

    def starts_processes(self, file: str) -> bool:
        """Whether a file may start processes, or share memory with them."""
        return self.knowledge.scopes[file].traits.starts_processes

    def fixes_seed(self, file: str) -> bool:
        """Whether a file's program fixes the seed of torch."""
        return self._traits_of(file).fixes_seed

    def file(self, key: str) -> FileFlow:
        """The events and values of one file."""
        return FileFlow(self, self.knowledge.scopes[key])


def _scope(key: str, tree: ast.Module, text: str, linker: Linker) -> Scope:
    scope = declare(key, tree)
    link(scope, linker)
    scope.traits = traits_of(text)
    return scope


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


def visit(knowledge: Knowledge, function: Function, recording: Recording | None = None) -> None:
    """Evaluate one function once; with ``recording``, for rules, once nothing changes any more."""
    if function.node is None:
        knowledge.load(function.file)
    if function.node is None:
        return  # a lambda gets its syntax when the function around it is evaluated
    run = Evaluation(knowledge, function, recording)
    known = function.calls, function.weak_calls, function.facts, function.losses
    function.calls, function.weak_calls, function.facts, function.losses = [], set(), [], set()
    try:
        _run(run, function.node)
    except RecursionError:
        pass  # an expression nested more deeply than Python's stack: the function keeps what is known so far
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise UsageError(
            f"{function.file}:{function.line}: the analysis failed ({what}); please report this"
        ) from error
    run.conclude()
    if recording is not None:
        function.calls, function.weak_calls, function.facts, function.losses = known


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
        gathered = function.parameters.get(f"*{arguments.vararg.arg}")
        run.names[arguments.vararg.arg] = gathered if gathered else Value(Atom(SEQUENCE))
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
