"""Functions of NumPy.

Dtypes as NumPy 2 makes them: Python numbers bend to the arrays beside them. The tests compare with NumPy itself.
"""

from __future__ import annotations

import ast
from typing import Final, NamedTuple

from npuport.analysis.flow.dtypes import (
    ANY_DTYPE,
    BOOL,
    FLOAT64,
    INT32,
    INT64,
    INTEGRAL,
    NUMPY_TYPES,
    divided,
    dtypes_of_argument,
    dtypes_of_data,
    names_dtype,
    summed,
)
from npuport.analysis.flow.events import CallSite
from npuport.analysis.flow.library import numpy_random
from npuport.analysis.flow.library.evaluation import Evaluation, LibraryCall
from npuport.analysis.flow.library.promotion import Conversion, array_dtypes, contents
from npuport.analysis.flow.value import (
    A_BOOL,
    A_TEXT,
    AN_INT,
    ARRAY,
    DTYPE,
    EMPTY,
    FROM_ROWS,
    LIBRARY,
    NOTHING,
    NUMBER,
    NUMPY,
    NUMPY_SCALAR,
    ROWS,
    SEQUENCE,
    TENSOR,
    TEXT,
    UNKNOWN,
    Atom,
    Value,
    array,
    sequence,
)

_WIDE_INTEGERS: Final = INT32 | INT64
# Something of NumPy of which nothing else is known.
SOMETHING: Final = Value(Atom(NUMPY))


# These ask for a type or a shape only.
_ASKING: Final = frozenset({"isscalar", "iterable", "ndim", "shape", "size", "issubdtype"})


def _divided(dtypes: frozenset[str]) -> frozenset[str]:
    return divided(dtypes, numpy=True)


def _evaluated(dtypes: frozenset[str]) -> frozenset[str]:
    """Functions such as ``exp`` take the shortest float that holds the integers."""
    return frozenset("float16" if dtype in ("bool", "uint8") else dtype for dtype in dtypes) - INTEGRAL | (
        FLOAT64 if not dtypes.isdisjoint(_WIDE_INTEGERS) else EMPTY
    )


def _to_int64(_: frozenset[str]) -> frozenset[str]:
    return INT64


def _to_float64(_: frozenset[str]) -> frozenset[str]:
    return FLOAT64


def _to_bool(_: frozenset[str]) -> frozenset[str]:
    return BOOL


class Function(NamedTuple):
    """What one function of arrays gives.

    Attributes:
        first: position of the first operand that counts for the dtype.
        last: position after the last one.
        conversion: from the operands' dtypes to the result's; None where they stay.
        numbers_bend: whether Python numbers take the dtype of the arrays beside them.
    """

    first: int = 0
    last: int = 1
    conversion: Conversion | None = None
    numbers_bend: bool = True


_ELEMENTWISE: Final[dict[Function, str]] = {
    Function(): """
        expand_dims squeeze reshape transpose abs absolute clip copy flip flipud fliplr tile repeat moveaxis swapaxes
        roll pad ravel sign square negative positive atleast_1d atleast_2d atleast_3d nan_to_num broadcast_to diff
        diag tril triu sort partition take take_along_axis delete round around floor ceil trunc conj real rot90
        rollaxis resize unique trim_zeros ediff1d reciprocal setdiff1d
        """,
    Function(conversion=summed): "cumsum cumprod nancumsum",
    Function(conversion=_evaluated): """
        exp exp2 expm1 log log1p log2 log10 sqrt cbrt tanh tan sin cos arcsin arccos arctan sinh cosh arcsinh arccosh
        arctanh deg2rad rad2deg radians degrees fabs rint
        """,
    Function(last=2): """
        maximum minimum fmax fmin add subtract multiply power mod remainder fmod floor_divide matmul bitwise_and
        bitwise_or bitwise_xor union1d
        """,
    Function(last=2, numbers_bend=False): "append dot inner outer kron intersect1d",
    Function(conversion=_divided): "sinc",
    Function(last=2, conversion=_divided): "divide true_divide",
    Function(last=2, conversion=_evaluated): "arctan2 hypot copysign logaddexp",
    Function(last=2, conversion=_to_float64): "float_power",
    Function(first=1, last=3): "where",
    Function(conversion=_to_int64): """
        argsort argpartition argwhere flatnonzero searchsorted digitize bincount
        """,
    Function(conversion=_to_bool): """
        isnan isinf isfinite isin in1d isclose logical_and logical_or logical_xor logical_not equal not_equal greater
        greater_equal less less_equal signbit
        """,
}
FUNCTIONS: Final = {name: function for function, names in _ELEMENTWISE.items() for name in names.split()}

