"""What is done with an environment variable that a string or a keyword names."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from enum import Enum

from npuport.analysis.device_evidence import called_name
from npuport.analysis.module import Module
from npuport.analysis.walk import block_of

_SETTERS = {"setdefault", "putenv", "setenv"}
_GETTERS = {"get", "getenv", "pop", "unsetenv", "delenv"}
_IN_COMMAND = re.compile(r"^(?![ \t]*#).*\b(CUDA_VISIBLE_DEVICES|CUDA_LAUNCH_BLOCKING)=", re.MULTILINE)


class Use(Enum):
    """What is done with a variable, and by which form."""

    READ = "read"  # environ.get(NAME), environ[NAME], NAME in environ, del environ[NAME]
    ASSIGNED = "assigned"  # environ[NAME] = value
    EXTENDED = "extended"  # environ[NAME] += value
    CALLED = "called"  # environ.setdefault(NAME, value), os.putenv(NAME, value)
    ENTRY = "entry"  # {NAME: value}


@dataclass(frozen=True)
class VariableUse:
    """One use of a variable and the value that it is set to, where it is set."""

    use: Use
    value: ast.expr | None = None


def use_of(module: Module, node: ast.Constant) -> VariableUse | None:
    """What is done with the variable that a string names; None where the string is only a text."""
    parent = module.parent(node)
    if isinstance(parent, ast.Subscript) and parent.slice is node:
        return _subscript(module, parent)
    if isinstance(parent, ast.Call) and node in parent.args:
        name = called_name(parent)
        if name in _SETTERS and len(parent.args) == 2:
            return VariableUse(Use.CALLED, parent.args[1])
        return VariableUse(Use.READ) if name in _GETTERS else None
    if isinstance(parent, ast.Dict) and node in parent.keys:
        return VariableUse(Use.ENTRY, parent.values[parent.keys.index(node)])
    if isinstance(parent, ast.Compare) and isinstance(parent.ops[0], ast.In | ast.NotIn):
        return VariableUse(Use.READ)
    return None


def _subscript(module: Module, subscript: ast.Subscript) -> VariableUse | None:
    statement = module.parent(subscript)
    if isinstance(statement, ast.Assign) and subscript in statement.targets:
        return VariableUse(Use.ASSIGNED, statement.value)
    if isinstance(statement, ast.AugAssign):
        return VariableUse(Use.EXTENDED)
    return VariableUse(Use.READ) if isinstance(subscript.ctx, ast.Load | ast.Del) else None


def set_in_command(module: Module, node: ast.Constant) -> str | None:
    """The variable that a shell command sets for itself: ``"CUDA_VISIBLE_DEVICES=0 python train.py"``."""
    found = _IN_COMMAND.search(str(node.value)) if "CUDA_" in str(node.value) else None
    call = module.enclosing(node, (ast.Call, ast.stmt)) if found else None
    if found and isinstance(call, ast.Call) and (module.resolve(call.func) or "").startswith(("subprocess.", "os.")):
        return found.group(1)
    return None


def treated_beside(module: Module, node: ast.AST, cuda: str, npu: str) -> bool:
    """Whether the statement of ``node`` names the NPU's variable too, or the one right before or behind it does.

    A neighbour counts when it does the same (sets, or reads) and is not CUDA's line as well, as a line is that
    a portable fix wrote.
    """
    statement = module.statement(node)
    if hasattr(statement, "body"):
        return False
    if npu in module.text_of(statement):
        return True
    block = block_of(statement, module.index.parents) or [statement]
    place = block.index(statement)
    near = [s for s in block[max(place - 1, 0) : place + 2] if not hasattr(s, "body") and cuda not in module.text_of(s)]
    return any(_reads(module, s, npu) == _reads(module, statement, cuda) for s in near if npu in module.text_of(s))


def _reads(module: Module, statement: ast.stmt, variable: str) -> bool:
    """Whether a statement that names a variable only reads it."""
    names = [n for n in ast.walk(statement) if isinstance(n, ast.Constant) and n.value == variable]
    uses = [used.use for name in names if (used := use_of(module, name)) is not None]
    return bool(uses) and all(use is Use.READ for use in uses)
