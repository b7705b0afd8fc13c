"""Comparisons that ask for CUDA, in both styles."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from npuport.engine.fix import NotFixable, Transform
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.strings import CUDA, device_value, replaced
from npuport.engine.writer import Writer

if TYPE_CHECKING:
    Literal: TypeAlias = cst.SimpleString | cst.FormattedString


def question(cuda: str, npu: str) -> Transform:
    """A comparison or ``startswith`` that asks for ``cuda`` asks for ``npu``, or portably for both."""

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
        if isinstance(node, cst.Comparison) and (sliced := _sliced_text(node)) is not None:
            return _portable_or_not(node, writer, sliced, cuda, npu)
        if not writer.portable:
            return _with_literals(node, cuda, lambda literal: replaced(literal, cuda, npu))
        if isinstance(node, cst.Comparison):
            return _portable_comparison(node, writer, cuda, npu)
        if isinstance(node, cst.Call):  # x.startswith("cuda")
            return _with_literals(node, cuda, lambda literal: _pair(writer.code(literal), cuda, npu))
        raise NotFixable("no comparison")

    return transform


def _sliced_text(node: cst.Comparison) -> cst.BaseExpression | None:
    """The text of ``str(device)[:4] == "cuda"``: the NPU's name has another length."""
    if isinstance(node.left, cst.Subscript) and isinstance(node.left.slice[0].slice, cst.Slice):
        return node.left.value
    return None


def _portable_or_not(
    node: cst.Comparison, writer: Writer, text: cst.BaseExpression, cuda: str, npu: str
) -> cst.CSTNode | str:
    operator = node.comparisons[0].operator
    if not isinstance(operator, cst.Equal | cst.NotEqual):
        raise NotFixable("a part of a text")
    literal = node.comparisons[0].comparator
    word = literal.raw_value if isinstance(literal, cst.SimpleString) else cuda  # "cuda:" has its colon
    twin = word.replace(cuda, npu, 1)
    asked = f'("{word}", "{twin}")' if writer.portable else f'"{twin}"'
    negated = "not " if isinstance(operator, cst.NotEqual) else ""
    return f"{negated}{writer.code(text)}.startswith({asked})"


def _portable_comparison(node: cst.Comparison, writer: Writer, cuda: str, npu: str) -> cst.CSTNode | str:
    left, operator, right = node.left, node.comparisons[0].operator, node.comparisons[0].comparator
    pair = f'("{cuda}", "{npu}")'
    if isinstance(operator, cst.Equal | cst.NotEqual):
        literal, other = (left, right) if isinstance(left, cst.SimpleString) else (right, left)
        if isinstance(literal, cst.SimpleString) and literal.raw_value == cuda:
            return f"{writer.code(other)} {'in' if isinstance(operator, cst.Equal) else 'not in'} {pair}"
    elif isinstance(left, cst.SimpleString) and left.raw_value.startswith(cuda):  # "cuda" in str(device)
        inner = writer.code(right)
        text = inner if re.match(r"str\s*\(", inner) else f"str({inner})"
        both = f'("{left.raw_value}", "{left.raw_value.replace(cuda, npu, 1)}")'
        return f"{'not ' if isinstance(operator, cst.NotIn) else ''}{text}.startswith({both})"
    elif isinstance(right, cst.Tuple | cst.List | cst.Set):  # device.type in ("cuda", "mps")
        elements = [new for element in right.elements for new in _accepted(element, writer, cuda, npu)]
        comparison = node.comparisons[0].with_changes(comparator=right.with_changes(elements=elements))
        return node.with_changes(comparisons=[comparison])
    # One card is asked for, "cuda:0", or a text is made: it has to be made for this machine's device.
    return _with_literals(node, CUDA, lambda literal: device_value(literal, writer))


def _accepted(element: cst.BaseElement, writer: Writer, cuda: str, npu: str) -> list[cst.BaseElement]:
    """One accepted value, joined by the NPU's; an f-string is made for this machine's device."""
    value = element.value
    if isinstance(value, cst.FormattedString) and _names(value, CUDA):
        return [element.with_changes(value=device_value(value, writer))]
    if not isinstance(value, cst.SimpleString) or not _names(value, cuda):
        return [element]
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    return [element.with_changes(comma=comma), element.with_changes(value=replaced(value, cuda, npu))]


def _pair(literal: str, cuda: str, npu: str) -> cst.BaseExpression:
    return cst.parse_expression(f"({literal}, {literal.replace(cuda, npu, 1)})")


def _names(literal: Literal, cuda: str) -> bool:
    """Whether a literal names the CUDA device or backend."""
    if isinstance(literal, cst.SimpleString):
        return literal.raw_value == cuda or literal.raw_value.startswith(f"{cuda}:")
    first = literal.parts[0] if literal.parts else None
    return isinstance(first, cst.FormattedStringText) and first.value.startswith(f"{cuda}:")


def _with_literals(node: cst.CSTNode, cuda: str, change: Callable[[Literal], cst.BaseExpression]) -> cst.CSTNode:
    """``node`` with every literal that names ``cuda`` changed."""

    class Literals(cst.CSTTransformer):
        def leave_SimpleString(
            self, original_node: cst.SimpleString, updated_node: cst.SimpleString
        ) -> cst.BaseExpression:
            return change(updated_node) if _names(updated_node, cuda) else updated_node

        def leave_FormattedString(
            self, original_node: cst.FormattedString, updated_node: cst.FormattedString
        ) -> cst.BaseExpression:
            return change(updated_node) if _names(updated_node, cuda) else updated_node

    result = node.visit(Literals())
    assert isinstance(result, cst.CSTNode)
    return result
