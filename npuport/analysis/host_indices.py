"""Indices in host memory: ``b_obs[mb_inds]`` with an array, ``q[np.arange(n), actions]``."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Final

from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import ARRAY, SEQUENCE, TENSOR
from npuport.analysis.module import Module
from npuport.analysis.tensor_creation import keyword

# Functions that count, by the library whose they are.
_COUNTING: Final = {"torch.arange": "torch", "numpy.arange": "numpy", "range": "python"}
_PASSING_ON: Final = frozenset({"enumerate", "zip", "reversed", "tqdm.tqdm", "tqdm"})
_LISTS: Final = frozenset({"list", "sorted", "random.sample", "random.choices"})


@dataclass(frozen=True)
class HostIndex:
    """An index, or one part of one, that torch copies to the device.

    Attributes:
        node: the index.
        counting: ``torch``, ``numpy`` or ``python`` where it is made here and only counts; empty otherwise.
    """

    node: ast.expr
    counting: str = ""


def host_index(module: Module, flow: FileFlow, subscript: ast.Subscript) -> HostIndex | None:
    """The first part of an index that is in host memory; None where there is none."""
    parts = subscript.slice.elts if isinstance(subscript.slice, ast.Tuple) else [subscript.slice]
    for part in parts:
        if _is_on_host(module, flow, part):
            return HostIndex(part, _counts(module, part))
    return None


def assignment_of(module: Module, use: ast.Name) -> ast.Assign | None:
    """The one assignment ``name = value`` that gives a name its value, in the same function; None for others."""
    bindings = module.names.bindings(use.id, use)
    if len(bindings) != 1 or bindings[0].value is None:
        return None
    target = bindings[0].node
    assignment = module.parent(target)
    if not isinstance(assignment, ast.Assign) or assignment.targets != [target]:
        return None
    return assignment if module.names.scope_of(assignment) is module.names.scope_of(use) else None


def _is_on_host(module: Module, flow: FileFlow, part: ast.expr) -> bool:
    if isinstance(part, ast.Slice | ast.Constant | ast.Tuple) or _is_element(module, flow, part):
        return False
    value = flow.value(part)
    if value.only(SEQUENCE):
        return _is_list(module, part)  # a tuple is an index of several dimensions
    tensor = value.get(TENSOR)
    return value.only(ARRAY) or (value.only(TENSOR) and tensor is not None and tensor.on_host)


def _is_element(module: Module, flow: FileFlow, part: ast.expr) -> bool:
    """Whether an index is one element of an array, which is a number: ``for i in order: x[i]``, ``x[order[0]]``."""
    if isinstance(part, ast.Name):
        bindings = module.names.bindings(part.id, part)
        return not bindings or any(_is_element_of_array(module, flow, binding.node) for binding in bindings)
    if isinstance(part, ast.Subscript):
        index = flow.value(part.slice)
        return not (isinstance(part.slice, ast.Slice) or index.only(ARRAY) or index.only(TENSOR))
    return False


def _is_element_of_array(module: Module, flow: FileFlow, node: ast.AST) -> bool:
    """Whether a loop binds a name to what may be one number: it runs over an array, or over nobody knows what.

    Over a list of arrays it does not: ``for batch in batches``.
    """
    around = module.parent(node)
    while isinstance(around, ast.Tuple | ast.List | ast.Starred):
        around = module.parent(around)
    if not isinstance(around, ast.For | ast.AsyncFor | ast.comprehension):
        return False
    iterated = around.iter
    passes_on = isinstance(iterated, ast.Call) and _name_of(module, iterated) in _PASSING_ON
    parts = iterated.args if passes_on and isinstance(iterated, ast.Call) else [iterated]
    return not all(flow.value(part).only(SEQUENCE) for part in parts)


def _is_list(module: Module, part: ast.expr) -> bool:
    if isinstance(part, ast.Name):
        assignment = assignment_of(module, part)
        return (
            assignment is not None and not isinstance(assignment.value, ast.Name) and _is_list(module, assignment.value)
        )
    if isinstance(part, ast.Call):
        return bool(_counts(module, part)) or _name_of(module, part) in _LISTS
    return isinstance(part, ast.List | ast.ListComp)


def counts(module: Module, value: ast.expr) -> bool:
    """Whether a value only counts: ``np.arange(n, dtype=np.int32)``."""
    return isinstance(value, ast.Call) and _name_of(module, value) in _COUNTING


def _counts(module: Module, part: ast.expr) -> str:
    """The library that counts, where an index is ``arange(n)`` or ``range(n)`` of whole numbers."""
    if not isinstance(part, ast.Call) or not part.args:
        return ""
    library = _COUNTING.get(_name_of(module, part), "")
    if part.keywords or any(isinstance(a, ast.Starred) for a in part.args) or keyword(part, "device") is not None:
        return ""
    return library


def _name_of(module: Module, call: ast.Call) -> str:
    dotted = module.resolve(call.func)
    if dotted is None and isinstance(call.func, ast.Name) and not module.names.bindings(call.func.id, call.func):
        return call.func.id  # a builtin
    return dotted or ""
