"""What assignments give values to: names, attributes, elements, and tuples of these."""

from __future__ import annotations

import ast

from npuport.analysis.flow.evaluation import Evaluation
from npuport.analysis.flow.joining import bounded, element_of, join
from npuport.analysis.flow.library.containers import with_item
from npuport.analysis.flow.value import MAPPING, SEQUENCE, UNKNOWN, Value, sequence


def bind(run: Evaluation, target: ast.expr, value: Value) -> None:
    """Give a target a value."""
    if isinstance(target, ast.Name):
        run.set_name(target.id, value)
    elif isinstance(target, ast.Attribute):
        base = run.evaluate(target.value)
        if isinstance(target.value, ast.Name):
            run.names[f"{target.value.id}.{target.attr}"] = value
        run.write_attribute(base, target.attr, value)
    elif isinstance(target, ast.Tuple | ast.List):
        _unpack(run, target, value)
    elif isinstance(target, ast.Starred):
        bind(run, target.value, sequence(value))
    elif isinstance(target, ast.Subscript):
        _store(run, target, value)


def _unpack(run: Evaluation, target: ast.Tuple | ast.List, value: Value) -> None:
    starred = any(isinstance(element, ast.Starred) for element in target.elts)
    parts: tuple[Value, ...] | None = None
    atom = value.get(SEQUENCE)
    if not starred and atom is not None and isinstance(atom.items, tuple) and len(atom.items) == len(target.elts):
        parts = atom.items
    element = UNKNOWN if starred else element_of(value)
    for position, name in enumerate(target.elts):
        bind(run, name, parts[position] if parts is not None else element)


def _store(run: Evaluation, target: ast.Subscript, value: Value) -> None:
    base = run.evaluate(target.value)
    index = run.evaluate(target.slice)
    run.event("store", target, base, values=(index, value))
    for atom in base.atoms.values():
        if atom.kind == MAPPING:
            run.mutate(target.value, with_item(atom, index, value))
        elif atom.kind == SEQUENCE:
            run.mutate(target.value, bounded(Value(atom.holding(join(atom.element, value), atom.items))))
