"""Methods and attributes of tensors: moves, casts, reads, and the operators that exist as methods."""

from __future__ import annotations

import ast
from typing import Final

from npuport.analysis.flow.dtypes import (
    ANY_DTYPE,
    ANYWHERE,
    INTEGRAL,
    LEGACY_TENSORS,
    ON_ACCELERATOR,
    ON_HOST,
    devices_of_argument,
    dtypes_of_argument,
)
from npuport.analysis.flow.events import CallSite
from npuport.analysis.flow.library import operators
from npuport.analysis.flow.library.evaluation import Evaluation, MethodCall
from npuport.analysis.flow.library.moves import CASTS, MOVES, cast, goes_to_accelerator, moved, moved_unknown, target
from npuport.analysis.flow.value import (
    A_BOOL,
    A_TEXT,
    AN_INT,
    ARRAY,
    DEVICE,
    DTYPE,
    LIBRARY,
    NOTHING,
    NUMBER,
    TENSOR,
    TEXT,
    UNKNOWN,
    Atom,
    Value,
    sequence,
    tensor,
)

__all__ = ["attribute", "call", "method_proves_tensor", "moved_unknown", "python_number", "weak_method"]

_ASKING: Final = {
    **dict.fromkeys(
        ("dim", "ndimension", "numel", "nelement", "stride", "data_ptr", "element_size", "storage_offset",
         "get_device", "__len__"), AN_INT),
    **dict.fromkeys(
        ("is_contiguous", "is_floating_point", "is_complex", "is_pinned", "is_shared", "is_signed", "is_set_to"),
        A_BOOL),
    "register_hook": UNKNOWN,
}  # fmt: skip
_ATTRIBUTES: Final = {
    **dict.fromkeys(
        ("requires_grad", "is_cuda", "is_npu", "is_leaf", "is_sparse", "is_quantized", "is_cpu", "retains_grad"),
        A_BOOL),
    "ndim": AN_INT,
    "itemsize": AN_INT,
    "nbytes": AN_INT,
    "shape": sequence(AN_INT),
    "names": sequence(A_TEXT),
}  # fmt: skip
_SAME_TENSOR: Final = frozenset({"data", "T", "mT", "H", "mH", "real", "imag", "grad"})
_NEW: Final = frozenset({"new_zeros", "new_ones", "new_empty", "new_full"})
# Methods that nothing but a tensor has, in code that uses torch.
_PROVE_TENSOR: Final = frozenset({
    "detach", "detach_", "backward", "logsumexp", "unsqueeze", "unsqueeze_", "gather", "requires_grad_", "masked_fill",
    "masked_fill_", "index_select", "scatter_", "scatter_add_", "contiguous", "expand_as", "permute", "masked_select",
    "type_as", "retain_grad", "log_softmax", "softmax", "new_zeros", "new_ones", "new_tensor", "new_full", "view_as",
    "index_add_", "clamp_", "clamp_min", "multinomial", "topk", "element_size", "data_ptr",
})  # fmt: skip
_WEAK: Final = frozenset({"item", "cpu", "cuda", "npu"})


def method_proves_tensor(name: str) -> bool:
    """Whether only tensors have a method of this name."""
    return name in _PROVE_TENSOR


def weak_method(name: str) -> bool:
    """Whether a method of this name is called on a tensor at this place, though the name may hold something else."""
    return name in _WEAK


