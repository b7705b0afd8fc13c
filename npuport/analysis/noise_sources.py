"""Where the random numbers in an expression are drawn: at once, or in a method that it calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from npuport.analysis.module import Module
from npuport.analysis.tensor_creation import DRAWING, created_by, keyword


@dataclass(frozen=True)
class NoiseSource:
    """One call that draws random numbers in host memory.

    Attributes:
        draw: the call.
        parameter: last parameter of the function that it stands in, where that function has no instance.
        callers: the calls of that function; empty where the place of the draw knows the instance.
    """

    draw: ast.Call
    parameter: ast.arg | None = None
    callers: tuple[ast.Call, ...] = ()


def noise_sources(module: Module, expression: ast.expr, instance: str) -> list[NoiseSource]:
    """The draws that an expression is made of; empty where any part of it comes from somewhere else.

    Args:
        module: the file.
        expression: what is computed from the random numbers.
        instance: the name of the instance there: ``self``.
    """
    found: dict[ast.Call, NoiseSource] = {}
    waiting, seen = [expression], set[ast.AST]()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, ast.Name):
            values = [binding.value for binding in module.names.bindings(node.id, node)]
            waiting += [value for value in values if value is not None]
        elif isinstance(node, ast.Call):
            sources = list(_of_call(module, node, instance))
            found.update({source.draw: source for source in sources})
            if not sources:
                waiting += _parts(module, node)
    return list(found.values())


def _parts(module: Module, call: ast.Call) -> Iterator[ast.expr]:
    """What the value of a call is computed from."""
    yield from call.args
    if isinstance(call.func, ast.Attribute) and module.resolve(call.func) is None:
        yield call.func.value


def _of_call(module: Module, call: ast.Call, instance: str) -> Iterator[NoiseSource]:
    if _draws(module, call):
        yield NoiseSource(call)
        return
    function = _own_method(module, call)
    if function is None:
        return
    draws = [node for node in ast.walk(function) if isinstance(node, ast.Call) and _draws(module, node)]
    arguments = function.args
    if arguments.args and arguments.args[0].arg == instance:
        yield from map(NoiseSource, draws)
    elif arguments.args and not (arguments.defaults or arguments.vararg or arguments.kwonlyargs or arguments.kwarg):
        callers = tuple(_calls_of(module, function))
        if len(callers) == len(module.index.attributes.get(function.name, ())):  # called only, never passed on
            yield from (NoiseSource(draw, arguments.args[-1], callers) for draw in draws)


def _draws(module: Module, call: ast.Call) -> bool:
    return created_by(module, call) in DRAWING and keyword(call, "device") is None


def _own_method(module: Module, call: ast.Call) -> ast.FunctionDef | None:
    """The method of the class around a call that ``self.method(...)`` or ``Class.method(...)`` calls."""
    owner = module.enclosing(call, ast.ClassDef)
    if owner is None or not isinstance(call.func, ast.Attribute) or not isinstance(call.func.value, ast.Name):
        return None
    named = [item for item in owner.body if isinstance(item, ast.FunctionDef) and item.name == call.func.attr]
    return named[0] if len(named) == 1 else None


def _calls_of(module: Module, function: ast.FunctionDef) -> Iterator[ast.Call]:
    for call in module.index.calls:
        if isinstance(call.func, ast.Attribute) and _own_method(module, call) is function:
            yield call
