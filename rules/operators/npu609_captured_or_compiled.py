from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.cuda_api import Kind, cuda_uses
from npuport.analysis.module import Module
from npuport.engine.finding import Severity
from npuport.engine.fix import Transform, rewrite
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.names import dotted, with_argument
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.engine.writer import Writer

_RUNNING_BACKENDS = ("eager", "aot_eager", "npu", "npugraphs", "npugraph_ex")


class CapturedOrCompiled(Rule):
    """Code is compiled, scripted or captured in a CUDA graph.

    What it does
    ------------
    Reports ``torch.compile`` (unless it is disabled or has a backend that runs), CUDA graphs, and
    ``torch.jit.script`` in a program that imports ``transfer_to_npu``.

    Why on an NPU
    -------------
    Without triton-ascend the first call of a compiled module fails with "Device npu not supported". Under
    ``transfer_to_npu`` ``torch.jit.script`` silently becomes the identity. Graphs exist as ``torch.npu.NPUGraph``,
    but the vendor's pages disagree on whether they may be used in training.

    Example
    -------
    ::

        policy = torch.compile(policy, mode="reduce-overhead")

    Use instead
    -----------
    ::

        policy = torch.compile(policy, mode="reduce-overhead", disable=True)

    Fix safety
    ----------
    Unsafe: ``disable=True`` changes what runs, although not what it computes. With ``--style portable`` it is
    ``disable=DEVICE_TYPE == "npu"``. Graphs become those of the NPU, unsafe as well; scripts are only reported.

    Sources
    -------
    - Tried with torch_npu 2.13.0: InductorError at the first call; the backends eager and aot_eager run.
    - ``torch_npu/contrib/transfer_to_npu.py`` and the NPUGraph guide: https://github.com/Ascend/pytorch
    """

    code = "NPU609"
    name = "captured-or-compiled"
    topic = "graph"
    severity = Severity.WARNING
    triggers = Triggers(("cuda", "transfer_to_npu"), patterns=(r"\.compile\b", r"import\b[^\n]*\bcompile\b"))

    def check(self, module: Module) -> Iterator[Hit]:
        for use in cuda_uses(module):
            if use.kind is Kind.GRAPH:
                message = (
                    f"{use.dotted}: whether graphs may be used in training on an NPU is not settled; run without first"
                )
                reason = "the vendor's pages disagree on training with graphs"
                npu = use.twin.npu if use.twin else None
                fixable = npu is not None and not use.alias
                yield Hit(
                    use.node,
                    message,
                    rewrite("Capture on the NPU", use.node, _captured(npu), unsafe_because=reason)
                    if npu and fixable
                    else None,
                )
        for reference in module.references:
            if module.knows_npu(reference.node):
                continue
            if reference.dotted == "torch.compile":
                yield from self._compiled(module, reference.node)
            elif reference.dotted in ("torch.jit.script", "torch.jit.script_method") and self._is_transferred(module):
                yield Hit(reference.node, "transfer_to_npu turns torch.jit.script off: the function runs unscripted")

    def _is_transferred(self, module: Module) -> bool:
        return module.project.transfer_to_npu or any("transfer_to_npu" in name for name in module.imported)

    def _compiled(self, module: Module, node: ast.expr) -> Iterator[Hit]:
        message = "torch.compile fails on an NPU without triton-ascend, at the first call"
        call = module.parent(node)
        if not isinstance(call, ast.Call) or call.func is not node:
            if not isinstance(call, ast.Call | ast.Attribute):
                yield Hit(node, message)
            return
        keywords = {keyword.arg: keyword.value for keyword in call.keywords}
        backend = keywords.get("backend")
        if "disable" in keywords or (isinstance(backend, ast.Constant) and backend.value in _RUNNING_BACKENDS):
            return
        yield Hit(
            call, message, rewrite("Switch it off for the NPU", call, _disabled, unsafe_because="it changes what runs")
        )


def _captured(npu: str) -> Transform:
    def transform(node: cst.CSTNode, writer: Writer) -> str:
        name = dotted(npu, writer)
        if writer.portable and npu == "torch.npu.NPUGraph":
            return f'({name} if {writer.helper("DEVICE_TYPE")} == "npu" else {writer.code(node)})'
        return name

    return transform


def _disabled(node: cst.CSTNode, writer: Writer) -> cst.CSTNode:
    assert isinstance(node, cst.Call)
    value = f'{writer.helper("DEVICE_TYPE")} == "npu"' if writer.portable else "True"
    return with_argument(node, writer.argument(value, "disable"))
