"""Vector environments whose whole state can be kept and put back, for exact resume."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import SyncVectorEnv, VectorEnv

from npuport.sources.errors import UsageError

_NATIVE_STATE = ("state", "steps", "prev_done")  # of gymnasium's own vector CartPole


def make_environments(env_id: str, count: int, *, discrete: bool = False) -> VectorEnv:
    """`count` environments that reset themselves one step after an episode has ended (gymnasium's NEXT_STEP).

    gymnasium steps CartPole in one piece of NumPy; of others it makes a `SyncVectorEnv`.
    Raises `UsageError` where there is no such environment, or its actions are not what an agent can do.
    """
    try:
        envs = gymnasium.make_vec(env_id, num_envs=count)
    except gymnasium.error.Error as error:
        raise UsageError(f"environment {env_id!r} cannot be made: {error}") from error
    actions, observations = envs.single_action_space, envs.single_observation_space
    wanted = Discrete if discrete else (Discrete, Box)
    if not isinstance(actions, wanted) or not isinstance(observations, Box) or len(observations.shape) != 1:
        raise UsageError(f"environment {env_id!r} has actions {actions} and observations {observations}")
    return envs


def observation_scale(envs: VectorEnv, numbers: tuple[float, ...]) -> np.ndarray:
    """What observations are multiplied by: one number for all columns, or one for each, float32."""
    (columns,) = envs.single_observation_space.shape
    if len(numbers) not in (1, columns):
        raise UsageError(f"observation_scale has {len(numbers)} numbers, observations of {envs.spec.id} have {columns}")
    return np.array(numbers, dtype=np.float32)


def environment_state(envs: VectorEnv) -> dict[str, Any]:
    """What the environments hold in the middle of their episodes. Known to work for those of classic control."""
    if not isinstance(envs, SyncVectorEnv):
        arrays = {name: torch.from_numpy(getattr(envs, name).copy()) for name in _NATIVE_STATE}
        return {**arrays, "generator": envs.np_random.bit_generator.state}
    members = [
        {
            "state": torch.from_numpy(env.unwrapped.state.copy()),
            "steps": env.get_wrapper_attr("_elapsed_steps"),
            "generator": env.unwrapped.np_random.bit_generator.state,
        }
        for env in envs.envs
    ]
    return {"members": members, "ended": torch.from_numpy(envs._autoreset_envs.copy())}


def load_environment_state(envs: VectorEnv, state: dict[str, Any]) -> None:
    """Brings environments that were reset to where `environment_state` was asked."""
    if not isinstance(envs, SyncVectorEnv):
        for name in _NATIVE_STATE:
            setattr(envs, name, state[name].numpy())
        envs.np_random.bit_generator.state = state["generator"]
        return
    for env, member in zip(envs.envs, state["members"], strict=True):
        env.unwrapped.state = member["state"].numpy()
        env.set_wrapper_attr("_elapsed_steps", member["steps"])
        env.unwrapped.np_random.bit_generator.state = member["generator"]
    envs._autoreset_envs = state["ended"].numpy()
