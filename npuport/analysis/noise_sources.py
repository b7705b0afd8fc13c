"""Where the random numbers in an expression are drawn: at once, or in a method that it calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from npuport.analysis.flow.calls import last_name
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import ARRAY, HOST, TENSOR, Value
from npuport.analysis.module import Module
from npuport.analysis.tensor_creation import DRAWING, created_by, keyword

# Draws of numbers, not of indices.
_NOISE = frozenset({"normal", "randn", "standard_normal", "uniform", "rand", "random", "laplace"})


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


def noise_sources(module: Module, flow: FileFlow, expression: ast.expr, instance: str) -> list[NoiseSource]:
    """The draws that an expression is made of; empty where it needs another tensor of the host as well.

    Args:
        module: the file.
        flow: its values.
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
        sources = list(_of_call(module, node, instance)) if isinstance(node, ast.Call) else []
        found.update({source.draw: source for source in sources})
        parts = [] if sources else _parts(module, node)
        if not sources and not parts and _is_on_host(flow.value(node)):
            return []
        waiting += parts
    return list(found.values())


def _is_on_host(value: Value) -> bool:
    tensor = value.get(TENSOR)
    return value.get(ARRAY) is not None or (tensor is not None and HOST in tensor.devices)


def _parts(module: Module, node: ast.expr) -> list[ast.expr]:
    """What an expression is computed from; empty for what cannot be taken apart."""
    if isinstance(node, ast.Name):
        values = [binding.value for binding in module.names.bindings(node.id, node)]
        return [value for value in values if value is not None] if None not in values else []
    if isinstance(node, ast.Call):
        receiver = node.func.value if isinstance(node.func, ast.Attribute) and not module.resolve(node.func) else None
        return [*node.args, *([receiver] if receiver is not None else [])]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    return [node.value] if isinstance(node, ast.Subscript) else []


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
        callers = _calls_of(module, function)
        if callers and all(_instance_at(module, caller) == instance for caller in callers):
            yield from (NoiseSource(draw, arguments.args[-1], callers) for draw in draws)


def _instance_at(module: Module, node: ast.AST) -> str:
    """The name of the first parameter of the method around a node; empty where there is none."""
    function = module.function(node)
    return function.args.args[0].arg if function is not None and function.args.args else ""


def _draws(module: Module, call: ast.Call) -> bool:
    return created_by(module, call) in DRAWING and keyword(call, "device") is None


def _own_method(module: Module, call: ast.Call) -> ast.FunctionDef | None:
    """The method of the class around a call that ``self.method(...)`` or ``Class.method(...)`` calls."""
    owner = module.enclosing(call, ast.ClassDef)
    if owner is None or not isinstance(call.func, ast.Attribute) or not isinstance(call.func.value, ast.Name):
        return None
    named = [item for item in owner.body if isinstance(item, ast.FunctionDef) and item.name == call.func.attr]
    return named[0] if len(named) == 1 else None


def _calls_of(module: Module, function: ast.FunctionDef) -> tuple[ast.Call, ...]:
    """The calls of a method from its own class; empty where something else may be meant by its name."""
    callers: list[ast.Call] = []
    for attribute in module.index.attributes.get(function.name, ()):
        call = module.parent(attribute)
        called = _own_method(module, call) if isinstance(call, ast.Call) and call.func is attribute else None
        if called is None or not isinstance(call, ast.Call):
            return ()
        if called is function:
            callers.append(call)
    return tuple(callers)


def draws_noise(module: Module, expression: ast.expr) -> bool:
    """Whether an expression draws noise in host memory, at once or in what is called noise."""
    for node in ast.walk(expression):
        if isinstance(node, ast.Call):
            dotted = module.resolve(node.func) or ""
            if dotted.startswith("numpy.random.") and dotted.rpartition(".")[2] in _NOISE:
                return True
            if "noise" in last_name(node.func).lower():
                return True
    return False
