"""Runs a program that was written for the vector environments of gymnasium 0.29 under a later gymnasium.

    python benchmarks/gymnasium_0_29.py PROGRAM ARGUMENT...

From 1.0 on an environment is reset one step later, and what it told at the end of an episode comes as one dictionary
of arrays. Here both are as they were: reset in the same step, and ``final_info`` with one dictionary an environment.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import gymnasium


class SyncVectorEnv(gymnasium.vector.SyncVectorEnv):  # type: ignore[misc]
    """Vector environments that tell the ends of episodes in the old way."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        options.setdefault("autoreset_mode", gymnasium.vector.AutoresetMode.SAME_STEP)
        super().__init__(*arguments, **options)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """One step of all environments, with the keys of gymnasium 0.29."""
        *result, infos = super().step(actions)
        if "final_info" in infos:
            finished = infos["_final_info"]
            infos["final_info"] = [_of(infos["final_info"], i) if finished[i] else None for i in range(self.num_envs)]
            infos["final_observation"] = infos.pop("final_obs")
        return (*result, infos)


class TransformObservation(gymnasium.wrappers.TransformObservation):  # type: ignore[misc]
    """The wrapper without the observation space, which it then left as it was."""

    def __init__(self, env: Any, func: Any, observation_space: Any = None) -> None:
        super().__init__(env, func, observation_space)


def _of(infos: dict[str, Any], environment: int) -> dict[str, Any]:
    """What one of several environments told."""
    return {
        key: _of(value, environment) if isinstance(value, dict) else value[environment]
        for key, value in infos.items()
        if not key.startswith("_")
    }


def install(_watch: object = None) -> None:
    """Put the old vector environments and wrappers in place where gymnasium is a later one."""
    if int(gymnasium.__version__.partition(".")[0]) >= 1:
        gymnasium.vector.SyncVectorEnv = SyncVectorEnv
        gymnasium.wrappers.TransformObservation = TransformObservation


def main() -> None:
    """Run the program with them."""
    install()
    program, *arguments = sys.argv[1:]
    sys.argv = [program, *arguments]
    sys.path[0] = str(Path(program).parent)
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main()
