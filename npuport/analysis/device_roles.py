"""What a device string is for: the outcome of classifying one."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import Enum

from npuport.analysis.device_evidence import target_name
from npuport.analysis.module import Module


class Role(Enum):
    """What is done with a device string."""

    VALUE = "value"  # it becomes a device
    QUESTION = "question"  # a device is compared with it
    CHOICES = "choices"  # it is one of the values that an option accepts
    MEMBER = "member"  # it is the value of an enumeration's member


@dataclass(frozen=True)
class DeviceString:
    """A string literal that names a CUDA device.

    Attributes:
        node: the literal, a constant or an f-string.
        role: what is done with it.
        anchor: for a question the comparison or call that asks, else the literal.
        certain: False where only the form of the string or a name speaks for it.
        why: the evidence, for people.
    """

    node: ast.Constant | ast.JoinedStr
    role: Role
    anchor: ast.expr
    certain: bool
    why: str


def is_map_location(module: Module, literal: ast.Dict) -> bool:
    """Whether a dictionary maps saved device names: given as ``map_location``, or kept under that name."""
    around = module.parent(literal)
    if isinstance(around, ast.keyword):
        return around.arg == "map_location"
    return isinstance(around, ast.Assign) and any(target_name(target) == "map_location" for target in around.targets)