def call(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value | None:
    """What a method of a tensor gives; UNKNOWN where no table has it."""
    special = _SPECIAL.get(name)
    if special is not None:
        return special(run, atom, receiver, name, site)
    if name in CASTS:
        return Value(cast(run, site.node, atom, frozenset({CASTS[name]})))
    if name in _ASKING:
        return _ASKING[name]
    if run.recording:
        run.event("method", site.node, Value(atom), name, tuple(site.args), site.keywords)
    if name.endswith("_"):  # in place: the dtype stays
        return Value(atom)
    return operators.apply(run, site.node, name, [Value(atom), *site.args], site.keywords) or UNKNOWN


def attribute(run: Evaluation, atom: Atom, name: str, node: ast.AST) -> Value | None:
    """What an attribute of a tensor is; None where it has no such attribute."""
    if name in _SAME_TENSOR:
        return Value(atom)
    if name == "device":
        return Value(Atom(DEVICE, devices=atom.devices))
    if name == "dtype":
        return Value(Atom(DTYPE, atom.dtypes))
    return _ATTRIBUTES.get(name)


def python_number(dtypes: frozenset[str]) -> Value:
    """The Python number in a tensor or array of these dtypes; an unknown one nearly always holds floats."""
    names = {"bool" if dtype == "bool" else "int" if dtype in INTEGRAL else "float" for dtype in dtypes or ANY_DTYPE}
    return Value(Atom(NUMBER, frozenset(names)))


def _to(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value:
    devices, dtypes = target(site)
    return moved(run, site.node, atom, devices, dtypes)


def _to_accelerator(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value:
    how = "cuda" if name == "cuda" else "to"
    return moved(run, site.node, atom, ON_ACCELERATOR, None, how)


def _cpu(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value:
    if not atom.on_host:
        run.event("read", site.node, Value(atom) if receiver else receiver, "cpu")
    return Value(atom.replaced(devices=ON_HOST))


def _numpy(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value:
    if not atom.on_host:
        run.event("read", site.node, Value(atom) if receiver else receiver, "numpy")
    return Value(Atom(ARRAY, atom.dtypes or ANY_DTYPE, ON_HOST, marks=atom.marks, origin=atom.origin))


def _item(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value:
    if not atom.on_host:
        run.event("read", site.node, receiver, name)
    number = python_number(atom.dtypes)
    return number if name == "item" else sequence(number, marks=atom.marks)


def _type(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value:
    wanted = site.argument(0, "dtype")
    if wanted is None:
        return A_TEXT
    legacy = _legacy_type(wanted)
    if legacy is not None:
        return moved(run, site.node, atom, legacy[0], legacy[1])
    return Value(cast(run, site.node, atom, dtypes_of_argument(wanted) or ANY_DTYPE))


def _legacy_type(wanted: Value) -> tuple[frozenset[str] | None, frozenset[str]] | None:
    """``torch.cuda.FloatTensor`` or its name as text: where to, and in which dtype."""
    for kind in (LIBRARY, TEXT):
        for dotted in wanted.atoms[kind].refs if kind in wanted.atoms else ():
            module, _, last = dotted.rpartition(".")
            if last in LEGACY_TENSORS:
                devices = ON_ACCELERATOR if module.endswith((".cuda", ".npu")) else ON_HOST
                return devices, frozenset({LEGACY_TENSORS[last]})
    return None


def _type_as(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value:
    other = site.argument(0, "other")
    known = other.get(TENSOR) if other is not None else None
    if known is None:
        return moved(run, site.node, atom, ANYWHERE, ANY_DTYPE)
    return moved(run, site.node, atom, known.devices or ANYWHERE, known.dtypes or ANY_DTYPE)


def _size(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value:
    return AN_INT if site.args or site.keywords else sequence(AN_INT)


def _copy_into(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value:
    source = site.argument(0, "src")
    known = source.get(TENSOR) if source is not None else None
    if known is not None and known.on_host and goes_to_accelerator(atom.devices):
        run.event("upload", site.node, Value(known.replaced(dtypes=atom.dtypes)), "copy_")
    if run.recording:
        run.event("method", site.node, Value(atom), name, tuple(site.args), site.keywords)
    return Value(atom)


def _backward(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value:
    run.event("backward", site.node, Value(atom))
    return NOTHING


def _new(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value:
    dtypes = dtypes_of_argument(site.keywords.get("dtype")) or atom.dtypes
    devices = devices_of_argument(site.keywords.get("device")) or atom.devices
    result = tensor(dtypes, devices, run.origin(site.node))
    if name == "new_tensor":
        run.event("create", site.node, site.first, name, (result,))
        if goes_to_accelerator(devices):
            run.event("upload", site.node, tensor(dtypes, ON_HOST, run.origin(site.node)), "create")
    else:
        run.event("factory", site.node, result, name)
    return result


def _named(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value:
    return Value(atom)


_SPECIAL: Final[dict[str, MethodCall]] = {
    "to": _to,
    "cpu": _cpu,
    "numpy": _numpy,
    "__array__": _numpy,
    "item": _item,
    "tolist": _item,
    "type": _type,
    "type_as": _type_as,
    "size": _size,
    "copy_": _copy_into,
    "backward": _backward,
    "new_tensor": _new,
    "rename": _named,
    **dict.fromkeys(MOVES, _to_accelerator),
    **dict.fromkeys(_NEW, _new),
}
