"""Operators of Python on abstract values: ``left + right``, ``~x``, comparisons."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial
from typing import Final

from npuport.analysis.flow.dtypes import BOOL, divided, together
from npuport.analysis.flow.joining import element_of, join
from npuport.analysis.flow.library.evaluation import Evaluation
from npuport.analysis.flow.library.promotion import Conversion, array_dtypes, combined
from npuport.analysis.flow.value import (
    A_BOOL,
    A_FLOAT,
    A_TEXT,
    AN_INT,
    ARRAY,
    DEVICE,
    DTYPE,
    NONE,
    NUMBER,
    NUMPY,
    NUMPY_SCALAR,
    SEQUENCE,
    TENSOR,
    TEXT,
    UNKNOWN,
    Atom,
    Value,
    array,
    sequence,
    tensor,
)

_BITWISE: Final = frozenset({ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift})
# With one of these, an unknown operand beside a tensor is nearly always a tensor of floats.
_BLENDING: Final = frozenset({ast.Mult, ast.Add, ast.Sub})
# Sums of lists grow in loops; longer ones lose their positions.
_MAX_ITEMS: Final = 12
# What compares to a Python bool.
_PLAIN: Final = (NUMBER, TEXT, NUMPY_SCALAR, SEQUENCE, DEVICE, DTYPE)


def binary(run: Evaluation, node: ast.AST, op: ast.operator, left: Value, right: Value) -> Value:
    """What ``left op right`` gives."""
    operator = type(op)
    ours, theirs = left.atoms, right.atoms
    if TENSOR in ours or TENSOR in theirs:
        return _with_tensor(run, node, operator, left, right)
    if ARRAY in ours or ARRAY in theirs or NUMPY_SCALAR in ours or NUMPY_SCALAR in theirs:
        return _with_array(run, node, operator, left, right)
    if NUMPY in ours or NUMPY in theirs:
        return Value(left.get(NUMPY) or right.atoms[NUMPY])
    if SEQUENCE in ours or SEQUENCE in theirs:
        return _sequences(operator, left, right)
    if TEXT in ours:
        return A_TEXT
    if NUMBER in ours and NUMBER in theirs:
        return _numbers(operator, ours[NUMBER].dtypes, theirs[NUMBER].dtypes)
    return UNKNOWN


def _with_tensor(run: Evaluation, node: ast.AST, operator: type[ast.operator], left: Value, right: Value) -> Value:
    if run.recording:
        run.event("arithmetic", node, left, operator.__name__, (right,))
    if operator in _BITWISE:
        return combined(run, node, (left, right), with_evidence=False)
    conversion: Conversion | None = None
    if operator is ast.Div:
        conversion = partial(divided, numpy=ARRAY in left.atoms or ARRAY in right.atoms)
    return combined(run, node, (left, right), conversion, unknown_is_floating=operator in _BLENDING)


def _with_array(run: Evaluation, node: ast.AST, operator: type[ast.operator], left: Value, right: Value) -> Value:
    if not left or not right:
        known = left or right
        # Nothing tells what stands on the other side; only float64 survives everything.
        dtypes = array_dtypes((known,))
        dtypes = frozenset(dtype if dtype == "float64" else "?" for dtype in dtypes)
    else:
        dtypes = array_dtypes((left, right))
    if operator is ast.Div:
        dtypes = divided(dtypes, numpy=True)
    if ARRAY in left.atoms or ARRAY in right.atoms or SEQUENCE in left.atoms or SEQUENCE in right.atoms:
        return array(dtypes, run.origin(node))
    return Value(Atom(NUMPY_SCALAR, dtypes, origin=run.origin(node)))


def _sequences(operator: type[ast.operator], left: Value, right: Value) -> Value:
    ours, theirs = left.get(SEQUENCE), right.get(SEQUENCE)
    if operator is ast.Add:
        if ours is not None and theirs is not None:
            return _concatenated(ours, theirs)
        return Value(ours or theirs or Atom(SEQUENCE))
    if operator is ast.Mult:
        return sequence(element_of(Value(ours or theirs or Atom(SEQUENCE))))
    if operator in _BITWISE or operator is ast.Sub:  # sets
        return join(Value(ours) if ours is not None else None, Value(theirs) if theirs is not None else None)
    return UNKNOWN


def _concatenated(one: Atom, other: Atom) -> Value:
    marks = one.marks | other.marks
    if (
        isinstance(one.items, tuple)
        and isinstance(other.items, tuple)
        and len(one.items) + len(other.items) <= _MAX_ITEMS
    ):
        return sequence(items=(*one.items, *other.items), marks=marks)
    return sequence(join(element_of(Value(one)), element_of(Value(other))), marks=marks)


def _numbers(operator: type[ast.operator], one: frozenset[str], other: frozenset[str]) -> Value:
    if operator is ast.Div or "float" in one or "float" in other:
        return A_FLOAT
    if operator in _BITWISE and one == other == BOOL:
        return A_BOOL
    return AN_INT


def compare(run: Evaluation, node: ast.AST, values: Sequence[Value]) -> Value:
    """What a comparison of these values gives; ``is`` and ``in``, which always give a bool, are not meant."""
    devices: frozenset[str] | None = None
    if any(value.only(TEXT) or value.only(NONE) for value in values):
        return A_BOOL  # Python's own answer, whatever the other side is
    for value in values:
        atom = value.get(TENSOR)
        if atom is not None:
            devices = atom.devices if devices is None else devices | atom.devices
    if devices is not None:
        # Without an origin: a comparison in a product is a mask on purpose, and no evidence.
        return tensor(BOOL, together(devices))
    if any(ARRAY in value.atoms for value in values):
        return array(BOOL)
    if all(value.only(*_PLAIN) or value.only(NONE) for value in values):
        return A_BOOL
    return UNKNOWN


def unary(run: Evaluation, node: ast.AST, op: ast.unaryop, operand: Value) -> Value:
    """What ``-x``, ``+x`` and ``~x`` give; ``not x``, which reads, is not meant."""
    if type(op) is ast.Invert and run.recording:
        run.event("invert", node, operand)
    if type(op) is ast.USub and TENSOR in operand.atoms and run.recording:
        run.event("negate", node, operand)
    number = operand.get(NUMBER)
    if number is not None and number.refs:  # the constant of a negative number is another one
        return Value(*(Atom(NUMBER, atom.dtypes) if atom is number else atom for atom in operand.atoms.values()))
    return operand
