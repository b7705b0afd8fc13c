from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.device_strings import named_device
from npuport.analysis.module import Module, Reference
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix, Transform, rewrite
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.amp import autocast_arguments, custom_fwd_arguments, device_type_replaced, renamed_call
from npuport.engine.rewriting.imports import import_fix
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.engine.writer import Writer

_GENERIC = ("torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast")
_ADVICE = "start in float32: half precision overflows first in log-probabilities, ratios and value losses"


class Fp16Autocast(Rule):
    """Autocast is tied to CUDA, or computes in float16.

    What it does
    ------------
    Reports ``torch.cuda.amp.autocast``, ``torch.autocast("cuda")``, ``custom_fwd`` and ``custom_bwd``, and every
    autocast whose dtype is float16, given or by default. On an NPU ``enabled=False`` and
    bfloat16 are not reported.

    Why on an NPU
    -------------
    Autocast for CUDA is switched off on an NPU machine, with at most a warning: the run is float32 after all,
    and not what was configured. Once it is on, float16 is where reinforcement learning gets its NaN: ratios,
    log-probabilities and value losses leave its range, and an NPU may saturate where a GPU gives infinity.
    Port in float32 first, then try bfloat16.

    Example
    -------
    ::

        with torch.cuda.amp.autocast():
            loss = agent.loss(batch)

    Use instead
    -----------
    ::

        with torch.autocast("npu", dtype=torch.bfloat16):
            loss = agent.loss(batch)

    Fix safety
    ----------
    Safe: the device moves to the NPU, the dtype is left to the author. Positional arguments get their keywords,
    since ``torch.autocast`` has another order.

    Sources
    -------
    - ``torch.amp``: https://docs.pytorch.org/docs/stable/amp.html; all forms were tried under torch_npu 2.13.0.
    - NaN in the first float16 step on an NPU while the GPU run is fine: reported of RLHF ports.
    """

    code = "NPU501"
    name = "fp16-autocast"
    topic = "amp"
    severity = Severity.WARNING
    triggers = Triggers(("autocast", "custom_fwd", "custom_bwd"))

    def check(self, module: Module) -> Iterator[Hit]:
        for reference in module.references:
            call = module.parent(reference.node)
            is_call = isinstance(call, ast.Call) and call.func is reference.node
            if module.knows_npu(reference.node):
                continue
            if reference.dotted == "torch.cuda.amp.autocast":
                yield self._cuda_amp(module, reference, call if is_call else None)  # type: ignore[arg-type]
            elif reference.dotted in ("torch.cuda.amp.custom_fwd", "torch.cuda.amp.custom_bwd"):
                yield self._custom_function(module, reference, call if is_call else None)  # type: ignore[arg-type]
            elif reference.dotted in _GENERIC and is_call:
                assert isinstance(call, ast.Call)
                yield from self._generic(module, call)

    def _cuda_amp(self, module: Module, reference: Reference, call: ast.Call | None) -> Hit:
        if call is None:
            return Hit(reference.node, "autocast for CUDA is off on an NPU; pass the device to torch.autocast")
        if _imported_name(reference):
            assert reference.binding is not None and isinstance(reference.binding.node, ast.stmt)
            fix = import_fix(module, reference.binding.node)
        else:
            fix = rewrite("Autocast for the NPU", call, renamed_call("autocast", autocast_arguments))
        dtype = _dtype(call, 1)
        advice = f"; {_ADVICE}" if _is_half(dtype) and not _is_off(_argument(call, 0, "enabled")) else ""
        return Hit(call, f"autocast for CUDA is off on an NPU{advice}", fix)

    def _custom_function(self, module: Module, reference: Reference, call: ast.Call | None) -> Hit:
        leaf = reference.dotted.rpartition(".")[2]
        fix: Fix | None = None
        if not _imported_name(reference):
            if call is not None:
                fix = rewrite("Name the NPU", call, renamed_call(f"amp.{leaf}", custom_fwd_arguments))
            else:
                fix = rewrite("Name the NPU", reference.node, _decorator(leaf))
        return Hit(reference.node, f"{leaf} of torch.cuda.amp follows CUDA's autocast, which is off on an NPU", fix)

    def _generic(self, module: Module, call: ast.Call) -> Iterator[Hit]:
        device = _argument(call, 0, "device_type")
        if device is None:
            return
        cuda = named_device(device) == "cuda"
        half = _is_half(_dtype(call, 1)) and not _is_off(_argument(call, 2, "enabled"))
        if cuda:
            fix = rewrite("Autocast for the NPU", call, device_type_replaced)
            yield Hit(call, "autocast for CUDA is off on an NPU" + (f"; {_ADVICE}" if half else ""), fix)
        elif half and named_device(device) != "cpu" and not _leaves_it_to_torch(module, call):
            explicit = "float16" if _dtype(call, 1) is not None else "float16 by default"
            yield Hit(call, f"autocast in {explicit}; {_ADVICE}")


def _leaves_it_to_torch(module: Module, call: ast.Call) -> bool:
    """Code on ``torch.accelerator`` that names no dtype either."""
    asks = any(reference.dotted.startswith("torch.accelerator.") for reference in module.references)
    return asks and _dtype(call, 1) is None


def _imported_name(reference: Reference) -> bool:
    binding = reference.binding
    return isinstance(reference.node, ast.Name) and binding is not None and isinstance(binding.node, ast.ImportFrom)


def _argument(call: ast.Call, position: int, keyword: str) -> ast.expr | None:
    for candidate in call.keywords:
        if candidate.arg == keyword:
            return candidate.value
    return call.args[position] if position < len(call.args) else None


def _dtype(call: ast.Call, position: int) -> ast.expr | None:
    return _argument(call, position, "dtype")


def _is_half(dtype: ast.expr | None) -> bool:
    """float16, or nothing said; a variable may be anything."""
    if dtype is None or (isinstance(dtype, ast.Constant) and dtype.value is None):
        return True
    return isinstance(dtype, ast.Attribute) and dtype.attr in ("float16", "half")


def _is_off(enabled: ast.expr | None) -> bool:
    return isinstance(enabled, ast.Constant) and enabled.value is False


def _decorator(leaf: str) -> Transform:
    """``@torch.cuda.amp.custom_fwd`` without a call gets its call."""

    def transform(node: cst.CSTNode, writer: Writer) -> str:
        return f"{writer.torch()}.amp.{leaf}(device_type={writer.device_type()})"

    return transform
