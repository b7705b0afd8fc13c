"""Reads of the device that can wait until a loop ends: sums and lists stay on the device as long as it runs."""

from __future__ import annotations

import ast

from npuport.analysis.accumulators import Accumulator, accumulator_of, tensor_read
from npuport.analysis.flow.events import Event
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import NUMBER, TENSOR
from npuport.analysis.module import Module
from npuport.engine.fix import Fix, Insertion, NotFixable, Rewrite, Transform
from npuport.engine.lazy_libcst import cst
from npuport.engine.writer import Writer

_FLOATING = frozenset({"float16", "float32", "float64"})
_HALF = "float16"
# Their results are tensors of their own, not views of another that may change later.
_MAKES_NEW = frozenset({
    "mean", "sum", "std", "var", "norm", "abs", "exp", "log", "sqrt", "pow", "square", "max", "min", "median", "prod",
    "mse_loss", "smooth_l1_loss", "cross_entropy", "huber_loss", "clip_grad_norm_",
})  # fmt: skip
_LESS_PRECISE = "sums in the tensor's precision instead of Python's float64"
_TAKES_MEMORY = "keeps one small tensor of every turn on the device until the loop ends"


def deferred_read(module: Module, flow: FileFlow, event: Event) -> Fix | None:
    """A fix that reads a sum or a list once behind the loop that fills it; None where that is not sound.

    Args:
        module: the file.
        flow: its flow.
        event: the read of a tensor in the loop.
    """
    found = accumulator_of(module, event.node)
    if found is None or flow.level_of(event.function, found.loop) >= flow.level(event):
        return None
    tensors = [flow.value(tensor_read(read)) for read in found.reads]
    if not all(value.only(TENSOR) and not value.atoms[TENSOR].on_host for value in tensors):
        return None
    if not all(flow.value(other).only(NUMBER) for other in found.others):
        return None
    return _gathered(flow, event, found) if found.gathers else _summed(flow, found)


def _summed(flow: FileFlow, found: Accumulator) -> Fix | None:
    if any(_HALF in flow.value(tensor_read(read)).atoms[TENSOR].dtypes for read in found.reads):
        return None  # sixteen bits are too few for a sum

    def text(writer: Writer) -> str:
        name = found.name
        if isinstance(found.start, float):
            return f"{name} = float({name})"
        return f"{name} = {name}.item() if {writer.torch()}.is_tensor({name}) else {name}"

    changes = [Rewrite(read, _without_read(copy=False)) for read in found.reads]
    read_once = Insertion(found.loop, text, after=True)
    return Fix("Add on the device and read once behind the loop", (*changes, read_once), _LESS_PRECISE)


def _gathered(flow: FileFlow, event: Event, found: Accumulator) -> Fix | None:
    (read,) = found.reads
    if isinstance(read.func, ast.Name) and not _is_floating(flow, event, tensor_read(read)):
        return None  # float(x) makes another number of an integer

    def text(writer: Writer) -> str:
        name = found.name
        return f"{name} = {writer.torch()}.stack({name}).flatten().tolist() if {name} else []"

    copy = not (_is_loss(flow, event, tensor_read(read)) or _is_new(tensor_read(read)))
    changes = (Rewrite(read, _without_read(copy=copy)), Insertion(found.loop, text, after=True))
    return Fix("Keep the tensors and read them once behind the loop", changes, _TAKES_MEMORY)


def _is_floating(flow: FileFlow, event: Event, tensor: ast.expr) -> bool:
    atom = flow.value(tensor).get(TENSOR)
    dtypes = atom.dtypes if atom is not None else frozenset()
    return _is_loss(flow, event, tensor) or (bool(dtypes) and dtypes <= _FLOATING)


def _is_loss(flow: FileFlow, event: Event, tensor: ast.expr) -> bool:
    """Whether gradients of a tensor are computed in the same function: it is new and floating."""
    if not isinstance(tensor, ast.Name):
        return False
    names = {
        getattr(other.node.func.value, "id", "")
        for other in flow.events("backward")
        if other.function is event.function
        and isinstance(other.node, ast.Call)
        and isinstance(other.node.func, ast.Attribute)
    }
    return tensor.id in names


def _is_new(tensor: ast.expr) -> bool:
    if isinstance(tensor, ast.Call):
        name = getattr(tensor.func, "attr", getattr(tensor.func, "id", ""))
        return name in _MAKES_NEW
    return isinstance(tensor, ast.BinOp)


def _without_read(*, copy: bool) -> Transform:
    """``x.item()`` and ``float(x)`` become ``x.detach()``, as a copy where ``x`` may change in place."""

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
        assert isinstance(node, cst.Call)
        tensor = _bare(node.func.value if isinstance(node.func, cst.Attribute) else node.args[0].value)
        if isinstance(tensor, cst.Await):
            raise NotFixable("an awaited tensor")
        code = writer.code(tensor)
        simple = isinstance(tensor, cst.Name | cst.Attribute | cst.Call | cst.Subscript) or tensor.lpar
        return f"{code if simple else f'({code})'}.detach(){'.clone()' if copy else ''}"

    return transform


def _bare(node: cst.BaseExpression) -> cst.BaseExpression:
    """The tensor without the copies and detachments behind it."""
    while True:
        attribute = node.func if isinstance(node, cst.Call) else node
        if not isinstance(attribute, cst.Attribute):
            return node
        name = attribute.attr.value
        if name not in ("cpu", "detach") if isinstance(node, cst.Call) else name != "data":
            return node
        node = attribute.value
