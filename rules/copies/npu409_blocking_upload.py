from __future__ import annotations

from collections.abc import Iterator

from npuport.analysis.flow.program import FileFlow
from npuport.analysis.module import Module
from npuport.analysis.tensor_creation import UPLOADING_TEXTS
from npuport.analysis.upload_groups import upload_groups
from npuport.analysis.uploads import uploads
from npuport.engine.finding import Severity
from npuport.engine.fix import rewrite
from npuport.engine.flow_rule import FlowRule
from npuport.engine.rewriting.uploads import uploaded_without_wait
from npuport.engine.rule import Hit, Triggers


class BlockingUpload(FlowRule):
    """The host waits for the device before it copies something to it.

    What it does
    ------------
    Finds tensors that are made of data of the host and copied to the device, once per update or environment step.
    That is no fault: the data must travel. The rule runs with ``fix --unsafe-fixes``, or where it is selected by
    its code.

    Why on an NPU
    -------------
    A copy from ordinary memory first waits until the device has done all that was asked of it, so that the host
    cannot prepare the next step meanwhile. A copy from pinned memory is queued like a kernel.

    Example
    -------
    ::

        for step in range(total_timesteps):
            action = agent(torch.as_tensor(obs, device=device))

    Use instead
    -----------
    ::

        def upload(tensor, device):
            if not tensor.is_cpu or torch.device(device).type == "cpu":
                return tensor.to(device)
            return tensor.pin_memory().to(device, non_blocking=True)


        for step in range(total_timesteps):
            action = agent(upload(torch.as_tensor(obs), device))

    Fix safety
    ----------
    Unsafe: the tensor goes through pinned memory, of which a machine has little, and an error of the device shows up
    later than before. Values, dtype and shape are the same.

    Sources
    -------
    - Measured under torch_npu 2.13.0 on an emulated device: ``x.to(device)`` is one copy and one wait, with
      ``non_blocking=True`` alone still one of each, from pinned memory with ``non_blocking=True`` one copy.
    - https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
    """

    code = "NPU409"
    name = "blocking-upload"
    topic = "h2d"
    severity = Severity.NOTE
    improves = True
    triggers = Triggers(UPLOADING_TEXTS)

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        together = {part.upload.node for group in upload_groups(module, flow) for part in group.parts}
        for upload in uploads(module, flow):
            if upload.node in together:
                continue  # NPU408
            yield self.hit(
                flow,
                upload.event,
                f"the host waits for the device before this copy, {flow.level(upload.event).phrase}; copy it from "
                "pinned memory",
                fix=rewrite(
                    "Copy without waiting",
                    upload.node,
                    uploaded_without_wait(upload.creation),
                    unsafe_because="it takes pinned memory, and errors of the device show up later",
                ),
            )
