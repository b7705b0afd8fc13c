"""One visit of a function: its parameters are bound, its body is run, and what it found is told."""

from __future__ import annotations

import ast
import re

# Evaluating needs both; they register what they handle.
from npuport.analysis.flow import expressions, statements
from npuport.analysis.flow.declarations import Body, Function
from npuport.analysis.flow.evaluation import Evaluation, Recording
from npuport.analysis.flow.joining import join
from npuport.analysis.flow.knowledge import Knowledge
from npuport.analysis.flow.types import value_of_annotation
from npuport.analysis.flow.value import CLASS, DEVICE, INSTANCE, MAPPING, SEQUENCE, TEXT, UNKNOWN, Atom, Value
from npuport.sources.errors import UsageError

__all__ = ["expressions", "statements", "visit"]

_ANYWHERE = Value(Atom(DEVICE, devices=frozenset({"?"})))
_DEVICE_PARAMETER = re.compile(r"dev|dvc")


def visit(knowledge: Knowledge, function: Function, recording: Recording | None = None) -> None:
    """Evaluate one function once; with ``recording``, for rules, once nothing changes any more."""
    if function.node is None:
        knowledge.load(function.file)
    if function.node is None:
        return  # a lambda gets its syntax when the function around it is evaluated
    run = Evaluation(knowledge, function, recording)
    known = function.calls, function.weak_calls, function.facts, function.losses
    function.calls, function.weak_calls, function.facts, function.losses = [], set(), [], set()
    try:
        _run(run, function.node)
    except RecursionError:
        pass  # an expression nested more deeply than Python's stack: the function keeps what is known so far
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise UsageError(
            f"{function.file}:{function.line}: the analysis failed ({what}); please report this"
        ) from error
    run.conclude()
    if recording is not None:
        function.calls, function.weak_calls, function.facts, function.losses = known


def _run(run: Evaluation, node: Body | None) -> None:
    if isinstance(node, ast.Module):
        statements.run_block(run, node.body)
    elif isinstance(node, ast.Lambda):
        _bind_parameters(run, node.args)
        run.returned = run.evaluate(node.body)
    elif node is not None:
        _bind_parameters(run, node.args)
        statements.run_block(run, node.body)


def _bind_parameters(run: Evaluation, arguments: ast.arguments) -> None:
    function = run.function
    instance = function.self_name
    if instance is not None and function.owner is not None:
        kind = CLASS if function.kind == "class" else INSTANCE
        run.names[instance] = Value(Atom(kind, refs=frozenset({function.owner})))
    for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if parameter.arg == instance:
            continue
        value = function.parameters.get(parameter.arg, UNKNOWN)
        if not value and parameter.annotation is not None:
            value = value_of_annotation(run, parameter.annotation)
        run.names[parameter.arg] = value
    if arguments.vararg is not None:
        gathered = function.parameters.get(f"*{arguments.vararg.arg}")
        run.names[arguments.vararg.arg] = gathered if gathered else Value(Atom(SEQUENCE))
    if arguments.kwarg is not None:
        run.names[arguments.kwarg.arg] = Value(Atom(MAPPING))
    _join_defaults(run, arguments, instance)


def _join_defaults(run: Evaluation, arguments: ast.arguments, instance: str | None) -> None:
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs: list[tuple[ast.arg, ast.expr | None]] = list(
        zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True)
    )
    pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    for parameter, default in pairs:
        if default is None or parameter.arg == instance:
            continue
        value = run.quietly(default)
        if _DEVICE_PARAMETER.search(parameter.arg) and (TEXT in value.atoms or DEVICE in value.atoms):
            value = _ANYWHERE  # "cpu" as the default device says nothing of the run
        run.names[parameter.arg] = join(run.names[parameter.arg], value)
