"""Names below ``torch.cuda`` in both styles, and the small changes to calls that go with them."""

from __future__ import annotations

from npuport.engine.fix import NotFixable, Transform
from npuport.engine.lazy_libcst import cst
from npuport.engine.writer import Writer


def below_torch_cuda(npu_name: str) -> Transform:
    """Replace a whole dotted name by its twin.

    Args:
        npu_name: the full NPU name, ``torch.npu.empty_cache`` or ``torch.OutOfMemoryError``.
    """

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
        return dotted(npu_name, writer)

    return transform


def dotted(npu_name: str, writer: Writer) -> str:
    """The NPU name as this file spells it."""
    if npu_name == "torch.npu":
        return writer.device_module()
    if npu_name.startswith("torch.npu."):
        return f"{writer.device_module()}.{npu_name.removeprefix('torch.npu.')}"
    if npu_name.startswith("torch."):
        writer.need_torch_npu()
        return f"{writer.torch()}.{npu_name.removeprefix('torch.')}"
    raise NotFixable(f"{npu_name} lies outside torch")


def module_lookup(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
    """``getattr(torch, "cuda")`` asks for the NPU's module."""
    assert isinstance(node, cst.Call)
    new = writer.argument(writer.device_type())
    return node.with_changes(args=[node.args[0], new.with_changes(comma=node.args[1].comma), *node.args[2:]])


def with_argument(node: cst.Call, argument: cst.Arg, *, first: bool = False) -> cst.Call:
    """``node`` with one more argument, at the end or in front; a trailing comma and layout are kept."""
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    if first:
        new = [argument.with_changes(comma=comma if node.args else cst.MaybeSentinel.DEFAULT), *node.args]
        return node.with_changes(args=new)
    if not node.args:
        return node.with_changes(args=[argument])
    *before, last = node.args
    if isinstance(last.comma, cst.Comma):
        return node.with_changes(args=[*before, *_behind_trailing_comma(node, last, argument)])
    after = last.whitespace_after_arg
    between = before[-1].comma if before and isinstance(before[-1].comma, cst.Comma) else comma
    last = last.with_changes(comma=between, whitespace_after_arg=cst.SimpleWhitespace(""))
    return node.with_changes(args=[*before, last, argument.with_changes(whitespace_after_arg=after)])


def _behind_trailing_comma(node: cst.Call, last: cst.Arg, argument: cst.Arg) -> list[cst.Arg]:
    """The last argument and a new one: the new line goes like the others, a comment stays with its argument."""
    assert isinstance(last.comma, cst.Comma)
    end = last.comma.whitespace_after
    layout = (
        node.args[-2].comma.whitespace_after
        if len(node.args) > 1 and isinstance(node.args[-2].comma, cst.Comma)
        else node.whitespace_before_args
    )
    if not isinstance(end, cst.ParenthesizedWhitespace) or not isinstance(layout, cst.ParenthesizedWhitespace):
        spaced = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        return [last.with_changes(comma=spaced), argument.with_changes(comma=last.comma)]
    between = layout.with_changes(first_line=end.first_line, empty_lines=())
    closing = end.with_changes(
        first_line=end.first_line.with_changes(whitespace=cst.SimpleWhitespace(""), comment=None)
    )
    return [
        last.with_changes(comma=last.comma.with_changes(whitespace_after=between)),
        argument.with_changes(comma=last.comma.with_changes(whitespace_after=closing)),
    ]


def without_argument(node: cst.Call, argument: cst.Arg) -> cst.Call:
    """``node`` without one of its arguments; what closed the list of arguments closes it again."""
    *before, last = node.args
    kept = [arg for arg in node.args if arg is not argument]
    if argument is last and before:
        kept[-1] = kept[-1].with_changes(comma=last.comma, whitespace_after_arg=last.whitespace_after_arg)
    return node.with_changes(args=kept)


def replace_argument(node: cst.Call, keyword: str, code: str, writer: Writer) -> cst.Call:
    """``node`` with the value of ``keyword=`` replaced by ``code``."""
    value = writer.expression(code)
    args = [arg.with_changes(value=value) if arg.keyword and arg.keyword.value == keyword else arg for arg in node.args]
    return node.with_changes(args=args)
