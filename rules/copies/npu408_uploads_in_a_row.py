from __future__ import annotations

from collections.abc import Iterator

from npuport.analysis.flow.program import FileFlow
from npuport.analysis.module import Module
from npuport.analysis.tensor_creation import UPLOADING_TEXTS
from npuport.analysis.upload_groups import Group, NamedGroup, TupleGroup, upload_groups
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix
from npuport.engine.flow_rule import FlowRule
from npuport.engine.rewriting.uploads import (
    names_uploaded_together,
    stores_uploaded_together,
    tuple_uploaded_together,
)
from npuport.engine.rule import Hit, Triggers

_REASON = "the tensors share one block of memory, which is pinned on the host, and errors of the device show up later"


class UploadsInARow(FlowRule):
    """Several tensors go to the device one after the other, where one copy would take them all.

    What it does
    ------------
    Finds two or more tensors that are made of data of the host and copied to one device in neighbouring statements
    or in one tuple, once per update or environment step: the fields of a sampled batch, or of a transition that is
    stored on the device. That is no fault. The rule runs with ``fix --unsafe-fixes``, or where it is selected by
    its code.

    Why on an NPU
    -------------
    What a copy costs is starting it and waiting for the device before it, not its bytes. A batch of five fields
    travels as one block for a fifth of that.

    Example
    -------
    ::

        for _ in range(updates):
            batch = memory.sample(256)
            obs = torch.as_tensor(batch.obs).to(device)
            actions = torch.as_tensor(batch.actions).to(device)
            rewards = torch.as_tensor(batch.rewards).to(device)

    Use instead
    -----------
    ::

        for _ in range(updates):
            batch = memory.sample(256)
            obs = torch.as_tensor(batch.obs)
            actions = torch.as_tensor(batch.actions)
            rewards = torch.as_tensor(batch.rewards)
            obs, actions, rewards = upload_together((obs, actions, rewards), device)

    with a function ``upload_together`` that the fix writes below the imports. It lays the bytes of the tensors side by
    side in pinned memory, copies them as one block without waiting, and gives views of it in their dtypes and shapes.
    On the CPU it moves each tensor by itself, as before.

    Fix safety
    ----------
    Unsafe: the tensors share one block of memory, which is freed when the last of them is, and an error of the
    device shows up later than before. Values, dtypes and shapes are the same.

    Sources
    -------
    - Measured under torch_npu 2.13.0 on an emulated device: five fields of a batch are five copies and five waits
      by themselves, and one copy together.
    """

    code = "NPU408"
    name = "uploads-in-a-row"
    topic = "h2d"
    severity = Severity.NOTE
    improves = True
    triggers = Triggers(UPLOADING_TEXTS)

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        for group in upload_groups(module, flow):
            first = group.parts[0].upload
            yield self.hit(
                flow,
                first.event,
                f"{len(group.parts)} tensors are copied to the device by themselves, {flow.level(first.event).phrase}; "
                "copy them together",
                fix=_fix(module, group),
            )


def _fix(module: Module, group: Group) -> Fix:
    if isinstance(group, TupleGroup):
        return Fix("Copy them as one block", (tuple_uploaded_together(module, group),), _REASON)
    if isinstance(group, NamedGroup):
        return Fix("Copy them as one block", names_uploaded_together(group), _REASON)
    return Fix("Copy them as one block", stores_uploaded_together(module, group), _REASON)
