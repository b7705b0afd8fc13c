"""numpy.random: its functions, and the methods of its generators, which are the same ones."""

from __future__ import annotations

from typing import Final

from npuport.analysis.flow.dtypes import ANY_DTYPE, FLOAT64, INT64, dtypes_of_argument, dtypes_of_data
from npuport.analysis.flow.events import CallSite
from npuport.analysis.flow.joining import element_of, join
from npuport.analysis.flow.library.evaluation import Evaluation, LibraryCall
from npuport.analysis.flow.value import (
    A_FLOAT,
    AN_INT,
    ARRAY,
    EMPTY,
    LIBRARY,
    NONE,
    NOTHING,
    NUMBER,
    NUMPY_SCALAR,
    ROWS,
    SEQUENCE,
    UNKNOWN,
    Atom,
    Value,
    array,
)

# A generator is told by this name: its methods are looked up as functions of the module.
MODULE: Final = "numpy.random"
GENERATOR: Final = Value(Atom(LIBRARY, refs=frozenset({MODULE})))

_ROWS: Final = frozenset({ROWS})
_GENERATORS: Final = frozenset({"default_rng", "RandomState", "Generator", "seed_sequence", "SeedSequence"})
_SILENT: Final = frozenset({"seed", "shuffle", "set_state"})
# Position of the argument ``size``.
_OF_FLOATS: Final = {
    "normal": 2, "uniform": 2, "random": 0, "random_sample": 0, "ranf": 0, "sample": 0, "standard_normal": 0,
    "exponential": 1, "standard_exponential": 0, "beta": 2, "gamma": 2, "laplace": 2, "lognormal": 2, "logistic": 2,
    "gumbel": 2, "chisquare": 1, "standard_gamma": 1, "standard_t": 1, "triangular": 3, "weibull": 1, "pareto": 1,
    "rand": 0, "randn": 0, "standard_cauchy": 0, "vonmises": 2,
}  # fmt: skip
_OF_INTEGERS: Final = {
    "randint": 2, "integers": 2, "random_integers": 2, "poisson": 1, "binomial": 2, "geometric": 1,
}  # fmt: skip
_INDEX_DRAWS: Final = frozenset({"randint", "integers", "random_integers"})
_ALWAYS_ARRAYS: Final = {
    "dirichlet": FLOAT64, "multivariate_normal": FLOAT64, "multinomial": INT64,
}  # fmt: skip


def call(run: Evaluation, dotted: str, site: CallSite) -> Value:
    """What a call of ``numpy.random.`` something gives."""
    name = dotted.rpartition(".")[2]
    if name in _OF_FLOATS:
        return _drawn(run, site, _OF_FLOATS[name], FLOAT64, A_FLOAT)
    if name in _OF_INTEGERS:
        return _drawn(run, site, _OF_INTEGERS[name], INT64, AN_INT, _ROWS if name in _INDEX_DRAWS else EMPTY)
    if name in _GENERATORS:
        return GENERATOR
    if name in _SILENT:
        return NOTHING
    if name in _ALWAYS_ARRAYS:
        return array(_ALWAYS_ARRAYS[name], run.origin(site.node))
    special = _SPECIAL.get(name)
    return special(run, name, site) if special is not None else UNKNOWN


def _drawn(
    run: Evaluation,
    site: CallSite,
    position: int,
    dtypes: frozenset[str],
    number: Value,
    marks: frozenset[str] = EMPTY,
) -> Value:
    """One number, or an array where a size is given or a parameter is an array."""
    size = site.argument(position, "size")
    drawn = array(dtypes_of_argument(site.keywords.get("dtype")) or dtypes, run.origin(site.node), marks)
    if size is not None and not _is_none(size):
        return drawn
    parameters = site.args[:position]
    if any(ARRAY in value.atoms or SEQUENCE in value.atoms for value in parameters):
        return drawn
    if all(value.only(NUMBER, NUMPY_SCALAR) for value in parameters) or marks:
        return number
    return join(number, drawn)


def _is_none(value: Value) -> bool:
    return NONE in value.atoms and len(value.atoms) == 1


def _choice(run: Evaluation, name: str, site: CallSite) -> Value:
    choices = site.first
    if site.argument(1, "size") is None:
        return AN_INT if choices.only(NUMBER) else element_of(choices)
    return array(_dtypes_chosen(choices), run.origin(site.node), _ROWS)


def _permutation(run: Evaluation, name: str, site: CallSite) -> Value:
    return array(_dtypes_chosen(site.first), run.origin(site.node), _ROWS)


def _dtypes_chosen(choices: Value) -> frozenset[str]:
    if choices.only(NUMBER):
        return INT64
    return dtypes_of_data(choices, numpy=True) if choices else ANY_DTYPE


_SPECIAL: Final[dict[str, LibraryCall]] = {
    "choice": _choice,
    "permutation": _permutation,
    "permuted": _permutation,
}
