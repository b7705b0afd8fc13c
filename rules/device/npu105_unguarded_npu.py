from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from npuport.analysis.module import Module
from npuport.engine.fix import Transform, rewrite
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.precedence import as_conjunction
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.engine.writer import Writer

# hasattr(torch, "npu"), find_spec("torch_npu"), is_torch_npu_available(), has_npu()
_GUARD = re.compile(r"(?:has|get)attr\(|torch_npu|npu_available|(?:has|is|use)_npu\b")


class UnguardedNpu(Rule):
    """``torch.npu`` is asked before it is known to exist.

    What it does
    ------------
    Reports ``torch.npu.is_available()`` in a file that does not import torch_npu and does not ask
    ``hasattr(torch, "npu")`` first, and a guard in the wrong order.

    Why on an NPU
    -------------
    On the NPU machine it works. On every machine without torch_npu the probe raises AttributeError instead of
    answering False: a port that was meant to stay portable is broken there. Hand ports have shipped just this
    and reversed it the day after.

    Example
    -------
    ::

        if torch.npu.is_available() and hasattr(torch, "npu"):
            sync = torch.npu.synchronize

    Use instead
    -----------
    ::

        if hasattr(torch, "npu") and torch.npu.is_available():
            sync = torch.npu.synchronize

    Fix safety
    ----------
    Safe: where ``torch.npu`` exists the answer is the same.

    Sources
    -------
    - torch_npu registers ``torch.npu`` when it is imported, by hand or by torch's autoload (torch 2.5 and newer):
      https://github.com/Ascend/pytorch
    """

    code = "NPU105"
    name = "unguarded-npu"
    topic = "device"
    triggers = Triggers((".npu", "import npu"))

    def check(self, module: Module) -> Iterator[Hit]:
        for reference in module.references:
            if reference.dotted != "torch.npu.is_available":
                continue
            call = module.parent(reference.node)
            if not isinstance(call, ast.Call) or not isinstance(reference.node, ast.Attribute):
                continue
            late = _guard_behind(module, call)
            if late is not None:
                yield Hit(
                    call,
                    "asks torch.npu before hasattr() has answered",
                    rewrite("Ask hasattr() first", late, _guard_first),
                )
            elif "torch_npu" not in module.libraries and not _guarded(module, call):
                message = "raises AttributeError on a machine without torch_npu"
                yield Hit(call, message, rewrite("Ask hasattr() first", call, _with_guard(module, call)))


def _is_guard(module: Module, node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and "hasattr" in module.text_of(node.func) and "npu" in module.text_of(node)


def _guard_behind(module: Module, call: ast.Call) -> ast.BoolOp | None:
    """The ``and`` in which the guard stands behind the probe."""
    condition = module.parent(call)
    if not isinstance(condition, ast.BoolOp) or not isinstance(condition.op, ast.And):
        return None
    place = condition.values.index(call)
    later = any(_is_guard(module, value) for value in condition.values[place + 1 :])
    return condition if later and not any(_is_guard(module, value) for value in condition.values[:place]) else None


def _guarded(module: Module, call: ast.Call) -> bool:
    """Whether anything in front of the probe makes sure of ``torch.npu``: a test, a ``try``, an earlier return."""
    child: ast.AST = call
    for ancestor in module.ancestors(call):
        if isinstance(ancestor, ast.BoolOp) and child in ancestor.values:
            earlier = ancestor.values[: ancestor.values.index(child)]
            if any(_GUARD.search(module.text_of(value)) for value in earlier):
                return True
        if (
            isinstance(ancestor, ast.If | ast.IfExp)
            and child is not ancestor.test
            and module.branches.mentions_npu(ancestor.test)
        ):
            return True
        if isinstance(ancestor, ast.Try) and ancestor.handlers and child in ancestor.body:
            return True
        if isinstance(ancestor, ast.FunctionDef | ast.AsyncFunctionDef):
            before = [s for s in ancestor.body if s.lineno < call.lineno]
            if any(
                module.branches.mentions_npu(s)
                for s in before
                if isinstance(s, ast.If | ast.Try | ast.Import | ast.ImportFrom)
            ):
                return True
        child = ancestor
    return False


def _guard_first(node: cst.CSTNode, writer: Writer) -> str:
    """``a and hasattr(torch, "npu")`` with its operands in the order guard, rest."""
    operands: list[str] = []

    def flatten(expression: cst.CSTNode) -> None:
        if (
            isinstance(expression, cst.BooleanOperation)
            and isinstance(expression.operator, cst.And)
            and not expression.lpar
        ):
            flatten(expression.left)
            flatten(expression.right)
        else:
            operands.append(writer.code(expression))

    flatten(node)
    guards = [text for text in operands if text.startswith("hasattr(")]
    return " and ".join([*guards, *(text for text in operands if text not in guards)])


def _with_guard(module: Module, call: ast.Call) -> Transform:
    def transform(node: cst.CSTNode, writer: Writer) -> str:
        assert isinstance(node, cst.Call)
        assert isinstance(node.func, cst.Attribute)
        assert isinstance(node.func.value, cst.Attribute)
        torch = writer.code(node.func.value.value)
        return as_conjunction(f'hasattr({torch}, "npu") and {writer.code(node)}', call, module.parent(call))

    return transform
