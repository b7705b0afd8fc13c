from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from npuport.analysis.flow.declarations import BODY
from npuport.analysis.flow.events import Event
from npuport.analysis.flow.frequency import Level
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import ASSUMED, HOST, TENSOR
from npuport.analysis.host_indices import HostIndex, assignment_of, counts, host_index
from npuport.analysis.module import Module
from npuport.analysis.uses import uses_of
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix, rewrite
from npuport.engine.flow_rule import FlowRule, device_doubts
from npuport.engine.rewriting.creation import counted_on_device, device_of, index_uploaded
from npuport.engine.rule import Hit, Triggers


class HostIndexIntoTensor(FlowRule):
    """A tensor of the device is indexed by an array, a list or a tensor in host memory.

    What it does
    ------------
    Reports ``b_obs[mb_inds]`` where ``b_obs`` is on the device and ``mb_inds`` is a NumPy array, a list or a tensor in
    host memory, in code that runs once per update or more often: an index that is used more than once, one that was
    made before the loop, and counting numbers (``np.arange(n)``, ``range(n)``), which the device can make. An
    index that is drawn, used once and forgotten is not reported: it must travel.

    Why on an NPU
    -------------
    torch copies the index to the device each time that it is used, and the host waits for that copy. A PPO update
    that takes its minibatch from seven tensors makes seven copies and seven waits of it.

    Example
    -------
    ::

        for start in range(0, batch_size, minibatch_size):
            mb_inds = b_inds[start : start + minibatch_size]
            loss = loss_of(b_obs[mb_inds], b_actions[mb_inds], b_returns[mb_inds])

    Use instead
    -----------
    ::

        for start in range(0, batch_size, minibatch_size):
            mb_inds = torch.as_tensor(b_inds[start : start + minibatch_size], device=b_obs.device)
            loss = loss_of(b_obs[mb_inds], b_actions[mb_inds], b_returns[mb_inds])

    Fix safety
    ----------
    Unsafe for an index with a name: it is copied when it is assigned, so that a later change of the array is not
    seen. Every use of the name must be as an index of a tensor. Safe for counting numbers, which become
    ``torch.arange`` on the device.

    Sources
    -------
    - Measured under torch_npu 2.13.0 on an emulated device: 100 uses of an index in host memory, array or tensor, are
      100 copies and 100 waits.
    """

    code = "NPU405"
    name = "host-index"
    topic = "h2d"
    severity = Severity.WARNING
    triggers = Triggers(("[",), torch=False)

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        found = list(_host_indices(module, flow))
        times: dict[ast.AST | str, int] = defaultdict(int)
        for _, index in found:
            times[_identity(module, index)] += 1
        fixes: dict[ast.stmt, Fix | None] = {}
        for event, index in found:
            level = flow.level(event)
            if level < Level.UPDATE or not _is_spared(module, flow, event, index, times[_identity(module, index)]):
                continue
            yield self.hit(
                flow,
                event,
                f"an index in host memory is copied to the device and waited for, {level.phrase}; "
                + ("let the device count" if index.counting else "upload it once, before its uses"),
                fix=_fix(module, flow, event, index, fixes),
                severity=Severity.NOTE if level is Level.UPDATE else Severity.WARNING,
                doubts=device_doubts(event.value.get(TENSOR)),
            )


def _host_indices(module: Module, flow: FileFlow) -> Iterator[tuple[Event, HostIndex]]:
    for event in flow.events("index", "store"):
        base = event.value.get(TENSOR)
        if base is None or not event.value.only(TENSOR) or not base.devices or HOST in base.devices:
            continue
        assert isinstance(event.node, ast.Subscript)
        if ASSUMED in base.devices and _is_moved(module, event.node):
            continue
        index = host_index(module, flow, event.node)
        if index is not None:
            yield event, index


def _is_moved(module: Module, subscript: ast.Subscript) -> bool:
    """Whether what is taken goes to a device, so that the tensor it is taken from is probably not there."""
    method = module.parent(subscript)
    return isinstance(method, ast.Attribute) and method.attr in ("to", "cuda", "npu")


