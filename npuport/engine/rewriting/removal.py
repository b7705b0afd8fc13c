"""Taking a call away that stands as a statement of its own."""

from __future__ import annotations

import ast

from npuport.analysis.flow.vocabulary import FENCES
from npuport.analysis.module import Module
from npuport.analysis.walk import block_of
from npuport.engine.fix import Fix, Transform, rewrite

_ASKS_ONLY = (ast.Name, ast.Attribute, ast.Constant, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Call, ast.expr_context)
_ASKING_FUNCTIONS = frozenset({"is_available", "is_initialized", "startswith", "hasattr", "str", "device_count"})


def drop_call(module: Module, call: ast.Call, message: str, unsafe_because: str) -> Fix | None:
    """A fix that takes a call's statement away, with the ``if`` around it where nothing else is in it.

    Args:
        module: the file.
        call: the call.
        message: what the fix does.
        unsafe_because: why it is unsafe.

    Returns:
        None where the value of the call is used.
    """
    statement = module.parent(call)
    if not isinstance(statement, ast.Expr):
        return None
    goes = _emptied(module, statement, called_name(call))
    return rewrite(message, goes, _nothing_left(module, goes), unsafe_because=unsafe_because)


def _emptied(module: Module, statement: ast.stmt, name: str) -> ast.stmt:
    """The outermost ``if`` that holds only calls of this name and asks without side effects, or the statement."""
    parent = module.parent(statement)
    while (
        isinstance(parent, ast.If)
        and not parent.orelse
        and (
            parent.body == [statement]
            or all(isinstance(s, ast.Expr) and called_name(s.value) == name for s in parent.body)
        )
        and all(_only_asks(node) for node in ast.walk(parent.test))
        and parent not in getattr(module.parent(parent), "orelse", ())
    ):
        statement, parent = parent, module.parent(parent)
    return statement


def _only_asks(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return called_name(node) in _ASKING_FUNCTIONS
    return isinstance(node, _ASKS_ONLY) or not isinstance(node, ast.expr)


def _nothing_left(module: Module, statement: ast.stmt) -> Transform:
    """No text; ``pass`` where all others of the block may go in the same pass and this is not the first."""
    block = block_of(statement, module.index.parents)
    text = "pass" if block[:1] != [statement] and all(map(_may_go, block)) else ""
    return lambda node, writer: text


def _may_go(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.If):
        return not statement.orelse and all(map(_may_go, statement.body))
    return isinstance(statement, ast.Expr) and called_name(statement.value) in FENCES


def called_name(node: ast.expr) -> str:
    """The last name of what a call calls; empty where it is no call."""
    return getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
