"""The strings of a file that name a CUDA device, and what is done with each."""

from __future__ import annotations

import ast
import re

from npuport.analysis.device_roles import DeviceString, is_map_location
from npuport.analysis.module import Module
from npuport.analysis.string_classifier import Classifier

# "cuda", "cuda:1", and the forms that get their index later: "cuda:", "cuda:%d", "cuda:{}", "cuda:{rank}".
_DEVICE = re.compile(r"cuda(:(\d+|%[ds]|\{[^{}]*\})?)?")


def device_strings(module: Module) -> list[DeviceString]:
    """All CUDA device strings of a file, in source order; the list is shared between rules."""
    found = module.memo.get("device_strings")
    if found is None:
        candidates: list[ast.Constant | ast.JoinedStr] = [*module.index.strings, *module.index.format_strings]
        spelled = [node for node in candidates if _spells_device(node) and not _is_part(module, node)]
        sites = [site for node in spelled if (site := Classifier(module, node).classify())]
        found = module.memo["device_strings"] = sorted(sites, key=lambda s: (s.node.lineno, s.node.col_offset))
    return found  # type: ignore[return-value]


def saved_device_maps(module: Module) -> list[ast.Dict]:
    """The dictionaries of a file that map saved storages to CUDA devices."""
    candidates: list[ast.expr] = [keyword.value for keyword in module.index.keywords.get("map_location", ())]
    candidates += [statement.value for statement in module.index.assignments if statement.value is not None]
    maps = [node for node in candidates if isinstance(node, ast.Dict) and is_map_location(module, node)]
    return [literal for literal in maps if any("cuda" in module.text_of(value) for value in literal.values)]


def named_device(node: ast.AST) -> str | None:
    """The device type that a literal names: ``cuda`` of ``"cuda:0"``; None where it is no literal."""
    return node.value.partition(":")[0] if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _spells_device(node: ast.Constant | ast.JoinedStr) -> bool:
    if isinstance(node, ast.Constant):
        return str(node.value).startswith("cuda") and bool(_DEVICE.fullmatch(str(node.value)))
    # f"cuda:{rank}" is a device; f"cuda:{rank} is full" is a sentence.
    if len(node.values) != 2 or not isinstance(node.values[1], ast.FormattedValue):
        return False
    first = node.values[0]
    return isinstance(first, ast.Constant) and first.value == "cuda:"


def _is_part(module: Module, node: ast.Constant | ast.JoinedStr) -> bool:
    """The text part of an f-string: the f-string around it is the candidate."""
    return isinstance(node, ast.Constant) and isinstance(module.parent(node), ast.JoinedStr)
