from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.fixed_attributes import is_fixed
from npuport.analysis.flow.frequency import Level
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.module import Module
from npuport.analysis.noise_sources import draws_noise
from npuport.analysis.tensor_creation import (
    DRAWING,
    UPLOADING_TEXTS,
    Creation,
    constant_of,
    names_device,
    read_creation,
)
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix, rewrite
from npuport.engine.flow_rule import FlowRule
from npuport.engine.rewriting.creation import filled_on_device, made_on_device
from npuport.engine.rule import Hit, Triggers


class CreateThenCopy(FlowRule):
    """A tensor is made in host memory and copied, although the device could make it.

    What it does
    ------------
    Reports ``torch.zeros(n).to(device)`` and other tensors that need no data (``ones``, ``full``, ``arange``,
    ``rand``, ``randn`` ...), and constants such as ``torch.tensor(0.0).to(device)``, in code that runs once per
    update or more often. Also noise that NumPy draws for each step, and attributes that only ``__init__`` sets. Other
    data of the host is not reported: it must travel anyway.

    Why on an NPU
    -------------
    The host fills the tensor, then a copy of its own brings it over. With ``device=`` the device fills it, and
    nothing is copied. ``torch.tensor(0.0, device=device)`` is such a copy as well; ``torch.full`` is none.

    Example
    -------
    ::

        for batch in loader:
            total = torch.zeros(batch_size).to(device)
            floor = torch.tensor(0.0).to(device)

    Use instead
    -----------
    ::

        for batch in loader:
            total = torch.zeros(batch_size, device=device)
            floor = torch.full((), 0.0, device=device)

    Fix safety
    ----------
    Safe: the same values in the same dtype. Unsafe for random numbers, which the device draws from a stream of
    its own. A list of different constants has no fix: make it once, before the loop.

    Sources
    -------
    - Measured under torch_npu 2.13.0 on an emulated device: ``torch.tensor(x).to(device)`` and
      ``torch.tensor(x, device=device)`` are one copy each, ``torch.zeros(n, device=device)`` is none.
    """

    code = "NPU404"
    name = "create-then-copy"
    topic = "h2d"
    severity = Severity.WARNING
    triggers = Triggers(UPLOADING_TEXTS)

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        for event in flow.events("upload"):
            creation = read_creation(module, event.node)
            level = flow.level(event)
            if creation is None or level < Level.UPDATE:
                continue
            what = _needless(module, flow, creation)
            if what:
                yield self.hit(
                    flow,
                    event,
                    f"{what[0]} in host memory, then copied to the device, {level.phrase}; {what[1]}",
                    fix=_fix(flow, creation) if creation.copies_needlessly else None,
                    severity=Severity.NOTE if level is Level.UPDATE else Severity.WARNING,
                )


def _needless(module: Module, flow: FileFlow, creation: Creation) -> tuple[str, str] | None:
    """What is done needlessly, and what to do instead; None where the data must travel."""
    if creation.copies_needlessly:
        what = "drawn" if creation.function in DRAWING else "made"
        return what, "make it once, before the loop" if _differs(creation) else "let the device make it"
    if creation.data is None:
        return None
    if draws_noise(module, creation.data):
        return "noise is drawn", "let the device draw it"
    if is_fixed(flow, creation.data):
        return "what never changes is kept", "copy it once, where it is made"
    return None


def _differs(creation: Creation) -> bool:
    return isinstance(creation.data, ast.List | ast.Tuple) and _shape_and_value(creation.data) is None


def _fix(flow: FileFlow, creation: Creation) -> Fix | None:
    understood = {"dtype", "device"} if not creation.moved else {"dtype"}
    if creation.keywords - understood or not names_device(flow, creation):
        return None
    if creation.needs_no_data:
        reason = "the device draws other random numbers" if creation.function in DRAWING else ""
        transform = made_on_device(creation)
        return rewrite("Make it on the device", creation.whole, transform, unsafe_because=reason)
    filling = _shape_and_value(creation.data) if creation.data is not None else None
    if filling is None or len(creation.call.args) > 1 or creation.methods:
        return None
    return rewrite("Fill it on the device", creation.whole, filled_on_device(creation, *filling))


def _shape_and_value(data: ast.expr) -> tuple[str, ast.expr] | None:
    """The shape and the one number of a constant; None where the numbers differ."""
    if not isinstance(data, ast.List | ast.Tuple):
        return "()", data
    numbers = [constant_of(element) for element in data.elts]
    first = numbers[0]
    if first is None or any(number != first or type(number) is not type(first) for number in numbers):
        return None
    return f"({len(numbers)},)", data.elts[0]
