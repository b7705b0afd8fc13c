"""Stands for gym up to 0.25: its environments, over those of gymnasium.

``reset`` gives the observation alone, ``step`` four values, ``seed`` is a method, and an episode that was cut has
``TimeLimit.truncated`` in its last dictionary.
"""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium import spaces

__all__ = ["Env", "Wrapper", "make", "spaces", "wrappers"]

# Ids that only gym had, and what gymnasium calls the same environment.
_LATER = {"Pendulum-v0": "Pendulum-v1"}
Env = gymnasium.Env
Wrapper = gymnasium.Wrapper
wrappers = gymnasium.wrappers


class _OldEnvironment:
    """An environment of gymnasium behind the methods of gym; all else is the environment's own."""

    def __init__(self, environment: Any) -> None:
        self.environment = environment
        self._seed: int | None = None

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Seed the next episode, and with it those after it."""
        self._seed = seed
        return [seed]

    def reset(self) -> Any:
        """The first observation of an episode."""
        seed, self._seed = self._seed, None
        return self.environment.reset(seed=seed)[0]

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Observation, reward, whether the episode ended, and what else is told."""
        observation, reward, terminated, truncated, info = self.environment.step(action)
        if truncated:
            info["TimeLimit.truncated"] = not terminated
        return observation, reward, bool(terminated or truncated), info

    @property
    def _max_episode_steps(self) -> int | None:
        limit: int | None = self.environment.spec.max_episode_steps
        return limit

    def __getattr__(self, name: str) -> Any:
        return getattr(self.environment, name)


def make(name: str, **options: Any) -> _OldEnvironment:
    """An environment by its id."""
    return _OldEnvironment(gymnasium.make(_LATER.get(name, name), **options))
