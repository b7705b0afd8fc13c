"""The one pass over a file's syntax tree.

It notes each node's parent, what each scope binds, and indexes the node types that rules ask for. A stack
replaces ``ast.walk`` (about three times faster) and fields that hold no expression, such as contexts and
operators, are skipped.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Scope: TypeAlias = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef

SCOPES = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_SCOPE_KINDS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef})
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)

# Fields that hold texts, numbers, contexts or operators: nothing to walk into.
_LEAVES = {
    "ctx", "op", "ops", "type_comment", "type_ignores", "kind", "simple", "level", "conversion", "id", "attr", "arg",
    "module", "is_async", "lineno", "tag", "kwd_attrs", "rest",
}  # fmt: skip
_WITHOUT_CHILDREN = (
    ast.Constant, ast.Name, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Pass, ast.Break, ast.Continue,
    ast.MatchSingleton,
)  # fmt: skip


def _child_fields(kind: type[ast.AST]) -> tuple[str, ...]:
    if issubclass(kind, _WITHOUT_CHILDREN):
        return ()
    # A name is a text, except that of `type Alias = ...`.
    texts = _LEAVES if kind.__name__ == "TypeAlias" else _LEAVES | {"name"}
    return tuple(name for name in kind._fields if name not in texts)


_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {}


@dataclass(slots=True, eq=False)
class Binding:
    """One place that gives a name a value in a scope.

    Attributes:
        node: the import, the assigned name, the parameter or the definition.
        imported: dotted name for an import, e.g. ``torch.cuda.amp.autocast``.
        value: the assigned expression of a plain ``name = value``.
        parameter: the binding is a function's parameter.
    """

    node: ast.AST
    imported: str | None = None
    value: ast.expr | None = None
    parameter: bool = False


@dataclass
class SyntaxIndex:
    """What the pass collected; lists are in no particular order."""

    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    bindings: dict[ast.AST, dict[str, list[Binding]]] = field(default_factory=dict)
    star_imports: list[str] = field(default_factory=list)
    imports: list[ast.Import | ast.ImportFrom] = field(default_factory=list)
    names: defaultdict[str, list[ast.Name]] = field(default_factory=lambda: defaultdict(list))
    attributes: defaultdict[str, list[ast.Attribute]] = field(default_factory=lambda: defaultdict(list))
    strings: list[ast.Constant] = field(default_factory=list)
    format_strings: list[ast.JoinedStr] = field(default_factory=list)
    calls: list[ast.Call] = field(default_factory=list)
    keywords: dict[str, list[ast.keyword]] = field(default_factory=dict)
    functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = field(default_factory=list)
    choices: list[ast.IfExp] = field(default_factory=list)
    assignments: list[ast.Assign | ast.AnnAssign] = field(default_factory=list)


def block_of(statement: ast.stmt, parents: dict[ast.AST, ast.AST]) -> list[ast.stmt]:
    """The statements among which ``statement`` stands, itself included; empty for an ``except`` or ``case``."""
    parent = parents.get(statement)
    blocks = (getattr(parent, name, None) for name in ("body", "orelse", "finalbody"))
    return next((block for block in blocks if isinstance(block, list) and statement in block), [])


def modules_of(statement: ast.Import | ast.ImportFrom) -> list[str]:
    """The dotted names of the modules that an import reads; none for a relative import."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    return [statement.module or ""] if statement.level == 0 else []


def index_syntax(tree: ast.Module) -> SyntaxIndex:
    """Walk ``tree`` once, scope after scope."""
    index = SyntaxIndex()
    index.bindings[tree] = {}
    scopes: list[Scope] = [tree]
    while scopes:
        _walk_scope(index, scopes.pop(), scopes)
    return index


def _walk_scope(index: SyntaxIndex, scope: Scope, scopes: list[Scope]) -> None:
    """Note the nodes of one scope; the scopes inside it are put off to ``scopes``."""
    parents, names, strings, attributes = index.parents, index.names, index.strings, index.attributes
    stack: list[ast.AST] = [scope]
    pop, push = stack.pop, stack.append
    fields_of, notes, scope_kinds = _FIELDS, _NOTES, _SCOPE_KINDS
    name_kind, constant_kind, attribute_kind, load_kind = ast.Name, ast.Constant, ast.Attribute, ast.Load
    children: Any
    child: Any
    while stack:
        node = pop()
        kind = type(node)
        try:
            fields = fields_of[kind]
        except KeyError:
            fields = fields_of[kind] = _child_fields(kind)
        for field_name in fields:
            children = getattr(node, field_name, None)
            if children is None:
                continue
            for child in children if type(children) is list else (children,):
                if child is None:
                    continue
                parents[child] = node
                child_kind = type(child)
                while child_kind is attribute_kind:  # chains are common: down to what they start with
                    attributes[child.attr].append(child)
                    parents[child.value] = child
                    child = child.value
                    child_kind = type(child)
                # Names and constants are more than half of all nodes: no detour over the stack, no call.
                if child_kind is name_kind:
                    if type(child.ctx) is load_kind:
                        names[child.id].append(child)
                    else:
                        _note_target(index, child, scope)
                elif child_kind is constant_kind:
                    if type(child.value) is str:
                        strings.append(child)
                else:
                    note = notes.get(child_kind)
                    if note is not None:
                        note(index, child, scope)
                    if child_kind in scope_kinds:
                        scopes.append(child)
                    else:
                        push(child)


