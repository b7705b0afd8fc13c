"""Functions that fixes write into a file, below its imports: what a call in the place of an expression cannot say."""

from __future__ import annotations

import ast
from typing import Final

from npuport.analysis.module import Module

UPLOAD: Final = "upload"
UPLOAD_TOGETHER: Final = "upload_together"

# ``pin_memory`` needs an accelerator, so that a program on the CPU goes its old way. 64 bytes keep the parts aligned
# for any dtype; ``data`` gives each part a version of its own, or a change of one in place would spoil the others for
# autograd.
_TEXTS: Final = {
    UPLOAD: '''\
def {name}(tensor, device):
    """Start to copy a tensor of the host to a device; the host goes on without waiting for the device."""
    if not tensor.is_cpu or {torch}.device(device).type == "cpu":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)
''',
    UPLOAD_TOGETHER: '''\
def {name}(tensors, device):
    """Copy tensors of the host to a device as one block of bytes; each keeps its dtype and shape."""
    if not all(tensor.is_cpu for tensor in tensors) or {torch}.device(device).type == "cpu":
        return tuple(tensor.to(device) for tensor in tensors)
    parts = [tensor.contiguous().view(-1).view({torch}.uint8) for tensor in tensors]
    sizes = [-(-part.numel() // 64) * 64 for part in parts]
    block = {torch}.empty(sum(sizes), dtype={torch}.uint8, pin_memory=True)
    for room, part in zip(block.split(sizes), parts):
        room[: part.numel()] = part
    rooms = block.to(device, non_blocking=True).split(sizes)
    return tuple(
        room[: part.numel()].view(tensor.dtype).view(tensor.shape).data
        for room, part, tensor in zip(rooms, parts, tensors)
    )
''',
}


def function_text(base: str, name: str, torch: str, *, tabs: bool) -> str:
    """The source text of a function.

    Args:
        base: which one, ``UPLOAD`` or ``UPLOAD_TOGETHER``.
        name: what it is called in the file.
        torch: what torch is called there.
        tabs: indent as a file does that is indented by tabs.
    """
    text = _TEXTS[base].format(name=name, torch=torch)
    return text.replace("    ", "\t") if tabs else text


def function_definition(module: Module, base: str) -> ast.FunctionDef | None:
    """The function that an earlier fix has written into a file, perhaps laid out anew since."""
    wanted = _docstring(_TEXTS[base])
    for statement in module.tree.body:
        if isinstance(statement, ast.FunctionDef) and ast.get_docstring(statement, clean=True) == wanted:
            return statement
    return None


def is_written(statement: ast.stmt) -> bool:
    """Whether a statement is one of the functions, wherever it stands."""
    if not isinstance(statement, ast.FunctionDef):
        return False
    return ast.get_docstring(statement, clean=True) in {_docstring(text) for text in _TEXTS.values()}


def _docstring(text: str) -> str:
    function = ast.parse(text.format(name="function", torch="torch")).body[0]
    assert isinstance(function, ast.FunctionDef)
    return ast.get_docstring(function, clean=True) or ""
