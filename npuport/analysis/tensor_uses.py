"""What a file does with a tensor that is made in it: the condition under which its dtype may change."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import Enum, auto
from typing import Final, NamedTuple

from npuport.analysis.flow.dtypes import FLOATING
from npuport.analysis.flow.events import Event
from npuport.analysis.flow.losses import loss_name, takes_classes
from npuport.analysis.flow.value import CLASS, FUNCTION, INSTANCE, SEQUENCE, TENSOR, Value
from npuport.analysis.module import Module


class Use(Enum):
    """What is done with a tensor at one place."""

    ARITHMETIC = auto()  # it takes part as a number, or is cast to a floating dtype
    INVERTED = auto()  # ``~x``
    INDEX = auto()  # it chooses elements: ``y[x]``, ``gather``, ``one_hot``
    CONDITION = auto()  # ``where``, ``masked_fill``
    CAST = auto()  # it is cast to integers or bools
    ESCAPE = auto()  # it is returned, or becomes an attribute: others may do with it what they like
    OTHER = auto()  # compared, read, printed, or handed to what nobody knows


class TensorUse(NamedTuple):
    """One use.

    Attributes:
        use: what is done.
        node: the expression that is the tensor.
    """

    use: Use
    node: ast.expr


# Methods and functions that hand the tensor on with its dtype.
_HANDING_ON: Final = frozenset({
    "to", "cuda", "npu", "cpu", "view", "reshape", "flatten", "squeeze", "unsqueeze", "detach", "clone", "contiguous",
    "expand", "expand_as", "view_as", "permute", "transpose", "t", "repeat", "pin_memory", "requires_grad_", "unbind",
    "split", "chunk", "cat", "stack", "concat", "hstack", "vstack", "share_memory_", "data", "T", "flip", "roll",
    "as_tensor", "select", "narrow", "zero_", "fill_", "copy_",
})  # fmt: skip
_ASKING: Final = frozenset({"shape", "size", "device", "dim", "ndim", "numel", "is_cuda", "requires_grad"})
_ARITHMETIC: Final = frozenset({
    "mul", "mul_", "multiply", "add", "add_", "sub", "sub_", "div", "div_", "lerp", "addcmul", "addcmul_",
    "float", "double", "half", "bfloat16", "mean", "mse_loss", "smooth_l1_loss", "l1_loss", "huber_loss",
    "binary_cross_entropy", "binary_cross_entropy_with_logits",
})  # fmt: skip
_INDEXING: Final = frozenset({
    "gather", "scatter", "scatter_", "scatter_add", "scatter_add_", "index_select", "index_add_", "take", "one_hot",
    "embedding", "cross_entropy", "nll_loss", "index_put_", "take_along_dim",
})  # fmt: skip
_CONDITIONS: Final = frozenset({"where", "masked_fill", "masked_fill_", "masked_select", "masked_scatter"})
_CASTS: Final = frozenset({"long", "int", "short", "bool", "byte"})
_OPERATORS: Final = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_PASSED_ON: Final = (
    ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.Return, ast.Tuple, ast.List, ast.Dict, ast.Starred, ast.keyword,
    ast.Expr, ast.Yield, ast.Delete,
)  # fmt: skip


def uses_of(module: Module, made: Event) -> list[TensorUse]:
    """What the file does with the tensor of an event ``made``, under whatever name it goes."""
    return [use for node in _carriers(module, made) if (use := _use(module, node, made)) is not None]


def _carriers(module: Module, made: Event) -> list[ast.expr]:
    """The expressions that are the tensor: what flows tells, and what has a name that once held it."""
    found: dict[ast.expr, None] = {}
    for node in module.flow.carrying(made):
        if isinstance(node, ast.expr):
            found[node] = None
            found.update(dict.fromkeys(_same_name(module, node, made)))
    return list(found)


def _same_name(module: Module, node: ast.expr, made: Event) -> Iterator[ast.expr]:
    """Other reads of the name or attribute that a tensor is assigned to."""
    parent = module.parent(node)
    targets = parent.targets if isinstance(parent, ast.Assign) else []
    for target in targets:
        others: list[ast.Attribute] | list[ast.Name] = []
        if isinstance(target, ast.Attribute):
            others = module.index.attributes.get(target.attr, [])
        elif isinstance(target, ast.Name):
            scope = module.names.scope_of(target)
            others = [n for n in module.index.names.get(target.id, []) if module.names.scope_of(n) is scope]
        for other in others:
            if isinstance(other.ctx, ast.Load) and _may_be(module.flow.value(other), made):
                yield other


def _may_be(value: Value, made: Event) -> bool:
    atom = value.get(TENSOR)
    if atom is None:
        return not value
    return not atom.dtypes or "?" in atom.dtypes or bool(atom.dtypes & made.value.atoms[TENSOR].dtypes)


def _use(module: Module, node: ast.expr, made: Event) -> TensorUse | None:
    """How the code around an expression uses it; None where it only hands it on."""
    parent = module.parent(node)
    use: Use | None = Use.OTHER
    if isinstance(parent, _PASSED_ON) or (isinstance(parent, ast.IfExp) and parent.test is not node):
        use = _handed_on(module, parent, node)
    elif isinstance(parent, ast.BinOp | ast.AugAssign):
        use = _operand(module, parent, node, made)
    elif isinstance(parent, ast.UnaryOp):
        use = {ast.Invert: Use.INVERTED, ast.USub: Use.ARITHMETIC}.get(type(parent.op), Use.OTHER)
    elif isinstance(parent, ast.Subscript):
        use = None if parent.value is node else Use.INDEX
    elif isinstance(parent, ast.Attribute):
        use = _attribute(module, parent)
    elif isinstance(parent, ast.Call):
        use = _argument(module, parent, node)
    elif isinstance(parent, ast.For | ast.comprehension):
        use = None if parent.iter is node else Use.OTHER
    return TensorUse(use, node) if use is not None else None


def _handed_on(module: Module, parent: ast.AST, node: ast.expr) -> Use | None:
    if isinstance(parent, ast.keyword):
        return _argument(module, parent, node)
    if isinstance(parent, ast.Tuple | ast.List):
        parent = module.parent(parent) or parent
    stored = isinstance(parent, ast.Assign) and not all(isinstance(target, ast.Name) for target in parent.targets)
    return Use.ESCAPE if stored or isinstance(parent, ast.Return | ast.Yield) else None


def _operand(module: Module, parent: ast.BinOp | ast.AugAssign, node: ast.expr, made: Event) -> Use | None:
    if not isinstance(parent.op, _OPERATORS):
        return Use.OTHER
    if isinstance(parent, ast.AugAssign):
        return Use.ARITHMETIC if parent.value is node else None
    other = parent.right if parent.left is node else parent.left
    if "bool" not in made.value.atoms[TENSOR].dtypes or isinstance(parent.op, ast.Mult | ast.Div):
        return Use.ARITHMETIC
    # True + True is True, as floats it is 2.
    partner = module.flow.value(other).get(TENSOR)
    return Use.ARITHMETIC if partner is None or partner.dtypes <= FLOATING else Use.OTHER


def _attribute(module: Module, attribute: ast.Attribute) -> Use | None:
    """``x.name`` or ``x.name(...)``."""
    call = module.parent(attribute)
    name = attribute.attr
    if name in _ASKING:
        return None
    if isinstance(call, ast.Call) and call.func is attribute:
        if name in ("to", "type") and (value := module.flow.value(call).get(TENSOR)) is not None:
            before = module.flow.value(attribute.value).get(TENSOR)
            if before is None or before.dtypes != value.dtypes:
                return Use.ARITHMETIC if value.dtypes <= FLOATING else Use.CAST
        return _named(name)
    return None if name in _HANDING_ON else Use.OTHER


def _named(name: str) -> Use | None:
    if name in _HANDING_ON:
        return None
    if name in _ARITHMETIC:
        return Use.ARITHMETIC
    if name in _INDEXING:
        return Use.INDEX
    if name in _CASTS:
        return Use.CAST
    return Use.CONDITION if name in _CONDITIONS else Use.OTHER


def _argument(module: Module, parent: ast.Call | ast.keyword, node: ast.expr) -> Use | None:
    """What the call does with an argument."""
    call = module.parent(parent) if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call):
        return Use.OTHER
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    loss = next((event for event in module.flow.events("loss") if event.node is call), None)
    if loss is not None:
        return Use.INDEX if takes_classes(loss_name(call, loss.how)) else Use.ARITHMETIC
    if name == "len" or module.flow.value(call.func).only(FUNCTION, CLASS, INSTANCE):
        return None
    if isinstance(call.func, ast.Attribute):
        receiver = module.flow.value(call.func.value)
        if receiver.only(INSTANCE, SEQUENCE):
            return None
    if name == "where" and call.args and call.args[0] is not node:
        return Use.ARITHMETIC
    return _named(name)
