"""Keeps what torch's loss functions are given: the dtypes of their arguments, by line."""

from __future__ import annotations

import sys
from types import FunctionType, ModuleType
from typing import Any

from npuport.observe.inside.watch import Watch

_OTHER_NAMES = ("cross_entropy", "binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div")


def install(watch: Watch) -> None:
    """Hook ``torch.nn.functional``, through which the modules of losses go as well."""
    watch.when_imported("torch.nn.functional", lambda functional: _hook(watch, functional))


def _hook(watch: Watch, functional: ModuleType) -> None:
    for name, function in list(vars(functional).items()):
        if name.startswith("_") or not isinstance(function, FunctionType):
            continue
        if name.endswith("_loss") or name in _OTHER_NAMES:
            setattr(functional, name, _watched(function, watch))


def _watched(function: FunctionType, watch: Watch) -> FunctionType:
    look = _Look(watch, function.__name__).look

    def watched(*arguments: Any, **options: Any) -> Any:
        look(arguments, options)
        return function(*arguments, **options)

    # torch.jit.script compiles the source of what it wraps, and looks its names up among the globals of this one.
    result = FunctionType(watched.__code__, function.__globals__, function.__name__, None, watched.__closure__)
    result.__dict__.update(function.__dict__, __wrapped__=function)
    result.__doc__, result.__module__, result.__qualname__ = (
        function.__doc__,
        function.__module__,
        function.__qualname__,
    )
    return result


class _Look:
    """Looks at the arguments of one function."""

    def __init__(self, watch: Watch, name: str) -> None:
        self._watch = watch
        self._name = name

    def look(self, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        """Keep the dtypes of input and target."""
        watch = self._watch
        if not watch.active:
            return
        given = [*arguments, *(options[key] for key in ("input", "target") if key in options)]
        dtypes = tuple(str(value.dtype).removeprefix("torch.") for value in given[:2] if hasattr(value, "dtype"))
        key = (watch.place(sys._getframe(2)), self._name, dtypes)
        watch.loss_inputs[key] = watch.loss_inputs.get(key, 0) + 1
