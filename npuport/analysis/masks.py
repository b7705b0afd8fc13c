"""Subscripts that are boolean masks: what speaks for it, and whether they have the shape of what they select from."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from npuport.analysis.flow.dtypes import BOOL, UINT8
from npuport.analysis.flow.events import Event
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import NUMBER, TENSOR, Atom
from npuport.analysis.module import Module

_MASKS = BOOL | UINT8
_ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
# Libraries whose arrays take masks as well: with one of them, a value of which nothing is known may be theirs.
_ARRAY_LIBRARIES = frozenset({"numpy", "pandas", "jax", "cupy", "tensorflow"})
# Of torch's functions, those that ask every element of their argument.
_ASKING = frozenset({"isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit"})


@dataclass(frozen=True)
class Mask:
    """A boolean mask in a subscript.

    Attributes:
        atom: the mask, where it is known to be a tensor.
        beside_others: there are more indices, as in ``x[mask, 0]``.
        doubts: what is assumed.
    """

    atom: Atom | None
    beside_others: bool
    doubts: list[str]


def mask_of(module: Module, flow: FileFlow, event: Event) -> Mask | None:
    """The mask of an ``index`` or ``store`` event of tensors; None where there is none."""
    node = event.node
    if not isinstance(node, ast.Subscript) or (event.value and not event.value.only(TENSOR)):
        return None
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for part in parts:
        value = flow.value(part)
        atom = value.get(TENSOR)
        if atom is not None and value.only(TENSOR) and atom.dtypes and atom.dtypes <= _MASKS:
            return Mask(atom, len(parts) > 1, [])
    if not event.value and len(parts) == 1 and _compares_itself(module, node):
        return Mask(None, False, [f"that {ast.unparse(node.value)} is a tensor"])
    return None


def _compares_itself(module: Module, node: ast.Subscript) -> bool:
    """``x[x > limit]``, in a file in which only torch has arrays."""
    if not module.uses_torch or not _ARRAY_LIBRARIES.isdisjoint(module.libraries):
        return False
    return isinstance(node.slice, ast.Compare) and _is_ordered(node.slice) and _same(node.slice.left, node.value)


def _is_ordered(test: ast.Compare) -> bool:
    return len(test.ops) == 1 and isinstance(test.ops[0], _ORDERED)


def _same(one: ast.AST, other: ast.AST) -> bool:
    return ast.dump(one) == ast.dump(other).replace("ctx=Store()", "ctx=Load()")


def selects_elementwise(flow: FileFlow, mask: ast.expr, base: ast.expr) -> bool:
    """Whether a mask has the shape of ``base`` because it asks each of its elements: ``x > 1``, ``isnan(x)``."""
    if isinstance(mask, ast.UnaryOp) and isinstance(mask.op, ast.Invert):
        return selects_elementwise(flow, mask.operand, base)
    if isinstance(mask, ast.BinOp) and isinstance(mask.op, ast.BitAnd | ast.BitOr | ast.BitXor):
        # The other side cannot make it larger: a mask of more elements than the tensor has selects nothing.
        return any(selects_elementwise(flow, side, base) for side in (mask.left, mask.right))
    if isinstance(mask, ast.Compare) and _is_ordered(mask):
        sides = (mask.left, mask.comparators[0])
        others = [side for side in sides if not _same(side, base)]
        return len(others) == 1 and flow.value(others[0]).only(NUMBER)
    if isinstance(mask, ast.Call) and isinstance(mask.func, ast.Attribute) and mask.func.attr in _ASKING:
        asked = mask.args[0] if mask.args else mask.func.value
        return _same(asked, base)
    return False
