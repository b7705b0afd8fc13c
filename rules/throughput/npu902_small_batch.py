from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.constants import integer
from npuport.analysis.device_evidence import called_name
from npuport.analysis.flow.declarations import Function
from npuport.analysis.flow.frequency import Level
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.module import Module
from npuport.analysis.rollouts import is_in_training, plays_and_trains
from npuport.engine.finding import Severity
from npuport.engine.flow_rule import FlowRule
from npuport.engine.rule import Hit, Triggers

_SMALL = 128


class SmallBatch(FlowRule):
    """An update works on a batch of fewer than 128 transitions.

    What it does
    ------------
    Notes, once a file, a batch size below 128 that the file fixes (a number, a constant, the default of an option)
    where it is used: in ``buffer.sample(n)``, ``random.sample(buffer, n)`` or a ``DataLoader`` of a program that
    plays and trains.

    Why on an NPU
    -------------
    An update of a small network takes as long with 32 rows as with 256: the host needs longer to queue the operators
    than the device to run them. Larger batches, and fewer updates, use the same time better. They change learning:
    raise the learning rate with care, and compare returns.

    Example
    -------
    ::

        batch = buffer.sample(32)

    Use instead
    -----------
    ::

        batch = buffer.sample(256)

    Sources
    -------
    - Measured on a CPU: forward and backward of a 128 x 128 network take 0.8 ms for 256 rows, one optimiser step
      without fused kernels takes 0.4 ms more, whatever the batch.
    """

    code = "NPU902"
    name = "small-batch"
    topic = "batch"
    severity = Severity.NOTE
    triggers = Triggers((".sample", "DataLoader"))

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        if not flow.program.names_accelerator(flow.scope.key) or not module.uses_torch:
            return
        functions = {function.node: function for function in flow.scope.functions}
        calls = sorted(module.index.calls, key=lambda call: (call.lineno, call.col_offset))
        for call in calls:
            given = _batch(module, call)
            size = integer(module, given) if given is not None else None
            if size is None or not 1 < size < _SMALL:
                continue
            function = functions.get(module.function(call) or module.tree)
            if function is not None and _updates(module, flow, function, call):
                message = f"a batch of {size} leaves the device waiting for the host; 128 or more cost the same time"
                yield Hit(call, message)
                return


def _batch(module: Module, call: ast.Call) -> ast.expr | None:
    """The batch size that a call draws or loads."""
    name = called_name(call)
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    if name == "DataLoader":
        return named.get("batch_size") or (call.args[1] if len(call.args) > 1 else None)
    if name != "sample" or not isinstance(call.func, ast.Attribute):
        return None
    if module.resolve(call.func) == "random.sample":
        return call.args[1] if len(call.args) > 1 else named.get("k")
    return named.get("batch_size") or (call.args[0] if call.args else None)


def _updates(module: Module, flow: FileFlow, function: Function, call: ast.Call) -> bool:
    """Whether a call that draws runs once an update; loaders are made once, where updates follow."""
    if called_name(call) == "DataLoader":
        return plays_and_trains(flow) and is_in_training(flow, function)
    return flow.level_of(function, module.statement(call)) >= Level.UPDATE
