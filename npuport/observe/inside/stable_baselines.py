"""Hooks the vector environments of stable_baselines3: they have an interface of their own.

Each resets an environment in the step that ends its episode. ``DummyVecEnv`` steps its environments one by one, and
they count themselves; of ``SubprocVecEnv`` only arrays are seen.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from npuport.observe.inside import stepping, vector_environments
from npuport.observe.inside.environments import on_every_subclass
from npuport.observe.inside.stepping import Method, host_array, nesting
from npuport.observe.inside.watch import Watch


def install(watch: Watch) -> None:
    """Hook stable_baselines3 when the script imports it."""
    watch.when_imported("stable_baselines3.common.vec_env.base_vec_env", _hook)


def _hook(base_vec_env: ModuleType) -> None:
    def hook(cls: type) -> None:
        if cls is base_vec_env.VecEnv:
            stepping.replace(cls, "step", vector_environments.wrapper_step)
            return
        stepping.replace(cls, "step_async", vector_environments.step_async)
        if issubclass(cls, base_vec_env.VecEnvWrapper):
            stepping.replace(cls, "step_wait", vector_environments.wrapper_step_wait)
        else:
            stepping.replace(cls, "step_wait", _step_wait)
            stepping.replace(cls, "reset", _reset)

    on_every_subclass(base_vec_env.VecEnv, hook)


def _step_wait(step: Method, self: Any, *args: Any, **kwargs: Any) -> Any:
    if stepping.watch is None or not stepping.watch.active:
        return step(self, *args, **kwargs)
    counted = nesting.counted
    result = vector_environments.nested(step, self, args, kwargs, before_step=False)
    if nesting.counted == counted:
        _, rewards, ends, infos = result
        batch = vector_environments.batch_of(self, resets_next_step=False)
        batch.add(host_array(rewards), host_array(ends), _monitored(infos))
    return result


def _reset(reset: Method, self: Any, *args: Any, **kwargs: Any) -> Any:
    watch = stepping.watch
    if watch is not None and watch.active:
        vector_environments.cut(self, {})
        seed = watch.configuration.seed
        if seed is not None and vector_environments.batches.get(self) is None and not any(self._seeds):
            self.seed(seed)
    return reset(self, *args, **kwargs)


def _monitored(infos: Any) -> dict[int, float]:
    """What a ``Monitor`` inside the environments says; it may be inside of wrappers that change rewards."""
    return {index: float(info["episode"]["r"]) for index, info in enumerate(infos) if "episode" in info}