def bind(index: SyntaxIndex, scope: Scope, name: str, binding: Binding) -> None:
    """Add a binding of ``name`` to ``scope``."""
    index.bindings.setdefault(scope, {}).setdefault(name, []).append(binding)


# A tuple: a union of types is made anew each time that it is asked.
_ASSIGNING = (ast.Assign, ast.AnnAssign, ast.NamedExpr)


def _note_target(index: SyntaxIndex, node: ast.Name, scope: Scope) -> None:
    """A name that is stored to or deleted."""
    parent = index.parents[node]
    value = parent.value if isinstance(parent, _ASSIGNING) else None
    bind(index, scope, node.id, Binding(node, value=value))


def _note_keyword(index: SyntaxIndex, node: ast.keyword, scope: Scope) -> None:
    if node.arg is not None:
        index.keywords.setdefault(node.arg, []).append(node)


def _note_import(index: SyntaxIndex, node: ast.Import, scope: Scope) -> None:
    index.imports.append(node)
    index.parents.update(dict.fromkeys(node.names, node))
    for alias in node.names:
        top = alias.name.partition(".")[0]
        bind(index, scope, alias.asname or top, Binding(node, imported=alias.name if alias.asname else top))


def _note_import_from(index: SyntaxIndex, node: ast.ImportFrom, scope: Scope) -> None:
    index.imports.append(node)
    index.parents.update(dict.fromkeys(node.names, node))
    module = "." * node.level + (node.module or "")
    for alias in node.names:
        if alias.name == "*":
            index.star_imports.append(module)
        else:
            bind(index, scope, alias.asname or alias.name, Binding(node, imported=f"{module}.{alias.name}"))


def _note_function(index: SyntaxIndex, node: ast.FunctionDef, scope: Scope) -> None:
    bind(index, scope, node.name, Binding(node))
    index.functions.append(node)
    _note_lambda(index, node, scope)


def _note_lambda(index: SyntaxIndex, node: ast.FunctionDef | ast.Lambda, scope: Scope) -> None:
    for argument in parameters(node.args):
        bind(index, node, argument.arg, Binding(argument, parameter=True))


def _note_class(index: SyntaxIndex, node: ast.ClassDef, scope: Scope) -> None:
    bind(index, scope, node.name, Binding(node))


def _note_handler(index: SyntaxIndex, node: ast.ExceptHandler, scope: Scope) -> None:
    if node.name:
        bind(index, scope, node.name, Binding(node))


def _note_assignment(index: SyntaxIndex, node: ast.Assign | ast.AnnAssign, scope: Scope) -> None:
    index.assignments.append(node)


def _appender(list_name: str) -> Callable[[SyntaxIndex, Any, Scope], None]:
    def note(index: SyntaxIndex, node: ast.AST, scope: Scope) -> None:
        getattr(index, list_name).append(node)

    return note


_NOTES: dict[type[ast.AST], Callable[[SyntaxIndex, Any, Scope], None]] = {
    ast.keyword: _note_keyword,
    ast.Import: _note_import,
    ast.ImportFrom: _note_import_from,
    ast.FunctionDef: _note_function,
    ast.AsyncFunctionDef: _note_function,
    ast.Lambda: _note_lambda,
    ast.ClassDef: _note_class,
    ast.ExceptHandler: _note_handler,
    ast.Assign: _note_assignment,
    ast.AnnAssign: _note_assignment,
    ast.Call: _appender("calls"),
    ast.JoinedStr: _appender("format_strings"),
    ast.IfExp: _appender("choices"),
}


def parameters(arguments: ast.arguments) -> Iterable[ast.arg]:
    """All parameters of a function, in no particular order."""
    extra = (arg for arg in (arguments.vararg, arguments.kwarg) if arg is not None)
    return (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *extra)
