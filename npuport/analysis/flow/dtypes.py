"""Dtypes and devices: names, promotion, and what an argument ``dtype=`` or ``device=`` means.

Dtypes are sets of short names; ``"?"`` in a set is "some other one". Integers below 64 bits other than uint8
count as int32: rules treat them alike.
Sources: torch's type promotion, https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc;
NumPy's, https://numpy.org/doc/stable/reference/arrays.promotion.html.
"""

from __future__ import annotations

from typing import Final

from npuport.analysis.flow.value import (
    ACCELERATOR,
    ARRAY,
    ASSUMED,
    DEVICE,
    DTYPE,
    HOST,
    LIBRARY,
    NONE,
    NUMBER,
    NUMPY_SCALAR,
    SEQUENCE,
    TENSOR,
    TEXT,
    Value,
)

FLOAT16: Final = frozenset({"float16"})
BFLOAT16: Final = frozenset({"bfloat16"})
FLOAT32: Final = frozenset({"float32"})
FLOAT64: Final = frozenset({"float64"})
INT32: Final = frozenset({"int32"})
INT64: Final = frozenset({"int64"})
UINT8: Final = frozenset({"uint8"})
BOOL: Final = frozenset({"bool"})
ANY_DTYPE: Final = frozenset({"?"})

ON_HOST: Final = frozenset({HOST})
ON_ACCELERATOR: Final = frozenset({ACCELERATOR})
ANYWHERE: Final = frozenset({ASSUMED})

# The order of promotion; what stands below float16 is an integer or bool.
_RANK: Final = {
    "bool": 0, "uint8": 1, "int32": 2, "int64": 3, "float16": 4, "bfloat16": 4, "float32": 5, "float64": 6,
}  # fmt: skip
INTEGRAL: Final = frozenset({"bool", "uint8", "int32", "int64"})
HALF: Final = FLOAT16 | BFLOAT16
FLOATING: Final = HALF | FLOAT32 | FLOAT64

_TORCH_NAMES: Final = {
    "float16": "half float16",
    "bfloat16": "bfloat16",
    "float32": "float float32",
    "float64": "double float64",
    "int32": "int8 short int16 int int32",
    "int64": "long int64",
    "uint8": "uint8",
    "bool": "bool",
}
_NUMPY_NAMES: Final = {
    "float16": "half float16",
    "float32": "single float32",
    "float64": "double float_ float float64",
    "int32": "int8 byte int16 short int32 intc uint16 uint32",
    "int64": "int_ int long longlong intp int64 uint64",
    "uint8": "ubyte uint8",
    "bool": "bool_ bool8 bool",
}
_TEXT_NAMES: Final = {
    "float16": "float16 f2 half",
    "float32": "float32 f4 f single",
    "float64": "float64 f8 d double float",
    "int32": "int8 int16 int32 i4 i2 i1 i",
    "int64": "int64 i8 int long",
    "uint8": "uint8 u1",
    "bool": "bool ? b1",
}


def _by_name(prefix: str, table: dict[str, str]) -> dict[str, str]:
    return {prefix + name: dtype for dtype, names in table.items() for name in names.split()}


# Dotted names to dtypes, Python's builtin types included: dtype=float is float64.
_DTYPES: Final = {
    **_by_name("torch.", _TORCH_NAMES),
    **_by_name("numpy.", _NUMPY_NAMES),
    "builtins.float": "float64",
    "builtins.int": "int64",
    "builtins.bool": "bool",
}
_TEXT_DTYPES: Final = _by_name("", _TEXT_NAMES)
NUMPY_TYPES: Final = _by_name("numpy.", _NUMPY_NAMES)

# The constructors torch.FloatTensor and so on.
LEGACY_TENSORS: Final = {
    "Tensor": "float32",
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int32",
    "CharTensor": "int32",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}

_ACCELERATORS: Final = frozenset({"cuda", "npu", "gpu", "xpu", "mps", "hpu"})


