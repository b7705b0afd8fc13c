"""Python's builtin functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from npuport.analysis.flow.events import CallSite
from npuport.analysis.flow.joining import element_of, join, join_all
from npuport.analysis.flow.library import containers
from npuport.analysis.flow.library.evaluation import Evaluation, LibraryCall
from npuport.analysis.flow.value import (
    A_BOOL,
    A_TEXT,
    AN_INT,
    ARRAY,
    EMPTY,
    FILTERED,
    LIBRARY,
    MAPPING,
    MAX_KEYS,
    NOTHING,
    NUMBER,
    ROWS,
    SEQUENCE,
    SPREAD,
    TENSOR,
    UNKNOWN,
    Atom,
    Value,
    sequence,
)

# Calls a function of a library by its dotted name; handed in, because dispatch is above this module.
CallByName: TypeAlias = Callable[[Evaluation, str, CallSite], Value]

_ITERABLES: Final = (SEQUENCE, ARRAY)
_KEPT_MARKS: Final = frozenset({ROWS, FILTERED})
ONLY_ROWS: Final = frozenset({ROWS})

# Functions of which only the kind of the answer matters.
_FIXED: Final = {
    **dict.fromkeys(
        ("isinstance", "hasattr", "callable", "any", "all", "issubclass"), A_BOOL),
    **dict.fromkeys(("len", "id", "hash", "ord"), AN_INT),
    **dict.fromkeys(("repr", "chr", "hex", "bin", "input", "ascii"), A_TEXT),
    **dict.fromkeys(("setattr", "delattr", "exec"), NOTHING),
    "range": sequence(AN_INT),
    "slice": UNKNOWN,
}  # fmt: skip


def call_builtin(run: Evaluation, name: str, site: CallSite) -> Value:
    """What a builtin function gives."""
    function = _BUILTINS.get(name)
    return function(run, name, site) if function is not None else _FIXED.get(name, UNKNOWN)


def report_read(run: Evaluation, site: CallSite, value: Value, how: str) -> None:
    """A function that wants a Python number gets a tensor."""
    if run.recording and value.only(TENSOR) and not value.atoms[TENSOR].on_host:
        run.event("read", site.node, value, how)


def _number(run: Evaluation, name: str, site: CallSite) -> Value:
    report_read(run, site, site.first, name)
    return Value(Atom(NUMBER, frozenset({name})))


def _print(run: Evaluation, name: str, site: CallSite) -> Value:
    containers.report_formatted(run, site, tuple(site.args), "print")
    return NOTHING


def _text(run: Evaluation, name: str, site: CallSite) -> Value:
    containers.report_formatted(run, site, tuple(site.args[:1]))
    return A_TEXT


def kept_marks(value: Value) -> frozenset[str]:
    """The marks of a container that survive iterating over it."""
    return containers.marks_of(value, _ITERABLES) & _KEPT_MARKS


def _to_sequence(run: Evaluation, name: str, site: CallSite) -> Value:
    if not site.args:
        return sequence()
    given = site.first.get(SEQUENCE)
    if given is not None:
        return Value(given)
    element = element_of(site.first)
    return sequence(element if element else None, marks=kept_marks(site.first))


def reordered(run: Evaluation, name: str, site: CallSite) -> Value:
    """A sequence of what the first argument holds."""
    element = element_of(site.first)
    return sequence(element if element else None, marks=kept_marks(site.first))


def zipped(run: Evaluation, name: str, site: CallSite) -> Value:
    """``zip(...)``."""
    for value in site.args:
        spread = value.get(SPREAD)
        if spread is not None:
            return _columns(spread.element)
    rows = ONLY_ROWS if any(ROWS in kept_marks(value) for value in site.args) else EMPTY
    return sequence(sequence(items=tuple(element_of(value) for value in site.args)), marks=rows)


def _columns(row: Value | None) -> Value:
    """``zip(*rows)``: one sequence a field."""
    atom = row.get(SEQUENCE) if row is not None else None
    if atom is not None and isinstance(atom.items, tuple):
        return sequence(items=tuple(sequence(item, marks=ONLY_ROWS) for item in atom.items))
    element = element_of(row) if row is not None else UNKNOWN
    return sequence(sequence(element if element else None, marks=ONLY_ROWS))


def _enumerate(run: Evaluation, name: str, site: CallSite) -> Value:
    return sequence(sequence(items=(AN_INT, element_of(site.first))), marks=kept_marks(site.first))


def _filter(run: Evaluation, name: str, site: CallSite) -> Value:
    given = site.args[1] if len(site.args) > 1 else UNKNOWN
    return sequence(element_of(given) or None, marks=kept_marks(given) | {FILTERED})


def _extreme(run: Evaluation, name: str, site: CallSite) -> Value:
    if len(site.args) < 2:
        return element_of(site.first)
    for value in site.args:
        if value.only(TENSOR):
            report_read(run, site, value, name)
            break
    if all(value.only(NUMBER) for value in site.args):
        return _without_constants(join_all(site.args))
    return join_all(site.args) if all(site.args) else UNKNOWN


def _without_constants(value: Value) -> Value:
    number = value.get(NUMBER)
    return Value(Atom(NUMBER, number.dtypes)) if number is not None else value


def _sum(run: Evaluation, name: str, site: CallSite) -> Value:
    return _without_constants(element_of(site.first))


def _rounded(run: Evaluation, name: str, site: CallSite) -> Value:
    if site.first.only(NUMBER) and len(site.args) < 2 and not site.keywords:
        return AN_INT
    return site.first


def _first_argument(run: Evaluation, name: str, site: CallSite) -> Value:
    return site.first


def _unsigned(run: Evaluation, name: str, site: CallSite) -> Value:
    return _without_constants(site.first) if site.first.only(NUMBER) else site.first


def make_dict(run: Evaluation, name: str, site: CallSite) -> Value:
    """``dict(...)``."""
    given = site.first.get(MAPPING)
    if given is not None and not site.keywords:
        return Value(given)
    pairs = element_of(site.first).get(SEQUENCE)
    element = None
    if pairs is not None and isinstance(pairs.items, tuple) and len(pairs.items) == 2:
        element = pairs.items[1] or None
    items = site.keywords if len(site.keywords) <= MAX_KEYS else {}
    return Value(Atom(MAPPING, element=element, items=dict(items)))


def _next(run: Evaluation, name: str, site: CallSite) -> Value:
    return join(element_of(site.first), site.args[1] if len(site.args) > 1 else None)


_BUILTINS: Final[dict[str, LibraryCall]] = {
    **dict.fromkeys(("float", "int", "bool"), _number),
    **dict.fromkeys(("str", "format"), _text),
    **dict.fromkeys(("list", "tuple", "set", "frozenset", "iter"), _to_sequence),
    **dict.fromkeys(("sorted", "reversed"), reordered),
    **dict.fromkeys(("max", "min"), _extreme),
    "print": _print,
    "zip": zipped,
    "enumerate": _enumerate,
    "filter": _filter,
    "sum": _sum,
    "round": _rounded,
    "abs": _unsigned,
    "dict": make_dict,
    "vars": lambda run, name, site: Value(Atom(MAPPING)),
    "next": _next,
}


def call_map(run: Evaluation, site: CallSite, call_by_name: CallByName) -> Value:
    """``map(f, xs)``: the element is known where ``f`` is a function of a library."""
    elements = [element_of(value) for value in site.args[1:]]
    marks = frozenset[str]().union(*map(kept_marks, site.args[1:]))
    library = site.first.get(LIBRARY)
    if library is None:
        return sequence(marks=marks)
    inner = CallSite(site.node, elements, {})
    element = join_all(call_by_name(run, dotted, inner) for dotted in sorted(library.refs))
    return sequence(element if element else None, marks=marks)
