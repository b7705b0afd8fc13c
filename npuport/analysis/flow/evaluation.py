"""One visit of one function: its environment of names, and what it tells the rest of the program."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, ClassVar

from npuport.analysis.flow.declarations import Function, Scope
from npuport.analysis.flow.events import Event
from npuport.analysis.flow.frames import AUTOCAST, Frame, Place, outwards
from npuport.analysis.flow.joining import bounded, join
from npuport.analysis.flow.knowledge import Knowledge
from npuport.analysis.flow.losses import DOUBTFUL, TARGET_FUNCTION, inputs_of_loss, loss_name
from npuport.analysis.flow.value import EMPTY, INSTANCE, TENSOR, UNKNOWN, Origin, Value, sequence


class Recording:
    """What a last visit leaves for rules: events, the value of every expression, the frame of every statement."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.values: dict[ast.AST, Value] = {}
        self.frames: dict[ast.stmt, Frame | None] = {}


# Events that cost nothing to note: they do not make a function worth a visit for rules.
_SILENT = frozenset({"assign", "return", "call", "push", "forward", "sample"})
_LOSSES = frozenset({"loss", "backward", "return"})
_FACTS = frozenset({"step", "update", "backward"})


class Evaluation:
    """The state of a visit.

    Attributes:
        names: values of local names; ``self.x`` under that text, for strong updates within the function.
        frame: the loops, gates and comprehensions around the place that is evaluated.
        unpacked: into how many targets the statement unpacks a call; 0 for none.
        returned: what the return statements gave so far.
        due: local names that tell whether it is time for something, such as ``step % n == 0``.
    """

    # Filled by ``statements`` and ``expressions``: by type of the node.
    EXPRESSIONS: ClassVar[dict[type[ast.AST], Callable[[Evaluation, Any], Value]]] = {}
    STATEMENTS: ClassVar[dict[type[ast.AST], Callable[[Evaluation, Any], bool]]] = {}

    def __init__(self, knowledge: Knowledge, function: Function, recording: Recording | None = None) -> None:
        self.knowledge = knowledge
        self.function = function
        self.file = function.file
        self.scope: Scope = knowledge.scopes[function.file]
        self.names: dict[str, Value] = {}
        self.frame: Frame | None = None
        self.unpacked = 0
        self.returned: Value | None = None
        self.due: set[str] = set()
        self.writes: dict[tuple[str, str], Value] = {}
        self._recording = recording
        self._muted = 0

    @property
    def autocast(self) -> frozenset[str]:
        """The dtypes that autocast computes in at this place; empty outside of one."""
        return next((frame.dtypes for frame in outwards(self.frame) if frame.about == AUTOCAST), EMPTY)

    @property
    def recording(self) -> bool:
        """Whether events are wanted: they tell which functions are worth a visit for rules."""
        return not self._muted

    @property
    def for_rules(self) -> bool:
        """Whether this is the visit whose events rules read."""
        return self._recording is not None and not self._muted

    # Evaluating

    def evaluate(self, node: ast.expr) -> Value:
        """The value of an expression; what happens in it is reported."""
        evaluate = self.EXPRESSIONS.get(type(node))
        value = evaluate(self, node) if evaluate is not None else self._evaluate_parts(node)
        if self._recording is not None and not self._muted:
            self._recording.values[node] = value
            atom = value.atoms.get(TENSOR)
            if atom is not None and atom.origin == self.origin(node) and atom.dtypes and atom.dtypes <= DOUBTFUL:
                self.event("made", node, value)
        return value

    def _evaluate_parts(self, node: ast.AST) -> Value:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.evaluate(child)
        return UNKNOWN

    def quietly(self, node: ast.expr) -> Value:
        """The value of an expression that was, or will be, evaluated for its own sake as well."""
        self._muted += 1
        try:
            return self.evaluate(node)
        finally:
            self._muted -= 1

    def mute(self, *, on: bool) -> None:
        """Stop and resume reporting: a loop's body is evaluated more than once."""
        self._muted += 1 if on else -1

    def enter(self, statement: ast.stmt) -> None:
        """Note where a statement stands."""
        if self._recording is not None and not self._muted:
            self._recording.frames[statement] = self.frame

    # Telling

    def origin(self, node: ast.AST) -> Origin:
        """Where a value is made."""
        return (self.file, getattr(node, "lineno", 0))

    def place(self, node: ast.AST) -> Place:
        """A key of a node within its file."""
        return (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))

    def event(
        self,
        kind: str,
        node: ast.AST,
        value: Value = UNKNOWN,
        how: str = "",
        values: tuple[Value, ...] = (),
        keywords: dict[str, Value] | None = None,
    ) -> None:
        """Report what happens at a node."""
        if kind in _FACTS:
            self.function.facts.append(("step" if kind == "step" else "update", self.place(node), self.frame))
        if kind in _LOSSES:
            self._note_loss(kind, node, value, values, how)
        if self._muted:
            return
        if self._recording is None:
            if kind not in _SILENT:
                self.function.eventful = True
            return
        self._recording.events.append(
            Event(kind, node, self.function, self.frame, value, how, values, keywords if keywords is not None else {})
        )

    def _note_loss(self, kind: str, node: ast.AST, value: Value, values: tuple[Value, ...], how: str) -> None:
        if kind == "loss":
            self.function.losses.update(inputs_of_loss(values, self.origin(node), loss_name(node, how)))
        elif kind == "backward" or TARGET_FUNCTION.search(self.function.name):
            self.function.losses.update(inputs_of_loss((value,), self.origin(node)))

    def calls(self, callee: Function, node: ast.AST, *, weak: bool = False) -> None:
        """Note a call of a function of the program; ``weak`` where only the method's name tells which."""
        place = self.place(node)
        self.function.calls.append((callee.key, place, self.frame))
        if weak:
            self.function.weak_calls.add((callee.key, place))

    # Names, attributes, containers

    def set_attribute(self, class_key: str, name: str, value: Value) -> None:
        """Write an attribute of a class's instances."""
        value = bounded(value)
        place = (class_key, name)
        known = self.writes.get(place)
        self.writes[place] = value if known is None else bounded(join(known, value))
        self.knowledge.announce_attribute(class_key, name, value)

    def set_name(self, name: str, value: Value) -> None:
        """Bind a name."""
        if self.function is self.scope.body or name in self.function.global_names:
            self.knowledge.set_global(self.file, name, value)
        self.names[name] = value

    def mutate(self, container: ast.expr, value: Value) -> None:
        """The container behind an expression was changed in place and may be ``value`` as well now."""
        if isinstance(container, ast.Name):
            name = container.id
            local = self.names.get(name)
            if local is not None:
                self.names[name] = join(local, value)
            if self.function is self.scope.body or local is None:
                if name in self.scope.names:
                    self.knowledge.set_global(self.file, name, value)
        elif isinstance(container, ast.Attribute):
            self.write_attribute(self.quietly(container.value), container.attr, value)
            if isinstance(container.value, ast.Name):
                key = f"{container.value.id}.{container.attr}"
                if key in self.names:
                    self.names[key] = join(self.names[key], value)
        elif isinstance(container, ast.Subscript):
            self._mutate_element(container, value)

    def _mutate_element(self, container: ast.Subscript, value: Value) -> None:
        outer = self.quietly(container.value)
        for atom in outer.atoms.values():
            if atom.kind in ("sequence", "mapping"):
                changed = atom.holding(join(atom.element, value), atom.items)
                self.mutate(container.value, bounded(Value(changed)))

    def write_attribute(self, base: Value, name: str, value: Value) -> None:
        """Write an attribute of whatever instances of the program a value may be."""
        instance = base.get(INSTANCE)
        for key in instance.refs if instance is not None else ():
            if key in self.knowledge.classes:
                self.set_attribute(key, name, value)

    def prove_tensor(self, node: ast.expr, value: Value) -> None:
        """A name turned out to be a tensor: only tensors have the method that was called."""
        if isinstance(node, ast.Name) and TENSOR not in self.names.get(node.id, UNKNOWN).atoms:
            self.names[node.id] = value

    def conclude(self) -> None:
        """Tell the program what this visit found."""
        function = self.function
        if function.is_generator:
            self.returned = sequence(self.returned)
        self.knowledge.set_return(function, self.returned)
        self.knowledge.set_attributes(function, self.writes)
        if function.nested:
            function.locals = self.names
