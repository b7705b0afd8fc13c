"""What hand ports leave beside CUDA's code without a branch around both: a second version, or a later override.

``branches`` knows code that stands in an arm of its own; this module knows the rest.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from npuport.analysis.branches import Branches
from npuport.analysis.walk import SyntaxIndex, block_of

_MISSING = ("ImportError", "ModuleNotFoundError", "AttributeError")
_NAMES_CUDA = re.compile(r"cuda|gpu", re.IGNORECASE)
# A later override stands this many statements behind at most.
_NEAR = 3


class HandPorts:
    """Answers about the hand-ported places of one file."""

    def __init__(self, branches: Branches, index: SyntaxIndex, text: str) -> None:
        self._branches = branches
        self._index = index
        self._text = text

    def covers(self, site: ast.AST) -> bool:
        """Whether the NPU has its own version of what ``site`` stands in."""
        if not self._branches.speaks_of_npu:
            return False
        child, parent = site, self._index.parents.get(site)
        while parent is not None:
            if isinstance(child, ast.ExceptHandler) and isinstance(parent, ast.Try) and self._falls_back(parent, child):
                return True
            if isinstance(child, ast.Assign | ast.Expr) and self._is_overridden(child):
                return True
            if isinstance(child, ast.Dict) and isinstance(parent, ast.Assign) and self._grows(parent):
                return True
            if isinstance(child, ast.FunctionDef | ast.ClassDef) and self._has_twin(child):
                return True
            child, parent = parent, self._index.parents.get(parent)
        return self._is_flag_of_choice(site)

    def _falls_back(self, attempt: ast.Try, handler: ast.ExceptHandler) -> bool:
        """``try: import torch_npu ... except ImportError:`` and what is done without it."""
        tried = [*attempt.body, *attempt.orelse]
        caught = self._branches.text_of(handler.type) if handler.type is not None else ""
        small = len(attempt.body) == 1 or any(name in caught for name in _MISSING)
        return small and any(self._branches.mentions_npu(statement) for statement in tried)

    def _is_overridden(self, statement: ast.Assign | ast.Expr) -> bool:
        """``device = "cuda"``, and right behind it ``if has_npu(): device = "npu"``."""
        block = block_of(statement, self._index.parents)
        if statement not in block:
            return False
        place = block.index(statement)
        done = _what_it_does(statement)
        return any(
            isinstance(later, ast.If | ast.Try) and self._is_for_npu(later) and done & set(_done_in(later.body))
            for later in block[place + 1 : place + 1 + _NEAR]
        )

    def _is_for_npu(self, statement: ast.If | ast.Try) -> bool:
        asked: list[ast.AST] = [statement.test] if isinstance(statement, ast.If) else [*statement.body]
        return any(self._branches.mentions_npu(node) for node in asked)

    def _grows(self, statement: ast.Assign) -> bool:
        """``SYNCHRONIZE = {"cuda": ...}``, and further down ``SYNCHRONIZE["npu"] = ...``."""
        names = [re.escape(target.id) for target in statement.targets if isinstance(target, ast.Name)]
        return any(re.search(rf"\b{name}\[[\"']npu[\"']\]\s*=", self._text) for name in names)

    def _has_twin(self, definition: ast.FunctionDef | ast.ClassDef) -> bool:
        """``class CudaPlatform`` beside ``class NpuPlatform``."""
        if not _NAMES_CUDA.search(definition.name):
            return False
        twin = _NAMES_CUDA.sub("npu", definition.name).lower()
        block = block_of(definition, self._index.parents)
        return any(isinstance(s, ast.FunctionDef | ast.ClassDef) and s.name.lower() == twin for s in block)

    def _is_flag_of_choice(self, site: ast.AST) -> bool:
        """``has_cuda = torch.cuda.is_available()`` whose uses stand beside an arm for the NPU."""
        statement: ast.AST | None = site
        while statement is not None and not isinstance(statement, ast.stmt):
            statement = self._index.parents.get(statement)
        if not isinstance(statement, ast.Assign) or isinstance(statement.value, ast.IfExp):
            return False
        loads: list[ast.expr] = []
        for target in statement.targets:
            if isinstance(target, ast.Name) and _NAMES_CUDA.search(target.id):
                loads += self._index.names.get(target.id, ())
            elif isinstance(target, ast.Attribute) and _NAMES_CUDA.search(target.attr):
                loads += self._index.attributes.get(target.attr, ())
        reads = [load for load in loads if isinstance(getattr(load, "ctx", None), ast.Load)]
        return any(self._branches.knows_npu(read) for read in reads)


def _what_it_does(statement: ast.stmt) -> set[str]:
    """The targets that a statement assigns, or the last name of what it calls."""
    if isinstance(statement, ast.Assign):
        return {ast.unparse(target) for target in statement.targets}
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        return {function.attr} if isinstance(function, ast.Attribute) else set()
    return set()


def _done_in(statements: list[ast.stmt]) -> Iterator[str]:
    for statement in statements:
        yield from _what_it_does(statement)
