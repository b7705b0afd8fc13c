from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.device_evidence import strings_in
from npuport.analysis.device_roles import Role
from npuport.analysis.device_strings import device_strings
from npuport.analysis.module import Module
from npuport.engine.fix import Transform, rewrite
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.precedence import as_conjunction
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.engine.writer import Writer


class HalfPortedChoice(Rule):
    """Only one half of a choice between devices was ported.

    What it does
    ------------
    Reports a test for CUDA that leads to an NPU device, ``"npu" if torch.cuda.is_available() else "cpu"``. (The
    reverse, ``"cuda"`` behind a test for the NPU, is NPU101 on the string.) Also reports a test for any accelerator,
    ``torch.accelerator.is_available()``, that leads to CUDA.

    Why on an NPU
    -------------
    The test is False on the NPU machine, so the agent trains on the CPU; on a GPU machine it is True, and the
    first tensor fails. A search-and-replace of strings leaves just this behind.

    Example
    -------
    ::

        device = "npu:0" if torch.cuda.is_available() else "cpu"

    Use instead
    -----------
    ::

        device = "npu:0" if torch.npu.is_available() else "cpu"

    Fix safety
    ----------
    Safe: the test asks for the device that its arm names. A test for any accelerator is only reported.

    Sources
    -------
    - Seen in hand ports: the condition was replaced and the string left, or the other way round.
    """

    code = "NPU109"
    name = "half-ported-choice"
    topic = "device"
    triggers = Triggers(("cuda",))

    def check(self, module: Module) -> Iterator[Hit]:
        for reference in module.references:
            if reference.dotted != "torch.cuda.is_available":
                continue
            call = module.parent(reference.node)
            choice = module.enclosing(reference.node, (ast.If, ast.IfExp, ast.stmt))
            if (
                isinstance(call, ast.Call)
                and isinstance(choice, ast.If | ast.IfExp)
                and self._leads_to_npu(module, choice, call)
            ):
                yield Hit(
                    call,
                    "tests for CUDA, but its arm names an NPU",
                    rewrite("Ask for the NPU", call, _npu_test(module, call)),
                )
        for site in device_strings(module):
            choice = module.parent(site.node)
            if site.role is Role.VALUE and isinstance(choice, ast.IfExp) and site.node is choice.body:
                test = module.text_of(choice.test)
                if "accelerator" in test and "cuda" not in test and not module.branches.mentions_npu(choice):
                    yield Hit(choice, "the test is for any accelerator, the string still names CUDA")

    def _leads_to_npu(self, module: Module, choice: ast.If | ast.IfExp, call: ast.Call) -> bool:
        inside_test = call is choice.test or any(ancestor is choice.test for ancestor in module.ancestors(call))
        if not inside_test or module.branches.mentions_npu(choice.test):
            return False
        arm = choice.body if isinstance(choice.body, list) else [choice.body]
        rest = choice.orelse if isinstance(choice.orelse, list) else [choice.orelse]
        names_npu = any(_names_npu_device(node) for node in arm)
        return names_npu and not any(module.branches.mentions_npu(node) for node in rest)


def _names_npu_device(node: ast.AST) -> bool:
    texts = strings_in(node)
    return any(text == "npu" or text.startswith("npu:") for text in texts) and not any(
        text.startswith("cuda") for text in texts
    )


def _npu_test(module: Module, call: ast.Call) -> Transform:
    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
        if not writer.portable:
            return f"{writer.device_module()}.is_available()"
        torch = writer.torch()
        return as_conjunction(f'hasattr({torch}, "npu") and {torch}.npu.is_available()', call, module.parent(call))

    return transform
