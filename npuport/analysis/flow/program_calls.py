"""Calls of functions, methods and classes of the program: arguments are passed, results known from the last visit."""

from __future__ import annotations

import ast

from npuport.analysis.flow.declarations import Function
from npuport.analysis.flow.evaluation import Evaluation
from npuport.analysis.flow.events import CallSite
from npuport.analysis.flow.joining import element_of, join, join_all
from npuport.analysis.flow.library.containers import make_namedtuple
from npuport.analysis.flow.library.dispatch import instance_of_library
from npuport.analysis.flow.library.python_functions import kept_marks
from npuport.analysis.flow.library.standard_library import NAMEDTUPLE
from npuport.analysis.flow.value import CLASS, FUNCTION, INSTANCE, SPREAD, UNKNOWN, Atom, Value, sequence


def call_functions(run: Evaluation, site: CallSite, atom: Atom) -> Value:
    """What any of the functions that an atom names gives."""
    result: Value | None = None
    for key in atom.refs:
        function = run.knowledge.functions.get(key)
        if function is not None:
            result = join(result, call_function(run, site, function))
    return result if result is not None else UNKNOWN


def map_functions(run: Evaluation, site: CallSite) -> Value | None:
    """``map(f, xs)`` with functions of the program; None where f is something else."""
    functions = site.first.get(FUNCTION)
    if functions is None:
        return None
    arguments = site.args[1:]
    element = call_functions(run, CallSite(site.node, [element_of(value) for value in arguments], {}), functions)
    return sequence(element if element else None, marks=frozenset[str]().union(*map(kept_marks, arguments)))


def call_function(run: Evaluation, site: CallSite, function: Function, *, weak: bool = False) -> Value:
    """Pass the arguments of a call to a function of the program; what that gives is known from its last visit."""
    knowledge = run.knowledge
    run.calls(function, site.node, weak=weak)
    line, column = run.place(site.node)
    where = f"{run.function.key}:{line}:{column}"
    order, bound = function.order, function.bound
    if bound and _names_class(run, site):
        bound = 0  # Class.method(self, ...)
    for name, value in zip(order[bound:], site.args, strict=False):
        if SPREAD in value.atoms:
            break
        knowledge.pass_argument(function, name, where, value)
    if function.spread:
        rest = site.args[max(len(order) - bound, 0) :]
        knowledge.pass_argument(function, f"*{function.spread}", where, _gathered(rest))
    for name, value in site.keywords.items():
        if name in function.keyword_only or name in order:
            knowledge.pass_argument(function, name, where, value)
    knowledge.read(run.function, "return", function.key)
    return function.returns if function.returns is not None else UNKNOWN


def _gathered(values: list[Value]) -> Value:
    """What a parameter ``*args`` gets: by position, unless one of the arguments is a ``*x`` of unknown length."""
    parts = [value.get(SPREAD) for value in values]
    if not any(parts):
        return sequence(items=tuple(values))
    held = (part.element if part is not None else value for part, value in zip(parts, values, strict=True))
    return sequence(join_all(held) or None)


def _names_class(run: Evaluation, site: CallSite) -> bool:
    node = site.node.func
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return False
    return run.quietly(node.value).only(CLASS)


def instantiate(run: Evaluation, site: CallSite, key: str) -> Value:
    """An instance of a class of the program, or a named tuple."""
    if key.startswith(NAMEDTUPLE):
        return make_namedtuple(key[len(NAMEDTUPLE) :], site)
    knowledge = run.knowledge
    declared = knowledge.classes.get(key)
    if declared is None:
        return UNKNOWN
    bases = knowledge.library_bases(key)
    if "typing.NamedTuple" in bases:
        return make_namedtuple(",".join(declared.fields), site)
    initialiser = knowledge.method(key, "__init__")
    if initialiser is not None:
        call_function(run, site, initialiser)
    else:
        for name, value in [*zip(declared.fields, site.args, strict=False), *site.keywords.items()]:
            if name in declared.fields:
                run.set_attribute(key, name, value)
    instance = Value(Atom(INSTANCE, refs=frozenset({key})))
    return join(instance, instance_of_library(run, bases, site))


def call_instance(run: Evaluation, site: CallSite, atom: Atom) -> Value | None:
    """Calling an instance runs its ``forward`` or ``__call__``."""
    result: Value | None = None
    for key in atom.refs:
        if key not in run.knowledge.classes:
            continue
        method = run.knowledge.method(key, "forward") or run.knowledge.method(key, "__call__")
        if method is not None:
            result = join(result, call_function(run, site, method))
    return result
