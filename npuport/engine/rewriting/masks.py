"""Assignments through a boolean mask, written as an operator of fixed shape."""

from __future__ import annotations

from npuport.engine.fix import NotFixable
from npuport.engine.lazy_libcst import cst
from npuport.engine.writer import Writer


def filled(node: cst.CSTNode, writer: Writer) -> str:
    """``x[mask] = v`` becomes ``x.masked_fill_(mask, v)``."""
    assignment = node.body[0] if isinstance(node, cst.SimpleStatementLine) else None
    target = assignment.targets[0].target if isinstance(assignment, cst.Assign) else None
    index = target.slice[0].slice if isinstance(target, cst.Subscript) else None
    if isinstance(assignment, cst.Assign) and isinstance(target, cst.Subscript) and isinstance(index, cst.Index):
        mask, value = writer.code(index.value), writer.code(assignment.value)
        return f"{writer.code(target.value)}.masked_fill_({mask}, {value})"
    raise NotFixable("no assignment to a subscript")
