"""Which bools, integers and float64 tensors reach a loss, and on which way."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from npuport.analysis.flow.dtypes import FLOAT64, INTEGRAL
from npuport.analysis.flow.value import TENSOR, Origin, Value

# Losses whose target is an index: int64 is what they want.
_INDEX_TARGETS: Final = re.compile(r"(?<!binary_)cross_?entropy|nll|margin", re.IGNORECASE)
# Dtypes that no floating loss should get.
DOUBTFUL: Final = INTEGRAL | FLOAT64
TARGET_FUNCTION: Final = re.compile(r"target")


class LossInput(NamedTuple):
    """A tensor of a dtype that no loss should get.

    Attributes:
        origin: where it was made.
        dtype: its dtype there.
        promoted: where it was mixed into a float tensor; None where it enters the loss as it is.
        loss: where the loss is computed.
    """

    origin: Origin
    dtype: str
    promoted: Origin | None
    loss: Origin


def loss_name(node: ast.AST, how: str) -> str:
    """What a loss is called, and what it is: ``criterion CrossEntropyLoss``."""
    return f"{ast.unparse(node.func) if isinstance(node, ast.Call) else 'loss'} {how}"


def takes_classes(name: str) -> bool:
    """Whether the target of a loss is an index: int64 is what it wants."""
    return _INDEX_TARGETS.search(name) is not None


def inputs_of_loss(values: Iterable[Value], loss: Origin, name: str = "") -> Iterator[LossInput]:
    """What the arguments of a loss (or the value of ``backward`` or of a target) carry into it."""
    for position, value in enumerate(values):
        atom = value.get(TENSOR)
        if atom is None:
            continue
        for file, line, dtype, promoting_file, promoting_line in atom.mixed:
            yield LossInput((file, line), dtype, (promoting_file, promoting_line), loss)
        if atom.origin is None or not atom.dtypes:
            continue
        if atom.dtypes == FLOAT64:
            yield LossInput(atom.origin, "float64", None, loss)
        elif atom.dtypes <= INTEGRAL and name and not (position and takes_classes(name)):
            yield LossInput(atom.origin, "bool" if "bool" in atom.dtypes else min(atom.dtypes), None, loss)
