"""Functions of torch: which table answers for ``torch.x`` and for each module below torch."""

from __future__ import annotations

from typing import Final

from npuport.analysis.flow.dtypes import (
    ANY_DTYPE,
    ANYWHERE,
    LEGACY_TENSORS,
    devices_of_argument,
)
from npuport.analysis.flow.events import CallSite
from npuport.analysis.flow.library import contexts, data_loading, distributions, layers, operators, tensor_methods
from npuport.analysis.flow.library.evaluation import Evaluation, LibraryCall
from npuport.analysis.flow.library.torch_creation import CREATION, legacy_on_accelerator
from npuport.analysis.flow.value import (
    A_BOOL,
    A_TEXT,
    AN_INT,
    DEVICE,
    NOTHING,
    TENSOR,
    UNKNOWN,
    Atom,
    Value,
    sequence,
    tensor,
)
from npuport.analysis.flow.vocabulary import FENCES


def call(run: Evaluation, dotted: str, site: CallSite) -> Value:
    """What a call of ``torch.`` something gives; reported as a ``call`` besides what its table reports."""
    parts = dotted.split(".")
    last = parts[-1]
    context = contexts.call(dotted, site)
    if context is not None:
        result = context
    elif len(parts) == 2:
        result = _top_level(run, last, site)
    else:
        group = _GROUPS.get(parts[1])
        result = group(run, dotted, last, site) if group is not None else UNKNOWN
    if run.recording:
        run.event("call", site.node, result, dotted, tuple(site.args), site.keywords)
    return result


def _top_level(run: Evaluation, name: str, site: CallSite) -> Value:
    function = CREATION.get(name) or _FUNCTIONS.get(name)
    if function is not None:
        return function(run, name, site)
    if name in _FIXED:
        return _FIXED[name]
    return operators.apply(run, site.node, name, site.args, site.keywords) or UNKNOWN


def _device(run: Evaluation, name: str, site: CallSite) -> Value:
    devices = devices_of_argument(site.argument(0, "type") or site.argument(0, "device"))
    return Value(Atom(DEVICE, devices=devices or ANYWHERE))


def _first(run: Evaluation, name: str, site: CallSite) -> Value:
    return site.first


_FUNCTIONS: Final[dict[str, LibraryCall]] = {
    "device": _device,
    "compile": _first,
}
_FIXED: Final = {
    "save": NOTHING,
    "set_default_dtype": NOTHING,
    "set_default_tensor_type": NOTHING,
    "set_default_device": NOTHING,
    "set_num_threads": NOTHING,
    "set_printoptions": NOTHING,
    "set_float32_matmul_precision": NOTHING,
    "use_deterministic_algorithms": NOTHING,
    "is_tensor": A_BOOL,
    "is_floating_point": A_BOOL,
    "is_grad_enabled": A_BOOL,
    "numel": AN_INT,
    "get_num_threads": AN_INT,
    "initial_seed": AN_INT,
}

# Answers of torch.cuda, torch.npu and so on.
_DEVICE_MODULE: Final = {
    "is_available": A_BOOL,
    "is_initialized": A_BOOL,
    "is_bf16_supported": A_BOOL,
    "device_count": AN_INT,
    "current_device": AN_INT,
    "memory_allocated": AN_INT,
    "max_memory_allocated": AN_INT,
    "memory_reserved": AN_INT,
    "max_memory_reserved": AN_INT,
    "get_device_name": A_TEXT,
    **dict.fromkeys(FENCES, NOTHING),
    "set_device": NOTHING,
    "manual_seed": NOTHING,
    "manual_seed_all": NOTHING,
    "reset_peak_memory_stats": NOTHING,
}


def _device_module(run: Evaluation, dotted: str, last: str, site: CallSite) -> Value:
    if last in LEGACY_TENSORS:
        return legacy_on_accelerator(run, last, site)
    if last in FENCES:
        run.event("fence", site.node, how=last)
    return _DEVICE_MODULE.get(last, UNKNOWN)


def _operators(run: Evaluation, dotted: str, last: str, site: CallSite) -> Value:
    return operators.apply(run, site.node, last, site.args, site.keywords) or UNKNOWN


def _unbound_method(run: Evaluation, dotted: str, last: str, site: CallSite) -> Value:
    """``torch.Tensor.detach(x)``."""
    atom = site.first.get(TENSOR)
    if atom is None:
        return UNKNOWN
    rest = CallSite(site.node, site.args[1:], site.keywords)
    return tensor_methods.call(run, atom, site.first, last, rest) or UNKNOWN


def _autograd(run: Evaluation, dotted: str, last: str, site: CallSite) -> Value:
    if last == "grad":
        run.event("backward", site.node, site.argument(0, "outputs") or UNKNOWN)
        return sequence(tensor(ANY_DTYPE, ANYWHERE))
    if last == "Variable":
        return site.first
    return UNKNOWN


def _same_object(run: Evaluation, dotted: str, last: str, site: CallSite) -> Value:
    return site.first


def _utils(run: Evaluation, dotted: str, last: str, site: CallSite) -> Value:
    if dotted.startswith("torch.utils.data."):
        return data_loading.call(run, last, site)
    return UNKNOWN


def _backends(run: Evaluation, dotted: str, last: str, site: CallSite) -> Value:
    return A_BOOL if last.startswith("is_") else UNKNOWN


_GROUPS: Final = {
    **dict.fromkeys(("cuda", "npu", "accelerator", "xpu", "mps"), _device_module),
    **dict.fromkeys(("linalg", "special", "functional", "fft"), _operators),
    "nn": layers.call,
    "optim": layers.make_optimizer,
    "distributions": distributions.call,
    "utils": _utils,
    "autograd": _autograd,
    "Tensor": _unbound_method,
    "jit": _same_object,
    "backends": _backends,
}
