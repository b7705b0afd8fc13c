"""The return of a policy without exploration."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from gymnasium.spaces import Box
from npuport.reference_agents.environments import make_environments


def mean_return(policy: Callable[[np.ndarray], np.ndarray], env_id: str, episodes: int, seed: int) -> float:
    """Mean undiscounted return of one episode in each of `episodes` environments, stepped side by side.

    `policy` takes observations as the environments give them and gives actions as they take them.
    """
    envs = make_environments(env_id, episodes)
    space = envs.single_action_space
    observations, _ = envs.reset(seed=seed)
    returns, running = np.zeros(episodes), np.ones(episodes, dtype=bool)
    while running.any():
        actions = policy(observations)
        taken = np.clip(actions, space.low, space.high) if isinstance(space, Box) else actions
        observations, rewards, terminated, truncated, _ = envs.step(taken)
        returns += np.where(running, rewards, 0)
        running &= ~(terminated | truncated)
    return float(returns.mean())
