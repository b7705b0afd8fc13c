"""Which dtypes CANN's kernels refuse, where that is beyond doubt; from ``data/aclnn_dtypes.json``.

A kernel that gets a dtype without an implementation returns 161002 (``EZ1001``) before it starts. Three of the vendor's
sources say which dtypes those are, and none is exact:

- the page of each kernel lists the dtypes of each argument. It is about the kernel itself, but it names what some
  processor takes (a dtype on it may still be refused on another one), and it is behind the kernel.
- the source of each kernel has lists of dtypes and checks of arguments. Where only what dtypes are promoted to is
  checked (``l1_loss`` takes a bool beside a float32), no dtype of one argument is refused for itself.
- the tables of torch's operators list what was tested of the first argument (``npuport.facts.operators``). A dtype that
  is missing there often works: ``mul`` does not list float64 and ``multinomial`` does not either, and both kernels do.

So a dtype counts as refused where neither the page of the kernel lists it nor its source takes it, **and** no form of
any torch operator that leads to the kernel lists it. An operator of which the tables state no dtypes, or that is not
believed (``NOT_TAKEN``), proves nothing, and its kernels refuse nothing; so do kernels without a page, and lists of
tensors (foreach optimisers). What a program may do with bool and int64 (copies, casts, comparisons, masks, indices,
embedding, one_hot, counts, arithmetic) is on the pages; ``tests/test_refusals.py`` holds that it stays unrefused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from npuport.facts.operators import operator
from npuport.facts.releases import DATA

# Names of dtypes in CANN's messages, by those of torch.
DT_NAMES = {
    "bool": "DT_BOOL",
    "uint8": "DT_UINT8",
    "int8": "DT_INT8",
    "int16": "DT_INT16",
    "int32": "DT_INT32",
    "int64": "DT_INT64",
    "float16": "DT_FLOAT16",
    "bfloat16": "DT_BFLOAT16",
    "float32": "DT_FLOAT",
    "float64": "DT_DOUBLE",
    "complex64": "DT_COMPLEX64",
    "complex128": "DT_COMPLEX128",
}

# Instead of dtypes: the source of a kernel checks only what its arguments are promoted to.
PROMOTED = "promoted"

# Beside those that end in "_loss". Cross-entropy is a log_softmax and an nll_loss; huber_loss has no kernel.
_LOSSES = frozenset({"binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div", "log_softmax"})


@dataclass(frozen=True)
class Refusal:
    """What one argument of a kernel may not be.

    Attributes:
        kernel: such as ``aclnnMseLoss``.
        argument: its name, as messages have it.
        position: in the kernel's C function, from 0.
        refused: names of dtypes, as CANN has them (``DT_BOOL``).
        supported: what the kernel takes, in the order in which CANN names it.
        in_loss: whether the kernel computes a loss.
    """

    kernel: str
    argument: str
    position: int
    refused: tuple[str, ...]
    supported: tuple[str, ...]
    in_loss: bool


def refusals() -> Iterator[Refusal]:
    """All that is refused beyond doubt, by kernel and argument."""
    for kernel, facts in _kernels().items():
        tested = {DT_NAMES[dtype] for name in facts["operators"] for dtype in _tested(name)}
        in_loss = any(name.endswith("_loss") or name in _LOSSES for name in facts["operators"])
        for argument, (position, listed, besides) in facts["inputs"].items() if tested else ():
            if besides == PROMOTED:
                continue
            supported = (*listed.split(","), *besides.split(",")) if besides else tuple(listed.split(","))
            refused = tuple(name for name in DT_NAMES.values() if name not in supported and name not in tested)
            if refused:
                yield Refusal(kernel, argument, position, refused, supported, in_loss)


def _tested(name: str) -> frozenset[str]:
    facts = operator(f"torch.{name}")
    return facts.dtypes & DT_NAMES.keys() if facts is not None else frozenset()


@cache
def _kernels() -> dict[str, Any]:
    kernels: dict[str, Any] = json.loads((DATA / "aclnn_dtypes.json").read_bytes())["kernels"]
    return kernels
