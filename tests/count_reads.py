"""Runs a script and counts what it reads from tensors: ``count_reads.py SCRIPT``; with ``distributions``, counts what
each class of torch.distributions reads with and without argument checks. Prints the counts as JSON on the last line.
Needs torch.
"""

from __future__ import annotations

import inspect
import json
import runpy
import sys
from typing import Any

import torch
from torch import distributions
from torch.utils._python_dispatch import TorchDispatchMode


class Reads(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
    """Counts scalars that come to the host."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += function is torch.ops.aten._local_scalar_dense.default
        return function(*args, **(kwargs or {}))


def parameters(kind: type) -> dict[str, torch.Tensor]:
    """Tensors for one way of making a distribution: logits, or the first parameters that it needs."""
    positive = torch.rand(4, 3) + 0.1
    signature = inspect.signature(kind).parameters
    if kind is distributions.MultivariateNormal:
        return {"loc": positive, "scale_tril": torch.eye(3)}
    if kind is distributions.Uniform:
        return {"low": positive, "high": positive + 1}
    if kind is distributions.StudentT:
        return {"df": positive, "loc": positive, "scale": positive}
    needed = {"temperature": torch.tensor(1.0)} if "temperature" in signature else {}
    if "total_count" in signature:
        needed["total_count"] = torch.tensor(5.0)
    if "logits" in signature:
        return {**needed, "logits": positive}
    return {name: positive for name in signature if name != "validate_args"}


def waits(kind: type) -> tuple[int, int]:
    """What making a distribution and its ``log_prob`` read because of the argument checks."""
    counts = []
    given = parameters(kind)
    for checks in ({}, {"validate_args": False}):
        with Reads() as reads:
            made = kind(**given, **checks)
            before, reads.count = reads.count, 0
            sample = made.sample()
            reads.count = 0
            made.log_prob(sample)
            counts.append((before, reads.count))
    return counts[0][0] - counts[1][0], counts[0][1] - counts[1][1]


if __name__ == "__main__":
    if sys.argv[1] == "distributions":
        print(json.dumps({name: waits(getattr(distributions, name)) for name in sys.argv[2:]}))
    else:
        with Reads() as reads:
            runpy.run_path(sys.argv[1], run_name="__main__")
        print(json.dumps(reads.count))
