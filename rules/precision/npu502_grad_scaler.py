from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.device_strings import named_device
from npuport.analysis.module import Module
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix, rewrite
from npuport.engine.rewriting.amp import device_replaced, renamed_call, scaler_arguments
from npuport.engine.rewriting.imports import import_fix
from npuport.engine.rule import Hit, Rule, Triggers

_ADVICE = "it is only needed for float16; float32 and bfloat16 do without"


class GradScalerForCuda(Rule):
    """A gradient scaler is tied to CUDA, or scales for float16.

    What it does
    ------------
    Reports ``torch.cuda.amp.GradScaler`` and ``torch.amp.GradScaler`` for CUDA, which is also its default
    device.

    Why on an NPU
    -------------
    A scaler for CUDA is disabled on an NPU machine: its scale is 1, and float16 gradients underflow unseen.
    Moved to the NPU it works, but it belongs to float16, which a port should not begin with; with several
    optimisers (actor, critic, temperature) one overflow makes all of them skip.

    Example
    -------
    ::

        scaler = torch.cuda.amp.GradScaler()

    Use instead
    -----------
    ::

        scaler = torch.amp.GradScaler("npu", enabled=dtype is torch.float16)

    Fix safety
    ----------
    Safe: the scaler does on the NPU what it did on the GPU. Needs torch 2.3, which every supported torch_npu has.

    Sources
    -------
    - ``torch.amp.GradScaler``: https://docs.pytorch.org/docs/stable/amp.html; tried under torch_npu 2.13.0.
    """

    code = "NPU502"
    name = "grad-scaler"
    topic = "amp"
    severity = Severity.WARNING
    triggers = Triggers(("GradScaler",))

    def check(self, module: Module) -> Iterator[Hit]:
        for reference in module.references:
            call = module.parent(reference.node)
            if not isinstance(call, ast.Call) or call.func is not reference.node or module.knows_npu(call):
                continue
            fix: Fix | None
            if reference.dotted == "torch.cuda.amp.GradScaler":
                bound = reference.binding.node if reference.binding else None
                if isinstance(reference.node, ast.Name) and isinstance(bound, ast.ImportFrom):
                    fix = import_fix(module, bound)
                else:
                    fix = rewrite("Scale for the NPU", call, renamed_call("amp.GradScaler", scaler_arguments))
            elif reference.dotted in ("torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler", "torch.GradScaler"):
                fix = _of_generic(call)
                if fix is None:
                    continue
            else:
                continue
            yield Hit(call, f"a gradient scaler for CUDA is disabled on an NPU; {_ADVICE}", fix)


def _of_generic(call: ast.Call) -> Fix | None:
    """The fix of ``torch.amp.GradScaler``; None where its device is not CUDA."""
    device = next((k.value for k in call.keywords if k.arg == "device"), call.args[0] if call.args else None)
    if device is None:
        if any(k.arg is None for k in call.keywords):
            return None
        return rewrite("Scale for the NPU", call, scaler_arguments)
    return rewrite("Scale for the NPU", call, device_replaced) if named_device(device) == "cuda" else None
