"""How a program plays: its loops over environment steps, and where a network chooses an action."""

from __future__ import annotations

import ast

from npuport.analysis.device_evidence import called_name
from npuport.analysis.flow.declarations import Function
from npuport.analysis.flow.events import Event
from npuport.analysis.flow.frames import LOOP, Frame, Place, outwards
from npuport.analysis.flow.levels import STEPS, UPDATES
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.module import Module

# Callers of callers that are asked for updates.
_HIGHEST = 3
Loop = ast.For | ast.AsyncFor | ast.While

# What gives a number or an index, or says itself that gradients end here.
_READS = frozenset({"argmax", "item", "tolist", "int", "float", "multinomial"})
_DETACHES = frozenset({"detach", "data"})
_KEEPS_GRADIENTS = frozenset({
    "cpu", "squeeze", "unsqueeze", "view", "reshape", "flatten", "max", "topk", "sort", "float", "softmax",
    "log_softmax",
})  # fmt: skip


def loop_around(module: Module, frame: Frame | None) -> tuple[Place, Loop] | None:
    """The innermost loop around a place, and its statement."""
    for around in outwards(frame):
        if around.kind == LOOP:
            loop = _loops(module).get(around.place)
            return (around.place, loop) if loop is not None else None
    return None


def _loops(module: Module) -> dict[Place, Loop]:
    found = module.memo.get("loops")
    if found is None:
        nodes = (node for node in ast.walk(module.tree) if isinstance(node, ast.For | ast.AsyncFor | ast.While))
        found = module.memo["loops"] = {(node.lineno, node.col_offset): node for node in nodes}
    return found  # type: ignore[return-value]


def head_of(loop: Loop) -> ast.expr:
    """The expression in a loop's first line, for a finding to point at."""
    return loop.test if isinstance(loop, ast.While) else loop.iter


def plays_to_train(flow: FileFlow, event: Event) -> bool:
    """Whether what happens at an event ends in updates: of a loop around it, or of what calls its function."""
    frequencies, function = flow.program.frequencies, event.function
    if frequencies.updates(function.key):
        return frequencies.updates_within(function.file, event.frame)
    return is_in_training(flow, function)


def is_in_training(flow: FileFlow, function: Function) -> bool:
    """Whether updates are made by a function, by what it calls, or by one that calls it."""
    program = flow.program
    component = program.knowledge.scopes[flow.scope.key].component
    wanted = {function.key}
    for _ in range(_HIGHEST):
        around = {
            caller.key
            for caller in program.knowledge.functions.values()
            if program.knowledge.scopes[caller.file].component == component
            and any(callee in wanted for callee, _, _ in caller.calls)
        }
        wanted |= around
    return any(program.frequencies.updates(key) for key in wanted)


def plays_and_trains(flow: FileFlow) -> bool:
    """Whether the program steps an environment and makes updates: what only classifies pictures does not."""
    knowledge = flow.program.knowledge
    own = knowledge.scopes[flow.scope.key].component
    functions = (f for f in knowledge.functions.values() if knowledge.scopes[f.file].component == own)
    return {what for function in functions for what, _, _ in function.facts} >= {STEPS, UPDATES}


def asks_network(flow: FileFlow, function: Function, loop: Place) -> bool:
    """Whether a loop runs a network, or calls a function of the program that chooses actions."""
    acting = flow.program.actions.acting
    if any(callee in acting for callee, _, frame in function.calls if _inside(frame, loop)):
        return True
    return any(event.function is function and _inside(event.frame, loop) for event in flow.events("forward"))


def _inside(frame: Frame | None, loop: Place) -> bool:
    return any(around.place == loop for around in outwards(frame))


def is_only_read(module: Module, event: Event, *, detached: bool) -> bool:
    """Whether what a network gives is read as a number or an index wherever it goes; ``detached``: or detached."""
    assert isinstance(event.node, ast.expr)
    return _is_only_read(module, event.node, _READS | _DETACHES if detached else _READS)


def _is_only_read(module: Module, node: ast.expr, ends: frozenset[str], depth: int = 4) -> bool:
    while True:
        parent = module.parent(node)
        if isinstance(parent, ast.Assign) and parent.value is node and len(parent.targets) == 1:
            return depth > 0 and _uses_only_read(module, parent.targets[0], ends, depth - 1)
        if isinstance(parent, ast.Subscript) and parent.value is node:
            if _is_indices(parent, node):
                return True
            node = parent
            continue
        name, call = _passed_to(module, node, parent)
        if name in ends and not (name == "float" and isinstance(parent, ast.Attribute)):
            return True
        if name not in _KEEPS_GRADIENTS or call is None:
            return False
        node = call


def _passed_to(module: Module, node: ast.expr, parent: ast.AST | None) -> tuple[str, ast.Call | None]:
    """The method or function that takes a value, and its call."""
    if isinstance(parent, ast.Attribute):
        call = module.parent(parent)
        return parent.attr, call if isinstance(call, ast.Call) and call.func is parent else None
    if isinstance(parent, ast.Call) and node in parent.args:
        return called_name(parent), parent
    return "", None


def _is_indices(subscript: ast.Subscript, node: ast.expr) -> bool:
    """``x.max(1)[1]``."""
    second = isinstance(subscript.slice, ast.Constant) and subscript.slice.value == 1
    return second and isinstance(node, ast.Call) and called_name(node) in ("max", "topk", "sort")


def _uses_only_read(module: Module, target: ast.expr, ends: frozenset[str], depth: int) -> bool:
    if not isinstance(target, ast.Name):
        return False
    scope = module.names.scope_of(target)
    named = module.index.names.get(target.id, ())
    uses = [name for name in named if isinstance(name.ctx, ast.Load) and module.names.scope_of(name) is scope]
    return bool(uses) and all(_is_only_read(module, use, ends, depth) for use in uses)
