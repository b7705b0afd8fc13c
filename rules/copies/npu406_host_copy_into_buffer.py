from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.flow.events import Event
from npuport.analysis.flow.frequency import Level
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import TENSOR
from npuport.analysis.host_stores import copies_from_host, fills_whole
from npuport.analysis.module import Module
from npuport.analysis.noise_sources import NoiseSource, noise_sources
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix, Rewrite
from npuport.engine.flow_rule import FlowRule, device_doubts
from npuport.engine.rewriting.creation import device_handed_on, device_of, device_parameter
from npuport.engine.rule import Hit, Triggers


class HostCopyIntoBuffer(FlowRule):
    """What was made in host memory is copied into a buffer of the device.

    What it does
    ------------
    Reports ``buffer.copy_(x)`` and ``buffer[:] = x`` where ``x`` is in host memory and the buffer on the device, in
    code that runs once per update or more often: above all the noise of noisy layers. Not reported: what several
    environments stepped at once give in one step.

    Why on an NPU
    -------------
    A noisy layer draws its noise twice and copies it four times, for each layer, for each network, at every step.
    Of all public agents that were measured this is the one that copies most: 31 copies a step. The device
    can draw the noise where it is needed, without any.

    Example
    -------
    ::

        def scale_noise(self, size):
            x = torch.randn(size)
            return x.sign().mul(x.abs().sqrt())

        def reset_noise(self):
            self.bias_epsilon.copy_(self.scale_noise(self.out_features))

    Use instead
    -----------
    ::

        def scale_noise(self, size):
            x = torch.randn(size, device=self.bias_epsilon.device)
            return x.sign().mul(x.abs().sqrt())

    Fix safety
    ----------
    Unsafe: the device draws other random numbers. A function without ``self`` that draws the noise gets the device
    as one more parameter. There is no fix for noise of NumPy, or for what comes from elsewhere.

    Sources
    -------
    - Measured under torch_npu 2.13.0 on an emulated device: each ``copy_`` from the host is one copy.
    """

    code = "NPU406"
    name = "host-copy-into-buffer"
    topic = "h2d"
    severity = Severity.WARNING
    triggers = Triggers(("copy_", "["))

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        devices: dict[ast.Call, str] = {}  # of each draw: two buffers that share one must not name two devices
        for event, buffer, source in _copies(module, flow):
            level = flow.level(event)
            if level >= Level.UPDATE:
                yield self.hit(
                    flow,
                    event,
                    f"copied from host memory into a buffer of the device, {level.phrase}; make it on the device",
                    node=module.statement(event.node) if event.kind == "store" else event.node,
                    fix=_fix(module, flow, buffer, source, devices),
                    severity=Severity.NOTE if level is Level.UPDATE else Severity.WARNING,
                    doubts=device_doubts(flow.value(buffer).get(TENSOR)),
                )


def _copies(module: Module, flow: FileFlow) -> Iterator[tuple[Event, ast.expr, ast.expr]]:
    """``buffer.copy_(x)`` and ``buffer[:] = x``: what happens, the buffer and x."""
    for event in flow.events("upload"):
        call = event.node
        if event.how == "copy_" and isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.args:
            buffer = call.func.value
            if isinstance(buffer, ast.Subscript) and flow.steps_several(event):
                continue
            if _is_made_here(module, flow, buffer):
                continue
            yield event, buffer, call.args[0]
    for event in flow.events("store"):
        statement = module.statement(event.node)
        if fills_whole(event) and copies_from_host(event) and isinstance(statement, ast.Assign):
            assert isinstance(event.node, ast.Subscript)
            yield event, event.node.value, statement.value


def _is_made_here(module: Module, flow: FileFlow, buffer: ast.expr) -> bool:
    """Whether a buffer belongs to something that was made in the same function and may not have moved yet."""
    tensor = flow.value(buffer).get(TENSOR)
    root = buffer
    while isinstance(root, ast.Attribute | ast.Subscript):
        root = root.value
    bindings = module.names.bindings(root.id, root) if isinstance(root, ast.Name) else []
    made = any(isinstance(binding.value, ast.Call) for binding in bindings)
    return made and (tensor is None or not tensor.on_accelerator)


def _fix(
    module: Module, flow: FileFlow, buffer: ast.expr, source: ast.expr, devices: dict[ast.Call, str]
) -> Fix | None:
    if not isinstance(buffer, ast.Attribute):
        return None
    owner = buffer.value.value if isinstance(buffer.value, ast.Attribute) else buffer.value  # self.noise.data
    if not isinstance(owner, ast.Name):
        return None
    sources = noise_sources(module, flow, source, owner.id)
    if not sources:
        return None
    own = f"{module.text_of(buffer)}.device"
    changes = [change for found in sources for change in _changes(found, devices.setdefault(found.draw, own))]
    return Fix("Draw it on the device", tuple(changes), "the device draws other random numbers")


def _changes(source: NoiseSource, device: str) -> Iterator[Rewrite]:
    if not source.callers:
        yield Rewrite(source.draw, device_of(device))
        return
    yield Rewrite(source.draw, device_of("device"))
    assert source.parameter is not None
    yield Rewrite(source.parameter.annotation or source.parameter, device_parameter)
    for caller in source.callers:
        yield Rewrite(caller, device_handed_on(device))
