from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.choices import partners, unported_arms
from npuport.analysis.cuda_api import CudaUse, Kind, cuda_uses
from npuport.analysis.module import Module
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix, NotFixable, Transform, rewrite
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.imports import cuda_imports, import_fix
from npuport.engine.rewriting.names import dotted, module_lookup
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.engine.writer import Writer, free_name

# Seen on the emulated device: these answer without a word, the others raise.
_SILENT = {
    "is_available": "is False on an NPU machine",
    "device_count": "is 0 on an NPU machine",
    "is_bf16_supported": "is False on an NPU machine",
    "is_initialized": "is False on an NPU machine",
    "empty_cache": "does nothing for an NPU",
    "memory_allocated": "is 0 for an NPU",
    "max_memory_allocated": "is 0 for an NPU",
    "memory_reserved": "is 0 for an NPU",
    "max_memory_reserved": "is 0 for an NPU",
    "memory_stats": "is empty for an NPU",
    "manual_seed": "does not seed an NPU",
    "manual_seed_all": "does not seed an NPU",
}


class CudaApi(Rule):
    """A function or class of ``torch.cuda`` is used that ``torch.npu`` has too.

    What it does
    ------------
    Reports ``torch.cuda.<name>`` under whatever alias, ``from torch import cuda``, ``import torch.cuda as tc``,
    names imported from ``torch.cuda`` and ``getattr(torch, "cuda")``, where torch_npu has a twin of the name in
    the target release; also star imports of it, the marks of ``torch.cuda.nvtx``, for which the NPU has ``mstx``,
    and ``OutOfMemoryError``, which works as it is (a note).

    Why on an NPU
    -------------
    Most of them raise. The others are worse: ``is_available()`` is False, so the agent trains on the CPU;
    memory figures are 0; seeds do not reach the device.

    Example
    -------
    ::

        if torch.cuda.is_available():
            torch.cuda.manual_seed_all(seed)

    Use instead
    -----------
    ::

        if torch.npu.is_available():
            torch.npu.manual_seed_all(seed)

    Fix safety
    ----------
    Safe: the twin does the same on the NPU. Imports change together with the uses that need it. A test is
    unsafe to change when the branch it guards does what only CUDA can do. With ``--style portable`` the module
    is ``device_module``, which is ``torch.cuda`` on a machine without an NPU.

    Sources
    -------
    - Names of the torch_npu 2.13.0 wheel, read from its files; vendor's table of torch.cuda:
      https://github.com/Ascend/pytorch/tree/master/docs/zh/api/native_api
    """

    code = "NPU103"
    name = "cuda-api"
    topic = "device"
    triggers = Triggers(("cuda",))

    def check(self, module: Module) -> Iterator[Hit]:
        imports = cuda_imports(module)
        together = partners(module)
        for statement in imports:
            if all(name.alias.asname is None for name in imports[statement]) and isinstance(statement, ast.Import):
                message = "an import of torch.cuda does nothing on an NPU machine; its uses are what matters"
                yield Hit(statement, message, import_fix(module, statement), Severity.NOTE)
                continue
            yield Hit(
                statement,
                "imports from torch.cuda, which has no device on an NPU machine",
                import_fix(module, statement),
            )
        for statement in module.index.imports:
            if (
                isinstance(statement, ast.ImportFrom)
                and statement.module == "torch.cuda"
                and statement.names[0].name == "*"
            ):
                yield Hit(statement, "brings all names of torch.cuda; name what is used, so that it can be ported")
        for use in cuda_uses(module):
            if use.kind in (Kind.TWIN, Kind.PROFILER_MARK):
                yield from self._used(module, use, together.get(use.reference.node, ()))

    def _used(self, module: Module, use: CudaUse, together: tuple[ast.AST, ...]) -> Iterator[Hit]:
        bound = use.reference.binding.node if use.reference.binding else None
        if use.alias and isinstance(bound, ast.Import | ast.ImportFrom) and use.kind is Kind.TWIN:
            yield Hit(use.reference.node, self._message(use), import_fix(module, bound), together=together)
        elif use.alias and bound is None and use.kind is Kind.TWIN:
            yield Hit(use.reference.node, f"{self._message(use)} (from a star import)")
        elif _is_last_resort(module, use.node):
            return  # getattr(torch, device_type, torch.cuda) asks for the NPU first
        elif use.alias and use.kind is Kind.TWIN:
            return  # cuda = torch.cuda is reported, and changed, where it is assigned
        else:
            severity = Severity.NOTE if use.dotted.endswith("OutOfMemoryError") else None
            yield Hit(use.node, self._message(use), self._fix(module, use), severity, together=together)

    def _message(self, use: CudaUse) -> str:
        leaf = use.dotted.rpartition(".")[2]
        if leaf == "OutOfMemoryError":
            return "torch.npu has no OutOfMemoryError; this is torch.OutOfMemoryError and catches the NPU's errors too"
        name = use.dotted + ("()" if leaf in _SILENT else "")
        return f"{name} {_SILENT.get(leaf, 'has no device to work with on an NPU machine')}"

    def _fix(self, module: Module, use: CudaUse) -> Fix | None:
        node = use.node
        if isinstance(node, ast.Call):
            return rewrite("Ask for the NPU's module", node, module_lookup)
        if use.dotted == "torch.cuda":
            return self._whole_module(module, use)
        if use.kind is Kind.PROFILER_MARK:
            return rewrite("Use the NPU's profiler marks", node, _profiler_mark(use.dotted.rpartition(".")[2]))
        assert use.twin is not None and use.twin.npu is not None
        reason = module.branches.cuda_only_reason(module.parent(node) or node)
        if word := unported_arms(module).get(use.reference.node):
            reason = reason or f"it leads to {word}, which stays as it is"
        return rewrite("Use what torch.npu has", node, self._renamed(module, use), unsafe_because=reason)

    def _renamed(self, module: Module, use: CudaUse) -> Transform:
        npu = use.twin.npu if use.twin and use.twin.npu else ""
        leaf = npu.rpartition(".")[2]

        def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
            if leaf == "OutOfMemoryError" and writer.portable:
                raise NotFixable("it works as it is")
            if writer.portable and leaf in ("Stream", "Event") and _is_annotation(module, use.node):
                return f"{writer.torch()}.{leaf}"
            if (
                writer.portable
                and use.twin is not None
                and use.twin.status == "renamed"
                and use.dotted.rpartition(".")[2] != leaf
            ):
                raise NotFixable("the two devices have different names for it")
            return dotted(npu, writer)

        return transform

    def _whole_module(self, module: Module, use: CudaUse) -> Fix | None:
        """``torch.cuda`` as a value: fine to assign, not fine to hand on, since its names may lack a twin."""
        parent = module.parent(use.node)
        if isinstance(parent, ast.Assign) or (
            isinstance(parent, ast.Call)
            and isinstance(parent.func, ast.Name)
            and parent.func.id in ("hasattr", "getattr")
        ):
            if any(other.kind is Kind.NO_TWIN and other.alias for other in cuda_uses(module)):
                return None
            return rewrite("Use the NPU's module", use.node, lambda node, writer: writer.device_module())
        return None


def _is_last_resort(module: Module, node: ast.expr) -> bool:
    call = module.parent(node)
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "getattr"
        and node in call.args[2:]
    )


def _profiler_mark(leaf: str) -> Transform:
    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
        if not writer.portable:
            return f"{writer.device_module()}.mstx.{leaf}"
        device_type = writer.helper("DEVICE_TYPE")
        torch = writer.torch()
        name = free_name(writer.module, "nvtx")
        writer.need_line(name, f'{name} = {torch}.npu.mstx if {device_type} == "npu" else {torch}.cuda.nvtx')
        return f"{name}.{leaf}"

    return transform


def _is_annotation(module: Module, node: ast.AST) -> bool:
    child = node
    for ancestor in module.ancestors(node):
        if isinstance(ancestor, ast.arg | ast.AnnAssign):
            return ancestor.annotation is child
        if isinstance(ancestor, ast.FunctionDef | ast.AsyncFunctionDef):
            return ancestor.returns is child
        if isinstance(ancestor, ast.stmt):
            return False
        child = ancestor
    return False
