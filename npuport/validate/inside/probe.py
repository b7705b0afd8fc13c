"""What validate asks of a run beside the measurement: its environments, and whether a checkpoint reloads bit-equal.

A module for ``extra_hook``: what it finds is kept in the measurement's ``extra``, under ``validate``.
"""

from __future__ import annotations

import atexit
import functools
import io
import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

from npuport.observe.inside.watch import Watch
from npuport.validate.inside import checkpoints

KEY = "validate"
_found: dict[str, Any] = {"environments": {}, "checkpoint": {}}
_watches: list[Watch] = []


def install(watch: Watch) -> None:
    """Called by ``npuport.observe.inside`` before the script."""
    watch.extra[KEY] = _found
    _watches.append(watch)
    watch.when_imported("gymnasium.envs.registration", _hook_making)
    watch.when_imported("torch", lambda torch: _hook_saving(watch, torch))


def training_ended() -> None:
    """What the environments do from now on is evaluation; where nothing watches, nobody asks."""
    for watch in _watches:
        _found["trained"] = watch.transitions


def keep_evaluation(value: float) -> None:
    """Keep the mean greedy return that ``npuport_agent`` gave."""
    _found["evaluation"] = value


def _hook_making(registration: ModuleType) -> None:
    """Before ``gymnasium`` takes the functions over into its own namespace."""
    for name in ("make", "make_vec"):
        setattr(registration, name, _keeping_spec(getattr(registration, name)))


def _keeping_spec(make: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(make)
    def kept(*arguments: Any, **options: Any) -> Any:
        environment = make(*arguments, **options)
        spec = getattr(environment, "spec", None)
        if spec is not None:
            _found["environments"].setdefault(
                spec.id, {"threshold": spec.reward_threshold, "steps": spec.max_episode_steps}
            )
        return environment

    return kept


def _hook_saving(watch: Watch, torch: ModuleType) -> None:
    """Look at every checkpoint of the script; where it writes none, at its optimiser at the end."""
    save, process = torch.save, os.getpid()
    optimisers: list[Any] = []

    @functools.wraps(save)
    def checked(obj: Any, f: Any, *arguments: Any, **options: Any) -> Any:
        result = save(obj, f, *arguments, **options)
        if os.getpid() == process and not watch.suspended:
            with watch.uncounted():
                _found["checkpoint"] = {"of": "script", **_examined(torch, save, obj, f)}
        return result

    def remember(optimiser: Any) -> None:
        optimisers[:] = [optimiser]

    def at_end() -> None:
        if os.getpid() == process and optimisers and not _found["checkpoint"]:
            with watch.uncounted():
                _found["checkpoint"] = {
                    "of": "optimiser",
                    **checkpoints.tried(torch, save, optimisers[0], io.BytesIO()),
                }

    torch.save = checked  # type: ignore[attr-defined]
    watch.update_listeners.append(remember)
    atexit.register(at_end)


def _examined(torch: ModuleType, save: Callable[..., Any], obj: Any, file: Any) -> dict[str, Any]:
    """A path is read again; what went into an open file goes into memory once more, for that may not be readable."""
    if isinstance(file, str | os.PathLike):
        return checkpoints.examined(torch, obj, file)
    copy = io.BytesIO()
    save(obj, copy)
    copy.seek(0)
    return checkpoints.examined(torch, obj, copy)
