"""Uploads that could wait less: tensors that are made of data of the host and go straight to the device."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from npuport.analysis.flow.events import Event
from npuport.analysis.flow.frequency import Level
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import TENSOR
from npuport.analysis.module import Module
from npuport.analysis.tensor_creation import Creation, names_device, read_creation

# What these are given may already be a tensor of the device, which they leave there.
_LEAVE_ON_DEVICE: Final = frozenset({"as_tensor", "asarray"})
_KEYWORDS: Final = frozenset({"dtype", "device", "copy", "data"})


@dataclass(frozen=True)
class Upload:
    """A tensor that is made on the host and copied to the device in one expression.

    Attributes:
        event: the upload, with how often it happens.
        creation: the expression taken apart.
    """

    event: Event
    creation: Creation

    @property
    def node(self) -> ast.Call:
        """The whole expression."""
        return self.creation.whole


def uploads(module: Module, flow: FileFlow) -> Iterator[Upload]:
    """The uploads of a file that happen once per update or environment step, one by one in the order of the text.

    Those of single transitions of a batch are left out: they should be joined on the host.
    """
    found: dict[ast.AST, Upload] = {}
    for event in flow.events("upload"):
        creation = read_creation(module, event.node)
        if creation is None or not _is_plain(flow, creation):
            continue
        if Level.UPDATE <= flow.level(event) < Level.TRANSITION and not _in_comprehension(module, event.node):
            found.setdefault(event.node, Upload(event, creation))
    yield from sorted(found.values(), key=lambda upload: (upload.node.lineno, upload.node.col_offset))


def _is_plain(flow: FileFlow, creation: Creation) -> bool:
    """Whether nothing is asked of the creation but data, dtype and device, and the data is not on the device."""
    if creation.data is None or creation.copies_needlessly or creation.keywords - _KEYWORDS:
        return False
    if len(creation.call.args) > 1 or not names_device(flow, creation):
        return False
    data = flow.value(creation.data)
    if creation.function in _LEAVE_ON_DEVICE and not data:
        return False
    tensor = data.get(TENSOR)
    return tensor is None or tensor.on_host


def _in_comprehension(module: Module, node: ast.AST) -> bool:
    kinds = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)
    for parent in module.ancestors(node):
        if isinstance(parent, kinds):
            return True
        if isinstance(parent, ast.stmt):
            return False
    return False