# One number where no axis is given; also methods of arrays.
REDUCTIONS: Final[dict[str, Conversion | None]] = {
    **dict.fromkeys(
        ("mean", "std", "var", "average", "median", "percentile", "quantile", "nanmean", "nanstd", "nanvar",
         "nanmedian", "norm"), _divided),
    **dict.fromkeys(("sum", "prod", "nansum", "trace"), summed),
    **dict.fromkeys(("max", "min", "amax", "amin", "nanmax", "nanmin", "ptp"), None),
    **dict.fromkeys(("argmax", "argmin", "nanargmax", "nanargmin", "count_nonzero"), _to_int64),
    **dict.fromkeys(("any", "all"), _to_bool),
}  # fmt: skip
# More positional arguments than the array may come before the axis.
_AXIS_POSITION: Final = {"percentile": 2, "quantile": 2, "norm": 2}
_JOINED: Final = frozenset({
    "stack", "concatenate", "concat", "vstack", "hstack", "dstack", "column_stack", "row_stack", "block",
})  # fmt: skip
_FROM_DATA: Final = frozenset({
    "array", "asarray", "ascontiguousarray", "asanyarray", "asfortranarray", "fromiter", "frombuffer", "require",
})  # fmt: skip
# Position of the argument dtype.
_FACTORIES: Final = {"zeros": 1, "ones": 1, "empty": 1, "ndarray": 1, "identity": 1, "eye": 3, "linspace": 5,
                     "logspace": 5, "geomspace": 4}  # fmt: skip
_LIKE: Final = frozenset({"zeros_like", "ones_like", "empty_like", "full_like"})
_PIECES: Final = frozenset({"split", "array_split", "hsplit", "vsplit", "dsplit", "meshgrid", "broadcast_arrays"})
_OBJECTS: Final = frozenset({"builtins.object", "numpy.object_", "numpy.object", "object", "O"})
_POSITIONS: Final = frozenset({"nonzero", "unravel_index", "ix_", "where", "indices", "triu_indices", "tril_indices"})
_FIXED: Final = {
    **dict.fromkeys(("isscalar", "allclose", "array_equal", "array_equiv", "shares_memory", "issubdtype"), A_BOOL),
    **dict.fromkeys(("ndim", "size", "ravel_multi_index"), AN_INT),
    **dict.fromkeys(("save", "savez", "savez_compressed", "savetxt", "copyto", "fill_diagonal", "put", "seterr",
                     "set_printoptions", "put_along_axis"), NOTHING),
    "shape": sequence(AN_INT),
    "array2string": A_TEXT,
    "array_repr": A_TEXT,
}  # fmt: skip


def call(run: Evaluation, dotted: str, site: CallSite) -> Value:
    """What a call of ``numpy.`` something gives; reading a tensor in it is a ``read``."""
    if dotted.startswith("numpy.random."):
        return numpy_random.call(run, dotted, site)
    name = dotted.rpartition(".")[2]
    if run.recording:
        _report_reads(run, name, site)
    if _holds_objects(site):
        return SOMETHING
    special = _SPECIAL.get(name)
    if special is not None:
        return special(run, name, site)
    if name == "where" and len(site.args) == 1:
        return sequence(array(INT64, run.origin(site.node)))
    function = FUNCTIONS.get(name)
    if function is not None:
        return _elementwise(run, function, site)
    if dotted in NUMPY_TYPES:
        return _converted(run, frozenset({NUMPY_TYPES[dotted]}), site)
    return _FIXED.get(name, SOMETHING)


def _holds_objects(site: CallSite) -> bool:
    """Whether ``dtype=object`` is asked for: such an array is a list in all but name, its elements may be anything."""
    if not site.keywords and len(site.args) < 2:
        return False
    for value in (site.argument(1, "dtype"), site.keywords.get("dtype")):
        dtype = value.get(LIBRARY) or value.get(TEXT) if value is not None else None
        if dtype is not None and not dtype.refs.isdisjoint(_OBJECTS):
            return True
    return False


def _report_reads(run: Evaluation, name: str, site: CallSite) -> None:
    if name in _ASKING:
        return
    for value in site.args:
        if value.only(TENSOR):
            _report_read(run, name, site, value)
    if name in _FROM_DATA or name in _JOINED:
        for value in contents(site.first):
            if value.only(TENSOR):
                _report_read(run, name, site, value)
                return


def _report_read(run: Evaluation, name: str, site: CallSite, value: Value) -> None:
    if not value.atoms[TENSOR].on_host:
        run.event("read", site.node, value, "numpy." + name)


def dtypes_named(site: CallSite, position: int = 99) -> frozenset[str] | None:
    """The dtypes that an argument names, by keyword or, from ``position`` on, by place."""
    if "dtype" in site.keywords:
        return dtypes_of_argument(site.keywords["dtype"])
    if position < len(site.args) and names_dtype(site.args[position]):
        return dtypes_of_argument(site.args[position])
    return None


