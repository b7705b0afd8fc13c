"""Attributes that are set when an instance is made, and never again."""

from __future__ import annotations

import ast

from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import INSTANCE, MAPPING, SEQUENCE


def is_fixed(flow: FileFlow, expression: ast.expr) -> bool:
    """Whether an expression is an attribute ``self.x`` that only ``__init__`` writes, and no index writes into."""
    if not isinstance(expression, ast.Attribute):
        return False
    value = flow.value(expression)
    if SEQUENCE in value.atoms or MAPPING in value.atoms or _is_written_into(flow, expression.attr):
        return False
    instance = flow.value(expression.value).get(INSTANCE)
    if instance is None:
        return False
    knowledge = flow.program.knowledge
    writers = [
        writer
        for key in instance.refs
        if key in knowledge.classes
        for declared in knowledge.lineage(key)
        for writer in declared.contributions.get(expression.attr, {})
    ]
    return bool(writers) and all(writer.endswith(".__init__") for writer in writers)


def _is_written_into(flow: FileFlow, name: str) -> bool:
    """Whether ``x.name[i] = ...`` stands anywhere in the file."""
    return any(
        isinstance(event.node, ast.Subscript)
        and isinstance(event.node.value, ast.Attribute)
        and event.node.value.attr == name
        for event in flow.events("store")
    )
