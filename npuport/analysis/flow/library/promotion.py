"""Several operands, one result: its dtype, its device, and the evidence of what was promoted on the way."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from npuport.analysis.flow.dtypes import (
    ANY_DTYPE,
    BOOL,
    FLOAT32,
    FLOAT64,
    HALF,
    INT64,
    INTEGRAL,
    UINT8,
    dtypes_of_data,
    promote,
    promote_arrays,
    together,
    with_number,
)
from npuport.analysis.flow.library.evaluation import Evaluation
from npuport.analysis.flow.value import (
    ARRAY,
    EMPTY,
    MAX_MIXED,
    NUMBER,
    NUMPY,
    NUMPY_SCALAR,
    SEQUENCE,
    TENSOR,
    Atom,
    Mixed,
    Origin,
    Value,
    tensor,
)

# From the dtypes of the operands to those of the result.
Conversion: TypeAlias = Callable[[frozenset[str]], frozenset[str]]

# What a floating tensor should not meet on its way to a loss, and the floating tensors that are meant.
_PROMOTED: Final = INTEGRAL | FLOAT64
_FLOATING_PARTNER: Final = HALF | FLOAT32 | ANY_DTYPE
# Results of these dtypes are worth telling where they come from, beyond the operation at hand.
_TRACED: Final = FLOAT64 | INT64 | BOOL | UINT8
_KIND_OF_NUMBER: Final = {
    **dict.fromkeys(("int32", "int64", "uint8"), "int"),
    **dict.fromkeys(("float16", "float32", "float64", "bool", "?"), "float"),
}
_KEPT_BESIDE_UNKNOWN: Final = frozenset({"float32", "float64"})
_NO_EVIDENCE: Final[frozenset[Mixed]] = frozenset()


def combined(
    run: Evaluation,
    node: ast.AST,
    operands: Sequence[Value],
    conversion: Conversion | None = None,
    *,
    unknown_is_floating: bool = False,
    with_evidence: bool = True,
) -> Value:
    """The tensor that an operation on these operands gives; at least one of them may be a tensor.

    With ``unknown_is_floating`` an operand of which nothing is known is taken for a floating tensor in the evidence.
    """
    tensors = [atom for atom in (value.get(TENSOR) for value in operands) if atom is not None]
    dtypes = tensor_dtypes(tensors, operands)
    if conversion is not None:
        dtypes = conversion(dtypes)
    devices: frozenset[str] = EMPTY
    mixed = _NO_EVIDENCE
    for atom in tensors:
        devices |= atom.devices
        mixed |= atom.mixed
    if with_evidence and len(operands) > 1:
        for atom in tensors:
            if atom.origin is not None and _is_promoted(atom, operands, dtypes, unknown_is_floating):
                mixed |= {(*atom.origin, min(atom.dtypes), *run.origin(node))}
    if len(mixed) > MAX_MIXED:
        mixed = frozenset(sorted(mixed)[:MAX_MIXED])
    return tensor(dtypes, together(devices), _origin(run, node, tensors, dtypes), mixed)


def tensor_dtypes(tensors: Iterable[Atom], operands: Iterable[Value]) -> frozenset[str]:
    """The dtypes of tensors combined with each other and with what else stands beside them."""
    dtypes: frozenset[str] | None = None
    for atom in tensors:
        dtypes = promote(dtypes, atom.dtypes) if dtypes is not None else atom.dtypes or ANY_DTYPE
    if dtypes is None:
        return ANY_DTYPE
    for value in operands:
        if TENSOR not in value.atoms:
            dtypes = _beside(dtypes, value)
    return dtypes


def _beside(dtypes: frozenset[str], other: Value) -> frozenset[str]:
    """A tensor's dtypes once it is combined with something that is no tensor."""
    number = other.get(NUMBER)
    if number is not None:
        return with_number(dtypes, number.dtypes)
    scalar = other.get(NUMPY_SCALAR)
    if scalar is not None:  # a number like Python's for torch, even a float64
        return with_number(dtypes, frozenset(map(_KIND_OF_NUMBER.__getitem__, scalar.dtypes)))
    atom = other.get(ARRAY)
    if atom is not None:
        return promote_arrays(dtypes, atom.dtypes)
    if not other or NUMPY in other.atoms:
        return frozenset(dtype if dtype in _KEPT_BESIDE_UNKNOWN else "?" for dtype in dtypes)
    return dtypes


def _number_names(dtypes: frozenset[str]) -> frozenset[str]:
    return frozenset("bool" if dtype == "bool" else "int" if dtype in INTEGRAL else "float" for dtype in dtypes)


def _is_promoted(atom: Atom, operands: Iterable[Value], result: frozenset[str], unknown_is_floating: bool) -> bool:
    """Whether a tensor of another dtype becomes part of a floating tensor here."""
    if not atom.dtypes or not atom.dtypes <= _PROMOTED:
        return False
    integral = atom.dtypes <= INTEGRAL
    for value in operands:
        partner = value.get(TENSOR)
        if partner is not None:
            if partner is not atom and partner.dtypes & _FLOATING_PARTNER:
                return True
        elif integral and NUMBER in value.atoms:
            if result & FLOAT32:
                return True
        elif integral and unknown_is_floating and ARRAY not in value.atoms and NUMPY_SCALAR not in value.atoms:
            return True
    return False


def _origin(run: Evaluation, node: ast.AST, tensors: Sequence[Atom], result: frozenset[str]) -> Origin | None:
    """Where the dtype of a result comes from: from the operand that brought it in, else from the operation."""
    if result <= _TRACED:
        for atom in tensors:
            if atom.dtypes == result:
                return atom.origin
    return run.origin(node)


def array_dtypes(operands: Iterable[Value], *, numbers_bend: bool = True) -> frozenset[str]:
    """The dtypes of a NumPy operation: in most, Python numbers bend to the arrays beside them."""
    dtypes: frozenset[str] | None = None
    numbers: frozenset[str] = EMPTY
    weak: list[Value] = []
    for value in operands:
        if numbers_bend and value.only(NUMBER):
            numbers |= value.atoms[NUMBER].dtypes
            weak.append(value)
        else:
            found = dtypes_of_data(value, numpy=True)
            dtypes = found if dtypes is None else promote_arrays(dtypes, found)
    if dtypes is not None:
        return with_number(dtypes, numbers, numpy=True) if numbers else dtypes
    result: frozenset[str] | None = None
    for value in weak:
        found = dtypes_of_data(value, numpy=True)
        result = found if result is None else promote_arrays(result, found)
    return result if result is not None else ANY_DTYPE


def contents(value: Value) -> list[Value]:
    """What a sequence is known to hold: its items, or its element once."""
    atom = value.get(SEQUENCE)
    if atom is None:
        return []
    held = list(atom.items) if isinstance(atom.items, tuple) else []
    if atom.element is not None:
        held.append(atom.element)
    return held


def number_dtypes(operands: Iterable[Value]) -> frozenset[str]:
    """The dtypes of a tensor made of Python numbers alone."""
    result: frozenset[str] | None = None
    for value in operands:
        found = dtypes_of_data(value, numpy=False)
        result = found if result is None else promote(result, found)
    return result if result is not None else ANY_DTYPE
