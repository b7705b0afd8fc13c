from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.device_evidence import called_name, is_accelerator
from npuport.analysis.device_touches import DeviceTouches
from npuport.analysis.module import Module
from npuport.analysis.processes import Fork, forks
from npuport.analysis.program_touches import ProgramTouches
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix, Insertion
from npuport.engine.rule import Hit, Rule, Triggers


class ForkAfterDevice(Rule):
    """Processes fork after the device was started, and use it.

    What it does
    ------------
    Reports ``Process``, ``Pool``, ``ProcessPoolExecutor`` and classes derived from ``Process`` where something has
    touched the device before, in this file or in functions of others, where the program chooses no spawn or
    forkserver, and where the child uses the device or is given what lies there. Workers that only step environments
    are left alone. Also reports ``share_memory()`` of a module that was moved to the device.

    Why on an NPU
    -------------
    Linux forks by default up to Python 3.13. A forked child inherits a runtime that it cannot use: "Cannot
    re-initialize NPU in forked subprocess". Memory of the device is not shared by ``share_memory()``.

    Example
    -------
    ::

        policy.to("npu:0")
        worker = mp.Process(target=rollout, args=(policy,))

    Use instead
    -----------
    ::

        if __name__ == "__main__":
            mp.set_start_method("spawn")
            main()

    Fix safety
    ----------
    Unsafe: spawned children import the program again, and what they are given must be picklable. Written only where
    the file has a ``__main__`` block and imports the module of processes as a whole.

    Sources
    -------
    - ``torch_npu/npu/__init__.py`` of 2.13.0; https://github.com/vllm-project/vllm-ascend/issues/4502
    - ``share_memory``: the vendor's table of torch.nn, https://github.com/Ascend/pytorch
    """

    code = "NPU703"
    name = "fork-after-device"
    topic = "fork"
    severity = Severity.ERROR
    triggers = Triggers(("Process", "Pool", "share_memory"))
    uses_flow = True

    def check(self, module: Module) -> Iterator[Hit]:
        if not module.uses_torch:
            return
        program = ProgramTouches(module.flow)
        touches = DeviceTouches(module, program)
        for fork in forks(module):
            before = _before(module, touches, program, fork)
            if not before or module.knows_npu(fork.call) or program.chooses_start_method():
                continue
            use = _use(module, touches, program, fork)
            if use:
                message = f"the device is in use from {before[0]} on, and a forked child cannot use it"
                yield Hit(fork.call, message, _spawning(module, fork), evidence=(*before[1:], use))
        for attribute in module.index.attributes.get("share_memory", ()):
            call = module.parent(attribute)
            if isinstance(call, ast.Call) and call.func is attribute and touches.is_on_device(attribute.value):
                message = "share_memory() does nothing for a module on the device: share it on the CPU"
                yield Hit(call, message, severity=Severity.WARNING)


def _before(module: Module, touches: DeviceTouches, program: ProgramTouches, fork: Fork) -> tuple[str, ...]:
    """Where the device is touched before a fork, and by what; empty where nothing shows that it is."""
    touch = touches.before(fork.call)
    if touch is not None:
        line = f"line {touch.call.lineno}"
        through = f" (line {touch.call.lineno}, {touch.place})" if touch.place else f" ({line})"
        return line, module.text_of(touch.call) + through
    function = module.function(fork.call)
    place = program.before_function(function) if function is not None else ""
    return (place, f"called after the device was touched ({place})") if place else ()


def _use(module: Module, touches: DeviceTouches, program: ProgramTouches, fork: Fork) -> str:
    """What the child does with the device, for people; empty where this file shows nothing."""
    value: ast.expr | None
    for value in fork.handed:
        if touches.is_on_device(value):
            return f"the child is given {module.text_of(value)}"
        if is_accelerator(module, value):
            return f"the child is given the device {module.text_of(value)}"
    for function in fork.functions:
        touch = touches.inside(function)
        if touch is not None:
            return f"the child runs {module.text_of(touch.call)} (line {touch.call.lineno})"
        value = touches.reads(function)
        if value is not None:
            return f"the child reads {module.text_of(value)} (line {value.lineno})"
    for target in fork.targets:
        if place := program.in_value(target):
            return f"the child uses the device ({place})"
    return ""


def _spawning(module: Module, fork: Fork) -> Fix | None:
    """Choose spawn first thing in the ``__main__`` block."""
    blocks = [s for s in module.tree.body if isinstance(s, ast.If) and "__main__" in module.text_of(s.test)]
    names = [
        name
        for name, bindings in module.index.bindings[module.tree].items()
        if any(binding.imported in ("multiprocessing", "torch.multiprocessing") for binding in bindings)
    ]
    if len(blocks) != 1 or not names or any(called_name(call) == "set_start_method" for call in module.index.calls):
        return None
    name = names[0]
    reason = "spawned children import the program again and unpickle what they are given"
    insertion = Insertion(blocks[0].body[0], lambda writer: f'{name}.set_start_method("spawn")')
    return Fix("Spawn processes", (insertion,), reason)
