"""Methods and attributes of NumPy's arrays and scalars."""

from __future__ import annotations

import ast
from typing import Final

from npuport.analysis.flow.dtypes import ANY_DTYPE, INT64, dtypes_of_argument, summed
from npuport.analysis.flow.events import CallSite
from npuport.analysis.flow.library.evaluation import Evaluation
from npuport.analysis.flow.library.numpy_functions import REDUCTIONS, dtypes_named, reduced
from npuport.analysis.flow.library.promotion import array_dtypes
from npuport.analysis.flow.library.tensor_methods import python_number
from npuport.analysis.flow.value import AN_INT, DTYPE, NOTHING, UNKNOWN, Atom, Value, array, sequence

_KEPT_BY_METHOD: Final = frozenset({
    "copy", "reshape", "flatten", "squeeze", "transpose", "ravel", "clip", "repeat", "swapaxes", "round", "take",
    "diagonal", "conj", "compress", "newbyteorder", "__copy__",
})  # fmt: skip
_CHANGED_IN_PLACE: Final = frozenset({"fill", "sort", "partition", "resize", "put", "setflags", "itemset", "tofile"})


def call(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value | None:
    """A method of an array or of a NumPy scalar."""
    if name == "astype" or (name == "view" and (site.args or site.keywords)):
        dtypes = dtypes_of_argument(site.argument(0, "dtype")) or ANY_DTYPE
        return Value(atom if dtypes == atom.dtypes else atom.replaced(dtypes=dtypes, origin=run.origin(site.node)))
    if name in _KEPT_BY_METHOD or name == "view":
        return Value(atom)
    if name in REDUCTIONS:
        axis_given = bool(site.args) or "axis" in site.keywords
        return reduced(run, name, site, atom.dtypes, axis_given=axis_given)
    if name == "item":
        return python_number(atom.dtypes)
    if name == "tolist":
        return sequence(python_number(atom.dtypes), marks=atom.marks)
    if name in ("cumsum", "cumprod"):
        return array(dtypes_named(site) or summed(atom.dtypes), run.origin(site.node))
    if name in ("argsort", "argpartition", "searchsorted"):
        return array(INT64, run.origin(site.node))
    if name == "dot":
        return array(array_dtypes((Value(atom), *site.args[:1])), run.origin(site.node))
    if name == "nonzero":
        return sequence(array(INT64, run.origin(site.node)))
    return NOTHING if name in _CHANGED_IN_PLACE else UNKNOWN


def attribute(run: Evaluation, atom: Atom, name: str, node: ast.AST) -> Value | None:
    """An attribute of an array or of a NumPy scalar."""
    if name == "shape":
        return sequence(AN_INT)
    if name in ("size", "ndim", "nbytes", "itemsize"):
        return AN_INT
    if name == "dtype":
        return Value(Atom(DTYPE, atom.dtypes))
    return Value(atom) if name in ("T", "flat", "real") else None
