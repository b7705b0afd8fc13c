from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.flow.dtypes import BOOL, UINT8, dtypes_of_data
from npuport.analysis.flow.events import Event
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import TENSOR, Value
from npuport.analysis.module import Module
from npuport.analysis.tensor_uses import Use, uses_of
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix, NotFixable, rewrite
from npuport.engine.flow_rule import FlowRule
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.dtypes import constructor, data_of, made_in
from npuport.engine.rule import Hit, Triggers
from npuport.engine.writer import Writer

_MASK = "a uint8 tensor chooses elements as a mask, which torch takes for bools only for now: use bool"
_FLAGS = "bools are held in a uint8 tensor, whose ~ and whose use as a mask are not those of bools"
_CHOOSING = frozenset({Use.INDEX, Use.CONDITION})


class FlagAsIndex(FlowRule):
    """A uint8 tensor serves as a mask.

    What it does
    ------------
    Reports ``ByteTensor`` and ``dtype=torch.uint8`` where the tensor chooses elements (``x[mask]``, ``where``,
    ``masked_fill``), or is made of bools such as ``s is not None``. Images in uint8 are not reported.

    Why on an NPU
    -------------
    A uint8 mask is a leftover of torch before 1.2. torch still turns it into a bool mask, with a warning for each
    use and one more kernel; the same tensor taken for indices would choose other elements, and ``~mask`` gives 254
    and 255, which are both true.

    Example
    -------
    ::

        non_final = torch.ByteTensor(tuple(s is not None for s in batch.next_state))
        next_values[non_final] = net(next_states).max(1)[0]

    Use instead
    -----------
    ::

        non_final = torch.tensor([s is not None for s in batch.next_state], dtype=torch.bool, device=device)
        next_values[non_final] = net(next_states).max(1)[0]

    Fix safety
    ----------
    The constructor makes bools where the file uses the tensor as a mask only: safe. Unsafe where it is negated by
    ``~``, read, compared, returned or stored in an attribute. No fix where it takes part in arithmetic.

    Sources
    -------
    - torch: "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead", measured
      with torch 2.13.0.
    - Masks of a DQN: https://github.com/jaybutera/tetrisRL/pull/5
    """

    code = "NPU205"
    name = "flag-as-index"
    topic = "dtype"
    severity = Severity.WARNING
    triggers = Triggers(("torch",))
    about_frequency = False

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        told = set()
        for made in flow.events("made"):
            tensor = made.value.atoms[TENSOR]
            if tensor.dtypes != UINT8 or tensor.origin in told:
                continue
            told.add(tensor.origin)
            kinds = {use.use for use in uses_of(module, made)}
            if kinds & _CHOOSING:
                yield self.hit(flow, made, _MASK, fix=_fix(module, made, kinds))
            elif Use.ARITHMETIC not in kinds and kinds != {Use.CAST} and _holds_bools(module, made):
                doubts = ["that it is used as a mask"]
                yield self.hit(flow, made, _FLAGS, fix=_fix(module, made, kinds), doubts=doubts)
        for event in flow.events("index", "store"):
            if _is_uint8(event.values[0]) and event.values[0].atoms[TENSOR].origin not in told:
                yield self.hit(flow, event, _MASK)


def _is_uint8(value: Value) -> bool:
    return value.only(TENSOR) and value.atoms[TENSOR].dtypes == UINT8


def _holds_bools(module: Module, made: Event) -> bool:
    return dtypes_of_data(data_of(module, made.node), numpy=False) == BOOL


def _fix(module: Module, made: Event, kinds: set[Use]) -> Fix | None:
    if Use.ARITHMETIC in kinds:
        return None
    reason = ""
    if not kinds <= _CHOOSING | {Use.CAST}:
        reason = "~ gives other elements then" if Use.INVERTED in kinds else "the tensor is not only a mask here"
    elif not kinds:
        reason = "nothing here tells what it is used for"
    if constructor(module, made.node):
        return rewrite("Make the mask of bools", made.node, made_in("bool"), unsafe_because=reason)
    if isinstance(made.node, ast.Call) and getattr(made.node.func, "attr", "") == "byte":
        return rewrite("Make the mask of bools", made.node, _bool_for_byte, unsafe_because=reason)
    return None


def _bool_for_byte(node: cst.CSTNode, writer: Writer) -> cst.CSTNode:
    assert isinstance(node, cst.Call)
    if not isinstance(node.func, cst.Attribute):
        raise NotFixable("no method")
    return node.with_changes(func=node.func.with_changes(attr=cst.Name("bool")))
