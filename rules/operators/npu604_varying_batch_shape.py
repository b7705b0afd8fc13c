from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.batches import comprehension_of, cuts, keeps_last, ragged_source
from npuport.analysis.device_evidence import names_a_device
from npuport.analysis.flow.events import Event
from npuport.analysis.flow.frequency import Level
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import FILTERED, NUMBER, ROWS, SEQUENCE
from npuport.analysis.module import Module
from npuport.analysis.rollouts import plays_and_trains
from npuport.engine.finding import Severity
from npuport.engine.flow_rule import FlowRule
from npuport.engine.rule import Hit, Triggers

_ADVICE = "each new shape makes the NPU prepare its operators again"
_ONE_MORE = "one more shape for which the NPU prepares its operators, and a noisier update"


class VaryingBatchShape(FlowRule):
    """Batches differ in size, so that operators meet a new shape again and again.

    What it does
    ------------
    Reports tensors made of lists that a condition filters (``torch.cat([s for s in batch.next_state if s is not
    None])``), whole episodes put together, batch sizes that leave a short last batch (2048 rows in batches of 100),
    and, once a file, loaders
    that shuffle and keep their last batch in a program that plays and trains.

    Why on an NPU
    -------------
    An NPU prepares an operator for a shape the first time it meets it, which takes far longer than running it. With
    fixed shapes that is over after the first update; with shapes that vary it never is.

    Example
    -------
    ::

        next_states = torch.cat([s for s in batch.next_state if s is not None])

    Use instead
    -----------
    ::

        next_states = torch.cat([zeros if s is None else s for s in batch.next_state])
        next_values = target(next_states).amax(1) * alive  # alive: 0 where the episode has ended

    Sources
    -------
    - https://github.com/Comfy-Org/ComfyUI/pull/10050
    - ``torch.npu.set_compile_mode`` in https://github.com/Ascend/pytorch
    """

    code = "NPU604"
    name = "varying-batch-shape"
    topic = "shape"
    severity = Severity.WARNING
    triggers = Triggers(("cat(", "concat", "stack(", "ensor(", "range(", "split(", "BatchSampler", "DataLoader"))

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        for event in flow.events("concatenate", "create"):
            yield from self._concatenation(module, flow, event)
        if not module.uses_torch:
            return
        severity = Severity.WARNING if names_a_device(module) else Severity.NOTE
        for cut in cuts(module):
            if cut.rest:
                message = f"{cut.size} in batches of {cut.batch} leaves a last one of {cut.rest}: {_ONE_MORE}"
                yield Hit(cut.node, message, severity=severity)
        loaders = [event for event in flow.events("call") if event.how == "torch.utils.data.DataLoader"]
        kept = [event for event in loaders if isinstance(event.node, ast.Call) and keeps_last(event.node)]
        if kept and plays_and_trains(flow):
            message = f"without drop_last=True the last batch may be short: {_ONE_MORE}"
            yield self.hit(flow, kept[0], message, severity=Severity.NOTE)

    def _concatenation(self, module: Module, flow: FileFlow, event: Event) -> Iterator[Hit]:
        made = _argument(module, event)
        if made is None:
            return
        level = flow.level(event)
        if _is_filtered(flow, event, made):
            if level >= Level.UPDATE or _is_batch(flow, made):
                message = f"the condition leaves another number of elements each time: {_ADVICE}"
                severity = Severity.WARNING if level >= Level.UPDATE else Severity.NOTE
                yield self.hit(flow, event, message, severity=severity)
        elif event.kind == "concatenate" and event.how == "cat":
            source = ragged_source(module, made)
            if source:
                message = f"the elements of {source} differ in length: {_ADVICE}; pad them, or cut fixed pieces"
                yield self.hit(flow, event, message, severity=Severity.NOTE)


def _argument(module: Module, event: Event) -> ast.ListComp | ast.GeneratorExp | None:
    call = event.node
    return comprehension_of(module, call.args[0]) if isinstance(call, ast.Call) and call.args else None


def _is_filtered(flow: FileFlow, event: Event, made: ast.ListComp | ast.GeneratorExp) -> bool:
    """Whether a condition on the data, not on positions, says what is left."""
    atom = event.value.get(SEQUENCE)
    if atom is None or FILTERED not in atom.marks:
        return False
    return any(_asks_data(flow, test) for part in made.generators for test in part.ifs)


def _asks_data(flow: FileFlow, test: ast.expr) -> bool:
    """``s is not None``, ``not done``, ``r.weight > 0``; not ``j != i``, ``key in keys`` or ``p.grad is not None``."""
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    attributes = {node.attr for node in ast.walk(test) if isinstance(node, ast.Attribute)}
    if attributes & {"grad", "requires_grad"}:
        return False
    if any(isinstance(node, ast.In | ast.NotIn) for node in ast.walk(test)) or "isinstance" in names:
        return False
    plain = [node for node in ast.walk(test) if isinstance(node, ast.Name)]
    return not all(flow.value(node).only(NUMBER) for node in plain)


def _is_batch(flow: FileFlow, made: ast.ListComp | ast.GeneratorExp) -> bool:
    iterated = flow.value(made.generators[0].iter)
    return any(ROWS in atom.marks for atom in iterated.atoms.values())
