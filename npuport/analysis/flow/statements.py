"""Statements: assignments, branches and loops, forward over the names of a visit.

A statement's function tells whether control leaves the block there.
"""

from __future__ import annotations

import ast

from npuport.analysis.flow.arithmetic import binary
from npuport.analysis.flow.binding import bind
from npuport.analysis.flow.definitions import define
from npuport.analysis.flow.evaluation import Evaluation
from npuport.analysis.flow.frames import CONTEXT_FRAME, EVERY_NTH, FAILURE, GATE, LOOP, Frame
from npuport.analysis.flow.gates import asks_for_time, gate_of, loop_over, narrowed
from npuport.analysis.flow.joining import bounded, element_of, join
from npuport.analysis.flow.linking import imported_values
from npuport.analysis.flow.types import value_of_annotation
from npuport.analysis.flow.value import AN_INT, CONTEXT, NOTHING, SEQUENCE, TENSOR, Value

_LEAVING = (ast.Return, ast.Break, ast.Continue)


def run_block(run: Evaluation, statements: list[ast.stmt]) -> bool:
    """Run statements in order; True where control leaves the block before its end."""
    outer = run.frame
    failing = _start_of_failure(statements)
    for position, statement in enumerate(statements):
        if position == failing:
            run.frame = Frame(run.frame, GATE, FAILURE, run.place(statement))
        run.enter(statement)
        execute = run.STATEMENTS.get(type(statement))
        if execute is not None and execute(run, statement):
            run.frame = outer
            return True
        if type(statement) is ast.If:
            gate = _gate_behind(run, statement)
            if gate:
                run.frame = Frame(run.frame, GATE, gate, run.place(statement))
    run.frame = outer
    return False


def _start_of_failure(statements: list[ast.stmt]) -> int:
    """From which statement on the block surely ends in an exception; behind the end where it does not."""
    position = len(statements)
    if not statements or not isinstance(statements[-1], ast.Raise):
        return position
    while position and not any(isinstance(node, _LEAVING) for node in ast.walk(statements[position - 1])):
        position -= 1
    return position


def _gate_behind(run: Evaluation, statement: ast.If) -> str:
    """The gate for what follows ``if step % n != 0: return``."""
    last = statement.body[-1]
    if statement.orelse or not isinstance(last, ast.Return | ast.Continue):
        return ""
    test = statement.test
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        gate = gate_of(run, test)
        return "" if gate == FAILURE else gate
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotEq | ast.Gt):
        return EVERY_NTH if gate_of(run, test) == EVERY_NTH else ""
    # if step % n: return
    return EVERY_NTH if isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod) else ""


def _expression(run: Evaluation, statement: ast.Expr) -> bool:
    run.unpacked = 0
    run.evaluate(statement.value)
    return False


def _import(run: Evaluation, statement: ast.Import | ast.ImportFrom) -> bool:
    if run.function is not run.scope.body:
        run.names.update(imported_values(run.scope, statement, run.knowledge.linker))
    return False


def _return(run: Evaluation, statement: ast.Return) -> bool:
    run.unpacked = 0
    value = run.evaluate(statement.value) if statement.value is not None else NOTHING
    run.event("return", statement, value)
    run.returned = join(run.returned, bounded(value))
    return True


def _raise(run: Evaluation, statement: ast.Raise) -> bool:
    if statement.exc is not None:
        run.evaluate(statement.exc)
    return True


def _leave(run: Evaluation, statement: ast.stmt) -> bool:
    return True


def _assert(run: Evaluation, statement: ast.Assert) -> bool:
    test(run, statement.test)
    return False


def _assign(run: Evaluation, statement: ast.Assign) -> bool:
    target = statement.targets[0]
    run.unpacked = len(target.elts) if isinstance(target, ast.Tuple) else 0
    value = run.evaluate(statement.value)
    run.unpacked = 0
    for target in statement.targets:
        bind(run, target, value)
        if isinstance(target, ast.Name):
            _note_due(run, target.id, statement.value)
    run.event("assign", statement, value)
    return False


def _note_due(run: Evaluation, name: str, value: ast.expr) -> None:
    """Whether a name now tells if it is time for something."""
    if asks_for_time(run, value):
        run.due.add(name)
    else:
        run.due.discard(name)


def _annotated(run: Evaluation, statement: ast.AnnAssign) -> bool:
    if statement.value is not None:
        value = run.evaluate(statement.value) or value_of_annotation(run, statement.annotation)
        bind(run, statement.target, value)
    elif isinstance(statement.target, ast.Name) and run.function is not run.scope.body:
        run.names[statement.target.id] = value_of_annotation(run, statement.annotation)
    return False


def _augmented(run: Evaluation, statement: ast.AugAssign) -> bool:
    run.unpacked = 0
    target = statement.target
    left = run.evaluate(target)
    right = run.evaluate(statement.value)
    value = binary(run, statement, statement.op, left, right)
    if isinstance(target, ast.Subscript):
        run.event("store", target, run.quietly(target.value), values=(run.quietly(target.slice), right))
    elif left.get(SEQUENCE) is not None and isinstance(target, ast.Name | ast.Attribute):
        run.mutate(target, value)
    else:
        bind(run, target, value)
    return False


# Branches


