"""How code makes a tensor and brings it to a device: ``torch.tensor(x, dtype=...).to(device)`` taken apart."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Final

from npuport.analysis.flow.dtypes import LEGACY_TENSORS
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import TENSOR
from npuport.analysis.module import Module

# Functions that need no data: the device can make the tensor by itself.
FILLING: Final = frozenset({"zeros", "ones", "empty", "full", "eye", "arange", "linspace", "logspace"})
DRAWING: Final = frozenset({"rand", "randn", "randint", "randperm", "normal"})
# Functions that copy data, whatever it is.
COPYING: Final = frozenset({"tensor", "as_tensor", "from_numpy", "asarray", *LEGACY_TENSORS})
# Methods that stand between a creation and ``.to(device)`` and give the same on the device.
_ON_ANY_DEVICE: Final = frozenset({
    "float", "long", "int", "bool", "half", "double", "unsqueeze", "squeeze", "view", "reshape", "repeat", "expand",
    "flatten", "t", "transpose", "permute",
})  # fmt: skip
# Without one of these in it, a file brings nothing to a device.
UPLOADING_TEXTS: Final = ("ensor", "from_numpy", "asarray", ".to", ".cuda", ".npu", "device", ".type")
_MOVES: Final = frozenset({"to", "cuda", "npu"})
# The torch names of the dtypes of the legacy constructors that programs use.
_LEGACY_DTYPES: Final = {
    "Tensor": "float32",
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}


@dataclass(frozen=True)
class Creation:
    """A call that makes a tensor, and how it gets to its device.

    Attributes:
        whole: the whole expression, with ``.to(device)`` where there is one.
        call: the call that makes the tensor.
        function: the last part of its name: ``zeros``, ``tensor``, ``FloatTensor``.
        device: the device that is named; None for the host, and for ``.cuda()`` and ``.npu()``.
        moved: ``to``, ``cuda``, ``npu``, or empty where the call itself makes it on the device.
        methods: how many methods stand between: 1 in ``torch.zeros(n).float().to(device)``.
    """

    whole: ast.Call
    call: ast.Call
    function: str
    device: ast.expr | None
    moved: str
    methods: int = 0

    @property
    def data(self) -> ast.expr | None:
        """What the tensor is made of, for functions that copy data."""
        if self.function not in COPYING or not self.call.args or isinstance(self.call.args[0], ast.Starred):
            return None
        return self.call.args[0]

    @property
    def legacy_dtype(self) -> str | None:
        """The dtype of ``torch.FloatTensor`` and its kin, as torch calls it."""
        return _LEGACY_DTYPES.get(self.function)

    @property
    def dtype(self) -> ast.expr | None:
        """The dtype that the call names, by keyword."""
        return keyword(self.call, "dtype")

    @property
    def keywords(self) -> frozenset[str | None]:
        """The keywords of the call; None among them for ``**options``."""
        return frozenset(argument.arg for argument in self.call.keywords)

    @property
    def copies_needlessly(self) -> bool:
        """Whether it is copied to the device although nothing in it comes from the host."""
        if self.needs_no_data:
            return bool(self.moved)
        return self.data is not None and is_constant(self.data)

    @property
    def needs_no_data(self) -> bool:
        """Whether the device could make the tensor without anything from the host."""
        return self.function in FILLING or self.function in DRAWING


def read_creation(module: Module, node: ast.AST) -> Creation | None:
    """The creation that an expression is; None where it is another one, or more than that.

    ``.to(device, dtype)`` is more than that; ``non_blocking=True`` is not.
    """
    if not isinstance(node, ast.Call):
        return None
    function = created_by(module, node)
    if function is not None:
        return Creation(node, node, function, keyword(node, "device"), "")
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in _MOVES:
        return None
    inner, methods = without_methods(node.func.value)
    function = created_by(module, inner) if isinstance(inner, ast.Call) else None
    named = {argument.arg for argument in node.keywords} - {"non_blocking", "device"}
    if function is None or not isinstance(inner, ast.Call) or keyword(inner, "device") is not None:
        return None
    device = node.args[0] if node.args else keyword(node, "device")
    if named or len(node.args) > 1 or (node.func.attr == "to" and device is None):
        return None
    return Creation(node, inner, function, device, node.func.attr, methods)


def without_methods(node: ast.expr) -> tuple[ast.expr, int]:
    """What a chain of methods that go with any device begins with, and how many they are."""
    methods = 0
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ON_ANY_DEVICE:
        node, methods = node.func.value, methods + 1
    return node, methods


def names_device(flow: FileFlow, creation: Creation) -> bool:
    """Whether what is given to ``to`` or ``cuda`` goes as ``device=``: no other tensor, no bare number."""
    if creation.device is None:
        return True
    number = isinstance(creation.device, ast.Constant) and isinstance(creation.device.value, int)
    return flow.value(creation.device).get(TENSOR) is None and not number


def created_by(module: Module, call: ast.Call) -> str | None:
    """The function of torch that a call makes a tensor with: ``zeros``, ``FloatTensor``."""
    dotted = module.resolve(call.func)
    if dotted is None:
        return None
    package, _, function = dotted.rpartition(".")
    if function == "normal" and len(call.args) + (keyword(call, "size") is not None) < 3:
        return None  # of tensors, on whose device it stays
    known = function in FILLING or function in DRAWING or function in COPYING
    return function if package == "torch" and known else None


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """The value of a named argument."""
    return next((argument.value for argument in call.keywords if argument.arg == name), None)


def constant_of(node: ast.expr) -> bool | int | float | None:
    """The number that a literal is, perhaps with a minus; None for all else."""
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    literal = node.operand if negative and isinstance(node, ast.UnaryOp) else node
    if not isinstance(literal, ast.Constant) or not isinstance(literal.value, bool | int | float):
        return None
    return -literal.value if negative else literal.value


def is_constant(node: ast.expr) -> bool:
    """Whether data is the same each time: a number, or lists of numbers."""
    if isinstance(node, ast.List | ast.Tuple):
        return bool(node.elts) and all(map(is_constant, node.elts))
    return constant_of(node) is not None
