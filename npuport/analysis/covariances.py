"""Covariance matrices that are plainly diagonal: made by ``torch.diag`` or ``torch.diag_embed``."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from npuport.analysis.device_evidence import target_name, targets_of
from npuport.analysis.module import Module

_MAKERS = ("torch.diag", "torch.diag_embed")
# What may be done with the matrix afterwards: it stays diagonal, and means the same for its diagonal.
_KEEPS_DIAGONAL = ("to", "cuda", "npu", "cpu", "float", "double", "detach", "clone", "contiguous")


@dataclass(frozen=True)
class Diagonal:
    """A diagonal matrix.

    Attributes:
        matrix: the expression that stands where the matrix is used.
        made_by: the call of ``torch.diag`` or ``torch.diag_embed`` inside it; None where it lies elsewhere, behind
            a name or an attribute.
    """

    matrix: ast.expr
    made_by: ast.Call | None


def diagonal(module: Module, matrix: ast.expr) -> Diagonal | None:
    """Tell that ``matrix`` is diagonal, where that is plain to see: in place, or where its name is bound.

    Every value that the name or attribute gets in the file must be diagonal.
    """
    made_by = _maker(module, matrix)
    if made_by is not None:
        return Diagonal(matrix, made_by)
    values: list[ast.expr | None] = []
    if isinstance(matrix, ast.Name):
        values = [binding.value for binding in module.names.bindings(matrix.id, matrix)]
    elif isinstance(matrix, ast.Attribute):
        statements = [s for s in module.index.assignments if matrix.attr in map(target_name, targets_of(s))]
        values = [statement.value for statement in statements]
    if values and all(value is not None and _maker(module, value) is not None for value in values):
        return Diagonal(matrix, None)
    return None


def _maker(module: Module, value: ast.expr) -> ast.Call | None:
    """The call that makes a diagonal matrix at the start of a chain of harmless methods."""
    while isinstance(value, ast.Call):
        if module.resolve(value.func) in _MAKERS:
            return value if len(value.args) == 1 and not value.keywords else None
        if not isinstance(value.func, ast.Attribute) or not _keeps_diagonal(value, value.func.attr):
            return None
        value = value.func.value
    return None


def _keeps_diagonal(call: ast.Call, method: str) -> bool:
    if method == "unsqueeze":  # a batch dimension in front
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        return len(given) == 1 and isinstance(given[0], ast.Constant) and given[0].value == 0
    return method in _KEEPS_DIAGONAL
