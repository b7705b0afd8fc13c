"""Mathematical functions of each element, and bounds."""

from __future__ import annotations

import torch

from tests.operator_sweep.inputs import (
    ALL,
    ANY,
    FLOATS,
    NOT_NEGATIVE,
    NUMBERS,
    POSITIVE,
    SIGNED_UNIT,
    UNIT,
    Values,
    between,
    one,
    pair,
    same,
    shaped,
    special,
)
from tests.operator_sweep.rows import Row

ABOVE_ONE = between(1.1, 5)
INSIDE_UNIT = between(0.01, 0.99)

# Functions that take whole numbers too, with the values that they are asked for.
DIFFERENTIABLE: dict[str, Values] = {
    "abs": ANY,
    "acos": SIGNED_UNIT,
    "acosh": ABOVE_ONE,
    "asin": SIGNED_UNIT,
    "asinh": ANY,
    "atan": ANY,
    "atanh": SIGNED_UNIT,
    "ceil": ANY,
    "cos": ANY,
    "cosh": ANY,
    "erf": ANY,
    "erfc": ANY,
    "erfinv": SIGNED_UNIT,
    "exp": ANY,
    "exp2": ANY,
    "expm1": ANY,
    "floor": ANY,
    "frac": ANY,
    "log": POSITIVE,
    "log10": POSITIVE,
    "log1p": NOT_NEGATIVE,
    "log2": POSITIVE,
    "neg": ANY,
    "reciprocal": POSITIVE,
    "round": ANY,
    "rsqrt": POSITIVE,
    "sigmoid": ANY,
    "sign": ANY,
    "sin": ANY,
    "sinc": ANY,
    "sinh": ANY,
    "sqrt": POSITIVE,
    "tan": SIGNED_UNIT,
    "tanh": ANY,
    "trunc": ANY,
}

WITHOUT_BOOL = {"abs", "ceil", "floor", "neg", "round", "trunc"}
# torch_npu gives the output the input's dtype for these; CANN, like ATen, has no such kernel.
# op-plugin, config/op_plugin_functions.yaml, `exp`, `erf`, `erfc`: dtype.
WITHOUT_SMALL_WHOLE = {"exp": (torch.int32, torch.int16), "erf": (torch.int16,), "erfc": (torch.int16,)}


def dtypes_of(name: str) -> tuple[torch.dtype, ...]:
    """The dtypes for which a function exists on both devices."""
    if name == "frac":
        return FLOATS
    if name in WITHOUT_SMALL_WHOLE:
        return (*FLOATS, torch.int64, torch.bool)
    return NUMBERS if name in WITHOUT_BOOL else ALL


def functions() -> list[Row]:
    """Each function into a new tensor, of special values, and in place."""
    rows = []
    for name, values in DIFFERENTIABLE.items():
        function, in_place = getattr(torch, name), getattr(torch.Tensor, f"{name}_")
        rows += [
            Row(name, function, one(values), dtypes_of(name), gradient=True),
            Row(f"{name}_special", function, special, FLOATS),
            Row(f"{name}_", in_place, one(values), FLOATS),
        ]
        if name in WITHOUT_SMALL_WHOLE:
            reason = "torch_npu asks for a whole output, op_plugin_functions.yaml"
            rows.append(
                Row(f"{name}_whole", function, one(), WITHOUT_SMALL_WHOLE[name], refused="561000", reason=reason)
            )
    return rows


LAYOUT = "ATen takes other vector instructions for a tensor with gaps, which torch_npu closes first"
FLOAT64 = "torch_npu casts what is on the device to float32 where float64 is asked for, with a warning"
NO_KERNEL = "op-plugin has no kernel; torch_npu warns that it falls back to the CPU"

