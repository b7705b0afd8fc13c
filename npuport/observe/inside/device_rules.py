"""Which copies and waits of torch_npu an operator stands for: of its arguments and its result, without looking inside.

Taken from what torch_npu 2.13.0 does on the emulated device, operator by operator; ``tests/dispatched_operators.py``
holds one against the other. A rule gives events: a name and the bytes that were moved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from npuport.observe.measurement import DOWN, UP

Event: TypeAlias = "tuple[str, int]"
Rule: TypeAlias = "Callable[[tuple[Any, ...], dict[str, Any], Any], Iterator[Event]]"

WAIT: Event = ("wait.stream", 0)
DEVICE = "npu"
# 0-dim tensors of the host that are copied to the device, by position; elsewhere they are read as numbers on the host.
_COPIED_NUMBERS = {
    "aten::where.self": (1, 2),
    "aten::masked_fill.Tensor": (2,),
    "aten::masked_fill_.Tensor": (2,),
    "aten::maximum": (0, 1),
    "aten::minimum": (0, 1),
    "aten::atan2": (0, 1),
    "aten::mul.Tensor": (0,),
    "aten::sub.Tensor": (0,),
    "aten::div.Tensor": (0,),
    "aten::pow.Tensor_Tensor": (0,),
}
# The size of the result is read from the device.
_SIZE_READ = (
    "aten::nonzero",
    "aten::masked_select",
    "aten::_unique2",
    "aten::unique_dim",
    "aten::unique_consecutive",
)
# Numbers that are read on the way, by their bytes.
_NUMBERS_READ = {
    "aten::equal": (1,),
    "aten::allclose": (1,),
    "aten::normal.Tensor_Tensor": (1,),
    "aten::normal.float_Tensor": (1,),
    "aten::_linalg_check_errors": (1,),
    "aten::bincount": (8, 8),
    "aten::histc": (4, 4),
}


def on_device(value: Any) -> bool:
    """Whether it is a tensor of the device."""
    return getattr(getattr(value, "device", None), "type", "") == DEVICE


def first_tensor(values: Any) -> Any:
    """The first tensor in nested arguments or results; None where there is none."""
    if hasattr(values, "dtype") and hasattr(values, "device"):
        return values
    if isinstance(values, (tuple, list)):
        for value in values:
            found = first_tensor(value)
            if found is not None:
                return found
    return None


def tensors(values: Any) -> Iterator[Any]:
    """All tensors in nested arguments or results."""
    if isinstance(values, (tuple, list)):
        for value in values:
            yield from tensors(value)
    elif hasattr(values, "dtype") and hasattr(values, "device"):
        yield values


def rule_of(name: str) -> Rule | None:
    """The rule of an operator by its full name; None where it neither copies nor waits."""
    if name in _COPIED_NUMBERS:
        positions = _COPIED_NUMBERS[name]
        return lambda arguments, options, result: _copied_numbers(arguments, result, positions)
    if name in _SIZE_READ:
        return lambda arguments, options, result: iter([WAIT] if on_device(arguments[0]) else [])
    if name in _NUMBERS_READ:
        sizes = _NUMBERS_READ[name]
        return lambda arguments, options, result: _numbers_read(arguments, sizes)
    return _RULES.get(name)


def fallback(arguments: tuple[Any, ...], options: dict[str, Any], result: Any) -> Iterator[Event]:
    """What running an operator on the CPU takes: every argument down, every result up."""
    for tensor in tensors([arguments, list(options.values())]):
        if on_device(tensor) and tensor.numel():
            yield from ((DOWN, tensor.numel() * tensor.element_size()), WAIT)
    for tensor in tensors(result):
        if on_device(tensor) and tensor.numel():
            yield from ((UP, tensor.numel() * tensor.element_size()), WAIT)


def _to_copy(arguments: tuple[Any, ...], options: dict[str, Any], result: Any) -> Iterator[Event]:
    return _copy(arguments[0], result, non_blocking=bool(options.get("non_blocking")))


def _copy_(arguments: tuple[Any, ...], options: dict[str, Any], result: Any) -> Iterator[Event]:
    non_blocking = arguments[2] if len(arguments) > 2 else options.get("non_blocking")
    return _copy(arguments[1], arguments[0], non_blocking=bool(non_blocking))


def _copy(source: Any, target: Any, *, non_blocking: bool) -> Iterator[Event]:
    """A blocking copy casts on the host, one that is not casts on the device."""
    up = on_device(target)
    if up == on_device(source) or not target.numel():
        return
    host = source if up else target
    cast_after = non_blocking if up else not non_blocking
    size = (source if cast_after else target).element_size()
    yield (UP if up else DOWN, target.numel() * size)
    if not (non_blocking and host.is_pinned()):
        yield WAIT


def _lift(arguments: tuple[Any, ...], options: dict[str, Any], result: Any) -> Iterator[Event]:
    """``torch.tensor(data, device=...)``: its copy is over when this, the first thing to be seen, is called."""
    if on_device(result) and result.numel():
        yield (UP, result.numel() * result.element_size())
        yield WAIT


def _item(arguments: tuple[Any, ...], options: dict[str, Any], result: Any) -> Iterator[Event]:
    if on_device(arguments[0]):
        yield (DOWN, arguments[0].element_size())
        yield WAIT


def _index(arguments: tuple[Any, ...], options: dict[str, Any], result: Any) -> Iterator[Event]:
    """An index of the host goes up at each use; a mask becomes indices, whose number is read."""
    if not on_device(arguments[0]):
        return
    for index in tensors(list(arguments[1])):
        if not on_device(index) and index.numel():
            yield (UP, index.numel() * index.element_size())
            yield WAIT
        if _is_mask(index):
            yield WAIT


def _index_put(arguments: tuple[Any, ...], options: dict[str, Any], result: Any) -> Iterator[Event]:
    """One number at a mask of the device is a fill, for which the number is read where it is on the device."""
    target, value = arguments[0], arguments[2]
    indices = list(tensors(list(arguments[1])))
    if (
        on_device(target)
        and len(indices) == 1
        and on_device(indices[0])
        and _is_mask(indices[0])
        and value.numel() == 1
    ):
        if on_device(value):
            yield from ((DOWN, value.element_size()), WAIT)
        return
    yield from _index(arguments, options, result)


def _repeat_each(arguments: tuple[Any, ...], options: dict[str, Any], result: Any) -> Iterator[Event]:
    if on_device(arguments[0]) and options.get("output_size") is None:
        yield from ((DOWN, 8), WAIT)


def _repeats(arguments: tuple[Any, ...], options: dict[str, Any], result: Any) -> Iterator[Event]:
    yield from _repeat_each(arguments, options, result)
    if on_device(arguments[0]):
        yield from ((DOWN, 1), WAIT)


def _copied_numbers(arguments: tuple[Any, ...], result: Any, positions: tuple[int, ...]) -> Iterator[Event]:
    if not on_device(result):
        return
    for position in positions:
        value = arguments[position]
        if hasattr(value, "dim") and value.dim() == 0 and not on_device(value):
            yield (UP, value.element_size())


def _numbers_read(arguments: tuple[Any, ...], sizes: tuple[int, ...]) -> Iterator[Event]:
    if on_device(first_tensor(arguments)):
        for size in sizes:
            yield from ((DOWN, size), WAIT)


def _is_mask(index: Any) -> bool:
    return str(index.dtype) in ("torch.bool", "torch.uint8")


_RULES: dict[str, Rule] = {
    "aten::_to_copy": _to_copy,
    "aten::copy_": _copy_,
    "aten::lift_fresh": _lift,
    "aten::_local_scalar_dense": _item,
    "aten::index.Tensor": _index,
    "aten::_unsafe_index.Tensor": _index,
    "aten::index_put_": _index_put,
    "aten::index_put": _index_put,
    "aten::_index_put_impl_": _index_put,
    "aten::repeat_interleave.self_Tensor": _repeat_each,
    "aten::repeat_interleave.Tensor": _repeats,
}
