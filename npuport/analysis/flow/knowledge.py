"""What is known of the whole program so far, who has read it, and what must be evaluated again.

Contributions are replaced, not piled up: an attribute is the join of what each function wrote in its last visit,
a parameter the join of what each call site passed in its last visit. Otherwise the "unknown" of a first visit
would stay for ever.
"""

from __future__ import annotations

import ast
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import TYPE_CHECKING, TypeAlias

from npuport.analysis.flow.declarations import Class, Function, Scope, adopt, declare
from npuport.analysis.flow.declared import Declared
from npuport.analysis.flow.joining import bounded, join, join_all
from npuport.analysis.flow.linking import Linker
from npuport.analysis.flow.value import MAX_DEPTH, UNKNOWN, Value, same

if TYPE_CHECKING:
    from npuport.analysis.flow.gates import Condition

# What a function has read: ("return", function), ("attribute", class, name), ("owners", component, name),
# ("global", file, name), ("methods", component, name).
Read: TypeAlias = tuple[str, ...]
# Gives the syntax of a file; None where it cannot be had any more.
Parse: TypeAlias = Callable[[str], ast.Module | None]


class Knowledge(Declared):
    """The tables that evaluations read and write."""

    def __init__(self, scopes: Iterable[Scope], linker: Linker, parse: Parse) -> None:
        super().__init__(scopes, linker)
        self._parse = parse
        self.readers: dict[Read, set[str]] = defaultdict(set)
        self.queue: deque[Function] = deque()
        self.queued: set[str] = set()
        self.settled = False
        self.conditions: dict[ast.expr, Condition] = {}
        # By function: what it passed to parameters and wrote into attributes, as holder and name.
        self._given: dict[str, dict[tuple[str, str], None]] = {}
        holders: list[Function | Class] = [*self.functions.values(), *self.classes.values()]
        for holder in holders:
            for name, parts in holder.contributions.items():
                for part in parts:
                    self._note_given(_giver(holder, part), holder, name)

    def _note_given(self, giver: str, holder: Function | Class, name: str) -> None:
        self._given.setdefault(giver, {})[holder.key, name] = None

    # Files that are known from the cache, or change

    def load(self, file: str) -> None:
        """Give the functions and classes of a file that is known from the cache their syntax."""
        scope = self.scopes[file]
        tree = self._parse(file) if scope.tree is None else None
        if tree is None:
            return
        scope.tree = tree
        declared = declare(file, tree)
        scope.definitions = declared.definitions
        nodes = {function.key: function.node for function in declared.functions}
        for function in scope.functions:
            function.node = nodes.get(function.key)
        classes = {entry.key: entry.node for entry in declared.classes}
        for entry in scope.classes:
            entry.node = classes.get(entry.key)

    def replace(self, scope: Scope) -> Scope | None:
        """Take new declarations for a file; what was known under the old ones is where they begin.

        What the old functions passed and wrote elsewhere is dropped; ``settle_dropped`` looks at what that changes.
        """
        old = self.scopes.get(scope.key)
        scope.component = old.component if old is not None else scope.key
        self.scopes[scope.key] = scope
        own = f"{scope.key}:"
        if old is not None:
            adopt(scope, old)
            self.functions = {key: function for key, function in self.functions.items() if not key.startswith(own)}
            self.classes = {key: declared for key, declared in self.classes.items() if not key.startswith(own)}
        self._lineages.clear()
        self._heirs = None
        self._add(scope)
        return old

    def add_reads(self, reads: Mapping[str, Iterable[Read]]) -> None:
        """What functions have read, known from the cache."""
        for function, read in reads.items():
            for what in read:
                self.readers[what].add(function)

    def reads_by_function(self) -> dict[str, list[Read]]:
        """What every function has read."""
        found: dict[str, list[Read]] = {}
        for what, readers in self.readers.items():
            for key in readers:
                found.setdefault(key, []).append(what)
        return found

    def drop_from(self, functions: Set[str]) -> list[tuple[Function | Class, str]]:
        """Drop what some functions, and those that are no more, passed and wrote; tells where."""
        dropped: list[tuple[Function | Class, str]] = []
        for giver in [key for key in self._given if key in functions or key not in self.functions]:
            for key, name in self._given.pop(giver):
                for holder in self._holders(key):
                    parts = holder.contributions.get(name, {})
                    gone = [part for part in parts if _giver(holder, part) == giver]
                    for part in gone:
                        del parts[part]
                    if gone:
                        dropped.append((holder, name))
        return dropped

    def _holders(self, key: str) -> Iterator[Function | Class]:
        if key in self.functions:
            yield self.functions[key]
        if key in self.classes:
            yield self.classes[key]

    def settle_dropped(self, dropped: Iterable[tuple[Function | Class, str]]) -> None:
        """Where something was dropped and not passed or written again, its readers must be evaluated again."""
        for before, name in dropped:
            # A new text has its own functions and classes, or none, in the place of those that are gone.
            holder = (self.functions if isinstance(before, Function) else self.classes).get(before.key)
            if holder is None:
                continue
            joined = join_all(holder.contributions.get(name, {}).values())
            if isinstance(holder, Function):
                joined = bounded(joined, MAX_DEPTH - 1)
                if not same(holder.parameters.get(name, UNKNOWN), joined):
                    holder.parameters[name] = joined
                    self.visit_again(holder)
            elif not same(holder.attributes.get(name, UNKNOWN), bounded(joined)):
                holder.attributes[name] = bounded(joined)
                self.changed("attribute", holder.key, name)

    def tell_differences(self, old: Scope, new: Scope) -> None:
        """Evaluate again who has read what a file's new text does not say any more, or says otherwise."""
        for name in {*old.names, *new.names}:
            if not same(old.names.get(name), new.names.get(name)):
                self.changed("global", new.key, name)
        kept = {function.key for function in new.functions}
        for function in old.functions:
            if function.key not in kept:
                self.changed("return", function.key)
        methods = {declared.key: declared.methods for declared in new.classes}
        for declared in old.classes:
            for name in {*declared.methods} ^ {*methods.get(declared.key, {})}:
                self.changed("attribute", declared.key, name)
                self.changed("methods", new.component, name)

    # Changing

    def read(self, reader: Function, *what: str) -> None:
        """Note that a function depends on something."""
        if not self.settled:
            self.readers[what].add(reader.key)

    def changed(self, *what: str) -> None:
        """Evaluate again who has read something."""
        for key in self.readers.get(what, ()):
            if key in self.functions:  # else a new text does not have it any more
                self.visit_again(self.functions[key])

    def visit_again(self, function: Function) -> None:
        """Put a function into the queue."""
        if not self.settled and function.key not in self.queued:
            self.queued.add(function.key)
            self.queue.append(function)

    def set_global(self, file: str, name: str, value: Value) -> None:
        """Join a value into a global name."""
        if self.settled:
            return
        names = self.scopes[file].names
        known = names.get(name)
        joined = bounded(join(known, value))
        if not same(known, joined):
            names[name] = joined
            self.changed("global", file, name)

    def pass_argument(self, function: Function, name: str, site: str, value: Value) -> None:
        """Note what a call site passes for a parameter."""
        if self.settled:
            return
        value = bounded(value, MAX_DEPTH - 1)
        passed = function.contributions.setdefault(name, {})
        before = passed.get(site)
        if (before is None and not value.atoms) or (before is not None and same(before, value)):
            return
        passed[site] = value
        if before is None:
            self._note_given(site.rsplit(":", 2)[0], function, name)
        if len(passed) == 1:
            joined = value
        elif before is None:  # a call site more
            joined = bounded(join(function.parameters.get(name), value), MAX_DEPTH - 1)
        else:
            joined = bounded(join_all(passed.values()), MAX_DEPTH - 1)
        if not same(function.parameters.get(name), joined):
            function.parameters[name] = joined
            self.visit_again(function)

    def set_return(self, function: Function, value: Value | None) -> None:
        """Replace what a function gives."""
        if self.settled or value is None:
            return
        value = bounded(value)
        if not same(function.returns, value):
            function.returns = value
            self.changed("return", function.key)

    def announce_attribute(self, key: str, name: str, value: Value) -> None:
        """Let readers see an attribute that nobody has written before, at once."""
        declared = self.classes[key]
        if not self.settled and name not in declared.attributes:
            declared.attributes[name] = value
            owner = (self.scopes[declared.file].component, name)
            self._owners.setdefault(owner, set()).add(key)
            self.changed("attribute", key, name)
            self.changed("owners", *owner)

    def set_attributes(self, function: Function, writes: dict[tuple[str, str], Value]) -> None:
        """Replace what a function's last visit wrote into attributes."""
        if self.settled:
            return
        for place in {**function.writes, **writes}:
            key, name = place
            declared, new = self.classes.get(key), writes.get(place)
            if declared is None:  # a new text does not have it any more
                continue
            written = declared.contributions.setdefault(name, {})
            if new is None:
                written.pop(function.key, None)
            elif same(written.get(function.key), new):
                continue
            else:
                written[function.key] = new
                self._note_given(function.key, declared, name)
            joined = bounded(join_all(written.values()))
            if not same(declared.attributes.get(name), joined):
                declared.attributes[name] = joined
                self.changed("attribute", key, name)
        function.writes = writes


def _giver(holder: Function | Class, part: str) -> str:
    """The function behind a part of what a parameter or an attribute may be."""
    return part if isinstance(holder, Class) else part.rsplit(":", 2)[0]
