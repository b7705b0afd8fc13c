from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.flow.dtypes import FLOATING, INTEGRAL
from npuport.analysis.flow.events import Event
from npuport.analysis.flow.frequency import Level
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import NUMBER, TENSOR, Value
from npuport.analysis.masks import Mask, mask_of, selects_elementwise
from npuport.analysis.module import Module
from npuport.analysis.own_tests import belongs_to_tests
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix, rewrite
from npuport.engine.flow_rule import FlowRule, device_doubts
from npuport.engine.rewriting.masks import filled, filled_by_rows
from npuport.engine.rule import Hit, Triggers

_NAMES = {"where": "torch.where with a condition alone", "unique": "unique", "nonzero": "nonzero"}


class DataDependentShape(FlowRule):
    """A shape depends on the data: the host waits for it, and operators meet a new shape each time.

    What it does
    ------------
    Reports assignments through a boolean mask (``x[mask] = v``) wherever they stand, and, in code that runs once
    per update or more often, reads through one (``x[mask]``), ``nonzero``, ``masked_select``, ``unique`` and
    ``torch.where`` with one argument. Not reported: tensors known to be in host memory, and NumPy.

    Why on an NPU
    -------------
    How many elements a mask selects is only known on the device. The host waits for the count, then queues
    operators of a shape that may never come again; some of them run on the AI CPU. On inference cards an
    assignment through a mask was seen to abort there.

    Example
    -------
    ::

        logits[~legal] = -1e8
        loss = (errors[valid] ** 2).mean()

    Use instead
    -----------
    ::

        logits = logits.masked_fill(~legal, -1e8)
        loss = (errors**2 * valid).sum() / valid.sum()

    Fix safety
    ----------
    ``x[x > limit] = 1.0`` becomes ``x.masked_fill_(x > limit, 1.0)``, which is the same: mask and tensor have one
    shape. A mask that is made elsewhere may have fewer dimensions, as ``q_next[dones] = 0.0`` does: it is given those
    that are missing. Unsafe where the tensor may hold integers and the number is a fraction.

    Sources
    -------
    - https://github.com/Ascend/pytorch/issues/153
    - Measured under torch_npu 2.13.0 on an emulated device: one wait for each mask, ``nonzero`` and ``unique``.
    """

    code = "NPU603"
    name = "data-dependent-shape"
    topic = "op"
    severity = Severity.WARNING
    triggers = Triggers(("torch",))

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        for event in flow.events("store"):
            if belongs_to_tests(module) and flow.level(event) < Level.UPDATE:
                continue
            mask = mask_of(module, flow, event)
            if mask is not None and not _stays(flow, event.value, mask):
                yield self._store(module, flow, event, mask)
        for event in flow.events("index"):
            mask = mask_of(module, flow, event)
            if mask is not None and flow.level(event) >= Level.UPDATE and not _stays(flow, event.value, mask):
                yield self._selection(flow, event, "a boolean mask", mask.doubts + _device(event.value, mask))
        for event in flow.events("dynamic"):
            atom = event.value.get(TENSOR)
            if flow.level(event) < Level.UPDATE or (event.value and not event.value.only(TENSOR)):
                continue
            if not (atom is not None and atom.on_host and flow.program.names_accelerator(flow.scope.key)):
                yield self._selection(flow, event, _NAMES.get(event.how, event.how), device_doubts(atom))

    def _store(self, module: Module, flow: FileFlow, event: Event, mask: Mask) -> Hit:
        frequent = flow.level(event) >= Level.UPDATE
        return self.hit(
            flow,
            event,
            f"an assignment through a boolean mask waits for the device to count; {_instead(module, flow, event)}",
            fix=_fix(module, flow, event, mask),
            severity=Severity.WARNING if frequent else Severity.NOTE,
            doubts=mask.doubts + _device(event.value, mask),
        )

    def _selection(self, flow: FileFlow, event: Event, what: str, doubts: list[str]) -> Hit:
        level = flow.level(event)
        return self.hit(
            flow,
            event,
            f"{what} gives a shape that only the device knows: the host waits for it, {level.phrase}",
            severity=Severity.NOTE if level is Level.UPDATE else Severity.WARNING,
            doubts=doubts,
            topic="shape",
        )


def _instead(module: Module, flow: FileFlow, event: Event) -> str:
    statement = module.parent(event.node)
    if isinstance(statement, ast.Assign) and flow.value(statement.value).only(NUMBER):
        return "use masked_fill_"
    return "compute it for all and choose by torch.where"


def _stays(flow: FileFlow, base: Value, mask: Mask) -> bool:
    """Whether all of it happens in host memory, in a program that names another device."""
    if not flow.program.names_accelerator(flow.scope.key):
        return False
    atom = base.get(TENSOR)
    if atom is not None:
        return atom.on_host
    return mask.atom is not None and mask.atom.on_host


def _device(base: Value, mask: Mask) -> list[str]:
    return device_doubts(base.get(TENSOR) or mask.atom) if mask.atom is not None else []


def _fix(module: Module, flow: FileFlow, event: Event, mask: Mask) -> Fix | None:
    """``masked_fill_``, where one number is assigned."""
    target, statement = event.node, module.parent(event.node)
    if not isinstance(statement, ast.Assign) or len(statement.targets) > 1 or not isinstance(target, ast.Subscript):
        return None
    value = flow.value(statement.value).get(NUMBER)
    base = event.value.get(TENSOR)
    if not flow.value(statement.value).only(NUMBER) or value is None or base is None or not event.value.only(TENSOR):
        return None
    if mask.atom is None or mask.atom.dtypes != {"bool"} or mask.atom.on_host != base.on_host or mask.beside_others:
        return None
    if not isinstance(target.value, ast.Name | ast.Attribute):
        return None
    if "float" in value.dtypes and base.dtypes and base.dtypes <= INTEGRAL:
        return None  # masked_fill_ refuses a fraction
    because = ""
    if "float" in value.dtypes and not (base.dtypes and base.dtypes <= FLOATING):
        because = "the tensor may hold integers, which cannot be filled with a fraction"
    message = "Fill instead of assigning through a mask"
    if selects_elementwise(flow, target.slice, target.value):
        return rewrite(message, statement, filled, unsafe_because=because)
    if not _is_name_of_mask(target.slice):
        return None
    return rewrite(message, statement, filled_by_rows, unsafe_because=because)


def _is_name_of_mask(mask: ast.expr) -> bool:
    """``mask``, ``self.mask``, or the inverse of one: what may be written more than once."""
    if isinstance(mask, ast.UnaryOp) and isinstance(mask.op, ast.Invert):
        mask = mask.operand
    while isinstance(mask, ast.Attribute):
        mask = mask.value
    return isinstance(mask, ast.Name)
