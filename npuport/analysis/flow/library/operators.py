"""Operators of torch applied: ``torch.mean(x)`` and ``x.mean()`` are one."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from npuport.analysis.flow.dtypes import (
    ANY_DTYPE,
    ANYWHERE,
    INT64,
    dtypes_of_argument,
    together,
)
from npuport.analysis.flow.library.contexts import autocast_dtypes
from npuport.analysis.flow.library.evaluation import Evaluation
from npuport.analysis.flow.library.operator_table import (
    INDEXED_BY_DIM,
    OPERATORS,
    PIECES,
    TWO,
    VERDICT,
    Operator,
)
from npuport.analysis.flow.library.promotion import Conversion, combined, contents, number_dtypes
from npuport.analysis.flow.value import (
    A_BOOL,
    EMPTY,
    MAPPING,
    NUMBER,
    SEQUENCE,
    TENSOR,
    UNKNOWN,
    Atom,
    Value,
    sequence,
    tensor,
)

# Operators on a sequence of tensors.
CONCATENATIONS: Final = frozenset({
    "cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack", "row_stack", "column_stack",
    "block_diag", "cartesian_prod",
})  # fmt: skip
_REPORTED_CONCATENATIONS: Final = {"cat": "cat", "concat": "cat", "concatenate": "cat", "stack": "stack"}
_SPREADING: Final = frozenset({"meshgrid", "broadcast_tensors"})
# A shape that only the device knows, and by which name it is told.
_DYNAMIC: Final = {
    "nonzero": "nonzero",
    "argwhere": "nonzero",
    "masked_select": "masked_select",
    "unique": "unique",
    "unique_consecutive": "unique",
}
_MORE_RESULTS: Final = ("return_inverse", "return_counts")
_NAMED_OPERANDS: Final = ("other", "min", "max", "mat2", "weight", "tensor2", "exponent")
_FIRST_NAMES: Final = ("input", "tensors", "tensor", "a", "x")

_UNKNOWN_TENSOR: Final = tensor(ANY_DTYPE, ANYWHERE)


def apply(
    run: Evaluation, node: ast.AST, name: str, operands: Sequence[Value], keywords: dict[str, Value]
) -> Value | None:
    """What an operator gives; None where no table has it. The operands of a method begin with its tensor."""
    if name in CONCATENATIONS:
        return _concatenated(run, node, name, _first(operands, keywords))
    operator = OPERATORS.get(name)
    if operator is None:
        return _spread(run, node, operands) if name in _SPREADING else None
    if not operands:
        operands = [_first(operands, keywords)]
    if name in _DYNAMIC:
        return _dynamic(run, node, name, operator, operands, keywords)
    if name == "where" and len(operands) == 1 and not keywords:
        return _nonzero_positions(run, node, operands[0])
    result = _result(run, node, operator, operands, keywords)
    atom = result.get(TENSOR)
    if run.autocast and atom is not None:
        result = Value(atom.replaced(dtypes=autocast_dtypes(name, atom.dtypes, run.autocast)))
    return _answer(run, node, operator, result, operands, keywords) if operator.answer else result


def _first(operands: Sequence[Value], keywords: dict[str, Value]) -> Value:
    if operands:
        return operands[0]
    return next((keywords[name] for name in _FIRST_NAMES if name in keywords), UNKNOWN)


def _result(
    run: Evaluation, node: ast.AST, operator: Operator, operands: Sequence[Value], keywords: dict[str, Value]
) -> Value:
    conversion = operator.conversion
    taking_part = operands[operator.first : operator.last]
    if keywords:
        if operator.last > 1:
            taking_part = [*taking_part, *(keywords[name] for name in _NAMED_OPERANDS if name in keywords)]
        if "rounding_mode" in keywords:
            conversion = None
        dtypes = dtypes_of_argument(keywords.get("dtype"))
        if dtypes is not None:
            conversion = _always(dtypes)
    if len(taking_part) == 1:
        atom = taking_part[0].get(TENSOR)
        if atom is not None:
            return Value(_converted(run, node, atom, conversion))
    if any(TENSOR in value.atoms for value in taking_part):
        return combined(run, node, taking_part, conversion, with_evidence=operator.evidence)
    return _without_tensor(run, node, taking_part, operands, conversion)


def _always(dtypes: frozenset[str]) -> Conversion:
    return lambda _: dtypes


def _converted(run: Evaluation, node: ast.AST, atom: Atom, conversion: Conversion | None) -> Atom:
    dtypes = conversion(atom.dtypes) if conversion is not None else atom.dtypes
    if dtypes == atom.dtypes:
        return atom.replaced(marks=EMPTY) if atom.marks else atom
    return atom.replaced(dtypes=dtypes, marks=EMPTY, origin=run.origin(node))


def _without_tensor(
    run: Evaluation,
    node: ast.AST,
    taking_part: Sequence[Value],
    operands: Sequence[Value],
    conversion: Conversion | None,
) -> Value:
    """The dtype comes from numbers or from nowhere, the device from another operand, as in ``where(c, 1.0, 0.0)``."""
    numbers = bool(taking_part) and all(value.only(NUMBER) for value in taking_part)
    dtypes = number_dtypes(taking_part) if numbers else ANY_DTYPE
    if conversion is not None:
        dtypes = conversion(dtypes)
    devices: frozenset[str] = EMPTY
    for value in operands:
        atom = value.get(TENSOR)
        if atom is not None:
            devices |= atom.devices
    return tensor(dtypes, together(devices), run.origin(node))


def _answer(
    run: Evaluation,
    node: ast.AST,
    operator: Operator,
    result: Value,
    operands: Sequence[Value],
    keywords: dict[str, Value],
) -> Value:
    answer = operator.answer
    if answer == PIECES:
        return sequence(result)
    if answer == TWO:
        return sequence(items=(result, result))
    if answer == VERDICT:
        if operands[0].only(TENSOR) and not operands[0].atoms[TENSOR].on_host:
            run.event("read", node, operands[0], "bool")
        return A_BOOL
    if answer == INDEXED_BY_DIM:
        second = operands[1] if len(operands) > 1 else None
        if (second is not None and TENSOR in second.atoms) or "other" in keywords:
            return combined(run, node, [*operands[:2], *(keywords[k] for k in ("other",) if k in keywords)])
        if second is None and "dim" not in keywords and "axis" not in keywords:
            return result
    values = result.atoms[TENSOR]
    indices = tensor(INT64, values.devices)
    return sequence(items=(result, indices), fields="values,indices")


def _dynamic(
    run: Evaluation,
    node: ast.AST,
    name: str,
    operator: Operator,
    operands: Sequence[Value],
    keywords: dict[str, Value],
) -> Value:
    run.event("dynamic", node, operands[0], _DYNAMIC[name])
    result = _result(run, node, operator, operands[:1], {})
    if name == "nonzero" and "as_tuple" in keywords:
        return sequence(result)
    extra = sum(name in keywords for name in _MORE_RESULTS)
    if extra:
        return sequence(items=(result, *[tensor(INT64, result.atoms[TENSOR].devices)] * extra))
    return result


def _nonzero_positions(run: Evaluation, node: ast.AST, condition: Value) -> Value:
    run.event("dynamic", node, condition, "where")
    atom = condition.get(TENSOR)
    return sequence(tensor(INT64, atom.devices if atom is not None else ANYWHERE))


def _concatenated(run: Evaluation, node: ast.AST, name: str, parts: Value) -> Value:
    how = _REPORTED_CONCATENATIONS.get(name)
    if how is not None and run.recording:
        run.event("concatenate", node, parts, how)
    held = [part if TENSOR in part.atoms else _UNKNOWN_TENSOR for part in contents(parts)]
    if not held:
        atom = parts.get(TENSOR)
        return Value(_converted(run, node, atom, None)) if atom is not None else _UNKNOWN_TENSOR
    return combined(run, node, held)


def _spread(run: Evaluation, node: ast.AST, operands: Sequence[Value]) -> Value:
    held = contents(operands[0]) if operands and SEQUENCE in operands[0].atoms else list(operands)
    tensors = [value for value in held if TENSOR in value.atoms]
    return sequence(combined(run, node, tensors) if tensors else _UNKNOWN_TENSOR)


def tensors_within(value: Value, depth: int = 2) -> list[Atom]:
    """The tensors that a value is or holds, a few levels down."""
    found = []
    for atom in value.atoms.values():
        if atom.kind == TENSOR:
            found.append(atom)
        elif depth and atom.kind in (SEQUENCE, MAPPING):
            parts = [atom.element] if atom.element is not None else []
            if atom.items is not None:
                parts.extend(atom.items if isinstance(atom.items, tuple) else atom.items.values())
            for part in parts:
                found.extend(tensors_within(part, depth - 1))
    return found
