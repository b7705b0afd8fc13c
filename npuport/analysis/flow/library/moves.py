"""Tensors that change device or dtype."""

from __future__ import annotations

import ast
from typing import Final

from npuport.analysis.flow.dtypes import (
    ANY_DTYPE,
    ANYWHERE,
    ON_HOST,
    devices_of_argument,
    dtypes_of_argument,
    names_dtype,
)
from npuport.analysis.flow.events import CallSite
from npuport.analysis.flow.library.evaluation import Evaluation
from npuport.analysis.flow.value import ACCELERATOR, ASSUMED, HOST, NUMBER, TENSOR, UNKNOWN, Atom, Value, tensor

# Methods without arguments that give the tensor in another dtype.
CASTS: Final = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "long": "int64",
    "int": "int32",
    "short": "int32",
    "char": "int32",
    "byte": "uint8",
    "bool": "bool",
}
# Methods that go to an accelerator.
MOVES: Final = frozenset({"cuda", "npu", "xpu", "mps"})


def cast(run: Evaluation, node: ast.AST, atom: Atom, dtypes: frozenset[str]) -> Atom:
    """The tensor in other dtypes; where these are new, they come from here."""
    return atom if dtypes == atom.dtypes else atom.replaced(dtypes=dtypes, origin=run.origin(node))


def goes_to_accelerator(devices: frozenset[str] | None) -> bool:
    """Whether a target is an accelerator, or an unknown device, which is taken for one."""
    return devices is not None and HOST not in devices and (ACCELERATOR in devices or ASSUMED in devices)


def moved(
    run: Evaluation,
    node: ast.AST,
    atom: Atom,
    devices: frozenset[str] | None,
    dtypes: frozenset[str] | None,
    how: str = "to",
) -> Value:
    """The tensor on another device, in another dtype, or both."""
    result = cast(run, node, atom, dtypes) if dtypes is not None else atom
    if devices is None:
        return Value(result)
    if atom.on_host and goes_to_accelerator(devices):
        run.event("upload", node, Value(result), how)
    elif devices == ON_HOST and not atom.on_host and (atom.on_accelerator or not _follows_a_tensor(node)):
        run.event("read", node, Value(atom), "cpu")
    return Value(result.replaced(devices=devices, origin=atom.origin or run.origin(node)))


def _follows_a_tensor(node: ast.AST) -> bool:
    """``x.to(y.device)``: they may well be in one place."""
    return isinstance(node, ast.Call) and any(isinstance(n, ast.Attribute) and n.attr == "device" for n in node.args)


def moved_unknown(run: Evaluation, site: CallSite) -> Value:
    """``x.to(...)`` of an unknown value: a tensor perhaps, perhaps a module."""
    devices, dtypes = target(site)
    if goes_to_accelerator(devices):
        run.event("maybe_upload", site.node, UNKNOWN, "to")
    return tensor(dtypes or ANY_DTYPE, devices or ANYWHERE, run.origin(site.node))


def target(site: CallSite) -> tuple[frozenset[str] | None, frozenset[str] | None]:
    """The devices and the dtypes that ``x.to(...)`` names; None for what it leaves alone."""
    devices = dtypes = None
    for position, value in enumerate(site.args):
        other = value.get(TENSOR)
        if other is not None:
            devices, dtypes = other.devices or ANYWHERE, other.dtypes or ANY_DTYPE
        elif names_dtype(value) or (not value and _is_called_dtype(site, position)):
            dtypes = dtypes_of_argument(value)
        elif not _is_flag(value):
            devices = devices_of_argument(value)
    if site.keywords:
        other = site.keywords.get("other", UNKNOWN).get(TENSOR)
        if other is not None:
            devices, dtypes = other.devices or ANYWHERE, other.dtypes or ANY_DTYPE
        dtypes = dtypes_of_argument(site.keywords.get("dtype")) or dtypes
        devices = devices_of_argument(site.keywords.get("device")) or devices
    return devices, dtypes


def _is_flag(value: Value) -> bool:
    number = value.get(NUMBER)
    return number is not None and "bool" in number.dtypes


def _is_called_dtype(site: CallSite, position: int) -> bool:
    """Whether an unknown argument says by its name that it is a dtype."""
    if position >= len(site.node.args):
        return False
    node = site.node.args[position]
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return "dtype" in name
