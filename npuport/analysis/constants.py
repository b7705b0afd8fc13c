"""Integers that a file fixes: literals, names and attributes that are given one value, options with a default."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from npuport.analysis.device_evidence import called_name, target_name, targets_of
from npuport.analysis.module import Module

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
}
_MAX_DEPTH = 8


def integer(module: Module, node: ast.AST | None, depth: int = _MAX_DEPTH) -> int | None:
    """The integer that an expression is, as far as the file fixes it; None where it may be another.

    Defaults of options count: they are what the program does when nobody says otherwise.
    """
    if depth <= 0 or node is None:
        return None
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.BinOp):
        return _combined(module, node, depth - 1)
    if isinstance(node, ast.Call):
        plain = isinstance(node.func, ast.Name) and node.func.id == "int" and len(node.args) == 1
        return integer(module, node.args[0], depth - 1) if plain else None
    if isinstance(node, ast.Name):
        bindings = module.names.bindings(node.id, node)
        one = len(bindings) == 1 and not bindings[0].parameter
        return integer(module, bindings[0].value, depth - 1) if one and not _changed(module, node.id) else None
    return _attribute(module, node.attr, depth - 1) if isinstance(node, ast.Attribute) else None


def _combined(module: Module, node: ast.BinOp, depth: int) -> int | None:
    combine = _OPERATORS.get(type(node.op))
    left, right = integer(module, node.left, depth), integer(module, node.right, depth)
    if combine is None or left is None or right is None:
        return None
    divides = isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod)
    if divides and (right == 0 or (isinstance(node.op, ast.Div) and left % right)):
        return None
    return combine(left, right)


def _changed(module: Module, name: str) -> bool:
    """Whether a name or attribute is changed in place somewhere: ``n += 1``."""
    return any(
        isinstance(parent := module.parent(node), ast.AugAssign) and parent.target is node
        for node in (*module.index.names.get(name, ()), *module.index.attributes.get(name, ()))
    )


def _attribute(module: Module, name: str, depth: int) -> int | None:
    """``args.batch_size``, ``self.horizon``: all that the file gives an attribute of this name must be one number."""
    values = _values_of_attribute(module, name)
    numbers = {integer(module, value, depth) for value in values}
    return numbers.pop() if len(numbers) == 1 and not _changed(module, name) else None


def _values_of_attribute(module: Module, name: str) -> list[ast.expr | None]:
    """What assignments, fields of classes and options give an attribute.

    A field that is computed while the program runs (``batch_size: int = 0``) does not count its placeholder.
    """
    assigned: list[ast.expr | None] = []
    fields: list[ast.expr | None] = []
    for statement in module.index.assignments:
        for target in targets_of(statement):
            if isinstance(target, ast.Attribute) and target.attr == name:
                assigned.append(statement.value)
            elif target_name(target) == name and isinstance(module.parent(statement), ast.ClassDef):
                fields.append(statement.value)
    if assigned and all(isinstance(value, ast.Constant) and value.value == 0 for value in fields):
        return assigned
    return [*assigned, *fields, *_options(module, name)]


def _options(module: Module, name: str) -> list[ast.expr | None]:
    """The defaults of ``add_argument("--batch-size", default=64)``."""
    found: list[ast.expr | None] = []
    for call in module.index.calls:
        if called_name(call) != "add_argument":
            continue
        flags = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        named = next((k.value for k in call.keywords if k.arg == "dest"), None)
        names = {flag.lstrip("-").replace("-", "_") for flag in flags if flag.startswith("-")}
        if name in names or (isinstance(named, ast.Constant) and named.value == name):
            found.append(next((k.value for k in call.keywords if k.arg == "default"), None))
    return found
