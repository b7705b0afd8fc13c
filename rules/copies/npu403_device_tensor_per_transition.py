from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.flow.events import Event
from npuport.analysis.flow.frequency import Level
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import MAPPING, SEQUENCE
from npuport.analysis.host_stores import copies_from_host, fills_whole
from npuport.analysis.module import Module
from npuport.analysis.tensor_creation import UPLOADING_TEXTS, read_creation
from npuport.analysis.uses import uses_after
from npuport.engine.finding import Severity
from npuport.engine.flow_rule import FlowRule
from npuport.engine.rule import Hit, Triggers

_STORING = frozenset({
    "append", "appendleft", "add", "push", "store", "remember", "put", "insert", "store_transition", "store_memory",
    "save_transition", "add_transition", "add_experience", "store_experience", "memorize", "cache", "record",
})  # fmt: skip


class DeviceTensorPerTransition(FlowRule):
    """Each transition is put on the device when it is stored, one field at a time.

    What it does
    ------------
    Reports uploads once per environment step whose only purpose is to be stored: arguments of ``append``, ``push``,
    ``store`` and the like, names that are only stored, and what is written into a buffer of the agent
    (``self.s[self.ptr] = torch.from_numpy(s).to(device)``). The observation that is uploaded to act is not
    reported, nor are rollouts of several environments at once.

    Why on an NPU
    -------------
    Each field of each transition becomes a copy of a few bytes, and starting the copy is what takes the time. Most
    transitions are drawn later as part of a batch, which one copy a field brings over.

    Example
    -------
    ::

        memory.append((
            state,
            torch.tensor([reward], dtype=torch.float32).to(device),
            torch.tensor([done], dtype=torch.float32).to(device),
        ))

    Use instead
    -----------
    ::

        memory.append((state, reward, done))
        ...
        rewards = torch.as_tensor(np.asarray(rewards, dtype=np.float32), device=device)

    A buffer that lives on the device gets all fields of a step in one copy: write them into one row of one array.

    Sources
    -------
    - https://github.com/pfnet/pfrl/issues/189
    - Measured under torch_npu 2.13.0 on an emulated device: one copy per field and step in six public agents.
    """

    code = "NPU403"
    name = "device-tensor-per-transition"
    topic = "h2d"
    severity = Severity.WARNING
    triggers = Triggers(("[", *UPLOADING_TEXTS))

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        for event in flow.events("upload"):
            creation = read_creation(module, event.node)
            if event.how == "copy_" or (creation is not None and creation.copies_needlessly):
                continue
            if _once_per_step(flow, event) and _is_stored(module, flow, event.node):
                yield self._hit(flow, event, event.node)
        for event in flow.events("store"):
            if fills_whole(event) or not copies_from_host(event):
                continue
            if _once_per_step(flow, event) and _is_own(event.node):
                yield self._hit(flow, event, module.statement(event.node))

    def _hit(self, flow: FileFlow, event: Event, node: ast.AST) -> Hit:
        return self.hit(
            flow,
            event,
            "one field of one transition is copied to the device to be stored, "
            f"{flow.level(event).phrase}; copy whole batches",
            node=node,
        )


def _once_per_step(flow: FileFlow, event: Event) -> bool:
    return flow.level(event) is Level.STEP and not flow.steps_several(event)


def _is_stored(module: Module, flow: FileFlow, upload: ast.AST) -> bool:
    """Whether the uploaded tensor goes into a container, and nowhere else."""
    node: ast.AST = upload
    for parent in module.ancestors(node):
        if isinstance(parent, ast.Call) and node is not parent.func and _stores(parent):
            return True
        if isinstance(parent, ast.Assign):
            target = parent.targets[0] if len(parent.targets) == 1 else None
            if isinstance(target, ast.Subscript):
                return _is_own(target)
            return isinstance(target, ast.Name) and _only_stored(module, flow, parent, target)
        if isinstance(parent, ast.stmt) or (isinstance(parent, ast.Call) and not _passes(flow, node, parent)):
            return False
        node = parent
    return False


def _stores(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in _STORING


def _passes(flow: FileFlow, node: ast.AST, call: ast.Call) -> bool:
    """Whether a call hands on what it gets: a method of the tensor, or a record such as ``Transition(...)``."""
    if node is call.func or flow.value(call).only(SEQUENCE, MAPPING):
        return True
    return isinstance(call.func, ast.Name) and call.func.id[:1].isupper()


def _is_own(target: ast.AST) -> bool:
    """``self.rewards[i]``, ``self.buffer["reward"][i]``."""
    node = target
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
        if isinstance(node, ast.Name) and node.id == "self":
            return True
    return False


def _only_stored(module: Module, flow: FileFlow, statement: ast.Assign, target: ast.Name) -> bool:
    """Whether a name is used, after this assignment, for nothing but to be stored."""
    uses = uses_after(module, target, statement)
    return bool(uses) and all(_in_storing_call(module, flow, use) for use in uses)


def _in_storing_call(module: Module, flow: FileFlow, use: ast.Name) -> bool:
    node: ast.AST = use
    for parent in module.ancestors(use):
        if isinstance(parent, ast.Call):
            if node is not parent.func and _stores(parent):
                return True
            if not _passes(flow, node, parent):
                return False
        elif not isinstance(parent, ast.Tuple | ast.List | ast.Dict | ast.keyword | ast.Attribute):
            return False
        node = parent
    return False