ROWS = [
    *functions(),
    Row("round_decimals", lambda x: torch.round(x, decimals=1), dtypes=FLOATS),
    Row("round_decimals_", lambda x: x.round_(decimals=1), dtypes=FLOATS),
    Row("clamp", lambda x: x.clamp(-1, 2), dtypes=NUMBERS, gradient=True),
    Row("clamp_from_below", lambda x: x.clamp(min=1), dtypes=NUMBERS, gradient=True),
    Row("clamp_from_above", lambda x: x.clamp(max=1), dtypes=NUMBERS, gradient=True),
    Row("clamp_fraction", lambda x: x.clamp(-0.5, 0.5), dtypes=FLOATS),
    Row("clamp_", lambda x: x.clamp_(-1, 2), dtypes=NUMBERS),
    Row("clamp_from_above_", lambda x: x.clamp_(max=1), dtypes=NUMBERS),
    Row("clamp_special", lambda x: x.clamp(-1, 2), special, FLOATS),
    Row("clamp_min", lambda x: torch.clamp_min(x, 1), dtypes=NUMBERS, gradient=True),
    Row("clamp_max", lambda x: torch.clamp_max(x, 1), dtypes=NUMBERS, gradient=True),
    Row("clamp_min_", lambda x: x.clamp_min_(1), dtypes=NUMBERS),
    Row("clamp_max_", lambda x: x.clamp_max_(1), dtypes=NUMBERS),
    Row("clamp_tensor", torch.clamp, same(3, ANY, between(-2, 0), between(0, 2)), FLOATS, gradient=True),
    Row("clamp_tensor_from_below", lambda x, y: x.clamp(min=y), pair(), FLOATS, gradient=True),
    Row("clamp_tensor_from_above", lambda x, y: x.clamp(max=y), pair(), FLOATS),
    Row("clamp_tensor_", lambda x, y, z: x.clamp_(y, z), same(3), FLOATS),
    Row("clamp_min_tensor", torch.clamp_min, pair(), FLOATS, gradient=True),
    Row("clamp_max_tensor", torch.clamp_max, pair(), FLOATS, gradient=True),
    Row("clamp_min_tensor_", lambda x, y: x.clamp_min_(y), pair(), FLOATS),
    Row("clamp_max_tensor_", lambda x, y: x.clamp_max_(y), pair(), FLOATS),
    Row("nan_to_num", torch.nan_to_num, special, FLOATS),
    Row("nan_to_num_given", lambda x: torch.nan_to_num(x, 1.5, 7.0, -7.0), special, FLOATS),
    Row("nan_to_num_", lambda x: x.nan_to_num_(0.5), special, FLOATS),
    Row("xlogy", torch.xlogy, pair(UNIT, POSITIVE), FLOATS, gradient=True),
    Row("xlogy_number", lambda x: torch.xlogy(x, 3), one(UNIT), FLOATS, gradient=True),
    Row("xlogy_of_number", lambda x: torch.xlogy(2, x), one(POSITIVE), FLOATS, gradient=True),
    Row("xlogy_", lambda x, y: x.xlogy_(y), pair(UNIT, POSITIVE), FLOATS),
    Row("xlogy_number_", lambda x: x.xlogy_(3), one(UNIT), FLOATS),
    Row("logaddexp", torch.logaddexp, pair(), FLOATS, gradient=True),
    Row("logaddexp2", torch.logaddexp2, pair(), FLOATS, gradient=True),
    Row("logit", torch.logit, one(INSIDE_UNIT), FLOATS, gradient=True, tolerance=1e-6, reason=LAYOUT),
    Row("logit_epsilon", lambda x: torch.logit(x, 0.1), one(INSIDE_UNIT), FLOATS, tolerance=1e-6, reason=LAYOUT),
    Row("logit_", lambda x: x.logit_(0.1), one(INSIDE_UNIT), FLOATS),
    Row("deg2rad", torch.deg2rad, dtypes=FLOATS, gradient=True),
    Row(
        "float_power",
        lambda x: torch.float_power(x, 2),
        one(POSITIVE),
        expected=lambda x: torch.float_power(x, 2).float(),
        reason=FLOAT64,
    ),
    Row("hypot", torch.hypot, pair(), falls_back=True, reason=NO_KERNEL),
    Row("copysign", torch.copysign, pair(), falls_back=True, reason=NO_KERNEL),
    Row("angle", torch.angle, dtypes=(torch.float32,)),
    Row("polar", torch.polar, same(2, POSITIVE)),
    Row(
        "polar_gradient",
        lambda x, y: torch.polar(x, y).abs(),
        same(2, POSITIVE),
        gradient=True,
        tolerance=1e-6,
        reason=LAYOUT,
    ),
    Row("renorm", lambda x: torch.renorm(x, 2, 0, 1.0), shaped((3, 4), (2, 3, 4)), FLOATS),
    Row("renorm_", lambda x: x.renorm_(2, 0, 1.0), shaped((3, 4), (2, 3, 4)), FLOATS),
    Row("digamma", torch.digamma, one(POSITIVE), falls_back=True, reason=NO_KERNEL),
    Row("lgamma", torch.lgamma, one(POSITIVE), gradient=True, falls_back=True, reason=NO_KERNEL),
]
