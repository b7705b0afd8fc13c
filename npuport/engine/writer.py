"""Words a fix in one of the two styles and remembers which imports and helper names it needs.

``npu``       ``"npu"`` and ``torch.npu``, with ``import torch_npu``.
``portable``  ``DEVICE_TYPE`` and ``device_module``, two names at the top of the file, so that a machine
              without an NPU runs the original program.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npuport.analysis.module import Module
from npuport.engine.fix import NotFixable
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.helper_functions import function_definition, function_text

if TYPE_CHECKING:
    from npuport.analysis.walk import Scope


@dataclass(frozen=True)
class Need:
    """One import or helper line that a fix relies on.

    Attributes:
        name: what must be bound: ``torch``, ``torch_npu``, ``DEVICE_TYPE``, ``device_module`` or an alias.
        line: the statement that binds an alias; empty for the well-known names.
        function: the source text of a function that is defined under the name.
        scope: the function that gets the line where torch is imported inside it only.
        implied: only another helper line uses the name.
    """

    name: str
    line: str = ""
    scope: ast.AST | None = None
    implied: bool = False
    function: str = ""


class Writer:
    """Makes source text and libcst nodes in one style, for code at one place of a file."""

    def __init__(self, module: Module, style: str, site: ast.AST) -> None:
        self.module = module
        self.style = style
        self._site = site
        self.needs: list[Need] = []

    @property
    def portable(self) -> bool:
        """Whether the file must go on running without an NPU."""
        return self.style == "portable"

    # ---- names

    def device_type(self) -> str:
        """The device without index: ``"npu"`` or ``DEVICE_TYPE``."""
        if not self.portable:
            self.need_torch_npu()
            return '"npu"'
        return self.helper("DEVICE_TYPE")

    def device(self, index: str) -> str:
        """A device with the literal index ``index``: ``"npu:0"`` or ``f"{DEVICE_TYPE}:0"``."""
        if not self.portable:
            self.need_torch_npu()
            return f'"npu:{index}"'
        return f'f"{{{self.helper("DEVICE_TYPE")}}}:{index}"'

    def device_module(self) -> str:
        """What stands for ``torch.cuda``: ``torch.npu`` or ``device_module``."""
        if not self.portable:
            self.need_torch_npu()
            return f"{self.torch()}.npu"
        self._need(Need("DEVICE_TYPE", "", self._torch_scope(), implied=True))
        return self.helper("device_module")

    def torch(self) -> str:
        """The name that torch has here; where it has none an import is planned."""
        name, _ = self.torch_binding()
        if name is None:
            self._need(Need("torch"))
            return "torch"
        return name

    def helper(self, name: str) -> str:
        """The helper name as it is spelled in this file (with an underscore where it is taken)."""
        local = self._torch_scope()
        spelled = local_name(self.module, local, name) if local is not None else free_name(self.module, name)
        self._need(Need(name, "", local))
        return spelled

    def need_torch_npu(self) -> None:
        """Ask for ``import torch_npu`` where the file imports torch; portable code must do without."""
        if self.module.uses_torch and not self.portable:
            self._need(Need("torch_npu", "", self._torch_scope()))

    def need_line(self, name: str, line: str) -> None:
        """Ask for a helper line that binds ``name`` below the imports."""
        if self._torch_scope() is not None:
            raise NotFixable("torch is imported inside the function only")
        self._need(Need(name, line))

    def helper_function(self, base: str) -> str:
        """The name of a function that fixes write below the imports; one that is there is used again.

        Args:
            base: which one, see ``helper_functions``.

        Raises:
            NotFixable: torch is imported inside the function only, or the function stands below the code.
        """
        if self._torch_scope() is not None:
            raise NotFixable("torch is imported inside the function only")
        there = function_definition(self.module, base)
        if there is not None:
            return there.name
        name = free_name(self.module, base)
        tabs = "\n\t" in self.module.source.text
        self._need(Need(name, function=function_text(base, name, self.torch(), tabs=tabs)))
        return name

    def numpy(self) -> str:
        """The name that NumPy has here.

        Raises:
            NotFixable: the code does not import it.
        """
        name, _ = self._binding_of("numpy")
        if name is None:
            raise NotFixable("the code does not import NumPy")
        return name

    def torch_binding(self) -> tuple[str | None, Scope | None]:
        """The name and scope of ``torch`` as seen from the site; the innermost scope wins."""
        return self._binding_of("torch")

    def _binding_of(self, library: str) -> tuple[str | None, Scope | None]:
        scope = self.module.names.scope_of(self._site)
        tree = self.module.tree
        while True:
            for name, bindings in self.module.index.bindings.get(scope, {}).items():
                if any(b.imported == library and not type_checking_only(self.module, b.node) for b in bindings):
                    return name, scope
            if scope is tree:
                return None, None
            scope = self.module.names.scope_of(scope)

    def _torch_scope(self) -> ast.AST | None:
        """The function that imports torch where the module itself imports nothing of torch."""
        if self._imports_torch(self.module.tree):
            return None
        scope = self.module.names.scope_of(self._site)
        while scope is not self.module.tree:
            if self._imports_torch(scope):
                return scope
            scope = self.module.names.scope_of(scope)
        return None

    def _imports_torch(self, scope: ast.AST) -> bool:
        bindings = (b for bs in self.module.index.bindings.get(scope, {}).values() for b in bs)
        found = (b for b in bindings if (b.imported or "").partition(".")[0] == "torch")
        return any(not type_checking_only(self.module, b.node) for b in found)

    def _need(self, need: Need) -> None:
        if need not in self.needs:
            self.needs.append(need)

    # ---- nodes

    @staticmethod
    def expression(code: str) -> cst.BaseExpression:
        """The libcst node of an expression."""
        return cst.parse_expression(code)

    @staticmethod
    def code(node: cst.CSTNode) -> str:
        """The source text of a libcst node."""
        return cst.Module([]).code_for_node(node)

    @staticmethod
    def argument(code: str, keyword: str | None = None) -> cst.Arg:
        """A call's argument, ``keyword=code`` or ``code``."""
        value = cst.parse_expression(code)
        if keyword is None:
            return cst.Arg(value)
        equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
        return cst.Arg(value, keyword=cst.Name(keyword), equal=equal)


