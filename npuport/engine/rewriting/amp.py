"""Mixed precision: ``autocast``, ``GradScaler`` and their decorators for a device type."""

from __future__ import annotations

import ast

from npuport.engine.fix import Fix, NotFixable, Transform, rewrite
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.names import with_argument
from npuport.engine.writer import Writer

# torch.cuda.amp.autocast takes (enabled, dtype, cache_enabled), torch.autocast (device_type, dtype, enabled, ...):
# the order differs, so what was positional gets its keyword.
_AUTOCAST_ORDER = ("enabled", "dtype", "cache_enabled")


def autocast_arguments(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
    """The call of ``torch.cuda.amp.autocast`` with the arguments of ``torch.autocast``; the function stays."""
    assert isinstance(node, cst.Call)
    args = []
    for position, arg in enumerate(node.args):
        if arg.star:
            raise NotFixable("arguments are unpacked")
        if arg.keyword is None:
            if position >= len(_AUTOCAST_ORDER):
                raise NotFixable("too many arguments")
            named = writer.argument("None", _AUTOCAST_ORDER[position])
            arg = named.with_changes(value=arg.value, comma=arg.comma)
        args.append(arg)
    return with_argument(node.with_changes(args=args), writer.argument(writer.device_type()), first=True)


def scaler_arguments(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
    """The call of ``torch.cuda.amp.GradScaler`` with the device in front, as ``torch.amp.GradScaler`` takes it."""
    assert isinstance(node, cst.Call)
    if any(arg.star for arg in node.args):
        raise NotFixable("arguments are unpacked")
    return with_argument(node, writer.argument(writer.device_type()), first=True)


def custom_fwd_arguments(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
    """The call of ``custom_fwd`` or ``custom_bwd`` with ``device_type=``."""
    assert isinstance(node, cst.Call)
    return with_argument(node, writer.argument(writer.device_type(), "device_type"))


def renamed_call(function: str, arguments: Transform) -> Transform:
    """A transform that calls ``torch.<function>`` with the arguments that ``arguments`` makes."""

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
        new = arguments(node, writer)
        assert isinstance(new, cst.Call)
        return new.with_changes(func=writer.expression(f"{writer.torch()}.{function}"))

    return transform


def switched_off(call: ast.Call) -> Fix | None:
    """The fix that switches an autocast off; None where its arguments are not all known."""
    if any(keyword.arg is None for keyword in call.keywords):
        return None
    because = "the region computes in float32, which is slower and gives other numbers"
    return rewrite("Switch autocast off", call, _disabled, unsafe_because=because)


def _disabled(node: cst.CSTNode, writer: Writer) -> cst.CSTNode:
    assert isinstance(node, cst.Call)
    return with_argument(node, writer.argument("False", "enabled"))


def device_type_replaced(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
    """``torch.autocast("cuda", ...)`` for the NPU, wherever the device type stands."""
    return _first_or_keyword(node, writer, "device_type")


def device_replaced(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
    """``torch.amp.GradScaler("cuda", ...)`` for the NPU."""
    return _first_or_keyword(node, writer, "device")


def _first_or_keyword(node: cst.CSTNode, writer: Writer, keyword: str) -> cst.CSTNode:
    assert isinstance(node, cst.Call)
    value = writer.expression(writer.device_type())
    args = list(node.args)
    for position, arg in enumerate(args):
        if (arg.keyword and arg.keyword.value == keyword) or (position == 0 and arg.keyword is None):
            args[position] = arg.with_changes(value=value)
            return node.with_changes(args=args)
    raise NotFixable("the device is not in the call")
