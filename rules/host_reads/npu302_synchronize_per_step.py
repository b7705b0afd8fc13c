from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.flow.frequency import Level
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.module import Module
from npuport.engine.finding import Severity
from npuport.engine.flow_rule import FlowRule
from npuport.engine.rewriting.removal import drop_call
from npuport.engine.rule import Hit, Triggers


class SynchronizePerStep(FlowRule):
    """The host waits for the whole device once per update or more often.

    What it does
    ------------
    Reports ``synchronize()`` of ``torch.cuda``, ``torch.npu``, ``torch.accelerator``, of a variable that holds one of
    them and of a stream, in code that runs once per update or more often. Not reported: a fence behind a logging
    gate, once per iteration, or where the function or one that calls it copies with ``non_blocking=True``.

    Why on an NPU
    -------------
    The host queues operators far ahead of the device. A fence empties the queue: the device then idles until the
    host has prepared the next operators. Reading a value waits by itself, so a fence in front of it adds nothing.

    Example
    -------
    ::

        for batch in loader:
            torch.npu.synchronize()
            start = time.perf_counter()
            agent.update(batch)

    Use instead
    -----------
    ::

        torch.npu.synchronize()
        start = time.perf_counter()
        for batch in loader:
            agent.update(batch)
        torch.npu.synchronize()

    Fix safety
    ----------
    Unsafe: the fence goes, and clocks and memory figures read behind it then miss what is still queued. Results of
    the training stay as they are: operators of one stream run in order.

    Sources
    -------
    - torch_npu has the same asynchronous queue as torch.cuda: https://docs.pytorch.org/docs/stable/notes/cuda.html
      (asynchronous execution)
    """

    code = "NPU302"
    name = "synchronize-per-step"
    topic = "sync"
    severity = Severity.WARNING
    triggers = Triggers(("synchronize",))

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        for event in flow.events("fence"):
            level = flow.level(event)
            if event.how != "synchronize" or level < Level.UPDATE:
                continue
            if any(_copies_without_waiting(f.node) for f in (event.function, *flow.callers(event.function))):
                continue
            assert isinstance(event.node, ast.Call)
            yield self.hit(
                flow,
                event,
                f"synchronize() makes the host wait for all that is queued on the device, {level.phrase}",
                fix=drop_call(
                    module, event.node, "Remove the fence", "clocks and memory figures behind it miss what is queued"
                ),
            )


def _copies_without_waiting(body: ast.AST | None) -> bool:
    """Whether a function hands out copies that are not finished: the fence may be what makes reading them right."""
    return body is not None and any(
        isinstance(node, ast.keyword) and node.arg == "non_blocking" and getattr(node.value, "value", True)
        for node in ast.walk(body)
    )
