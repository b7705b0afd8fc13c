"""Dtypes of tensors: the argument ``dtype=`` of a constructor, legacy constructors, casts."""

from __future__ import annotations

import ast
from typing import Final

from npuport.analysis.flow.dtypes import LEGACY_TENSORS
from npuport.analysis.flow.value import TENSOR, Value
from npuport.analysis.module import Module
from npuport.engine.fix import NotFixable, Transform
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.names import with_argument
from npuport.engine.writer import Writer

# Constructors that take ``dtype=``.
_WITH_DTYPE: Final = frozenset({
    "tensor", "as_tensor", "asarray", "zeros", "ones", "empty", "full", "arange", "zeros_like", "ones_like",
    "empty_like", "full_like", "new_tensor", "new_zeros", "new_ones", "new_full", "new_empty", "randint",
    "scalar_tensor",
})  # fmt: skip
_LEGACY_NAMES: Final = {"float32": "FloatTensor", "bool": "BoolTensor"}


def constructor(module: Module, call: ast.AST | None) -> str:
    """The name of the constructor that an expression calls, where ``made_in`` can give it another dtype; else empty."""
    if not isinstance(call, ast.Call):
        return ""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in LEGACY_TENSORS:
        data = data_of(module, call)
        # torch.FloatTensor(x) refuses a tensor of another dtype.
        return "" if data is not None and TENSOR in data.atoms else name
    return name if name in _WITH_DTYPE else ""


def data_of(module: Module, call: ast.AST) -> Value | None:
    """What a tensor is made of; None where a call makes one of nothing."""
    return next((event.value for event in module.flow.events("create") if event.node is call), None)


def made_in(dtype: str) -> Transform:
    """A constructor makes its tensor in another dtype: ``torch.tensor(x, dtype=torch.float32)``, ``FloatTensor(x)``."""

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode:
        assert isinstance(node, cst.Call)
        legacy = _legacy(node, dtype)
        return legacy if legacy is not None else _with_dtype(node, f"{writer.torch()}.{dtype}", writer)

    return transform


def _legacy(node: cst.Call, dtype: str) -> cst.Call | None:
    function = node.func
    name = function.attr if isinstance(function, cst.Attribute) else function
    if not isinstance(name, cst.Name) or name.value not in LEGACY_TENSORS:
        return None
    if not isinstance(function, cst.Attribute):
        raise NotFixable("the constructor is imported by its name")
    return node.with_changes(func=function.with_changes(attr=cst.Name(_LEGACY_NAMES[dtype])))


def _with_dtype(node: cst.Call, dtype: str, writer: Writer) -> cst.Call:
    if any(arg.star for arg in node.args):
        raise NotFixable("the arguments are spread")
    for position, arg in enumerate(node.args):
        named = arg.keyword is not None and arg.keyword.value == "dtype"
        if named or (arg.keyword is None and position and _is_dtype(arg.value)):
            args = [*node.args]
            args[position] = arg.with_changes(value=writer.expression(dtype))
            return node.with_changes(args=args)
    return _before_device(node, writer.argument(dtype, "dtype"))


def _is_dtype(node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.Attribute):
        return isinstance(node.value, cst.Name) and node.value.value in ("torch", "th", "np", "numpy")
    return isinstance(node, cst.Name) and node.value in ("float", "int", "bool")


def _before_device(node: cst.Call, argument: cst.Arg) -> cst.Call:
    """``dtype=`` in front of ``device=``, as is the custom; at the end where there is none."""
    for position, arg in enumerate(node.args):
        if position and arg.keyword is not None and arg.keyword.value == "device":
            comma = node.args[position - 1].comma
            args = [*node.args[:position], argument.with_changes(comma=comma), *node.args[position:]]
            return node.with_changes(args=args)
    return with_argument(node, argument)


def cast_before(node: cst.CSTNode, writer: Writer) -> cst.CSTNode:
    """``x.to(device)`` becomes ``x.float().to(device)``: the cast happens on the host."""
    assert isinstance(node, cst.Call)
    if not isinstance(node.func, cst.Attribute):
        raise NotFixable("no method")
    return node.with_changes(func=node.func.with_changes(value=as_float(node.func.value)))


def as_float(node: cst.BaseExpression) -> cst.Call:
    """``x.float()``."""
    simple = cst.Name | cst.Attribute | cst.Call | cst.Subscript
    if not isinstance(node, simple) and not node.lpar:
        node = node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return cst.Call(cst.Attribute(node, cst.Name("float")))
