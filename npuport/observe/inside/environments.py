"""Hooks gymnasium: every class of environments, wrappers and vector environments, as soon as it is defined.

Classes rather than what ``gymnasium.make`` returns: environments that are made by hand are seen as well, and wrappers
of the user's stay outside.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from npuport.observe.inside import stepping, vector_environments
from npuport.observe.inside.watch import Watch

# Wrappers of gymnasium's own that step what they wrap once and, but for TimeLimit, end no episode: to hook them as well
# would cost time and tell nothing.
_STEP_ONCE = (
    "gymnasium.core",
    "gymnasium.wrappers.common",
    # up to 0.29
    "gymnasium.wrappers.order_enforcing",
    "gymnasium.wrappers.env_checker",
    "gymnasium.wrappers.record_episode_statistics",
)
_VECTOR_WRAPPERS = ("VectorWrapper", "VectorEnvWrapper")


def install(watch: Watch) -> None:
    """Hook gymnasium when the script imports it."""
    stepping.watch = watch
    watch.when_imported("gymnasium.core", _hook_single)
    for module in ("gymnasium.vector.vector_env", "gymnasium.experimental.vector.vector_env"):  # the latter up to 0.29
        watch.when_imported(module, _hook_vector)


def on_every_subclass(cls: Any, call: Callable[[type], None]) -> None:
    """Call for the class, its subclasses, and those that are defined later."""
    for known in _with_subclasses(cls):
        call(known)

    own = vars(cls).get("__init_subclass__")

    def __init_subclass__(subclass: Any, **kwargs: Any) -> None:
        if own is None:
            super(cls, subclass).__init_subclass__(**kwargs)
        else:
            own.__func__(subclass, **kwargs)
        call(subclass)

    cls.__init_subclass__ = classmethod(__init_subclass__)  # type: ignore[arg-type]


def _with_subclasses(cls: Any) -> list[type]:
    found: list[type] = [cls]
    for subclass in cls.__subclasses__():
        found += _with_subclasses(subclass)
    return found


def _hook_single(core: ModuleType) -> None:
    def hook(cls: type) -> None:
        if _is_vector(cls):
            return
        if issubclass(cls, core.Wrapper):
            if not cls.__module__.startswith(_STEP_ONCE) or cls.__name__ == "TimeLimit":
                stepping.replace(cls, "step", stepping.wrapper_step)
        elif cls is not core.Env:
            stepping.replace(cls, "step", stepping.base_step)
            stepping.replace(cls, "reset", stepping.base_reset)

    on_every_subclass(core.Env, hook)


def _hook_vector(vector_env: ModuleType) -> None:
    def hook(cls: type) -> None:
        in_two_halves = hasattr(cls, "step_wait")
        if cls is vector_env.VectorEnv:
            if in_two_halves:
                stepping.replace(cls, "step", vector_environments.wrapper_step)
            return
        wrapper = any(base.__name__ in _VECTOR_WRAPPERS for base in cls.__mro__)
        if wrapper or in_two_halves:
            stepping.replace(cls, "step", vector_environments.wrapper_step)
        else:
            stepping.replace(cls, "step", vector_environments.step)
        if in_two_halves:
            second_half = vector_environments.wrapper_step_wait if wrapper else vector_environments.step_wait
            stepping.replace(cls, "step_async", vector_environments.step_async)
            stepping.replace(cls, "step_wait", second_half)
        if not wrapper:
            stepping.replace(cls, "reset", vector_environments.reset)

    on_every_subclass(vector_env.VectorEnv, hook)


def _is_vector(cls: type) -> bool:
    """Up to gymnasium 0.29 vector environments are environments too."""
    return any(base.__name__ == "VectorEnv" and base.__module__.startswith("gymnasium.") for base in cls.__mro__)
