from __future__ import annotations

from collections.abc import Iterator

from npuport.analysis.flow.frequency import Level
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import TENSOR
from npuport.analysis.module import Module
from npuport.engine.finding import Severity
from npuport.engine.flow_rule import FlowRule, device_doubts
from npuport.engine.rewriting.deferred_reads import deferred_read
from npuport.engine.rule import Hit, Triggers


class ItemPerStep(FlowRule):
    """A tensor is read by ``.item()`` once per update or more often.

    What it does
    ------------
    Reports ``.item()`` on a tensor of the device in code that runs once per update, per environment step or per
    transition. Not reported: reads once per iteration or behind a logging gate, values known to be in host
    memory, NumPy's ``.item()``, and the one read of the action that ``env.step`` needs.

    Why on an NPU
    -------------
    The host queues operators far ahead of the device. ``.item()`` waits until the queue is empty, so the device
    idles while the host prepares the next operators. RL steps are short: one read a step can cost more than the
    step itself.

    Example
    -------
    ::

        for batch in loader:
            loss = update(batch)
            total += loss.item()

    Use instead
    -----------
    ::

        for batch in loader:
            loss = update(batch)
            total += loss.detach()
        total = float(total)

    Fix safety
    ----------
    Unsafe. A sum stays on the device while the loop runs, in the tensor's float32 where Python added in float64: the
    last digits may differ. A list holds tensors until the loop ends, which takes device memory, and then the very
    same numbers. There is a fix where the sum or list starts in front of the loop, in the same function, and nothing
    else asks for it before the loop ends.

    Sources
    -------
    - Measured under torch_npu 2.13.0 on an emulated device: every ``.item()`` is one copy to the host and one wait.
    - Ascend's tuning guide names ``item`` among the calls to remove: https://www.hiascend.com/document
    """

    code = "NPU301"
    name = "item-per-step"
    topic = "item"
    severity = Severity.WARNING
    triggers = Triggers((".item",), torch=False)

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        for event in flow.events("read"):
            if event.how != "item" or flow.is_inherent(event):
                continue
            tensor = event.value.get(TENSOR)
            if (event.value and tensor is None) or (tensor is not None and tensor.on_host):
                continue
            level = flow.level(event)
            if level >= Level.UPDATE:
                yield self.hit(
                    flow,
                    event,
                    f".item() waits for the device, {level.phrase}",
                    fix=deferred_read(module, flow, event),
                    severity=Severity.NOTE if level is Level.UPDATE else Severity.WARNING,
                    doubts=device_doubts(tensor),
                )
