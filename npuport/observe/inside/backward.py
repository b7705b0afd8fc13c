"""Counts backward passes, keeps the line that called one for what autograd's threads do, and reads the first losses."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from npuport.observe.inside.watch import Watch


def install(watch: Watch) -> None:
    """Hook ``backward`` and ``grad`` as soon as torch is there."""
    watch.when_imported("torch", lambda torch: _hook(watch, torch))


def _hook(watch: Watch, torch: ModuleType) -> None:
    losses = Losses(watch)
    # Tensor.backward calls torch.autograd.backward, by that name.
    for module, name in ((torch.autograd, "backward"), (torch.autograd, "grad")):
        setattr(module, name, _watched(getattr(module, name), watch, losses))


def _watched(function: Callable[..., Any], watch: Watch, losses: Losses) -> Callable[..., Any]:
    @functools.wraps(function)
    def watched(*args: Any, **kwargs: Any) -> Any:
        if not watch.active:
            return function(*args, **kwargs)
        watch.backward_calls += 1
        started_from = args[0] if args else kwargs.get("tensors", kwargs.get("outputs"))
        tensors = tuple(started_from) if isinstance(started_from, (tuple, list)) else (started_from,)
        place = watch.place(sys._getframe(1))
        for listener in watch.backward_listeners:
            listener(tensors)
        losses.look_at(tensors)
        watch.backward_places.append(place)
        try:
            return function(*args, **kwargs)
        finally:
            watch.backward_places.pop()

    return watched


class Losses:
    """Reads losses: the first for the record, and in the counting pass all of them, for those that are not finite."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def look_at(self, tensors: tuple[Any, ...]) -> None:
        """Look at what a backward starts from."""
        watch = self._watch
        wanted = len(watch.losses) < watch.configuration.losses
        if not wanted and not watch.configuration.counting:
            return
        loss = self._value(tensors)
        if wanted:
            watch.losses.append(loss if loss is not None and math.isfinite(loss) else None)
        if loss is not None and not math.isfinite(loss) and watch.configuration.counting:
            self._keep(str(loss))

    def _value(self, tensors: tuple[Any, ...]) -> float | None:
        """The loss; None where there are several, or no single number."""
        if len(tensors) != 1 or getattr(tensors[0], "numel", lambda: 0)() != 1:
            return None
        if tensors[0].device.type != "cpu":
            told = "waits of npuport's own: it read the loss before each backward, and did not count that"
            self._watch.not_measured[told] = None
        try:
            with self._watch.uncounted():
                return float(tensors[0].detach())
        except (RuntimeError, TypeError, ValueError):  # complex, or a tensor of a tracing transformation
            return None

    def _keep(self, value: str) -> None:
        watch = self._watch
        place = watch.place(sys._getframe(1))
        known = watch.non_finite.setdefault(place, [watch.transitions, value, 0])
        known[2] += 1
