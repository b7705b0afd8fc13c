from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.checkpoints import Load, Sink, loads
from npuport.analysis.device_evidence import is_accelerator
from npuport.analysis.module import Module
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix, rewrite
from npuport.engine.rule import Hit, Rule, Triggers


class OptimizerStateMoved(Rule):
    """The state of an optimizer is put on the device as a whole, its step counters too.

    What it does
    ------------
    Reports ``torch.load`` with a device as ``map_location`` where what is loaded reaches an optimizer's
    ``load_state_dict``, and functions that move every tensor of such a checkpoint. Optimizers with
    ``capturable=True`` or ``fused=True`` keep their counters on the device, and are left alone.

    Why on an NPU
    -------------
    Adam counts its steps in tensors on the CPU. ``load_state_dict`` moves the averages to the parameters by itself
    and leaves the counters where they are: on the device each update then reads every one of them back, and some
    versions of torch refuse ("Expected scalars to be on CPU").

    Example
    -------
    ::

        state = torch.load(path, map_location=device)
        optimizer.load_state_dict(state["optimizer"])

    Use instead
    -----------
    ::

        state = torch.load(path, map_location="cpu")
        optimizer.load_state_dict(state["optimizer"])

    Fix safety
    ----------
    Safe where all that is loaded goes into ``load_state_dict``, which copies to where the parameters are. Unsafe
    elsewhere: tensors that are used as they come would be on the CPU. A function that moves everything is reported.

    Sources
    -------
    - ``torch/optim/optimizer.py`` and ``adam.py`` of torch 2.13.0; https://github.com/ray-project/ray/issues/34159
    """

    code = "NPU804"
    name = "optimizer-state-moved"
    topic = "checkpoint"
    severity = Severity.WARNING
    triggers = Triggers(("load_state_dict",))

    def check(self, module: Module) -> Iterator[Hit]:
        if _counts_on_device(module):
            return
        for load in loads(module):
            if Sink.OPTIMIZER not in load.sinks or module.knows_npu(load.call):
                continue
            if Sink.MOVED_DEEP in load.sinks:
                yield Hit(load.call, "every tensor is moved to the device, the optimizer's step counters too" + _EFFECT)
            elif load.map_location is not None and is_accelerator(module, load.map_location):
                message = "map_location puts the optimizer's step counters on the device" + _EFFECT
                yield Hit(load.call, message, _fix(load, load.map_location))


_EFFECT = ": each update reads them back, or fails"


def _counts_on_device(module: Module) -> bool:
    keywords = [*module.index.keywords.get("capturable", ()), *module.index.keywords.get("fused", ())]
    return any(isinstance(keyword.value, ast.Constant) and keyword.value.value is True for keyword in keywords)


def _fix(load: Load, place: ast.expr) -> Fix:
    reason = "" if load.only_copied else "what is not copied into a module stays on the CPU"
    return rewrite("Load to the CPU", place, lambda node, writer: '"cpu"', unsafe_because=reason)
