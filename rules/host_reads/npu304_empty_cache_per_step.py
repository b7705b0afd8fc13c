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


class EmptyCachePerStep(FlowRule):
    """Cached memory is given back to the device once per update or more often.

    What it does
    ------------
    Reports ``empty_cache()`` of ``torch.cuda``, ``torch.npu`` or ``torch.accelerator`` in code that runs once per
    update or more often. Not reported: once per iteration, or behind a gate such as ``if step % 1000 == 0``.

    Why on an NPU
    -------------
    ``empty_cache()`` waits for the device and frees the blocks that torch keeps for the next tensors. The next
    update asks the driver for the same memory again, which is slow and waits as well.

    Example
    -------
    ::

        for batch in loader:
            agent.update(batch)
            torch.npu.empty_cache()

    Use instead
    -----------
    ::

        for batch in loader:
            agent.update(batch)
        torch.npu.empty_cache()

    Fix safety
    ----------
    Unsafe: the call goes. Numbers stay the same, but a program that only just fits into the device's memory may run
    out of it; fragmentation is then better fought by ``PYTORCH_NPU_ALLOC_CONF=expandable_segments:True``.

    Sources
    -------
    - ``torch.cuda.empty_cache`` does not make more memory available to torch:
      https://docs.pytorch.org/docs/stable/generated/torch.cuda.memory.empty_cache.html
    - https://github.com/Ascend/pytorch, ``torch_npu/csrc/core/npu/NPUCachingAllocator.cpp``: ``release_cached_blocks``
      waits for the device before it frees anything
    """

    code = "NPU304"
    name = "empty-cache-per-step"
    topic = "sync"
    severity = Severity.WARNING
    triggers = Triggers(("empty_cache",))

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        for event in flow.events("fence"):
            level = flow.level(event)
            if event.how != "empty_cache" or level < Level.UPDATE:
                continue
            assert isinstance(event.node, ast.Call)
            yield self.hit(
                flow,
                event,
                f"empty_cache() waits for the device and throws away memory that is needed again, {level.phrase}",
                fix=drop_call(
                    module, event.node, "Remove it", "a program that only just fits may run out of device memory"
                ),
            )
