"""Evaluates single expressions on abstract values: names, literals, calls of libraries and methods, operators."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from npuport.analysis.flow import arithmetic
from npuport.analysis.flow.events import CallSite
from npuport.analysis.flow.joining import element_of, join, join_all
from npuport.analysis.flow.library import containers, dispatch, standard_library
from npuport.analysis.flow.value import (
    A_BOOL,
    A_FLOAT,
    AN_INT,
    CLASS,
    LIBRARY,
    MAPPING,
    NOTHING,
    SEQUENCE,
    SPREAD,
    TEXT,
    UNKNOWN,
    Atom,
    Origin,
    Value,
    sequence,
)

LIBRARIES = {
    "torch": "torch",
    "np": "numpy",
    "nn": "torch.nn",
    "F": "torch.nn.functional",
    "D": "torch.distributions",
    "gym": "gymnasium",
    "random": "random",
    "math": "math",
    "itertools": "itertools",
    "functools": "functools",
    "collections": "collections",
    "data": "torch.utils.data",
    "copy": "copy",
    "heapq": "heapq",
    "dataclasses": "dataclasses",
}
_LITERALS = {bool: A_BOOL, int: AN_INT, float: A_FLOAT, type(None): NOTHING}


class LiteralEvaluation:
    """One expression; keeps the events and the changed containers for the test to look at."""

    def __init__(self, variables: Mapping[str, Value] | None = None, unpacked: int = 0) -> None:
        self.file = "file.py"
        self.recording = True
        self.autocast: frozenset[str] = frozenset()
        self.unpacked = unpacked
        self.variables = dict(variables or {})
        self.events: list[tuple[str, str, Value]] = []
        self.changed: dict[str, Value] = {}
        self.attributes: dict[tuple[str, str], Value] = {}

    def origin(self, node: ast.AST) -> Origin:
        return self.file, getattr(node, "lineno", 0)

    def event(
        self,
        kind: str,
        node: ast.AST,
        value: Value = UNKNOWN,
        how: str = "",
        values: tuple[Value, ...] = (),
        keywords: dict[str, Value] | None = None,
    ) -> None:
        self.events.append((kind, how, value))

    def mutate(self, container: ast.expr, value: Value) -> None:
        name = ast.unparse(container)
        self.changed[name] = join(self.variables.get(name), value)

    def set_attribute(self, class_key: str, name: str, value: Value) -> None:
        self.attributes[class_key, name] = value

    def evaluate(self, text: str) -> Value:
        return self._expression(ast.parse(text, mode="eval").body)

    def _expression(self, node: ast.expr) -> Value:
        method = getattr(self, "_" + type(node).__name__.lower())
        result = method(node)
        assert isinstance(result, Value)
        return result

    def _constant(self, node: ast.Constant) -> Value:
        if isinstance(node.value, str):
            return Value(Atom(TEXT, refs=frozenset({node.value})))
        known = _LITERALS[type(node.value)]
        if isinstance(node.value, bool):
            return Value(Atom("number", frozenset({"bool"}), refs=frozenset({str(node.value)})))
        return known

    def _name(self, node: ast.Name) -> Value:
        if node.id in self.variables:
            return self.variables[node.id]
        return _library(LIBRARIES.get(node.id, "builtins." + node.id))

    def _attribute(self, node: ast.Attribute) -> Value:
        base = self._expression(node.value)
        library = base.get(LIBRARY)
        if library is not None:
            (dotted,) = library.refs
            return dispatch.constant(f"{dotted}.{node.attr}") or _library(f"{dotted}.{node.attr}")
        return join_all(dispatch.attribute(self, atom, node.attr, node) for atom in base.atoms.values())

    def _list(self, node: ast.List) -> Value:
        return sequence(items=tuple(map(self._expression, node.elts)))

    _tuple = _list

    def _dict(self, node: ast.Dict) -> Value:
        keys = [ast.literal_eval(key) for key in node.keys if key is not None]
        values = dict(zip(keys, map(self._expression, node.values), strict=True))
        return Value(Atom(MAPPING, items=values))

    def _binop(self, node: ast.BinOp) -> Value:
        return arithmetic.binary(self, node, node.op, self._expression(node.left), self._expression(node.right))

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        return arithmetic.unary(self, node, node.op, self._expression(node.operand))

    def _compare(self, node: ast.Compare) -> Value:
        return arithmetic.compare(self, node, [self._expression(side) for side in (node.left, *node.comparators)])

    def _subscript(self, node: ast.Subscript) -> Value:
        base = self._expression(node.value)
        atom = base.get(SEQUENCE)
        if atom is not None and isinstance(atom.items, tuple):
            item: Value = atom.items[ast.literal_eval(node.slice)]
            return item
        return element_of(base)

    def site(self, text: str) -> CallSite:
        """The call that a text is, with its arguments evaluated."""
        node = ast.parse(text, mode="eval").body
        assert isinstance(node, ast.Call)
        return self._site(node)

    def _site(self, node: ast.Call) -> CallSite:
        return CallSite(node, self._arguments(node), {k.arg: self._expression(k.value) for k in node.keywords if k.arg})

    def _call(self, node: ast.Call) -> Value:
        site = self._site(node)
        if isinstance(node.func, ast.Attribute):
            receiver = self._expression(node.func.value)
            if receiver.get(LIBRARY) is None:
                return join_all(
                    dispatch.call_method(self, atom, receiver, node.func.attr, site) for atom in receiver.atoms.values()
                )
        function = self._expression(node.func)
        return join_all(self._called(atom, site) for atom in function.atoms.values())

    def _called(self, atom: Atom, site: CallSite) -> Value | None:
        if atom.kind == LIBRARY:
            return join_all(dispatch.call_library(self, dotted, site) for dotted in atom.refs)
        if atom.kind == CLASS:
            (ref,) = atom.refs
            return containers.make_namedtuple(ref.removeprefix(standard_library.NAMEDTUPLE), site)
        return dispatch.call_object(self, atom, site)

    def _arguments(self, node: ast.Call) -> list[Value]:
        values: list[Value] = []
        for argument in node.args:
            if not isinstance(argument, ast.Starred):
                values.append(self._expression(argument))
                continue
            spread = self._expression(argument.value)
            atom = spread.get(SEQUENCE)
            if atom is not None and isinstance(atom.items, tuple):
                values.extend(atom.items)
            else:
                values.append(Value(Atom(SPREAD, element=element_of(spread))))
        return values


def _library(dotted: str) -> Value:
    return Value(Atom(LIBRARY, refs=frozenset({dotted})))


def evaluate(text: str, **variables: Value) -> Value:
    """What an expression gives."""
    return LiteralEvaluation(variables).evaluate(text)


def events(text: str, **variables: Value) -> list[tuple[str, str]]:
    """The kinds and hows of the events of an expression, without the calls."""
    evaluation = LiteralEvaluation(variables)
    evaluation.evaluate(text)
    return [(kind, how) for kind, how, _ in evaluation.events if kind not in ("call", "method", "arithmetic")]
