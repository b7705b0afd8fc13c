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

_WORDS = {
    "cpu": "a copy of the tensor to the host waits for the device",
    "tolist": ".tolist() reads the tensor on the host and waits for the device",
    "truth": "asking whether a tensor is true waits for the device",
    "format": "printing a tensor waits for the device",
    "print": "printing a tensor waits for the device",
    "kl_divergence": "kl_divergence() of categorical distributions assigns through a mask and waits for the device",
}


class HiddenHostRead(FlowRule):
    """A tensor is read on the host where the code does not look like it.

    What it does
    ------------
    Reports ``float(t)``, ``int(t)``, ``bool(t)``, ``if t:``, f-strings and ``print``, ``.cpu()``, ``.numpy()``,
    ``.tolist()``, NumPy and ``math`` functions and Python's ``max`` on a tensor of the device, in code that runs
    once per update or more often. The one read of the action for ``env.step`` is not reported, and ``.numpy()`` and
    functions of NumPy only where the tensor is known to be on the device: they do not work there without ``.cpu()``.

    Why on an NPU
    -------------
    Each of these waits until the device has computed everything that was queued, just as ``.item()`` does.

    Example
    -------
    ::

        losses = []
        for batch in loader:
            loss = update(batch)
            losses.append(float(loss))

    Use instead
    -----------
    ::

        losses = []
        for batch in loader:
            loss = update(batch)
            losses.append(loss.detach())
        losses = torch.stack(losses).tolist()

    Fix safety
    ----------
    Unsafe, and only for ``float(t)`` and ``t.cpu().item()`` that are added to a number or list: see NPU301.

    Sources
    -------
    - Measured under torch_npu 2.13.0 on an emulated device: each of these is one copy to the host and one wait.
    """

    code = "NPU303"
    name = "hidden-host-read"
    topic = "item"
    severity = Severity.WARNING
    triggers = Triggers(("import",), torch=False)

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        for event in flow.events("read"):
            tensor = event.value.get(TENSOR)
            if event.how == "item" or tensor is None or tensor.on_host or flow.is_inherent(event):
                continue
            by_numpy = event.how.startswith("numpy")
            if not event.value.only(TENSOR) or (by_numpy and not tensor.on_accelerator):
                continue  # NumPy takes no tensor of a device: where it worked, the tensor was on the host
            level = flow.level(event)
            if level >= Level.UPDATE:
                words = _WORDS.get(event.how, f"{event.how}() reads a tensor on the host and waits for the device")
                if by_numpy:
                    words = "NumPy takes no tensor on the device; .cpu() has to copy it first, and waits"
                yield self.hit(
                    flow,
                    event,
                    f"{words}, {level.phrase}",
                    fix=deferred_read(module, flow, event),
                    severity=Severity.NOTE if level is Level.UPDATE else Severity.WARNING,
                    doubts=device_doubts(tensor),
                )
