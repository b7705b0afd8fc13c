from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.module import Module, Reference
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix, Insertion, Rewrite
from npuport.engine.lazy_libcst import cst
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.engine.writer import Writer

_INSTEAD = {
    "torch.backends.cudnn.deterministic": "torch.use_deterministic_algorithms(True) is the switch that counts",
    "torch.backends.cudnn.benchmark": "there is nothing to tune",
    "torch.set_float32_matmul_precision": "torch.npu.matmul.allow_hf32 is the switch that counts",
    "torch.backends.cuda.matmul.allow_tf32": "torch.npu.matmul.allow_hf32 is the switch that counts",
    "torch.backends.cudnn.allow_tf32": "torch.npu.conv.allow_hf32 is the switch that counts",
}
_HF32 = {
    "torch.backends.cuda.matmul.allow_tf32": "torch.npu.matmul.allow_hf32",
    "torch.backends.cudnn.allow_tf32": "torch.npu.conv.allow_hf32",
}


class CudaBackendFlag(Rule):
    """A switch of the CUDA backends has no effect on an NPU.

    What it does
    ------------
    Reports assignments to ``torch.backends.cudnn.*`` and ``torch.backends.cuda.*``, calls of the functions below
    them and of ``torch.set_float32_matmul_precision``.

    Why on an NPU
    -------------
    The flags are accepted and do nothing. That matters where they were meant: runs are no more reproducible for
    ``cudnn.deterministic``, and the speed of TF32 is not there without ``allow_hf32``.

    Example
    -------
    ::

        torch.backends.cuda.matmul.allow_tf32 = True

    Use instead
    -----------
    ::

        torch.npu.matmul.allow_hf32 = True

    Fix safety
    ----------
    Only the TF32 flags have a fix, and it is unsafe: it changes numbers against the run without it.

    Sources
    -------
    - Tried under torch_npu 2.13.0: ``allow_hf32`` stays False whatever these flags say.
    """

    code = "NPU108"
    name = "cuda-backend-flag"
    topic = "device"
    severity = Severity.NOTE
    triggers = Triggers(("backends.cu", "backends import", "import backends", "set_float32_matmul_precision"))

    def check(self, module: Module) -> Iterator[Hit]:
        for reference in module.references:
            if not _is_flag(reference.dotted) or module.knows_npu(reference.node):
                continue
            parent = module.parent(reference.node)
            if isinstance(parent, ast.Assign) and reference.node in parent.targets:
                npu = _HF32.get(reference.dotted)
                if npu is None or npu not in module.source.text:
                    yield self._hit(reference, self._fix(module, parent, reference.dotted))
            elif isinstance(parent, ast.Call) and parent.func is reference.node:
                yield self._hit(reference, None)

    def _hit(self, reference: Reference, fix: Fix | None) -> Hit:
        instead = _INSTEAD.get(reference.dotted, "an NPU chooses by itself")
        return Hit(reference.node, f"{reference.dotted} has no effect on an NPU; {instead}", fix)

    def _fix(self, module: Module, statement: ast.Assign, dotted: str) -> Fix | None:
        npu = _HF32.get(dotted)
        if npu is None or len(statement.targets) != 1:
            return None
        flag = npu.removeprefix("torch.")
        value = module.text_of(statement.value)

        def in_its_place(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
            if writer.portable:
                return node
            writer.need_torch_npu()
            return f"{writer.torch()}.{flag} = {value}"

        def behind_it(writer: Writer) -> str:
            if not writer.portable:
                return ""
            return f'if {writer.helper("DEVICE_TYPE")} == "npu":\n    {writer.torch()}.{flag} = {value}'

        changes = (Rewrite(statement, in_its_place), Insertion(statement, behind_it, after=True))
        return Fix("Set the NPU's switch", changes, unsafe_because="it changes numbers")


def _is_flag(dotted: str) -> bool:
    if dotted == "torch.set_float32_matmul_precision":
        return True
    return dotted.startswith(("torch.backends.cudnn.", "torch.backends.cuda.")) and not dotted.endswith(
        ("is_available", "is_built", "version")
    )
