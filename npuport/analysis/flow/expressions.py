"""Expressions: names, displays, operators, subscripts, comprehensions."""

from __future__ import annotations

import ast
from functools import lru_cache

from npuport.analysis.flow.arithmetic import binary, compare, unary
from npuport.analysis.flow.attributes import attribute
from npuport.analysis.flow.binding import bind
from npuport.analysis.flow.calls import evaluate_call
from npuport.analysis.flow.comprehensions import dict_comprehension, list_comprehension
from npuport.analysis.flow.declarations import Function, function_of, function_value
from npuport.analysis.flow.evaluation import Evaluation
from npuport.analysis.flow.gates import narrowed
from npuport.analysis.flow.joining import bounded, element_of, join, join_all
from npuport.analysis.flow.library.containers import look_up
from npuport.analysis.flow.statements import test
from npuport.analysis.flow.value import (
    A_BOOL,
    A_TEXT,
    ARRAY,
    EMPTY,
    FUNCTION,
    IMPORT,
    LAYER,
    MAPPING,
    MAX_KEYS,
    NOTHING,
    NUMBER,
    SEQUENCE,
    TENSOR,
    TEXT,
    UNKNOWN,
    Atom,
    Value,
    sequence,
)

_LONGEST_TEXT = 40
_LONGEST_TUPLE = 12
_LONGEST_LIST = 4


def _constant(run: Evaluation, node: ast.Constant) -> Value:
    return constant_value(type(node.value).__name__, node.value)


@lru_cache(4096)
def constant_value(kind: str, value: object) -> Value:
    """A constant of the program; ``kind`` tells 1 from True and 1.0."""
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return Value(Atom(TEXT, refs=frozenset({value}))) if len(value) < _LONGEST_TEXT else A_TEXT
    if isinstance(value, bool | int | float):
        return Value(Atom(NUMBER, frozenset({type(value).__name__}), refs=frozenset({repr(value)})))
    return UNKNOWN


def _format(run: Evaluation, node: ast.JoinedStr) -> Value:
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            value = run.evaluate(part.value)
            if value.only(TENSOR):
                run.event("read", part.value, value, "format")
    first = node.values[0] if node.values else None
    if isinstance(first, ast.Constant) and str(first.value).startswith(("cuda", "npu", "cpu")):
        return Value(Atom(TEXT, refs=frozenset({str(first.value)})))
    return A_TEXT


def _name(run: Evaluation, node: ast.Name) -> Value:
    name = node.id
    value = run.names.get(name)
    if value is None:
        value = _enclosing(run.function.parent, name)
    if value is None:
        run.knowledge.read(run.function, "global", run.file, name)
        value = run.knowledge.global_name(run.file, name)
    if value is None:
        return UNKNOWN
    imported = value.get(IMPORT)
    if imported is not None:
        for ref in imported.refs:
            run.knowledge.read(run.function, "global", *ref.split("\0"))
        value = run.knowledge.followed(value)
    return value


def _enclosing(function: Function | None, name: str) -> Value | None:
    while function is not None:
        value = function.nested.get(name) or function.locals.get(name)
        if value is not None:
            return value
        function = function.parent
    return None


def _attribute(run: Evaluation, node: ast.Attribute) -> Value:
    base = run.evaluate(node.value)
    if isinstance(node.value, ast.Name):
        known = run.names.get(f"{node.value.id}.{node.attr}")
        if known is not None:
            return known
    return attribute(run, base, node.attr, node)


def _subscript(run: Evaluation, node: ast.Subscript) -> Value:
    base, index = run.evaluate(node.value), run.evaluate(node.slice)
    if TENSOR in base.atoms or ARRAY in base.atoms or not base.atoms:
        run.event("index", node, base, values=(index,))
    result: Value | None = None
    for atom in base.atoms.values():
        kind = atom.kind
        if kind in (TENSOR, ARRAY):
            result = join(result, Value(atom if isinstance(node.slice, ast.Slice) else atom.replaced(marks=EMPTY)))
        elif kind == SEQUENCE:
            result = join(result, _element(atom, node.slice))
        elif kind == MAPPING:
            result = join(result, look_up(atom, index))
        elif kind == LAYER:
            result = join(result, Value(atom))
    return result if result is not None else UNKNOWN


def _element(atom: Atom, index: ast.expr) -> Value:
    value = Value(atom)
    if isinstance(index, ast.Slice):
        return Value(atom.holding(element_of(value) or None))
    if isinstance(atom.items, tuple) and atom.items:
        position = _position(index)
        if position is not None and -len(atom.items) <= position < len(atom.items):
            return atom.items[position]
    return element_of(value)


