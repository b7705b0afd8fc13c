"""Definitions of functions and classes, when the statement runs."""

from __future__ import annotations

import ast

from npuport.analysis.flow.declarations import Definition
from npuport.analysis.flow.evaluation import Evaluation
from npuport.analysis.flow.joining import join
from npuport.analysis.flow.types import value_of_annotation
from npuport.analysis.flow.value import CLASS, Value


def define(run: Evaluation, statement: Definition | ast.ClassDef) -> bool:
    """Bind the name of a function or class; the values in a class body become attributes."""
    value = run.scope.definitions.get(run.place(statement))
    if value is not None:
        run.names[statement.name] = value
    if isinstance(statement, ast.ClassDef) and value is not None:
        _define_class(run, statement, value)
    elif not isinstance(statement, ast.ClassDef):
        for default in (*statement.args.defaults, *filter(None, statement.args.kw_defaults)):
            run.evaluate(default)
    return False


def _define_class(run: Evaluation, statement: ast.ClassDef, value: Value) -> None:
    """Class attributes, and the fields of a dataclass or named tuple."""
    atom = value.get(CLASS)
    for key in atom.refs if atom is not None else ():
        declared = run.knowledge.classes.get(key)
        if declared is None or declared.node is not statement:
            continue
        for entry in statement.body:
            if isinstance(entry, ast.AnnAssign) and isinstance(entry.target, ast.Name):
                default = run.evaluate(entry.value) if entry.value is not None else None
                field_value = join(value_of_annotation(run, entry.annotation), default)
                run.set_attribute(key, entry.target.id, field_value)
                if entry.target.id not in declared.fields:
                    declared.fields.append(entry.target.id)
            elif isinstance(entry, ast.Assign):
                assigned = run.evaluate(entry.value)
                for target in entry.targets:
                    if isinstance(target, ast.Name):
                        run.set_attribute(key, target.id, assigned)
