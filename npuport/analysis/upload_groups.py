"""Uploads that stand together: one after the other as statements, or side by side in a tuple.

They could go to the device as one copy, provided that nothing between them needs one of them there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from npuport.analysis.flow.program import FileFlow
from npuport.analysis.module import Module
from npuport.analysis.tensor_creation import without_methods
from npuport.analysis.uploads import Upload, uploads
from npuport.analysis.walk import block_of


@dataclass(frozen=True)
class Part:
    """One tensor of a group.

    Attributes:
        expression: the upload with the methods behind it: ``torch.tensor(x).to(device).view(-1)``.
        upload: the upload in it.
        statement: the assignment whose value it is; None in a tuple.
    """

    expression: ast.expr
    upload: Upload
    statement: ast.Assign | None = None


@dataclass(frozen=True)
class TupleGroup:
    """Neighbours among the elements of a tuple, from `first` on."""

    node: ast.Tuple
    first: int
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class NamedGroup:
    """Assignments to names: the last one is the first after which a name is used."""

    parts: tuple[Part, ...]


@dataclass(frozen=True)
class StoredGroup:
    """Assignments to elements or attributes, in order."""

    parts: tuple[Part, ...]


Group = TupleGroup | NamedGroup | StoredGroup


def upload_groups(module: Module, flow: FileFlow) -> list[Group]:
    """The groups of two uploads or more in a file; each upload is in one at most."""
    found: dict[ast.AST, Upload] = {upload.node: upload for upload in uploads(module, flow)}
    groups: list[Group] = [*_in_tuples(module, found)]
    for block in _blocks(module, found):
        groups += (NamedGroup(parts) for parts in _runs(module, block, found, ast.Name))
        groups += (StoredGroup(parts) for parts in _runs(module, block, found, ast.Subscript) if _may_hoist(parts))
    return groups


def _part(found: Mapping[ast.AST, Upload], expression: ast.expr, statement: ast.Assign | None = None) -> Part | None:
    upload = found.get(without_methods(expression)[0])
    return Part(expression, upload, statement) if upload is not None else None


def _device(module: Module, part: Part) -> str:
    device = part.upload.creation.device
    return module.text_of(device) if device is not None else ""


# ---- tuples


def _in_tuples(module: Module, found: Mapping[ast.AST, Upload]) -> Iterator[TupleGroup]:
    tuples = dict.fromkeys(
        around for upload in found.values() for around in module.ancestors(upload.node) if isinstance(around, ast.Tuple)
    )
    for node in tuples:
        if isinstance(module.parent(node), ast.Return | ast.Assign | ast.Call | ast.keyword):
            yield from _neighbours(module, node, [_part(found, element) for element in node.elts])


def _neighbours(module: Module, node: ast.Tuple, parts: list[Part | None]) -> Iterator[TupleGroup]:
    run: list[Part] = []
    for position, part in enumerate([*parts, None]):
        if run and (part is None or _device(module, part) != _device(module, run[0])):
            if len(run) > 1:
                yield TupleGroup(node, position - len(run), tuple(run))
            run = []
        if part is not None:
            run.append(part)


# ---- statements


def _blocks(module: Module, found: Iterable[ast.AST]) -> list[list[ast.stmt]]:
    """The blocks of statements that uploads stand in, each once."""
    blocks: dict[int, list[ast.stmt]] = {}
    for node in found:
        block = block_of(module.statement(node), module.index.parents)
        blocks[id(block[0]) if block else 0] = block
    return list(blocks.values())


def _runs(
    module: Module, block: list[ast.stmt], found: Mapping[ast.AST, Upload], target: type[ast.expr]
) -> Iterator[tuple[Part, ...]]:
    """Runs of assignments of uploads to one kind of target, with nothing between them that could matter."""
    run: list[Part] = []
    between: set[str] = set()  # what is stored between the parts
    for statement in [*block, None]:
        part = _assigned(found, statement, target)
        if run and not _continues(module, run, between, part, statement):
            if len(run) > 1:
                yield tuple(run)
            run, between = [], set()
        if part is not None:
            run.append(part)
        elif run and statement is not None:
            between |= _stored_names(statement)


def _assigned(found: Mapping[ast.AST, Upload], statement: ast.stmt | None, target: type[ast.expr]) -> Part | None:
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    return _part(found, statement.value, statement) if isinstance(statement.targets[0], target) else None


def _continues(
    module: Module, run: list[Part], between: set[str], part: Part | None, statement: ast.stmt | None
) -> bool:
    """Whether a statement may stand in a run: another part of it, or one that neither needs a part nor does much.

    Tensors that are named are uploaded behind the run, those that are put away before it: what stands between must not
    need the first, nor change what the second are made of.
    """
    names = {name for part in run if part.statement is not None for name in _stored_names(part.statement)}
    if not isinstance(statement, ast.Assign) or _read_names(statement) & names or _stored_names(statement) & names:
        return False
    if part is not None:
        made_of = set() if names else _read_names(part.expression)
        return _device(module, part) == _device(module, run[0]) and not made_of & between
    is_plain = not any(isinstance(node, ast.Call | ast.Await | ast.NamedExpr) for node in ast.walk(statement))
    only_names = all(isinstance(target, ast.Name) for target in statement.targets)
    needed = {name for part in run for name in _read_names(part.expression)}
    return is_plain and (only_names or not names) and not _stored_names(statement) & needed


def _read_names(node: ast.AST) -> set[str]:
    return _names(node, ast.Load)


def _stored_names(node: ast.AST) -> set[str]:
    return _names(node, ast.Store)


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    """The names that are read or stored in a statement, and the attributes with a point before them."""
    found = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name | ast.Attribute) and isinstance(inner.ctx, context):
            found.add(inner.id if isinstance(inner, ast.Name) else f".{inner.attr}")
    return found


def _may_hoist(parts: tuple[Part, ...]) -> bool:
    """Whether every part is made of something with a name, after which what comes of it can be named."""
    return all(data_name(part) is not None for part in parts)


def data_name(part: Part) -> str | None:
    """The name of what a tensor is made of: ``s`` in ``torch.from_numpy(s)``, ``s`` in ``torch.tensor(batch.s)``."""
    data = part.upload.creation.data
    while isinstance(data, ast.Call | ast.Subscript):
        if isinstance(data, ast.Subscript):
            data = data.value
        else:
            data = data.args[0] if data.args else data.func
    return data.attr if isinstance(data, ast.Attribute) else data.id if isinstance(data, ast.Name) else None
