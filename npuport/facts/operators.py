"""What the vendor's tables say of torch's operators: dtypes, limits, support; from ``data/torch_npu_operators.json``.

The tables list what was tested, not hard limits, and the forms of one operator (``torch.gather``, ``Tensor.gather``)
contradict each other. So forms are joined, rows that are plainly wrong are left out, and nothing here says that an
operator fails: only a missing kernel does (``npuport.facts.kernels``).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from npuport.facts.releases import DATA

# Rows that are not believed, with the reason.
NOT_TAKEN = {
    "torch.optim.Adam.step": "marked unsupported; every ported agent trains with it, and its kernels are registered",
    "torch.optim.Adadelta.step": "marked unsupported; made of foreach operators that have kernels",
    "torch.optim.LBFGS.step": "marked unsupported; made of operators that have kernels",
    "torch.nn.Module.npu": "marked unsupported; torch_npu itself defines it",
    "torch.nn.RNN": "marked unsupported; made of matmul, add and tanh, which have kernels",
    "torch.nn.RNNBase": "marked unsupported, while LSTM and GRU, which derive from it, are supported",
    "torch.nn.RNNBase.flatten_parameters": "marked unsupported; does nothing outside cuDNN",
    "torch.nn.RNNCell": "marked unsupported; made of matmul, add and tanh, which have kernels",
    "torch.var_mean": "marked unsupported; the wheel registers var_mean.correction",
    "torch.std_mean": "marked unsupported; the wheel registers std_mean.correction",
    "torch.scatter_reduce": "marked unsupported, while Tensor.scatter_reduce is supported; the kernel is registered",
    "torch.nn.functional.gumbel_softmax": "marked unsupported; made of exponential_, log, softmax and scatter_",
    "torch.Tensor.item": "lists float32 only; it copies one element, whatever its dtype",
    "torch.Tensor.index_put_": "lists int64 only, which is the dtype of its indices",
    "torch.Tensor.index_put": "lists int64 only, which is the dtype of its indices",
}

_FLAT_PREFIXES = ("torch.Tensor.", "torch.nn.functional.", "torch.special.", "torch.")


@dataclass(frozen=True)
class Operator:
    """What the tables say of one operator, its forms taken together.

    Attributes:
        supported: False where the vendor lists no form as supported on Atlas A2 and A3.
        dtypes: of the first tensor argument, as tested by the vendor; empty where none are stated.
        cpu_fallback: ``yes`` or ``maybe`` where the vendor says that it may run on the CPU, else empty.
        limits: what else the vendor says, in words.
    """

    supported: bool
    dtypes: frozenset[str]
    cpu_fallback: str
    limits: str


def operator_key(dotted: str) -> str:
    """The name under which the forms of an operator meet.

    ``torch.gather``, ``torch.Tensor.gather`` and ``torch.nn.functional.relu_`` become ``gather`` and ``relu``;
    names in other modules, and methods of classes, stay as they are.
    """
    for prefix in _FLAT_PREFIXES:
        rest = dotted.removeprefix(prefix)
        if rest != dotted and "." not in rest:
            return rest.rstrip("_") if not rest.startswith("_") else rest
    return dotted


def operator(dotted: str) -> Operator | None:
    """What is known of an operator, by any of its public names; None where the tables say nothing worth keeping."""
    row = _data()["operators"].get(operator_key(dotted))
    if row is None:
        return None
    dtypes = _data()["dtype_sets"][row["dtypes"]] if "dtypes" in row else ()
    return Operator(row.get("supported", True), frozenset(dtypes), row.get("cpu_fallback", ""), row.get("limits", ""))


@cache
def without_kernel() -> frozenset[str]:
    """The aten operators for which the torch_npu of the tables registers no kernel."""
    return frozenset(_data()["without_kernel"])


@cache
def _data() -> dict[str, Any]:
    """Read when the first rule asks, never at start-up."""
    data: dict[str, Any] = json.loads((DATA / "torch_npu_operators.json").read_bytes())
    return data
