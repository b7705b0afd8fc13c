"""Which file of the program an import means, and which files imports connect."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from npuport.analysis.flow.declarations import Scope, blocks_of, imported_name, library
from npuport.analysis.flow.value import FILE, Atom, Value

# What an import asks for: a dotted name, and the dots before it.
Request: TypeAlias = tuple[str, int]


class Linker:
    """Resolves imports among a set of files.

    A script imports from its own folder first, then from the folders around it (and from ``src`` in them), up to
    the folder that holds all files, or the package that they are.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._keys = {os.path.abspath(path): path for path in paths}
        self._root = os.path.commonpath(list(self._keys)) if len(self._keys) > 1 else ""
        # Most imports are of libraries: their first name is that of no file and no folder here.
        self._first_names = {name for path in self._keys for name in path.removesuffix(".py").split(os.sep)}
        while self._root and os.path.join(self._root, "__init__.py") in self._keys:
            self._root = os.path.dirname(self._root)  # a package imports itself by its full name
        self._found: dict[tuple[str, str, bool], str | None] = {}

    def resolve(self, importer: str, dotted: str, level: int = 0) -> str | None:
        """The file that ``importer`` means by a dotted name with ``level`` leading dots; None for a library."""
        if not level and dotted.partition(".")[0] not in self._first_names:
            return None
        folder = os.path.dirname(os.path.abspath(importer))
        for _ in range(level - 1):
            folder = os.path.dirname(folder)
        asked = (folder, dotted, level > 0)
        if asked not in self._found:
            self._found[asked] = self._look(folder, dotted) if level else self._look_upwards(folder, dotted)
        return self._found[asked]

    def relative(self, key: str) -> str:
        """A file's path below the folder that holds all files, with slashes."""
        path = os.path.abspath(key)
        return (os.path.relpath(path, self._root) if self._root else os.path.basename(path)).replace(os.sep, "/")

    def _look_upwards(self, folder: str, dotted: str) -> str | None:
        while True:
            for base in (folder, os.path.join(folder, "src")):
                found = self._look(base, dotted)
                if found is not None:
                    return found
            above = os.path.dirname(folder)
            if above == folder or not folder.startswith(self._root) or folder == self._root:
                return None
            folder = above

    def _look(self, folder: str, dotted: str) -> str | None:
        path = os.path.join(folder, *dotted.split(".")) if dotted else folder
        return self._keys.get(path + ".py") or self._keys.get(os.path.join(path, "__init__.py"))


def link(scope: Scope, linker: Linker) -> None:
    """Bind the imports of a file's module level, and note every file that any of its imports means."""
    assert scope.tree is not None
    _link_block(scope, scope.tree.body, linker, scope.names)
    for function in scope.functions[1:]:
        if isinstance(function.node, ast.FunctionDef | ast.AsyncFunctionDef):
            _link_block(scope, function.node.body, linker, None)


def _link_block(scope: Scope, statements: Iterable[ast.stmt], linker: Linker, names: dict[str, Value] | None) -> None:
    for statement in statements:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            bound = imported_values(scope, statement, linker)
            if names is not None:
                names.update(bound)
        elif not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for block in blocks_of(statement):
                _link_block(scope, block, linker, names)


def imported_values(scope: Scope, statement: ast.Import | ast.ImportFrom, linker: Linker) -> dict[str, Value]:
    """What an import binds; the files that it means are noted in ``scope``."""
    if isinstance(statement, ast.Import):
        return _imported_modules(scope, statement, linker)
    module = statement.module or ""
    source = linker.resolve(scope.key, module, statement.level) if module or statement.level else None
    if source:
        scope.imports.add(source)
    bound: dict[str, Value] = {}
    for alias in statement.names:
        if alias.name == "*":
            if (source, module) not in scope.stars:
                scope.stars.append((source, module))
            continue
        below = f"{module}.{alias.name}" if module else alias.name
        submodule = linker.resolve(scope.key, below, statement.level)
        if submodule and submodule != scope.key:
            scope.imports.add(submodule)
            bound[alias.asname or alias.name] = _file(submodule)
        elif source:
            bound[alias.asname or alias.name] = imported_name(source, alias.name)
        else:
            bound[alias.asname or alias.name] = library("." * statement.level + below)
    return bound


def _imported_modules(scope: Scope, statement: ast.Import, linker: Linker) -> dict[str, Value]:
    bound: dict[str, Value] = {}
    for alias in statement.names:
        found = linker.resolve(scope.key, alias.name)
        if found:
            scope.imports.add(found)
        top = alias.name.partition(".")[0]
        if alias.asname:
            bound[alias.asname] = _file(found) if found else library(alias.name)
        else:
            package = linker.resolve(scope.key, top)
            bound[top] = _file(package) if package else library(top)
    return bound


def _file(key: str) -> Value:
    return Value(Atom(FILE, refs=frozenset({key})))


def requests_of(tree: ast.Module) -> set[Request]:
    """All that the imports of a file ask for, wherever they stand."""
    found: set[Request] = set()
    blocks: list[list[ast.stmt]] = [tree.body]
    while blocks:
        for statement in blocks.pop():
            if isinstance(statement, ast.Import):
                for alias in statement.names:
                    found |= {(alias.name, 0), (alias.name.partition(".")[0], 0)}
            elif isinstance(statement, ast.ImportFrom):
                module, level = statement.module or "", statement.level
                found.add((module, level))
                found.update((f"{module}.{alias.name}" if module else alias.name, level) for alias in statement.names)
            else:
                blocks += blocks_of(statement)
    return found


def connected(targets: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """For every file one that stands for all files that imports connect with it."""
    leader = {key: key for key in targets}

    def find(key: str) -> str:
        while leader[key] != key:
            leader[key] = leader[leader[key]]
            key = leader[key]
        return key

    for key, imported in targets.items():
        for target in imported:
            if target in leader:
                leader[find(key)] = find(target)
    return {key: find(key) for key in targets}


def connect(scopes: Mapping[str, Scope]) -> None:
    """Give every file its component: files that imports connect are one program."""
    for key, component in connected({key: scope.imports for key, scope in scopes.items()}).items():
        scopes[key].component = component