def _position(index: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(index)
    except (ValueError, TypeError, RecursionError):
        return None
    return value if isinstance(value, int) else None


def _slice(run: Evaluation, node: ast.Slice) -> Value:
    for part in (node.lower, node.upper, node.step):
        if part is not None:
            run.evaluate(part)
    return UNKNOWN


def _display(run: Evaluation, node: ast.Tuple | ast.List | ast.Set) -> Value:
    items: list[Value] = []
    for element in node.elts:
        if not isinstance(element, ast.Starred):
            items.append(run.evaluate(element))
            continue
        inner = run.evaluate(element.value)
        atom = inner.get(SEQUENCE)
        if atom is None or not isinstance(atom.items, tuple):
            return sequence(join(join_all(items), element_of(inner)) or None)
        items += atom.items
    longest = _LONGEST_TUPLE if isinstance(node, ast.Tuple) else _LONGEST_LIST
    if len(items) > longest or (not items and not isinstance(node, ast.Tuple)):
        return sequence(join_all(items) if items else None)
    return sequence(items=tuple(items))


def _mapping(run: Evaluation, node: ast.Dict) -> Value:
    items: dict[str, Value] = {}
    element: Value | None = None
    for key, entry in zip(node.keys, node.values, strict=True):
        value = run.evaluate(entry)
        if key is None:  # {**other}
            atom = value.get(MAPPING)
            if atom is not None:
                items.update(atom.items if isinstance(atom.items, dict) else {})
                element = join(element, atom.element)
        elif isinstance(key, ast.Constant) and isinstance(key.value, str):
            items[key.value] = value
        else:
            run.evaluate(key)
            element = join(element, value)
    return Value(Atom(MAPPING, element=element, items=items if len(items) <= MAX_KEYS else None))


def _binary(run: Evaluation, node: ast.BinOp) -> Value:
    left, right = run.evaluate(node.left), run.evaluate(node.right)
    return binary(run, node, node.op, left, right)


def _unary(run: Evaluation, node: ast.UnaryOp) -> Value:
    value = run.evaluate(node.operand)
    if isinstance(node.op, ast.Not):
        if value.only(TENSOR):
            run.event("read", node, value, "truth")
        return A_BOOL
    return unary(run, node, node.op, value)


def _bool(run: Evaluation, node: ast.BoolOp) -> Value:
    before = run.names
    values = []
    for part in node.values:
        values.append(run.evaluate(part))
        run.names = {**run.names, **narrowed(run, part, holds=isinstance(node.op, ast.And))}
    run.names = before
    return join_all(values)


def _compare(run: Evaluation, node: ast.Compare) -> Value:
    values = [run.evaluate(part) for part in (node.left, *node.comparators)]
    if all(isinstance(operator, ast.Is | ast.IsNot | ast.In | ast.NotIn) for operator in node.ops):
        return A_BOOL
    return compare(run, node, values)


def _choice(run: Evaluation, node: ast.IfExp) -> Value:
    test(run, node.test)
    before = run.names
    run.names = {**before, **narrowed(run, node.test, holds=True)}
    body = run.evaluate(node.body)
    run.names = {**before, **narrowed(run, node.test, holds=False)}
    other = run.evaluate(node.orelse)
    run.names = before
    return join(body, other)


def _lambda(run: Evaluation, node: ast.Lambda) -> Value:
    name = f"<lambda>{node.lineno}:{node.col_offset}"
    known = run.function.nested.get(name)
    if known is not None:
        for key in known.atoms[FUNCTION].refs:
            run.knowledge.functions[key].node = node  # known from the cache, it has none
        return known
    function = function_of(node, f"{run.function.key}.{name}", name, run.file)
    function.parent = run.function
    run.knowledge.functions.setdefault(function.key, function)
    if function.key not in (f.key for f in run.scope.functions[-256:]):
        run.scope.functions.append(function)
    run.knowledge.visit_again(function)
    value = function_value(function.key)
    run.function.nested[name] = value
    return value


def _yield(run: Evaluation, node: ast.Yield | ast.YieldFrom) -> Value:
    run.function.is_generator = True
    value = run.evaluate(node.value) if node.value is not None else NOTHING
    if isinstance(node, ast.YieldFrom):
        value = element_of(value)
    run.returned = join(run.returned, bounded(value))
    return UNKNOWN


def _inner(run: Evaluation, node: ast.Await | ast.Starred) -> Value:
    return run.evaluate(node.value)


def _named(run: Evaluation, node: ast.NamedExpr) -> Value:
    value = run.evaluate(node.value)
    bind(run, node.target, value)
    return value


Evaluation.EXPRESSIONS.update(
    {
        ast.Constant: _constant,
        ast.JoinedStr: _format,
        ast.Name: _name,
        ast.Attribute: _attribute,
        ast.Subscript: _subscript,
        ast.Slice: _slice,
        ast.Tuple: _display,
        ast.List: _display,
        ast.Set: _display,
        ast.Dict: _mapping,
        ast.BinOp: _binary,
        ast.UnaryOp: _unary,
        ast.BoolOp: _bool,
        ast.Compare: _compare,
        ast.IfExp: _choice,
        ast.ListComp: list_comprehension,
        ast.SetComp: list_comprehension,
        ast.GeneratorExp: list_comprehension,
        ast.DictComp: dict_comprehension,
        ast.Lambda: _lambda,
        ast.Yield: _yield,
        ast.YieldFrom: _yield,
        ast.Await: _inner,
        ast.Starred: _inner,
        ast.NamedExpr: _named,
        ast.Call: evaluate_call,
    }
)
