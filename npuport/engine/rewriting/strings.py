"""Device strings in both styles."""

from __future__ import annotations

import re
from collections.abc import Callable

from npuport.engine.fix import NotFixable
from npuport.engine.lazy_libcst import cst
from npuport.engine.writer import Writer

_CUDA = "cuda"


def device_value(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
    """A string that becomes a device: ``"cuda:1"`` -> ``"npu:1"``, or ``f"{DEVICE_TYPE}:1"``."""
    if not writer.portable:
        writer.need_torch_npu()
        return replaced(node, _CUDA, "npu")
    if isinstance(node, cst.SimpleString):
        return _portable_simple(node, writer.helper("DEVICE_TYPE"))
    if isinstance(node, cst.FormattedString):
        first, *rest = node.parts
        assert isinstance(first, cst.FormattedStringText)
        name = cst.FormattedStringExpression(cst.Name(writer.helper("DEVICE_TYPE")))
        return node.with_changes(parts=[name, first.with_changes(value=first.value.removeprefix(_CUDA)), *rest])
    raise NotFixable("a string in several parts")


def _portable_simple(node: cst.SimpleString, name: str) -> cst.BaseExpression:
    value = node.raw_value
    if value == _CUDA:
        return cst.Name(name, lpar=node.lpar, rpar=node.rpar)
    rest = value.removeprefix(_CUDA).replace("{", "{{").replace("}", "}}")
    prefix = "" if node.prefix in ("u", "") else node.prefix
    return cst.parse_expression(f"f{prefix}{node.quote}{{{name}}}{rest}{node.quote}")


def replaced(node: cst.CSTNode, old: str, new: str) -> cst.CSTNode:
    """A string literal with the first ``old`` in it replaced; quotes and prefix stay."""
    if isinstance(node, cst.SimpleString):
        return node.with_changes(value=node.value.replace(old, new, 1))
    if isinstance(node, cst.FormattedString):
        first, *rest = node.parts
        if isinstance(first, cst.FormattedStringText):
            return node.with_changes(parts=[first.with_changes(value=first.value.replace(old, new, 1)), *rest])
    raise NotFixable("a string in several parts")


def replacing(old: str, new: str) -> Callable[[cst.CSTNode, Writer], cst.CSTNode | str]:
    """A transform that replaces ``old`` by ``new`` in a string literal."""
    return lambda node, writer: replaced(node, old, new)


def accepted_values(cuda: str, npu: str) -> Callable[[cst.CSTNode, Writer], cst.CSTNode | str]:
    """One of the values that an option accepts: replaced, or in portable style joined by the NPU's."""

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
        if not writer.portable:
            return replaced(node, cuda, npu)
        text = writer.code(node)
        return f"{text}, {text.replace(cuda, npu, 1)}"

    return transform


def pattern_values_of(cuda: str, npu: str) -> Callable[[cst.CSTNode, Writer], cst.CSTNode | str]:
    """The pattern of ``case "cuda":``."""

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
        text = writer.code(node)
        new = text.replace(cuda, npu, 1)
        return f"{text} | {new}" if writer.portable else new

    return transform


def question(cuda: str, npu: str) -> Callable[[cst.CSTNode, Writer], cst.CSTNode | str]:
    """A comparison or ``startswith`` that asks for ``cuda``: asks for ``npu``, or portably for both."""

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode | str:
        if not writer.portable:
            return node.visit(_ReplaceLiteral(cuda, npu))  # type: ignore[no-any-return, return-value]
        if isinstance(node, cst.Comparison):
            return _portable_comparison(node, writer, cuda, npu)
        if isinstance(node, cst.Call):
            return node.visit(_LiteralToPair(cuda, npu))  # type: ignore[no-any-return, return-value]
        raise NotFixable("no comparison")

    return transform


def _portable_comparison(node: cst.Comparison, writer: Writer, cuda: str, npu: str) -> cst.CSTNode | str:
    operator, right = node.comparisons[0].operator, node.comparisons[0].comparator
    left = node.left
    pair = f'("{cuda}", "{npu}")'
    if isinstance(operator, cst.Equal | cst.NotEqual):
        literal, other = (left, right) if isinstance(left, cst.SimpleString | cst.FormattedString) else (right, left)
        if not (isinstance(literal, cst.SimpleString) and literal.raw_value == cuda):
            # One card is asked for, "cuda:0", or a text is made: it has to be made for this machine's device.
            return node.visit(_PortableValue(writer))  # type: ignore[no-any-return, return-value]
        word = "in" if isinstance(operator, cst.Equal) else "not in"
        return f"{writer.code(other)} {word} {pair}"
    if isinstance(left, cst.SimpleString) and left.raw_value.startswith(cuda):
        inner = writer.code(right)
        text = inner if re.match(r"str\s*\(", inner) else f"str({inner})"
        negated = "not " if isinstance(operator, cst.NotIn) else ""
        return f"{negated}{text}.startswith({pair})"
    if isinstance(right, cst.Tuple | cst.List | cst.Set):
        return node.visit(_LiteralBeside(cuda, npu, writer))  # type: ignore[no-any-return, return-value]
    return node.visit(_PortableValue(writer))  # type: ignore[no-any-return, return-value]


def _names_cuda(node: cst.CSTNode, cuda: str) -> bool:
    return isinstance(node, cst.SimpleString) and (node.raw_value == cuda or node.raw_value.startswith(f"{cuda}:"))


def _ReplaceLiteral(cuda: str, npu: str) -> cst.CSTTransformer:
    """Replaces every literal that names the CUDA device (or backend) by the NPU's."""

    class Transformer(cst.CSTTransformer):  # type: ignore[name-defined, misc]
        def leave_SimpleString(self, original: cst.SimpleString, updated: cst.SimpleString) -> cst.BaseExpression:
            return replaced(updated, cuda, npu) if _names_cuda(updated, cuda) else updated  # type: ignore[return-value]

        def leave_FormattedString(self, original: cst.FormattedString, updated: cst.FormattedString) -> cst.BaseExpression:
            first = updated.parts[0] if updated.parts else None
            named = isinstance(first, cst.FormattedStringText) and first.value.startswith(f"{cuda}:")
            return replaced(updated, cuda, npu) if named else updated  # type: ignore[return-value]

    return Transformer()


def _LiteralToPair(cuda: str, npu: str) -> cst.CSTTransformer:
    """``x.startswith("cuda")`` -> ``x.startswith(("cuda", "npu"))``."""

    class Transformer(cst.CSTTransformer):  # type: ignore[name-defined, misc]
        def leave_SimpleString(self, original: cst.SimpleString, updated: cst.SimpleString) -> cst.BaseExpression:
            if not _names_cuda(updated, cuda):
                return updated
            text = updated.value
            return cst.parse_expression(f"({text}, {text.replace(cuda, npu, 1)})")

    return Transformer()


def _LiteralBeside(cuda: str, npu: str, writer: Writer) -> cst.CSTTransformer:
    """``("cuda", "mps")`` -> ``("cuda", "npu", "mps")``; an f-string is made for this machine's device."""

    class Transformer(cst.CSTTransformer):  # type: ignore[name-defined, misc]
        def leave_Element(self, original: cst.Element, updated: cst.Element) -> object:
            if not _names_cuda(updated.value, cuda):
                return updated
            twin = cst.Element(replaced(updated.value, cuda, npu), comma=updated.comma)  # type: ignore[arg-type]
            comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
            return cst.FlattenSentinel([updated.with_changes(comma=comma), twin])

        def leave_FormattedString(self, original: cst.FormattedString, updated: cst.FormattedString) -> object:
            return _portable_formatted(updated, writer)

    return Transformer()


def _PortableValue(writer: Writer) -> cst.CSTTransformer:
    class Transformer(cst.CSTTransformer):  # type: ignore[name-defined, misc]
        def leave_SimpleString(self, original: cst.SimpleString, updated: cst.SimpleString) -> object:
            return device_value(updated, writer) if _names_cuda(updated, _CUDA) else updated

        def leave_FormattedString(self, original: cst.FormattedString, updated: cst.FormattedString) -> object:
            return _portable_formatted(updated, writer)

    return Transformer()


def _portable_formatted(node: cst.FormattedString, writer: Writer) -> object:
    first = node.parts[0] if node.parts else None
    if isinstance(first, cst.FormattedStringText) and first.value.startswith(f"{_CUDA}:"):
        return device_value(node, writer)
    return node
