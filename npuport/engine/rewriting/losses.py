"""Loss functions without kernel in terms of others that have one."""

from __future__ import annotations

import ast

from npuport.engine.fix import Transform
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.names import with_argument, without_argument
from npuport.engine.rewriting.precedence import as_product
from npuport.engine.writer import Writer


def smooth_l1(smooth: str, position: int, beta: str) -> Transform:
    """A call of the Huber loss becomes one of the smooth L1 loss, where ``reduction`` and ``delta`` stand elsewhere.

    Args:
        smooth: ``smooth_l1_loss`` or ``SmoothL1Loss``.
        position: the place of the Huber loss's ``reduction``; ``delta`` is the next.
        beta: source text of the width; empty for 1.
    """

    def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode:
        assert isinstance(node, cst.Call)
        # From the end: a positional argument may not stand behind a named one in between.
        for place, arg in reversed(list(enumerate(node.args))):
            if arg.keyword is None and place == position:
                named = writer.argument(writer.code(arg.value), "reduction").with_changes(comma=node.args[place].comma)
                node = node.with_changes(args=[*node.args[:place], named, *node.args[place + 1 :]])
            elif (arg.keyword is None and place > position) or (arg.keyword and arg.keyword.value == "delta"):
                node = without_argument(node, arg)
        if beta:
            node = with_argument(node, writer.argument(beta, "beta"))
        if isinstance(node.func, cst.Attribute):
            return node.with_changes(func=node.func.with_changes(attr=cst.Name(smooth)))
        below = "nn.functional" if smooth.islower() else "nn"
        return node.with_changes(func=writer.expression(f"{writer.torch()}.{below}.{smooth}"))

    return transform


def scaled(inner: Transform, factor: str, call: ast.Call, around: ast.AST | None) -> Transform:
    """The loss that ``inner`` makes, times ``factor``."""

    def transform(node: cst.CSTNode, writer: Writer) -> str:
        loss = inner(node, writer)
        code = loss if isinstance(loss, str) else writer.code(loss)
        return as_product(f"{factor} * {code}", call, around)

    return transform