def type_checking_only(module: Module, node: ast.AST) -> bool:
    """Whether an import is made for type checkers only and binds nothing at run time."""
    return any(isinstance(a, ast.If) and "TYPE_CHECKING" in module.text_of(a.test) for a in module.ancestors(node))


def free_name(module: Module, name: str) -> str:
    """``name``, or ``_name`` where the file uses it for something else."""
    bindings = module.index.bindings[module.tree].get(name, [])
    if helper_definition(module, name) is not None:
        return name
    used_elsewhere = any(name in scope for scope in module.index.bindings.values())
    return f"_{name}" if bindings or used_elsewhere else name


def local_name(module: Module, scope: ast.AST, name: str) -> str:
    """The helper name inside a function: ``_name`` where the function uses it for something else."""
    bindings = module.index.bindings.get(scope, {}).get(name, [])
    own = all(not b.parameter and "is_available" in module.text_of(module.statement(b.node)) for b in bindings)
    return name if own else f"_{name}"


def helper_definition(module: Module, name: str) -> ast.stmt | None:
    """The module-level statement that already defines a helper name, from an earlier run."""
    for binding in module.index.bindings[module.tree].get(name, []):
        statement = module.statement(binding.node)
        text = module.text_of(statement)
        if name == "DEVICE_TYPE" and '"npu"' in text and "is_available" in text:
            return statement
        if name == "device_module" and "DEVICE_TYPE" in text and "getattr" in text:
            return statement
        if name == "nvtx" and ".npu.mstx if" in text:
            return statement
        if binding.imported and binding.imported.endswith(f".{name}"):
            return statement  # from package.devices import DEVICE_TYPE
    return None
