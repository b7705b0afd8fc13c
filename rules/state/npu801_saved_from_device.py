from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.checkpoints import is_module, is_optimizer
from npuport.analysis.device_evidence import called_name, has_method, names_a_device
from npuport.analysis.module import Module
from npuport.analysis.own_tests import belongs_to_tests
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix, rewrite
from npuport.engine.lazy_libcst import cst
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.engine.writer import Writer


class SavedFromDevice(Rule):
    """A checkpoint is written with the tensors as they lie on the device.

    What it does
    ------------
    Reports ``torch.save`` of a module's ``state_dict()``, alone or in a dictionary, unless it is brought to the CPU,
    in files that name a device. One note a call. Not reported in tests, which load what they save on one machine.

    Why on an NPU
    -------------
    The file says of each tensor that it belongs on ``npu:0``. A machine without an NPU, or with fewer, loads it only
    with ``map_location``: an actor on the CPU, a plot, another team's GPU.

    Example
    -------
    ::

        torch.save(agent.state_dict(), path)

    Use instead
    -----------
    ::

        torch.save({k: v.cpu() for k, v in agent.state_dict().items()}, path)

    Fix safety
    ----------
    Safe where a plain ``state_dict()`` of a module is saved: ``load_state_dict`` copies the same numbers into place.
    No fix where the file does not show that it is a module, or the class keeps extra state, which need not be tensors.

    Sources
    -------
    - Saving and loading in torch: https://docs.pytorch.org/docs/stable/notes/serialization.html
    """

    code = "NPU801"
    name = "saved-from-device"
    topic = "checkpoint"
    severity = Severity.NOTE
    triggers = Triggers(patterns=(r"\.save\s*\(",))

    def check(self, module: Module) -> Iterator[Hit]:
        if not names_a_device(module) or belongs_to_tests(module):
            return
        for reference in module.references:
            call = module.parent(reference.node)
            if reference.dotted not in ("torch.save", "torch.serialization.save") or not isinstance(call, ast.Call):
                continue
            spelled = isinstance(reference.node, ast.Attribute) and call.func is reference.node
            if spelled and not module.knows_npu(call):
                saved = next(iter(call.args), None) or next((k.value for k in call.keywords if k.arg == "obj"), None)
                if saved is not None and _holds_module(module, saved):
                    message = "the file keeps tensors on the device that they are on: elsewhere it needs map_location"
                    yield Hit(call, message, _fix(module, saved))


def _holds_module(module: Module, saved: ast.expr) -> bool:
    states = [state for state in _states(module, saved) if not _is_other_state(module, state)]
    return bool(states) and "cpu" not in module.text_of(saved)


def _states(module: Module, saved: ast.expr) -> list[ast.Call]:
    """The ``state_dict()`` calls in what is saved, in place or where its name is bound."""
    if isinstance(saved, ast.Name):
        values = [binding.value for binding in module.names.bindings(saved.id, saved)]
        return [state for value in values if isinstance(value, ast.Call | ast.Dict) for state in _states(module, value)]
    if isinstance(saved, ast.Dict):
        return [state for value in saved.values if isinstance(value, ast.Call) for state in _states(module, value)]
    return [saved] if isinstance(saved, ast.Call) and called_name(saved) == "state_dict" else []


def _is_other_state(module: Module, state: ast.Call) -> bool:
    """The state of an optimizer, of a model on the CPU, or of an object of the program's own that is no module."""
    if not isinstance(state.func, ast.Attribute):
        return False
    owner = state.func.value
    own = has_method(module, owner, "state_dict") and not is_module(module, owner)
    return own or is_optimizer(module, owner) or _is_made_on_the_cpu(module, owner)


def _is_made_on_the_cpu(module: Module, owner: ast.expr) -> bool:
    """``make_model(device="cpu")``."""
    if not isinstance(owner, ast.Name):
        return False
    made = [binding.value for binding in module.names.bindings(owner.id, owner)]
    return bool(made) and all(isinstance(value, ast.Call) and _names_the_cpu(value) for value in made)


def _names_the_cpu(call: ast.Call) -> bool:
    return any(
        keyword.arg == "device" and isinstance(keyword.value, ast.Constant) and keyword.value.value == "cpu"
        for keyword in call.keywords
    )


def _fix(module: Module, saved: ast.expr) -> Fix | None:
    plain = isinstance(saved, ast.Call) and not saved.args and not saved.keywords
    if not plain or not isinstance(saved, ast.Call) or not isinstance(saved.func, ast.Attribute):
        return None
    if not is_module(module, saved.func.value) or "extra_state" in module.source.text:
        return None
    return rewrite("Save the tensors from the CPU", saved, _on_the_cpu)


def _on_the_cpu(node: cst.CSTNode, writer: Writer) -> str:
    return f"{{k: v.cpu() for k, v in {writer.code(node)}.items()}}"
