"""Counts optimiser steps, and says whether what is trained lives on the device."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from npuport.observe.inside.watch import Watch


def install(watch: Watch) -> None:
    """Hook every optimiser, of torch or derived from its base class."""
    watch.when_imported("torch.optim.optimizer", lambda module: _hook(watch, module))


def _hook(watch: Watch, module: ModuleType) -> None:
    seen: set[int] = set()

    def before(optimiser: Any, args: Any, kwargs: Any) -> None:
        if watch.active:
            watch.check_updates()

    def after(optimiser: Any, args: Any, kwargs: Any) -> None:
        if not watch.active:
            return
        watch.updates += 1
        if id(optimiser) not in seen:
            seen.add(id(optimiser))
            watch.device_parameters = watch.device_parameters or _on_device(optimiser)
        for listener in watch.update_listeners:
            listener(optimiser)

    module.register_optimizer_step_pre_hook(before)
    module.register_optimizer_step_post_hook(after)


def _on_device(optimiser: Any) -> bool:
    return any(parameter.device.type == "npu" for group in optimiser.param_groups for parameter in group["params"])
