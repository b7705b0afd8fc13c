"""Child processes of a file: where they fork, and what they are given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from npuport.analysis.device_evidence import called_name, class_of, target_name
from npuport.analysis.module import Module

_MODULES = ("multiprocessing", "torch.multiprocessing", "multiprocessing.context", "multiprocessing.pool")
_POOLS = ("Pool", "ProcessPoolExecutor")
_CHOOSERS = ("set_start_method", "get_context")


@dataclass(frozen=True)
class Fork:
    """One place that starts a child process, or a pool of them, by ``fork``.

    Attributes:
        call: what makes the process.
        functions: what the child runs, where this file shows it.
        handed: what it is given.
        targets: the expressions that say what it runs.
    """

    call: ast.Call
    functions: tuple[ast.AST, ...]
    handed: tuple[ast.expr, ...]
    targets: tuple[ast.expr, ...] = ()


def forks(module: Module) -> list[Fork]:
    """The places of a file that start processes by the default method of Linux up to Python 3.13.

    None where the file chooses spawn or forkserver, or leaves the choice to a variable.
    """
    if any(_chooses_another(module, call) for call in module.index.calls):
        return []
    return [fork for call in module.index.calls if (fork := _fork(module, call)) is not None]


def _chooses_another(module: Module, call: ast.Call) -> bool:
    if called_name(call) not in _CHOOSERS:
        return False
    given = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "method")]
    return bool(given) and not (isinstance(given[0], ast.Constant) and given[0].value in ("fork", None))


def _fork(module: Module, call: ast.Call) -> Fork | None:
    name = _process_class(module, call)
    if name in _POOLS:
        if any(keyword.arg == "mp_context" for keyword in call.keywords):
            return None
        return Fork(call, *_work_of_pool(module, call))
    if name == "Process":
        target = next((keyword.value for keyword in call.keywords if keyword.arg == "target"), None)
        keywords = [keyword.value for keyword in call.keywords if keyword.arg in ("args", "kwargs")]
        return Fork(call, tuple(_functions(module, target)), tuple(_parts(keywords)), (target,) if target else ())
    owner = class_of(module, call) if isinstance(call.func, ast.Name) else None
    if owner is not None and any(_dotted_class(module, base) == "Process" for base in owner.bases):
        runs = tuple(f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "run")
        return Fork(call, runs, tuple(_parts([*call.args, *(keyword.value for keyword in call.keywords)])))
    return None


def _process_class(module: Module, call: ast.Call) -> str:
    """``Process``, ``Pool`` or ``ProcessPoolExecutor``, also of a context: ``mp.get_context().Process``."""
    name = _dotted_class(module, call.func)
    if name or not isinstance(call.func, ast.Attribute) or call.func.attr not in ("Process", "Pool"):
        return name
    context = call.func.value
    made = [b.value for b in module.names.bindings(context.id, context)] if isinstance(context, ast.Name) else [context]
    from_context = made and all(isinstance(m, ast.Call) and called_name(m) == "get_context" for m in made)
    return call.func.attr if from_context else ""


def _dotted_class(module: Module, node: ast.expr) -> str:
    package, _, name = (module.resolve(node) or "").rpartition(".")
    if package in _MODULES and name in ("Process", "Pool"):
        return name
    return name if package.startswith("concurrent.futures") and name == "ProcessPoolExecutor" else ""


def _work_of_pool(module: Module, call: ast.Call) -> tuple[tuple[ast.AST, ...], tuple[ast.expr, ...]]:
    """What the methods of a pool are given: the function first, then what it works on."""
    functions = [f for k in call.keywords if k.arg == "initializer" for f in _functions(module, k.value)]
    handed = [keyword.value for keyword in call.keywords if keyword.arg == "initargs"]
    for name in _names_of(module, call):
        for use in module.index.names.get(name, ()):
            method = module.parent(use)
            task = module.parent(method) if isinstance(method, ast.Attribute) else None
            if isinstance(task, ast.Call) and task.func is method and task.args:
                functions += _functions(module, task.args[0])
                handed += [*task.args[1:], *(keyword.value for keyword in task.keywords)]
    return tuple(functions), tuple(_parts(handed))


def _names_of(module: Module, call: ast.Call) -> Iterator[str]:
    """The names that a value gets: by assignment or in a ``with`` statement."""
    parent = module.parent(call)
    if isinstance(parent, ast.withitem) and isinstance(parent.optional_vars, ast.Name):
        yield parent.optional_vars.id
    elif isinstance(parent, ast.Assign):
        yield from (target.id for target in parent.targets if isinstance(target, ast.Name))


def _functions(module: Module, target: ast.expr | None) -> Iterator[ast.AST]:
    """The functions of this file that a value may be."""
    if isinstance(target, ast.Name):
        for binding in module.names.bindings(target.id, target):
            if isinstance(binding.node, ast.FunctionDef):
                yield binding.node
    elif isinstance(target, ast.Attribute):
        yield from (f for f in module.index.functions if f.name == target_name(target))
    elif isinstance(target, ast.Call) and called_name(target) == "partial" and target.args:
        yield from _functions(module, target.args[0])


def _parts(values: list[ast.expr]) -> Iterator[ast.expr]:
    """The names and attributes among values, and inside their tuples, lists and dictionaries."""
    for value in values:
        if isinstance(value, ast.Tuple | ast.List):
            yield from _parts(value.elts)
        elif isinstance(value, ast.Dict):
            yield from _parts(value.values)
        elif isinstance(value, ast.Starred):
            yield from _parts([value.value])
        elif isinstance(value, ast.Name | ast.Attribute):
            yield value
