"""Counts from Python what torch dispatches to the device: the only source on a real NPU.

On the emulated device its copies and waits are counted beside those of the device itself, which are exact, and tests
hold the two against each other. Operators by line, float64 tensors and what runs on the CPU come from here everywhere.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from npuport.observe.inside import device_rules, npu_waits
from npuport.observe.inside.counters import Counters
from npuport.observe.inside.device_rules import first_tensor, on_device
from npuport.observe.inside.watch import Watch

# Of ACLNN_ERR_PARAM_INVALID, with which a kernel refuses a dtype.
_REFUSED = "161002"
_UNSEEN = (
    "numbers of the device that a list brings into torch.tensor([...]): operators are seen, and no operator reads them"
)


class Known:
    """What is the same at every call of one operator.

    Attributes:
        name: for example ``aten::mul.Tensor``.
        view: whether its result shares memory with its argument, so that nothing runs on the device.
        copies: whether it does nothing else than copy where it does so between host and device.
        falls_back: whether torch_npu runs it on the CPU; `made_of_out` whether by way of its ``out`` variant, for which
            results go down as well.
    """

    def __init__(self, operator: Any, torch: ModuleType) -> None:
        self.name = str(operator.name())
        self.rule = device_rules.rule_of(self.name)
        self.view = bool(getattr(operator, "is_view", False)) or self.name in ("aten::detach", "aten::lift_fresh")
        self.copies = self.name in ("aten::_to_copy", "aten::copy_")
        self.falls_back = _falls_back(operator, torch)
        self.made_of_out = self.falls_back and bool(_out_variants(operator, torch))


class Dispatched:
    """Counts in a dispatch mode, which is active in the main thread and in autograd's threads."""

    def __init__(self, watch: Watch, torch: ModuleType, *, only_source: bool) -> None:
        self._watch = watch
        self._torch = torch
        self._only_source = only_source
        self._known: dict[Any, Known] = {}
        self._float64 = torch.float64
        # Copies and waits: those of the run where nothing else tells them, else kept apart.
        self.counters = watch.counters if only_source else Counters()
        self.operators: Counter[str] = Counter()
        self.on_device = False

    def call(self, operator: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Run one operator and count it."""
        watch = self._watch
        if not watch.active or watch.suspended or watch.end is not None:
            return operator(*arguments, **options)
        known = self._known.get(operator)
        if known is None:
            known = self._known[operator] = Known(operator, self._torch)
        try:
            result = operator(*arguments, **options)
        except RuntimeError as error:
            if self._only_source and _REFUSED in str(error):
                dtype = getattr(first_tensor(arguments), "dtype", "")
                watch.count("refused", 0, f"{known.name}.{dtype}", frame=sys._getframe(1))
            raise
        self._count(known, arguments, options, result)
        return result

    def _count(self, known: Known, arguments: tuple[Any, ...], options: dict[str, Any], result: Any) -> None:
        moved = known.rule is not None and self._events(known.rule(arguments, options, result))
        tensor = first_tensor(result)
        ran = on_device(tensor if tensor is not None else first_tensor(arguments))
        if not ran or known.view:
            return
        self.on_device = True
        watch = self._watch
        place = watch.place(sys._getframe(2))
        if known.falls_back:
            watch.counters.add("fallback", 0, place, known.name)
            down = (*arguments, result) if known.made_of_out else arguments
            self._events(device_rules.fallback(down, options, result))
        elif not (moved and known.copies):
            watch.counters.add("kernel", 0, place)
            if not watch.counters.setup:
                self.operators[known.name] += 1
        if tensor is not None and tensor.dtype == self._float64:
            watch.counters.add("float64", 0, place, known.name)

    def waited(self, event: str) -> None:
        """A function of torch.npu waits for the device, which is no operator."""
        watch = self._watch
        if watch.active and not watch.suspended and watch.end is None:
            self._events([(event, 0)])

    def _events(self, events: Iterable[device_rules.Event]) -> bool:
        """Whether there are any."""
        self.counters.setup = self._watch.counters.setup
        any_event = False
        for name, moved in events:
            any_event = True
            self.counters.add(name, moved, self._watch.place(sys._getframe(3)))
        return any_event


def install(watch: Watch) -> None:
    """Enter the mode as soon as torch is there, for as long as the process lives."""

    def after_torch(torch: ModuleType) -> None:
        only_source = watch.configuration.device == "npu"
        dispatched = Dispatched(watch, torch, only_source=only_source)
        watching(torch, dispatched).__enter__()
        watch.dispatched = dispatched.counters
        if only_source:
            watch.kernels = lambda: dict(dispatched.operators.most_common())
            watch.device_tensors = lambda: dispatched.on_device
            watch.not_measured[_UNSEEN] = None

    watch.when_imported("torch", after_torch)


def watching(torch: ModuleType, dispatched: Dispatched) -> Any:
    """A context in which this thread's operators, and those of its backward passes, are counted."""
    npu_waits.hook(torch, dispatched.waited)

    class Mode(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc, name-defined]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            return dispatched.call(func, args, kwargs or {})

    return Mode()


def _falls_back(operator: Any, torch: ModuleType) -> bool:
    """Whether there is a kernel for the CPU and none for the device, so that torch_npu's fallback takes it.

    Composite operators call others; those with an ``out`` variant may be made of it.
    """
    name = operator.name()
    if not name.startswith("aten::") or _has_kernel(torch, name, "PrivateUse1", "CompositeImplicitAutograd"):
        return False
    variants = _out_variants(operator, torch)
    if variants:
        elsewhere = any(_has_kernel(torch, variant, "PrivateUse1", "CompositeExplicitAutograd") for variant in variants)
        return not elsewhere and any(_has_kernel(torch, variant, "CPU") for variant in variants)
    return _has_kernel(torch, name, "CPU") and not _has_kernel(torch, name, "CompositeExplicitAutograd")


def _out_variants(operator: Any, torch: ModuleType) -> list[str]:
    """Of an operator that is made of another that writes into its results."""
    name = operator.name()
    if not _has_kernel(torch, name, "CompositeExplicitAutogradNonFunctional", "CompositeExplicitAutograd"):
        return []
    # The variant of an in-place operator is that of the operator that makes a new tensor.
    packet = getattr(torch.ops.aten, name.removeprefix("aten::").partition(".")[0].removesuffix("_"))
    overloads = [getattr(packet, overload) for overload in packet.overloads()]
    return [
        overload.name() for overload in overloads if any(argument.is_out for argument in overload._schema.arguments)
    ]


def _has_kernel(torch: ModuleType, name: str, *keys: str) -> bool:
    return any(torch._C._dispatch_has_kernel_for_dispatch_key(name, key) for key in keys)
