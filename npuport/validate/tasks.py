"""What a task's returns mean: from where to where they run, and from which on the task is solved.

Margins are shares of the range. Ranges are the environment's own limits where those can be reached; sources are given
for every number, and options replace all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from npuport.sources.errors import UsageError


@dataclass(frozen=True)
class Task:
    """An environment, seen by its returns.

    Attributes:
        environment: its id in gymnasium's registry; empty where it has none.
        low, high: the range of episodic returns; NaN where it is unknown.
        threshold: the mean return from which on it is solved; None where there is no agreed one.
        source: where these numbers are from.
    """

    environment: str
    low: float = math.nan
    high: float = math.nan
    threshold: float | None = None
    source: str = ""

    @property
    def span(self) -> float:
        """Width of the range of returns."""
        return self.high - self.low


_TASKS = {
    "CartPole-v1": Task(
        "CartPole-v1", 0.0, 500.0, 475.0, "gymnasium: 1 a step, at most 500 steps, reward_threshold 475"
    ),
    "CartPole-v0": Task(
        "CartPole-v0", 0.0, 200.0, 195.0, "gymnasium: 1 a step, at most 200 steps, reward_threshold 195"
    ),
    "Acrobot-v1": Task(
        "Acrobot-v1", -500.0, 0.0, -100.0, "gymnasium: -1 a step, at most 500 steps, reward_threshold -100"
    ),
    "MountainCar-v0": Task(
        "MountainCar-v0", -200.0, 0.0, -110.0, "gymnasium: -1 a step, at most 200 steps, reward_threshold -110"
    ),
    # The lower end is what actions at random give: the worst that can be, -3255, is out of every agent's reach and
    # would make margins that pass anything.
    "Pendulum-v1": Task(
        "Pendulum-v1",
        -1207.6,
        0.0,
        -200.0,
        "range: from actions at random (mean of 100 episodes) to 0; gymnasium has no reward_threshold: -200 is a little"
        " below the -172 of rl-baselines3-zoo's PPO",
    ),
    "LunarLander-v3": Task(
        "LunarLander-v3", -100.0, 200.0, 200.0, "gymnasium: -100 for a crash, solved at 200 (reward_threshold)"
    ),
    "LunarLander-v2": Task(
        "LunarLander-v2", -100.0, 200.0, 200.0, "gymnasium: -100 for a crash, solved at 200 (reward_threshold)"
    ),
}


def task_of(
    environment: str,
    reward_threshold: float | None = None,
    *,
    threshold: float | None = None,
    return_range: tuple[float, float] | None = None,
) -> Task:
    """The task of an environment: options go before this module's table, and that before gymnasium's registry.

    Args:
        environment: id of the environment that the script made; empty where it made one without an id.
        reward_threshold: the one of gymnasium's registry.
        threshold, return_range: what the user gave.

    Raises:
        UsageError: a range whose ends are the wrong way round.
    """
    task = _TASKS.get(environment, Task(environment, threshold=reward_threshold, source="gymnasium's registry"))
    if threshold is not None:
        task = replace(task, threshold=threshold, source=f"{task.source}; threshold as given")
    if return_range is not None:
        low, high = return_range
        if not low < high:
            raise UsageError(f"--return-range: the lower end {low:g} is not below the upper end {high:g}")
        task = replace(task, low=low, high=high, source=f"{task.source}; range as given")
    return task
