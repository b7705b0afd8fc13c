"""Parentheses where the code around a replacement binds tighter than the replacement does."""

from __future__ import annotations

import ast

# Around these even a conditional expression needs no parentheses.
_LOOSE = (
    ast.keyword, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Dict, ast.List, ast.Tuple, ast.Set,
    ast.arguments, ast.Expr, ast.If, ast.While, ast.Assert, ast.FormattedValue, ast.NamedExpr,
)  # fmt: skip


def as_conditional(code: str, node: ast.AST, around: ast.AST | None) -> str:
    """``a if b else c`` in the place of ``node``."""
    return code if _stands_free(node, around) else f"({code})"


def as_comparison(code: str, node: ast.AST, around: ast.AST | None) -> str:
    """``a in b`` in the place of ``node``; ``and``, ``or``, ``not`` and conditions bind looser."""
    negation = isinstance(around, ast.UnaryOp) and isinstance(around.op, ast.Not)
    free = negation or isinstance(around, ast.BoolOp | ast.IfExp | ast.comprehension)
    return code if free else as_conditional(code, node, around)


def as_conjunction(code: str, node: ast.AST, around: ast.AST | None) -> str:
    """``a and b`` in the place of ``node``."""
    joined = isinstance(around, ast.BoolOp) and isinstance(around.op, ast.And)
    free = joined or isinstance(around, ast.IfExp | ast.comprehension)
    return code if free else as_conditional(code, node, around)


def as_product(code: str, node: ast.AST, around: ast.AST | None) -> str:
    """``a * b`` in the place of ``node``; sums bind looser."""
    in_sum = isinstance(around, ast.BinOp) and isinstance(around.op, ast.Add | ast.Sub)
    return code if in_sum else as_comparison(code, node, around)


def _stands_free(node: ast.AST, around: ast.AST | None) -> bool:
    if isinstance(around, ast.Call):
        return around.func is not node
    if isinstance(around, ast.Subscript):
        return around.slice is node
    return around is None or isinstance(around, _LOOSE)
