"""Comprehensions and generators."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from npuport.analysis.flow.binding import bind
from npuport.analysis.flow.declarations import BODY
from npuport.analysis.flow.evaluation import Evaluation
from npuport.analysis.flow.frames import COMPREHENSION, Frame
from npuport.analysis.flow.gates import loop_over
from npuport.analysis.flow.joining import bounded, element_of
from npuport.analysis.flow.statements import test
from npuport.analysis.flow.value import AN_INT, FILTERED, MAPPING, MAX_DEPTH, ROWS, SEQUENCE, Atom, Value, sequence


def _comprehend(
    run: Evaluation, node: ast.AST, generators: Iterable[ast.comprehension], results: Iterable[ast.expr]
) -> tuple[list[Value], frozenset[str]]:
    """The results of a comprehension, and the marks of the sequence that it makes."""
    before, outer = run.names, run.frame
    run.names = dict(before)
    marks: set[str] = set()
    for position, generator in enumerate(generators):
        iterated = run.evaluate(generator.iter)
        about = loop_over(run, generator.iter, iterated)
        if position == 0 and any(ROWS in atom.marks for atom in iterated.atoms.values()):
            marks.add(ROWS)
        element = element_of(iterated)
        if not element and isinstance(generator.iter, ast.Call) and getattr(generator.iter.func, "id", "") == "range":
            element = AN_INT
        run.frame = Frame(run.frame, COMPREHENSION, about, run.place(node))
        _bind_locally(run, generator.target, element)
        for condition in generator.ifs:
            test(run, condition)
            marks.add(FILTERED)
    values = [run.evaluate(result) for result in results]
    run.names, run.frame = before, outer
    return values, frozenset(marks)


def _bind_locally(run: Evaluation, target: ast.expr, value: Value) -> None:
    """Bind a comprehension's target, which is local even in a module body."""
    if isinstance(target, ast.Name):
        run.names[target.id] = value
    elif isinstance(target, ast.Tuple | ast.List) and run.function.name == BODY:
        atom = value.get(SEQUENCE)
        parts = atom.items if atom is not None and isinstance(atom.items, tuple) else ()
        for position, part in enumerate(target.elts):
            known = parts[position] if len(parts) == len(target.elts) else element_of(value)
            _bind_locally(run, part, known)
    else:
        bind(run, target, value)


def list_comprehension(run: Evaluation, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
    """What a comprehension or generator gives."""
    (element,), marks = _comprehend(run, node, node.generators, (node.elt,))
    return sequence(bounded(element, MAX_DEPTH - 1), marks=marks)


def dict_comprehension(run: Evaluation, node: ast.DictComp) -> Value:
    """What a dictionary comprehension gives."""
    (_, element), _ = _comprehend(run, node, node.generators, (node.key, node.value))
    return Value(Atom(MAPPING, element=bounded(element, MAX_DEPTH - 1)))