def promote(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """The dtypes of two tensors combined, both with dimensions."""
    if one == other:
        return one or ANY_DTYPE
    result = set()
    for first in one or ANY_DTYPE:
        for second in other or ANY_DTYPE:
            if first == "?" or second == "?":
                result.add("float64" if "float64" in (first, second) else "?")
            elif {first, second} == HALF:
                result.add("float32")
            else:
                result.add(first if _RANK[first] >= _RANK[second] else second)
    return frozenset(result)


# Integers that a float this short cannot hold: NumPy takes float64, torch does not.
_TOO_WIDE: Final = frozenset({
    ("int64", "float32"), ("float32", "int64"), ("int32", "float32"), ("float32", "int32"),
    ("int64", "float16"), ("float16", "int64"), ("int32", "float16"), ("float16", "int32"),
})  # fmt: skip


def promote_arrays(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """The dtypes of two NumPy arrays combined: an int64 with a float32 makes a float64."""
    if one == other:
        return one or ANY_DTYPE
    result = set()
    for first in one or ANY_DTYPE:
        for second in other or ANY_DTYPE:
            if first == "?" or second == "?":
                result.add("float64" if "float64" in (first, second) else "?")
            elif (first, second) in _TOO_WIDE:
                result.add("float64")
            else:
                result.add(first if _RANK[first] >= _RANK[second] else second)
    return frozenset(result)


def with_number(dtypes: frozenset[str], number: frozenset[str], *, numpy: bool = False) -> frozenset[str]:
    """The dtypes of a tensor or array combined with a Python number of these types."""
    result = set()
    for dtype in dtypes or ANY_DTYPE:
        if dtype == "?":
            result.add("?")
        elif "float" in number and dtype in INTEGRAL:
            result.add("float64" if numpy else "float32")
        elif "int" in number and dtype == "bool":
            result.add("int64")
        else:
            result.add(dtype)
    return frozenset(result)


def divided(dtypes: frozenset[str], *, numpy: bool = False) -> frozenset[str]:
    """The dtypes of a quotient, a mean or a square root: integers become floats."""
    return frozenset(("float64" if numpy else "float32") if dtype in INTEGRAL else dtype for dtype in dtypes)


def summed(dtypes: frozenset[str]) -> frozenset[str]:
    """The dtypes of a sum: small integers and bools become int64."""
    return frozenset("int64" if dtype in INTEGRAL else dtype for dtype in dtypes)


def names_dtype(value: Value) -> bool:
    """Whether an argument is a dtype."""
    if value.get(DTYPE) is not None:
        return True
    library = value.get(LIBRARY)
    return library is not None and any(name in _DTYPES for name in library.refs)


def dtypes_of_argument(value: Value | None) -> frozenset[str] | None:
    """What an argument ``dtype=`` means: None where it is absent or None, ``"?"`` where it cannot be told."""
    if value is None or (value.atoms and value.get(NONE) is not None and len(value.atoms) == 1):
        return None
    result: set[str] = set()
    for atom in value.atoms.values():
        if atom.kind == LIBRARY:
            result.update(_DTYPES.get(name, "?") for name in atom.refs)
        elif atom.kind == TEXT:
            result.update(_TEXT_DTYPES.get(text, "?") for text in atom.refs or ("",))
        elif atom.kind == DTYPE:
            result |= atom.dtypes
        elif atom.kind != NONE:
            result.add("?")
    return frozenset(result) or ANY_DTYPE


def devices_of_argument(value: Value | None) -> frozenset[str] | None:
    """What an argument ``device=`` means: None where it is absent or None.

    ``"cuda" if available else "cpu"`` is the accelerator: that is the run that matters.
    """
    if value is None or (value.atoms and value.get(NONE) is not None and len(value.atoms) == 1):
        return None
    result: set[str] = set()
    for atom in value.atoms.values():
        if atom.kind in (DEVICE, TENSOR):
            result |= atom.devices
        elif atom.kind == TEXT:
            result.update(map(_device_of_text, atom.refs or ("",)))
        elif atom.kind == NUMBER:
            result.add(ACCELERATOR)
        elif atom.kind != NONE:
            result.add(ASSUMED)
    if ACCELERATOR in result:
        result.discard(HOST)
    return frozenset(result) or ANYWHERE


def _device_of_text(text: str) -> str:
    kind = text.partition(":")[0]
    if kind == "cpu":
        return HOST
    return ACCELERATOR if kind in _ACCELERATORS else ASSUMED


def together(devices: frozenset[str]) -> frozenset[str]:
    """Where an operation on tensors of these devices runs: an accelerator wins over host scalars."""
    return devices - {HOST} if len(devices) > 1 and HOST in devices else devices or ANYWHERE


def dtypes_of_data(value: Value | None, *, numpy: bool) -> frozenset[str]:
    """The dtypes of ``torch.tensor(x)`` or, with ``numpy``, of ``np.array(x)``, without an argument dtype."""
    if value is None or not value.atoms:
        return ANY_DTYPE
    result: set[str] = set()
    for atom in value.atoms.values():
        if atom.kind in (TENSOR, ARRAY, NUMPY_SCALAR):
            result |= atom.dtypes or ANY_DTYPE
        elif atom.kind == NUMBER:
            floats = "float64" if numpy else "float32"
            result.update({"int": "int64", "float": floats, "bool": "bool"}.get(name, "?") for name in atom.dtypes)
        elif atom.kind == SEQUENCE:
            parts = list(atom.items) if isinstance(atom.items, tuple) else []
            if atom.element is not None:
                parts.append(atom.element)
            result |= _dtypes_of_parts(parts, numpy=numpy)
        elif atom.kind != NONE:
            result.add("?")
    return frozenset(result) or ANY_DTYPE


def _dtypes_of_parts(parts: list[Value], *, numpy: bool) -> frozenset[str]:
    if not parts:
        return ANY_DTYPE
    promoted = promote_arrays if numpy else promote
    result = dtypes_of_data(parts[0], numpy=numpy)
    for part in parts[1:]:
        result = promoted(result, dtypes_of_data(part, numpy=numpy))
    return result
