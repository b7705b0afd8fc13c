from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.flow.frequency import Level, Reason
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import NUMBER, NUMPY_SCALAR, TENSOR, Origin, Value
from npuport.analysis.module import Module
from npuport.engine.finding import Severity
from npuport.engine.flow_rule import FlowRule, step_text
from npuport.engine.rule import Hit, Triggers


class HostOperand(FlowRule):
    """A scalar tensor in host memory takes part in arithmetic with tensors of the device.

    What it does
    ------------
    Reports ``a * b`` in code that runs once per update or more often, where one side was made from one number
    without a device and the other side is on the device. torch allows it for tensors without dimensions. The
    temperature of SAC is the usual case.

    Why on an NPU
    -------------
    Each operation copies the scalar to the device first, and its gradient back. On the device it would be there.

    Example
    -------
    ::

        self.log_alpha = torch.tensor(np.log(0.01), dtype=torch.float32, requires_grad=True)
        ...
        target = next_value - self.log_alpha.exp() * log_prob

    Use instead
    -----------
    ::

        self.log_alpha = torch.tensor(np.log(0.01), dtype=torch.float32, device=device, requires_grad=True)

    Sources
    -------
    - Measured under torch_npu 2.13.0 on an emulated device: one copy to the device for each such operation.
    """

    code = "NPU407"
    name = "host-operand"
    topic = "h2d"
    severity = Severity.WARNING
    triggers = Triggers(("ensor",))

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        scalars = set(_host_scalars(flow))
        for event in flow.events("arithmetic") if scalars else ():
            node = event.node
            if not isinstance(node, ast.BinOp) or flow.level(event) < Level.UPDATE:
                continue
            for side, value, other in (
                (node.left, event.value, event.values[0]),
                (node.right, event.values[0], event.value),
            ):
                origin = _origin_of(flow, side)
                if origin in scalars and _is_on_host(value) and _is_on_device(other):
                    assert origin is not None
                    made = step_text(Reason(*origin, "made in host memory"), flow.scope.key)
                    level = flow.level(event)
                    yield self.hit(
                        flow,
                        event,
                        f"a scalar in host memory is copied to the device for each operation, {level.phrase}; "
                        "make it on the device",
                        node=side,
                        severity=Severity.NOTE if level is Level.UPDATE else Severity.WARNING,
                        evidence=[made],
                    )


def _host_scalars(flow: FileFlow) -> Iterator[Origin]:
    """Where tensors without dimensions are made in host memory."""
    for event in flow.events("create"):
        atom = event.values[0].get(TENSOR)
        if atom is not None and atom.on_host and atom.origin and event.value.only(NUMBER, NUMPY_SCALAR):
            yield atom.origin


def _origin_of(flow: FileFlow, operand: ast.expr) -> Origin | None:
    """Where the tensor was made that an operand is computed from: ``x`` of ``-x.exp()``."""
    node = operand
    while True:
        if isinstance(node, ast.UnaryOp):
            node = node.operand
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
            node = node.func.value
        elif isinstance(node, ast.Call) and len(node.args) == 1:
            node = node.args[0]  # torch.exp(x)
        else:
            atom = flow.value(node).get(TENSOR)
            return atom.origin if atom is not None else None


def _is_on_host(value: Value) -> bool:
    return value.only(TENSOR) and value.atoms[TENSOR].on_host


def _is_on_device(value: Value) -> bool:
    return value.only(TENSOR) and value.atoms[TENSOR].on_accelerator
