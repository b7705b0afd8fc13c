"""Numbers and lists that a loop adds to and that nobody looks at before the loop ends.

``total += loss.item()`` and ``losses.append(loss.item())`` need not read the loss in the loop where the number is
asked for behind it only.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from npuport.analysis.module import Module
from npuport.analysis.walk import SCOPES, block_of

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div)
Loop = ast.For | ast.AsyncFor | ast.While


@dataclass(frozen=True)
class Accumulator:
    """A local name to which one statement of a loop adds.

    Attributes:
        name: the name.
        loop: the outermost loop that adds to it; the number or list is new in front of it.
        gathers: it is a list that grows; else a number to which is added.
        start: the number that it starts with; 0 for a list.
        reads: the reads of tensors that are added, ``x.item()`` and ``float(x)``.
        others: the other parts of what is added.
    """

    name: str
    loop: Loop
    gathers: bool
    start: int | float
    reads: tuple[ast.Call, ...]
    others: tuple[ast.expr, ...]


def accumulator_of(module: Module, read: ast.AST) -> Accumulator | None:
    """What a read of a tensor is added to; None where the number is wanted at once, or may be."""
    statement = module.statement(read)
    addition = _addition(statement)
    if addition is None:
        return None
    name, added, gathers = addition
    parts = [added] if gathers else list(_parts(added))
    reads = tuple(part for part in parts if is_read(part))
    others = tuple(part for part in parts if not is_read(part))
    whole = whole_read(module, read)
    if whole not in reads or (gathers and others) or _is_shared(module, name, statement):
        return None
    found = _loop_behind_start(module, statement, name, gathers)
    if found is None:
        return None
    loop, start = found
    return Accumulator(name, loop, gathers, start, reads, others)  # type: ignore[arg-type]


def is_read(node: ast.AST) -> bool:
    """Whether an expression is ``x.item()`` or ``float(x)``."""
    if not isinstance(node, ast.Call) or node.keywords:
        return False
    if isinstance(node.func, ast.Attribute):
        return node.func.attr == "item" and not node.args
    return isinstance(node.func, ast.Name) and node.func.id == "float" and len(node.args) == 1


def whole_read(module: Module, node: ast.AST) -> ast.AST:
    """The whole of ``x.cpu().item()`` for its part ``x.cpu()``."""
    attribute = module.parent(node)
    while isinstance(attribute, ast.Attribute) and attribute.attr in ("item", "cpu", "detach"):
        call = module.parent(attribute)
        if not isinstance(call, ast.Call):
            break
        node, attribute = call, module.parent(call)
    return node


def tensor_read(read: ast.Call) -> ast.expr:
    """The tensor of a read, without the copies and detachments in front of it."""
    node: ast.expr = read.func.value if isinstance(read.func, ast.Attribute) else read.args[0]
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("cpu", "detach"):
            node = node.func.value
        elif isinstance(node, ast.Attribute) and node.attr == "data":
            node = node.value
        else:
            return node


def _addition(statement: ast.stmt) -> tuple[str, ast.expr, bool] | None:
    """The name, what is added to it, and whether it is a list."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        name, value = statement.target.id, statement.value
        if isinstance(value, ast.List):
            lone = isinstance(statement.op, ast.Add) and len(value.elts) == 1
            return (name, value.elts[0], True) if lone else None
        return (name, value, False) if isinstance(statement.op, ast.Add | ast.Sub) else None
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
        value, target = statement.value, statement.targets[0]
        adds = isinstance(value.op, ast.Add | ast.Sub) and len(statement.targets) == 1
        if adds and isinstance(target, ast.Name) and isinstance(value.left, ast.Name) and value.left.id == target.id:
            return target.id, value.right, False
        return None
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "append":
        return None
    alone = len(call.args) == 1 and not call.keywords and isinstance(call.func.value, ast.Name)
    return (call.func.value.id, call.args[0], True) if alone else None  # type: ignore[attr-defined]


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """The operands of plain arithmetic."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC):
        yield from _parts(node.left)
        yield from _parts(node.right)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield from _parts(node.operand)
    else:
        yield node


def _is_shared(module: Module, name: str, statement: ast.stmt) -> bool:
    """Whether functions other than the statement's own see the name."""
    scope = module.names.scope_of(statement)
    if isinstance(scope, ast.ClassDef) or re.search(rf"\b(?:global|nonlocal)\b.*\b{name}\b", module.source.text):
        return True
    for use in module.index.names.get(name, ()):
        inner = module.names.scope_of(use)
        own = inner is scope or name in module.index.bindings.get(inner, {})
        if not own and (scope is module.tree or scope in module.ancestors(use)):
            return True
    return False


def _loop_behind_start(
    module: Module, statement: ast.stmt, name: str, gathers: bool
) -> tuple[Loop, int | float] | None:
    """The loop with nothing of the name in it but the statement, and the number that the name has in front of it."""
    for around in module.ancestors(statement):
        if isinstance(around, SCOPES):
            return None
        if not isinstance(around, _LOOPS):
            continue
        block = block_of(around, module.index.parents)
        before = block[: block.index(around)] if around in block else []
        for earlier in reversed(before):
            start = _start(earlier, name, gathers)
            if start is not None:
                only = _uses(around, name) == _uses(statement, name) and not _read_by_handlers(module, around, name)
                return (around, start) if only else None
            if _uses(earlier, name):
                return None
    return None


def _uses(node: ast.AST, name: str) -> int:
    return sum(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _read_by_handlers(module: Module, loop: ast.stmt, name: str) -> bool:
    """Whether the name is asked for where the loop may have been left by an exception."""
    for around in module.ancestors(loop):
        if isinstance(around, SCOPES):
            return False
        if isinstance(around, ast.Try) and any(_uses(s, name) for s in (*around.handlers, *around.finalbody)):
            return True
    return False


def _start(statement: ast.stmt, name: str, gathers: bool) -> int | float | None:
    """The number, or 0 for the empty list, that a statement gives to the name and to nobody else."""
    if isinstance(statement, ast.Assign):
        targets, assigned = statement.targets, statement.value
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets, assigned = [statement.target], statement.value
    else:
        return None
    if gathers and len(targets) > 1:
        return None  # two names for one list
    for target in targets:
        pairs = [(target, assigned)]
        if isinstance(target, ast.Tuple) and isinstance(assigned, ast.Tuple):
            pairs = list(zip(target.elts, assigned.elts, strict=False))
        for part, value in pairs:
            if isinstance(part, ast.Name) and part.id == name:
                return _empty(value) if gathers else _number(value)
    return None


def _empty(value: ast.expr) -> int | None:
    return 0 if isinstance(value, ast.List) and not value.elts else None


def _number(value: ast.expr) -> int | float | None:
    constant = value.value if isinstance(value, ast.Constant) else None
    return constant if isinstance(constant, int | float) and not isinstance(constant, bool) else None
