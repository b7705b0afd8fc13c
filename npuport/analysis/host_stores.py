"""``buffer[index] = x`` where the buffer is on the device and x in host memory."""

from __future__ import annotations

import ast

from npuport.analysis.flow.events import Event
from npuport.analysis.flow.value import ARRAY, TENSOR


def copies_from_host(store: Event) -> bool:
    """Whether a ``store`` copies from the host to a buffer that is known to be on the device."""
    base, value = store.value.get(TENSOR), store.values[1]
    if base is None or not store.value.only(TENSOR) or not base.on_accelerator:
        return False
    tensor = value.get(TENSOR)
    return value.only(ARRAY) or (value.only(TENSOR) and tensor is not None and tensor.on_host)


def fills_whole(store: Event) -> bool:
    """Whether a ``store`` replaces all of the buffer: ``buffer[:] = x``, ``buffer[...] = x``."""
    index = store.node.slice if isinstance(store.node, ast.Subscript) else None
    if isinstance(index, ast.Slice):
        return index.lower is None and index.upper is None and index.step is None
    return isinstance(index, ast.Constant) and index.value is Ellipsis