def _elementwise(run: Evaluation, function: Function, site: CallSite) -> Value:
    operands = site.args[function.first : function.last]
    dtypes = array_dtypes(operands, numbers_bend=function.numbers_bend)
    if function.conversion is not None:
        dtypes = function.conversion(dtypes)
    dtypes = dtypes_named(site) or dtypes
    if operands and all(value.only(NUMBER, NUMPY_SCALAR) for value in site.args):
        return _scalar(run, site.node, dtypes)
    return array(dtypes, run.origin(site.node))


def _scalar(run: Evaluation, node: ast.AST, dtypes: frozenset[str]) -> Value:
    return Value(Atom(NUMPY_SCALAR, dtypes, origin=run.origin(node)))


def _converted(run: Evaluation, dtypes: frozenset[str], site: CallSite) -> Value:
    """``np.float32(x)``."""
    given = site.first.atoms
    if ARRAY in given or SEQUENCE in given or TENSOR in given:
        return array(dtypes, run.origin(site.node))
    return _scalar(run, site.node, dtypes)


def _reduction(run: Evaluation, name: str, site: CallSite) -> Value:
    axis = _AXIS_POSITION.get(name, 1)
    axis_given = len(site.args) > axis or "axis" in site.keywords or "keepdims" in site.keywords
    return reduced(run, name, site, array_dtypes(site.args[:1]), axis_given=axis_given)


def reduced(run: Evaluation, name: str, site: CallSite, dtypes: frozenset[str], *, axis_given: bool) -> Value:
    """What a reduction of an array of these dtypes gives."""
    conversion = REDUCTIONS[name]
    if conversion is not None:
        dtypes = conversion(dtypes)
    dtypes = dtypes_named(site) or dtypes
    if axis_given:
        return array(dtypes, run.origin(site.node))
    return A_BOOL if conversion is _to_bool else _scalar(run, site.node, dtypes)


def _factory(run: Evaluation, name: str, site: CallSite) -> Value:
    return array(dtypes_named(site, _FACTORIES[name]) or FLOAT64, run.origin(site.node))


def _full(run: Evaluation, name: str, site: CallSite) -> Value:
    dtypes = dtypes_named(site, 2)
    if dtypes is None:
        dtypes = dtypes_of_data(site.argument(1, "fill_value"), numpy=True)
    return array(dtypes, run.origin(site.node))


def _arange(run: Evaluation, name: str, site: CallSite) -> Value:
    dtypes = dtypes_named(site)
    if dtypes is None:
        numbers = [value.get(NUMBER) for value in site.args]
        if any(number is not None and "float" in number.dtypes for number in numbers):
            dtypes = FLOAT64
        else:
            dtypes = INT64 if all(number is not None for number in numbers) else INT64 | ANY_DTYPE
    return array(dtypes, run.origin(site.node))


def _from_data(run: Evaluation, name: str, site: CallSite) -> Value:
    data = site.argument(0, "object") or UNKNOWN
    dtypes = dtypes_named(site, 1)
    if dtypes is None:
        dtypes = dtypes_of_data(data, numpy=True)
    rows = data.get(SEQUENCE)
    marks = frozenset({FROM_ROWS}) if rows is not None and ROWS in rows.marks else EMPTY
    return array(dtypes, run.origin(site.node), marks)


def _like(run: Evaluation, name: str, site: CallSite) -> Value:
    return array(dtypes_named(site, 1) or dtypes_of_data(site.first, numpy=True), run.origin(site.node))


def _joined(run: Evaluation, name: str, site: CallSite) -> Value:
    dtypes = dtypes_named(site)
    return array(dtypes or dtypes_of_data(site.first, numpy=True), run.origin(site.node))


def _pieces(run: Evaluation, name: str, site: CallSite) -> Value:
    return sequence(array(array_dtypes(site.args[:1]), run.origin(site.node)))


def _positions(run: Evaluation, name: str, site: CallSite) -> Value:
    return sequence(array(INT64, run.origin(site.node)))


def _dtype_object(run: Evaluation, name: str, site: CallSite) -> Value:
    return Value(Atom(DTYPE, dtypes_of_argument(site.first) or ANY_DTYPE))


_SPECIAL: Final[dict[str, LibraryCall]] = {
    **dict.fromkeys(_FACTORIES, _factory),
    **dict.fromkeys(_FROM_DATA, _from_data),
    **dict.fromkeys(_LIKE, _like),
    **dict.fromkeys(_JOINED, _joined),
    **dict.fromkeys(_PIECES, _pieces),
    **dict.fromkeys(_POSITIONS - {"where"}, _positions),
    **dict.fromkeys(REDUCTIONS, _reduction),
    "full": _full,
    "arange": _arange,
    "dtype": _dtype_object,
}
