"""What a name stands for: imports, aliases, function-level imports, local rebinding, star imports."""

from __future__ import annotations

import ast
from functools import cached_property

from npuport.analysis.walk import FUNCTIONS, SCOPES, Binding, Scope, SyntaxIndex
from npuport.facts.api import torch_cuda_names

_STAR_MODULES = {"torch": ("cuda", "nn", "device", "npu", "load", "Generator"), "torch.cuda": None}


class Names:
    """Resolves expressions of one file to dotted names such as ``torch.cuda.is_available``."""

    def __init__(self, index: SyntaxIndex, tree: ast.Module) -> None:
        self._index = index
        self._tree = tree
        self._resolved: dict[ast.AST, str | None] = {}
        self._busy: set[ast.AST] = set()

    @cached_property
    def _bound_inside(self) -> frozenset[str]:
        """Names that some function or class binds."""
        scopes = (bound for scope, bound in self._index.bindings.items() if scope is not self._tree)
        return frozenset(name for bound in scopes for name in bound)

    def scope_of(self, node: ast.AST) -> Scope:
        """The scope in which ``node`` is evaluated.

        Defaults, decorators and annotations of a function belong to the scope around it.
        """
        parents = self._index.parents
        child, parent = node, parents.get(node)
        while parent is not None:
            if isinstance(parent, SCOPES) and not _evaluated_outside(parent, child):
                return parent
            child, parent = parent, parents.get(parent)
        return self._tree

    def bindings(self, name: str, node: ast.AST) -> list[Binding]:
        """The bindings of ``name`` in the innermost scope around ``node`` that binds it."""
        if name not in self._bound_inside:
            return self._index.bindings[self._tree].get(name, [])  # most names: no need to look for the scope
        scope: Scope = self.scope_of(node)
        innermost = True
        while True:
            # A class body's names are not seen from the functions inside it.
            if innermost or not isinstance(scope, ast.ClassDef):
                found = self._index.bindings.get(scope, {}).get(name)
                if found:
                    return found
            if scope is self._tree:
                return []
            innermost = False
            scope = self.scope_of(scope)

    def resolve(self, node: ast.AST | None) -> str | None:
        """The dotted name that ``node`` stands for, or None where it is a value or unknown."""
        if node is None:
            return None
        if node in self._resolved:
            return self._resolved[node]
        if node in self._busy:  # x = x.y
            return None
        self._busy.add(node)
        result = self._resolve(node)
        self._busy.discard(node)
        self._resolved[node] = result
        return result

    def _resolve(self, node: ast.AST) -> str | None:
        if isinstance(node, ast.Name):
            return self._resolve_name(node)
        if isinstance(node, ast.Attribute):
            attributes: list[str] = []
            value: ast.expr = node
            while isinstance(value, ast.Attribute):  # a loop: chains may be longer than Python's stack
                attributes.append(value.attr)
                value = value.value
            base = self.resolve(value)
            return ".".join([base, *reversed(attributes)]) if base else None
        if isinstance(node, ast.Call):
            return self._resolve_lookup(node)
        return None

    def _resolve_name(self, node: ast.Name) -> str | None:
        bindings = self.bindings(node.id, node)
        if not bindings:
            return self._resolve_star(node.id)
        found: list[str] = []
        for binding in bindings:
            if binding.imported:
                found.append(binding.imported)
            elif binding.value is None or binding.parameter:
                return None
            elif not (isinstance(binding.value, ast.Constant) and binding.value.value is None):
                dotted = self._value_name(binding, node)
                if dotted is None:
                    return None
                found.append(dotted)
        torch_like = [dotted for dotted in found if dotted.startswith("torch")]
        # try: import x except: import y as x. Torch wins, it is what the rules are about.
        return torch_like[0] if torch_like else (found[0] if found else None)

    def _value_name(self, binding: Binding, use: ast.Name) -> str | None:
        """The dotted name of ``alias = torch.cuda``; unpacking and plain values have none."""
        value = binding.value
        assigned = self._index.parents.get(binding.node)
        if isinstance(assigned, ast.Assign) and binding.node not in assigned.targets:
            return None
        return self.resolve(value) if isinstance(value, ast.Name | ast.Attribute | ast.Call) else None

    def _resolve_star(self, name: str) -> str | None:
        for module in self._index.star_imports:
            if module not in _STAR_MODULES:
                continue
            exported = _STAR_MODULES[module]
            if name in (exported if exported is not None else torch_cuda_names()):
                return f"{module}.{name}"
        return None

    def _resolve_lookup(self, call: ast.Call) -> str | None:
        """``getattr(torch, "cuda")`` and ``importlib.import_module("torch")``."""
        texts = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        if not texts:
            return None
        if isinstance(call.func, ast.Name) and call.func.id == "getattr" and len(call.args) >= 2:
            base = self.resolve(call.args[0])
            return (
                f"{base}.{texts[0]}" if base and call.args[1] is not call.args[0] and texts[0].isidentifier() else None
            )
        if self.resolve(call.func) in ("importlib.import_module", "__import__"):
            return texts[0]
        return None


def _evaluated_outside(scope: Scope, child: ast.AST) -> bool:
    if isinstance(scope, FUNCTIONS):
        # The arguments node carries defaults and annotations; parameters bind inside all the same.
        return child is scope.args or (
            not isinstance(scope, ast.Lambda) and child is not scope and child not in scope.body
        )
    if isinstance(scope, ast.ClassDef):
        return child not in scope.body
    return False
