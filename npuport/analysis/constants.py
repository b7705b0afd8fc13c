"""Integers that a file fixes: literals, names and attributes that are given one value, options with a default."""

from __future__ import annotations

import ast
import operator
from collections import defaultdict
from collections.abc import Callable
from typing import TypeAlias

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
    numbers: set[int | None] = set()
    for value in _values_of_attributes(module).get(name, ()):
        numbers.add(integer(module, value, depth))
        if None in numbers or len(numbers) > 1:
            return None
    return numbers.pop() if numbers and not _changed(module, name) else None


def _values_of_attributes(module: Module) -> dict[str, list[ast.expr | None]]:
    """What assignments, fields of classes and options give each attribute.

    A field that is computed while the program runs (``batch_size: int = 0``) does not count its placeholder.
    """
    known = module.memo.get("attribute_values")
    if known is None:
        assigned, fields = _assigned(module)
        options = _options(module)
        known = module.memo["attribute_values"] = {
            name: assigned[name]
            if assigned[name] and all(isinstance(v, ast.Constant) and v.value == 0 for v in fields[name])
            else [*assigned[name], *fields[name], *options[name]]
            for name in {*assigned, *fields, *options}
        }
    assert isinstance(known, dict)
    return known


_Values: TypeAlias = defaultdict[str, list[ast.expr | None]]


def _assigned(module: Module) -> tuple[_Values, _Values]:
    """By name: what is assigned to attributes, and the fields of classes."""
    assigned: _Values = defaultdict(list)
    fields: _Values = defaultdict(list)
    for statement in module.index.assignments:
        for target in targets_of(statement):
            name = target_name(target)
            if isinstance(target, ast.Attribute):
                assigned[target.attr].append(statement.value)
            elif name is not None and isinstance(module.parent(statement), ast.ClassDef):
                fields[name].append(statement.value)
    return assigned, fields


def _options(module: Module) -> _Values:
    """By name: the defaults of ``add_argument("--batch-size", default=64)``."""
    found: _Values = defaultdict(list)
    for call in module.index.calls:
        if called_name(call) != "add_argument":
            continue
        flags = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        named = next((k.value for k in call.keywords if k.arg == "dest"), None)
        names = {flag.lstrip("-").replace("-", "_") for flag in flags if flag.startswith("-")}
        if isinstance(named, ast.Constant) and isinstance(named.value, str):
            names.add(named.value)
        default = next((k.value for k in call.keywords if k.arg == "default"), None)
        for name in names:
            found[name].append(default)
    return found