def _identity(module: Module, index: HostIndex) -> ast.AST | str:
    """What is the same for all uses of one value of an index: the function and the name."""
    if not isinstance(index.node, ast.Name):
        return module.text_of(index.node)
    return module.names.bindings(index.node.id, index.node)[0].node


def _is_spared(module: Module, flow: FileFlow, event: Event, index: HostIndex, times: int) -> bool:
    """Whether copies could be spared: the index is used again, made less often than used, or only counts."""
    if index.counting or times > 1:
        return True
    if not isinstance(index.node, ast.Name):
        return not isinstance(index.node, ast.Call | ast.Subscript)
    assignment = assignment_of(module, index.node)
    if assignment is not None and counts(module, assignment.value):
        return True
    scopes = {module.names.scope_of(b.node) for b in module.names.bindings(index.node.id, index.node)}
    is_constant = scopes == {module.tree} and event.function.name != BODY
    return is_constant or _is_made_less(module, flow, event, index.node)


def _is_made_less(module: Module, flow: FileFlow, event: Event, name: ast.Name) -> bool:
    """Whether an index is assigned less often than it is used."""
    assignment = assignment_of(module, name)
    made = [flow.level(other) for other in flow.events("assign") if other.node is assignment]
    return bool(made) and made[0] < flow.level(event)


def _fix(
    module: Module, flow: FileFlow, event: Event, index: HostIndex, fixes: dict[ast.stmt, Fix | None]
) -> Fix | None:
    assert isinstance(event.node, ast.Subscript)
    if index.counting and not isinstance(index.node, ast.Name):
        base = event.node.value
        if not isinstance(base, ast.Name | ast.Attribute):
            return None
        device = f"{module.text_of(base)}.device"
        transform = device_of(device) if index.counting == "torch" else counted_on_device(device)
        return rewrite("Count on the device", index.node, transform)
    if not isinstance(index.node, ast.Name):
        return None
    assignment = assignment_of(module, index.node)
    if assignment is None:
        return None
    if assignment not in fixes:  # one edit for all uses
        fixes[assignment] = _uploaded_at(module, flow, assignment)
    return fixes[assignment]


def _uploaded_at(module: Module, flow: FileFlow, assignment: ast.Assign) -> Fix | None:
    """Upload an index where it is assigned, if every use of the name indexes a tensor that is not on the host."""
    target = assignment.targets[0]
    assert isinstance(target, ast.Name)
    bases: list[tuple[bool, ast.expr]] = []  # those that are known to be on the device come first
    for use in uses_of(module, target):
        base = _indexed_by(module, use)
        if base is None:
            if not _is_length(module, use):
                return None
            continue
        tensor = flow.value(base).get(TENSOR)
        if tensor is None or not flow.value(base).only(TENSOR) or HOST in tensor.devices:
            return None
        bases.append((not tensor.on_accelerator, base))
    known = [base for _, base in sorted(bases, key=lambda pair: pair[0]) if _exists_before(module, base, assignment)]
    if not known:
        return None
    reason = "the index is copied when it is assigned; a later change of the array is not seen"
    device = f"{module.text_of(known[0])}.device"
    return rewrite("Upload the index once", assignment.value, index_uploaded(device), unsafe_because=reason)


def _indexed_by(module: Module, use: ast.Name) -> ast.expr | None:
    """The base that a name indexes, alone or as one of several."""
    node: ast.AST = use
    parent = module.parent(node)
    if isinstance(parent, ast.Tuple):
        node, parent = parent, module.parent(parent)
    return parent.value if isinstance(parent, ast.Subscript) and parent.slice is node else None


def _is_length(module: Module, use: ast.Name) -> bool:
    parent = module.parent(use)
    return isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id == "len"


def _exists_before(module: Module, base: ast.expr, assignment: ast.stmt) -> bool:
    """Whether a base is a name, or an attribute of one, that has its value before an assignment runs."""
    root = base
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    bindings = module.names.bindings(root.id, root)
    return bool(bindings) and all(
        binding.parameter or getattr(binding.node, "lineno", 0) < assignment.lineno for binding in bindings
    )
