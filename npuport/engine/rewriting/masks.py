"""Assignments through a boolean mask, written as an operator of fixed shape."""

from __future__ import annotations

from npuport.engine.fix import NotFixable
from npuport.engine.lazy_libcst import cst
from npuport.engine.writer import Writer


def filled(node: cst.CSTNode, writer: Writer) -> str:
    """``x[mask] = v`` becomes ``x.masked_fill_(mask, v)``."""
    base, mask, value = _parts(node, writer)
    return f"{base}.masked_fill_({mask}, {value})"


def filled_by_rows(node: cst.CSTNode, writer: Writer) -> str:
    """The same for a mask that may have fewer dimensions: a subscript lines up the first ones, filling the last."""
    base, mask, value = _parts(node, writer)
    name = mask.removeprefix("~").strip()
    one_for_each = f"(1,) * ({base}.dim() - {name}.dim())"
    shaped = f"{name}.view({name}.shape + {one_for_each})"
    return f"{base}.masked_fill_({'~' if name != mask else ''}{shaped}, {value})"


def _parts(node: cst.CSTNode, writer: Writer) -> tuple[str, str, str]:
    """The code of ``x``, ``mask`` and ``v``."""
    assignment = node.body[0] if isinstance(node, cst.SimpleStatementLine) else None
    target = assignment.targets[0].target if isinstance(assignment, cst.Assign) else None
    index = target.slice[0].slice if isinstance(target, cst.Subscript) else None
    if isinstance(assignment, cst.Assign) and isinstance(target, cst.Subscript) and isinstance(index, cst.Index):
        return writer.code(target.value), writer.code(index.value), writer.code(assignment.value)
    raise NotFixable("no assignment to a subscript")
