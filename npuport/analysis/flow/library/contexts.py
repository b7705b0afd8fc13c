"""What ``with`` statements of torch switch: gradients off and on, autocast."""

from __future__ import annotations

from typing import Final

from npuport.analysis.flow.dtypes import BFLOAT16, FLOAT16, FLOAT32, HALF, dtypes_of_argument
from npuport.analysis.flow.events import CallSite
from npuport.analysis.flow.frames import AUTOCAST, GRAD, NO_GRAD
from npuport.analysis.flow.value import CONTEXT, TEXT, UNKNOWN, Atom, Value, is_false

_GRADIENTS: Final = {"no_grad": NO_GRAD, "inference_mode": NO_GRAD, "enable_grad": GRAD, "set_grad_enabled": GRAD}
_MODULES: Final = frozenset({"torch", "torch.autograd", "torch.autograd.grad_mode"})
# By module of autocast: positions of dtype and enabled.
_AUTOCASTS: Final = {
    "torch": (1, 2),
    "torch.amp": (1, 2),
    "torch.amp.autocast_mode": (1, 2),
    "torch.cuda.amp": (1, 0),
    "torch.cuda.amp.autocast_mode": (1, 0),
    "torch.npu.amp": (1, 0),
}


# Operators that autocast computes in float32, and those that it computes in its own dtype.
# Source: https://docs.pytorch.org/docs/stable/amp.html#autocast-op-reference
_IN_FLOAT32: Final = frozenset({
    "pow", "acos", "arccos", "asin", "arcsin", "cosh", "sinh", "tan", "exp", "expm1", "log", "log10", "log1p", "log2",
    "reciprocal", "rsqrt", "cumprod", "cumsum", "dist", "erfinv", "group_norm", "layer_norm", "norm", "vector_norm",
    "normalize", "cdist", "cosine_similarity", "prod", "renorm", "softmax", "log_softmax", "softmin", "softplus", "sum",
})  # fmt: skip
_IN_HALF: Final = frozenset({
    "matmul", "mm", "bmm", "mv", "addmm", "addmv", "addbmm", "baddbmm", "addr", "linear", "conv1d", "conv2d", "conv3d",
    "conv_transpose2d", "einsum", "prelu",
})  # fmt: skip


def autocast_dtypes(name: str, dtypes: frozenset[str], autocast: frozenset[str]) -> frozenset[str]:
    """The dtypes of an operator's result under autocast, from those that it has without."""
    if name in _IN_FLOAT32:
        return dtypes - HALF | FLOAT32 if dtypes & HALF else dtypes
    return dtypes - FLOAT32 | autocast if name in _IN_HALF and dtypes & FLOAT32 else dtypes


def call(dotted: str, site: CallSite) -> Value | None:
    """The context that a function of torch makes; None where it makes none, UNKNOWN where it switches nothing."""
    module, _, name = dotted.rpartition(".")
    if name == "autocast" and module in _AUTOCASTS:
        return _autocast(site, *_AUTOCASTS[module])
    if name not in _GRADIENTS or module not in _MODULES:
        return None
    switched = _GRADIENTS[name]
    if is_false(site.argument(0, "mode")):
        switched = NO_GRAD if switched == GRAD else GRAD
    return Value(Atom(CONTEXT, refs=frozenset({switched})))


def _autocast(site: CallSite, dtype: int, enabled: int) -> Value:
    """Autocast to a known dtype; bfloat16 is the default on the CPU, float16 elsewhere."""
    if is_false(site.argument(enabled, "enabled")):
        return UNKNOWN
    dtypes = dtypes_of_argument(site.argument(dtype, "dtype"))
    if dtypes is None:
        device = (site.argument(0, "device_type") or UNKNOWN).get(TEXT)
        dtypes = BFLOAT16 if device is not None and device.refs == {"cpu"} else FLOAT16
    return Value(Atom(CONTEXT, dtypes, refs=frozenset({AUTOCAST})))
