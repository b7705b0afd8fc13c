from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.flow.dtypes import BOOL, INTEGRAL
from npuport.analysis.flow.events import Event
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import ARRAY, TENSOR, Value
from npuport.analysis.flow.vocabulary import FLAG_NAME
from npuport.analysis.module import Module
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix, Rewrite, rewrite
from npuport.engine.flow_rule import FlowRule
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.dtypes import as_float
from npuport.engine.rewriting.precedence import as_conditional
from npuport.engine.rule import Hit, Triggers
from npuport.engine.writer import Writer

_WRONG = "~ on flags of {dtype} gives {values} in place of 1 and 0"
_VALUES = {"uint8": "255 and 254", "int32": "-1 and -2", "int64": "-1 and -2"}


class FlagArithmetic(FlowRule):
    """Flags are negated in a way that raises, or that gives other numbers than 0 and 1.

    What it does
    ------------
    Reports ``1 - done`` and ``-done`` on bool tensors, and ``~done`` on flags that are held as integers: tensors or
    arrays of uint8, int32 or int64 whose name says that they are flags.

    Why on an NPU
    -------------
    torch refuses to subtract from a bool or to negate one, on every device; flags that were uint8 on an old torch
    become bool when the code is moved. ``~`` on integers turns every bit: 0 becomes 255 or -1, and the target of
    the critic is off by that factor. Nothing is reported while the program runs.

    Example
    -------
    ::

        dones = torch.as_tensor(dones, dtype=torch.bool, device=device)
        target = rewards + gamma * (1 - dones) * next_values

    Use instead
    -----------
    ::

        dones = torch.as_tensor(dones, dtype=torch.float32, device=device)
        target = rewards + gamma * (1.0 - dones) * next_values

    Fix safety
    ----------
    ``1 - done`` on a bool becomes ``1 - done.float()``: safe, since it can only raise as it stands. ``~done`` on
    integers becomes ``1 - done``: unsafe, since the numbers change.

    Sources
    -------
    - torch: "Subtraction, the `-` operator, with a bool tensor is not supported", measured with torch 2.13.0.
    - An agent that never learns for 254 and 255: https://github.com/Banyutong/deep_learning_hands_on/issues/4
    """

    code = "NPU204"
    name = "flag-arithmetic"
    topic = "dtype"
    severity = Severity.ERROR
    triggers = Triggers(("torch",))
    about_device = False
    about_frequency = False

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        for event in flow.events("arithmetic"):
            if event.how == "Sub" and isinstance(event.node, ast.BinOp):
                flags = [
                    node
                    for node, value in ((event.node.left, event.value), (event.node.right, event.values[0]))
                    if _is_bool(value)
                ]
                if flags:
                    fix = Fix("Subtract as floats", tuple(Rewrite(node, _float) for node in flags))
                    yield self.hit(flow, event, "subtracting a bool tensor raises: torch has no - for bools", fix=fix)
        for event in flow.events("negate"):
            if _is_bool(event.value):
                yield self.hit(flow, event, "negating a bool tensor raises: torch has no - for bools")
        for event in flow.events("invert"):
            dtype = _integers(event)
            if dtype:
                message = _WRONG.format(dtype=dtype, values=_VALUES[dtype])
                yield self.hit(flow, event, message, fix=_subtraction(module, event.node))


def _is_bool(value: Value) -> bool:
    return value.only(TENSOR) and value.atoms[TENSOR].dtypes == BOOL


def _integers(event: Event) -> str:
    """The dtype of flags that ``~`` is applied to; empty where they are bools, or no flags."""
    if not event.value.only(TENSOR, ARRAY) or not isinstance(event.node, ast.UnaryOp):
        return ""
    dtypes = {dtype for atom in event.value.atoms.values() for dtype in atom.dtypes}
    if len(dtypes) != 1 or not dtypes <= INTEGRAL - BOOL or not _names_flag(event.node.operand):
        return ""
    return min(dtypes)


def _names_flag(node: ast.expr) -> bool:
    """Whether a name in an expression says that it is about flags."""
    names = (part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "") for part in ast.walk(node))
    return any(FLAG_NAME.search(name) for name in names)


def _float(node: cst.CSTNode, writer: Writer) -> cst.CSTNode:
    assert isinstance(node, cst.BaseExpression)
    return as_float(node)


def _subtraction(module: Module, inversion: ast.AST) -> Fix:
    def transform(node: cst.CSTNode, writer: Writer) -> str:
        assert isinstance(node, cst.UnaryOperation)
        return as_conditional(f"1 - {writer.code(node.expression)}", inversion, module.parent(inversion))

    return rewrite("Subtract the flags from 1", inversion, transform, unsafe_because="the numbers change")