def joined(branches: list[dict[str, Value] | None]) -> dict[str, Value]:
    """The names after several branches; None for a branch that left."""
    ends = [branch for branch in branches if branch is not None]
    if not ends:
        return {}
    result = dict(ends[0])
    for names in ends[1:]:
        if names is ends[0]:
            continue
        for name, value in list(result.items()):
            other = names.get(name)
            if other is None:
                if "." in name:  # the attribute's own value counts again
                    del result[name]
            elif other is not value:
                result[name] = join(value, other)
        for name, value in names.items():
            if name not in result and "." not in name:
                result[name] = value
    return result


def _if(run: Evaluation, statement: ast.If) -> bool:
    gate = gate_of(run, statement.test)
    test(run, statement.test)
    before, outer = run.names, run.frame
    run.names = {**before, **narrowed(run, statement.test, holds=True)}
    if gate:
        run.frame = Frame(outer, GATE, gate, run.place(statement))
    left_then = run_block(run, statement.body)
    then, run.frame = run.names, outer
    run.names = {**before, **narrowed(run, statement.test, holds=False)}
    left_else = run_block(run, statement.orelse)
    if left_then and left_else:
        run.names = before
        return True
    run.names = joined([None if left_then else then, None if left_else else run.names])
    return False


def test(run: Evaluation, node: ast.expr) -> None:
    """Evaluate a condition: asking a tensor whether it is true reads it."""
    if isinstance(node, ast.BoolOp):
        for part in node.values:
            test(run, part)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        test(run, node.operand)
    else:
        value = run.evaluate(node)
        if value.only(TENSOR):
            run.event("read", node, value, "truth")


def _loop(run: Evaluation, statement: ast.For | ast.AsyncFor | ast.While, about: str, element: Value | None) -> None:
    before, outer = run.names, run.frame
    run.frame = Frame(outer, LOOP, about, run.place(statement))
    # One pass tells most; what a body hands on to its next turn matters where rules look.
    passes = 2 if run.for_rules else 1
    for turn in range(passes):
        last = turn == passes - 1
        facts, calls = len(run.function.facts), len(run.function.calls)
        if not last:
            run.mute(on=True)
        run.names = dict(before)
        if isinstance(statement, ast.While):
            test(run, statement.test)
        elif element is not None:
            bind(run, statement.target, element)
        run_block(run, statement.body)
        before = joined([before, run.names])
        if not last:
            run.mute(on=False)
            del run.function.facts[facts:], run.function.calls[calls:]
    run.names, run.frame = before, outer
    run_block(run, statement.orelse)


def _for(run: Evaluation, statement: ast.For | ast.AsyncFor) -> bool:
    run.unpacked = 0
    iterated = run.evaluate(statement.iter)
    element = element_of(iterated)
    if not element and isinstance(statement.iter, ast.Call) and getattr(statement.iter.func, "id", "") == "range":
        element = AN_INT
    _loop(run, statement, loop_over(run, statement.iter, iterated), element)
    return False


def _while(run: Evaluation, statement: ast.While) -> bool:
    _loop(run, statement, "", None)
    return False


def _with(run: Evaluation, statement: ast.With | ast.AsyncWith) -> bool:
    outer = run.frame
    for item in statement.items:
        value = run.evaluate(item.context_expr)
        context = value.get(CONTEXT)
        for about in sorted(context.refs) if context is not None else ():
            place, dtypes = run.place(item.context_expr), value.atoms[CONTEXT].dtypes
            run.frame = Frame(run.frame, CONTEXT_FRAME, about, place, dtypes)
        if item.optional_vars is not None:
            bind(run, item.optional_vars, value)
    left = run_block(run, statement.body)
    run.frame = outer
    return left


def _try(run: Evaluation, statement: ast.Try) -> bool:
    before = dict(run.names)
    left = run_block(run, statement.body)
    if not left:
        left = run_block(run, statement.orelse)
    ends: list[dict[str, Value] | None] = [None if left else run.names]
    for handler in statement.handlers:
        run.names = dict(before)
        ends.append(None if run_block(run, handler.body) else run.names)
    left_all = all(end is None for end in ends)
    run.names = before if left_all else joined(ends)
    return run_block(run, statement.finalbody) or left_all


def _match(run: Evaluation, statement: ast.Match) -> bool:
    run.evaluate(statement.subject)
    before = run.names
    ends: list[dict[str, Value] | None] = [before]
    for case in statement.cases:
        run.names = dict(before)
        if case.guard is not None:
            test(run, case.guard)
        ends.append(None if run_block(run, case.body) else run.names)
    run.names = joined(ends)
    return False


def _global(run: Evaluation, statement: ast.Global) -> bool:
    run.function.global_names.update(statement.names)
    return False


Evaluation.STATEMENTS.update(
    {
        ast.Expr: _expression,
        ast.Import: _import,
        ast.ImportFrom: _import,
        ast.Return: _return,
        ast.Raise: _raise,
        ast.Break: _leave,
        ast.Continue: _leave,
        ast.Assert: _assert,
        ast.Assign: _assign,
        ast.AnnAssign: _annotated,
        ast.AugAssign: _augmented,
        ast.If: _if,
        ast.For: _for,
        ast.AsyncFor: _for,
        ast.While: _while,
        ast.With: _with,
        ast.AsyncWith: _with,
        ast.Try: _try,
        ast.Match: _match,
        ast.Global: _global,
        ast.FunctionDef: define,
        ast.AsyncFunctionDef: define,
        ast.ClassDef: define,
    }
)
if hasattr(ast, "TryStar"):  # Python 3.11
    Evaluation.STATEMENTS[ast.TryStar] = _try
