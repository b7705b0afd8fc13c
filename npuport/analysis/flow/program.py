"""The flow of a whole program: evaluates functions until nothing changes, then answers file by file."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cached_property

from npuport.analysis.flow.actions import Actions
from npuport.analysis.flow.contexts import Contexts
from npuport.analysis.flow.declarations import Function, Scope, declare
from npuport.analysis.flow.file_flow import FileFlow
from npuport.analysis.flow.frequency import Frequencies
from npuport.analysis.flow.knowledge import Knowledge, Parse
from npuport.analysis.flow.linking import Linker, connect, link
from npuport.analysis.flow.losses import LossInput
from npuport.analysis.flow.storage import Data, StoredScope, stored
from npuport.analysis.flow.traits import Traits, traits_of
from npuport.analysis.flow.visits import visit

__all__ = ["FileFlow", "ProgramFlow"]

# A second visit finds 4 findings in 100, a third 1 in 100, each for half the time of the first. Small programs
# may have more, until nothing changes.
MAX_VISITS = 2
MOST_VISITS = 8
EXTRA_VISITS = 500


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
