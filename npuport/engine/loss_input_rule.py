"""Rules about tensors of a dtype that no loss should get: reported where the tensor is made."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import groupby
from typing import ClassVar

from npuport.analysis.flow.dtypes import ANY_DTYPE, BOOL, FLOAT32, FLOATING, INTEGRAL, dtypes_of_data
from npuport.analysis.flow.events import Event
from npuport.analysis.flow.frequency import Reason
from npuport.analysis.flow.losses import LossInput
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import DTYPE, NUMBER, TENSOR, Origin
from npuport.analysis.module import Module
from npuport.analysis.own_tests import belongs_to_tests
from npuport.analysis.tensor_uses import TensorUse, Use, uses_of
from npuport.engine.fix import Fix, Rewrite, Transform, rewrite
from npuport.engine.flow_rule import FlowRule, step_text
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.dtypes import as_float, constructor, data_of, made_in
from npuport.engine.rule import Hit
from npuport.engine.writer import Writer

# Reductions that count.
_COUNTS = frozenset({"sum", "count_nonzero"})


class LossInputRule(FlowRule):
    """Base class of rules about a dtype in a loss. Subclasses name the dtypes and what is wrong with them.

    Attributes:
        dtypes: the dtypes that the rule is about.
        promoted: what is wrong with one that is mixed into floats on its way; ``{dtype}`` stands for it.
        direct: what is wrong with one that enters the loss as it is.
    """

    about_frequency = False
    dtypes: ClassVar[frozenset[str]]
    promoted: ClassVar[str]
    direct: ClassVar[str]

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        """One hit for each place that makes such a tensor."""
        if belongs_to_tests(module):
            return
        wanted = [found for found in flow.reaching_loss if found.dtype in self.dtypes]
        for (origin, dtype), group in groupby(wanted, key=lambda found: (found.origin, found.dtype)):
            made = flow.made_at(origin[1], dtype)
            # bool * int makes integers as well, but there the bool is what is told.
            if made is None or isinstance(made.node, ast.BinOp) or is_harmless(module, made):
                continue
            inputs = list(group)
            mixed = [found for found in inputs if found.promoted is not None]
            message = self.promoted if mixed else self.direct
            yield self.hit(
                flow,
                made,
                message.format(dtype=dtype),
                fix=_fix(module, made, inputs),
                evidence=way_into_loss(module, made, (mixed or inputs)[0]),
            )


def way_into_loss(module: Module, made: Event, found: LossInput) -> list[str]:
    """The steps from a tensor's making to the loss."""
    steps: list[tuple[Origin, str]] = [(found.origin, f"{_name_of(module, made)}: {found.dtype}")]
    if found.promoted is not None:
        steps.append((found.promoted, "promoted"))
    steps.append((found.loss, "loss"))
    return [step_text(Reason(file, line, text), module.key) for (file, line), text in steps]


def _name_of(module: Module, made: Event) -> str:
    """The name that a tensor gets where it is made; its code where it gets none."""
    statement = module.statement(made.node)
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name | ast.Attribute):
        assigned = module.flow.value(statement.value).get(TENSOR)
        if assigned is not None and assigned.dtypes == made.value.atoms[TENSOR].dtypes:
            return module.text_of(statement.targets[0])
    return module.text_of(made.node).partition("(")[0]


def is_harmless(module: Module, made: Event) -> bool:
    """Whether a tensor of a doubtful dtype costs nothing: one that takes its dtype from another, a count, a constant.

    ``loss.sum() / mask.sum()`` divides by one number, ``1 / torch.tensor(n)`` is a float from the start.
    """
    node = made.node
    if not isinstance(node, ast.Call):
        return False
    if any(k.arg == "dtype" and module.flow.value(k.value).get(DTYPE) is not None for k in node.keywords):
        return True
    if isinstance(node.func, ast.Attribute) and node.func.attr in _COUNTS:
        return True
    around = module.parent(node)
    if not isinstance(around, ast.BinOp) or not _is_constant(module, node):
        return False
    return module.flow.value(around.right if around.left is node else around.left).only(NUMBER)


def _is_constant(module: Module, node: ast.Call) -> bool:
    """Whether a call makes a tensor of one number, or counts up."""
    data = data_of(module, node)
    return constructor(module, node) == "arange" if data is None else data.only(NUMBER)


def _fix(module: Module, made: Event, inputs: list[LossInput]) -> Fix | None:
    uses = uses_of(module, made)
    inverted = [use for use in uses if use.use is Use.INVERTED]
    if inverted:
        return _subtractions(module, inverted)
    kinds = {use.use for use in uses}
    if not constructor(module, made.node) or not kinds <= {Use.ARITHMETIC, Use.OTHER, Use.ESCAPE}:
        return None
    elsewhere = any((found.promoted or found.loss)[0] != module.key for found in inputs)
    if elsewhere and "bool" in made.value.atoms[TENSOR].dtypes:
        return None  # ~x there would raise
    reason = ""
    if elsewhere:
        reason = "other files use the tensor"
    elif Use.OTHER in kinds:
        reason = "the tensor is not only a number in arithmetic"
    elif _changes_numbers(module, made):
        reason = "the data holds numbers that change in the dtype it has"
    return rewrite("Make the tensor in float32", made.node, made_in("float32"), unsafe_because=reason)


def _changes_numbers(module: Module, made: Event) -> bool:
    """Whether the data is known to hold what the tensor's dtype cannot: fractions, or numbers beside 0 and 1."""
    data = data_of(module, made.node)
    dtypes = dtypes_of_data(data, numpy=False) if data is not None else ANY_DTYPE
    if made.value.atoms[TENSOR].dtypes == BOOL:
        return "?" not in dtypes and dtypes != BOOL
    return dtypes <= FLOATING


def _subtractions(module: Module, inverted: list[TensorUse]) -> Fix | None:
    """``~done`` in a product or sum of floats becomes ``1.0 - done.float()``."""
    changes: list[Rewrite] = []
    for use in inverted:
        node = module.parent(use.node)
        around = module.parent(node) if node is not None else None
        if isinstance(node, ast.UnaryOp) and isinstance(around, ast.BinOp) and _computes(module, node, around):
            changes.append(Rewrite(node, _subtraction(parenthesised=_in_parentheses(module, node))))
    return Fix("Subtract the flag from 1 as a float", tuple(changes)) if changes else None


def _computes(module: Module, node: ast.UnaryOp, around: ast.BinOp) -> bool:
    """Whether ``around`` is arithmetic whose other side is in float32, or unknown."""
    other = module.flow.value(around.right if around.left is node else around.left).get(TENSOR)
    dtypes = other.dtypes if other is not None else FLOAT32
    return isinstance(around.op, ast.Mult | ast.Add | ast.Sub) and dtypes.isdisjoint(INTEGRAL | {"float16", "float64"})


def _in_parentheses(module: Module, node: ast.UnaryOp) -> bool:
    first, last = module.source.line(node.lineno), module.source.line(node.end_lineno or node.lineno)
    before = first.encode()[: node.col_offset].decode().rstrip()
    after = last.encode()[node.end_col_offset or 0 :].decode().lstrip()
    return before.endswith("(") and after.startswith(")")


def _subtraction(*, parenthesised: bool) -> Transform:
    def transform(node: cst.CSTNode, writer: Writer) -> str:
        assert isinstance(node, cst.UnaryOperation)
        code = f"1.0 - {writer.code(as_float(node.expression))}"
        return code if parenthesised else f"({code})"

    return transform
