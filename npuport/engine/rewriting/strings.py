"""Device strings in both styles."""

from __future__ import annotations

from npuport.engine.fix import NotFixable, Transform
from npuport.engine.lazy_libcst import cst
from npuport.engine.writer import Writer

CUDA = "cuda"


def device_value(node: cst.CSTNode, writer: Writer) -> cst.BaseExpression:
    """A string that becomes a device: ``"cuda:1"`` -> ``"npu:1"``, or ``f"{DEVICE_TYPE}:1"``."""
    if not writer.portable:
        writer.need_torch_npu()
        return replaced(node, CUDA, "npu")
    if isinstance(node, cst.SimpleString):
        return _portable_simple(node, writer.helper("DEVICE_TYPE"))
    if isinstance(node, cst.FormattedString):
        first, *rest = node.parts
        assert isinstance(first, cst.FormattedStringText)
        name = cst.FormattedStringExpression(cst.Name(writer.helper("DEVICE_TYPE")))
        return node.with_changes(parts=[name, first.with_changes(value=first.value.removeprefix(CUDA)), *rest])
    raise NotFixable("a string in several parts")


def _portable_simple(node: cst.SimpleString, name: str) -> cst.BaseExpression:
    value = node.raw_value
    if value == CUDA:
        return cst.Name(name, lpar=node.lpar, rpar=node.rpar)
    rest = value.removeprefix(CUDA).replace("{", "{{").replace("}", "}}")
    prefix = "" if node.prefix in ("u", "") else node.prefix
    return cst.parse_expression(f"f{prefix}{node.quote}{{{name}}}{rest}{node.quote}")


def replaced(node: cst.CSTNode, old: str, new: str) -> cst.BaseExpression:
    """A string literal with the first ``old`` in it replaced; quotes and prefix stay."""
    if isinstance(node, cst.SimpleString):
        return node.with_changes(value=node.value.replace(old, new, 1))
    if isinstance(node, cst.FormattedString):
        first, *rest = node.parts
        if isinstance(first, cst.FormattedStringText):
            return node.with_changes(parts=[first.with_changes(value=first.value.replace(old, new, 1)), *rest])
    raise NotFixable("a string in several parts")


def accepted_values(cuda: str, npu: str) -> Transform:
    """One of the values that an option accepts: replaced, or in portable style joined by the NPU's."""

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
        if not writer.portable:
            return replaced(node, cuda, npu)
        text = writer.code(node)
        return f"{text}, {text.replace(cuda, npu, 1)}"

    return transform


def pattern_values_of(cuda: str, npu: str) -> Transform:
    """The pattern of ``case "cuda":``."""

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
        text = writer.code(node)
        new = text.replace(cuda, npu, 1)
        return f"{text} | {new}" if writer.portable else new

    return transform
