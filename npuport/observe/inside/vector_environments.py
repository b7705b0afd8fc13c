"""Counts transitions and episodes of vector environments whose environments are not stepped one by one in this process.

Those of ``SyncVectorEnv`` are, and count themselves. What is left has only arrays: native vector environments and
those that live in other processes.
"""

from __future__ import annotations

from typing import Any

from npuport.observe.inside import seeds, stepping
from npuport.observe.inside.stepping import Method, Running, host_array, nesting

NEXT_STEP = "NextStep"  # gymnasium.vector.AutoresetMode.NEXT_STEP: a step after an end only resets


class Batch:
    """The running episodes of one vector environment.

    Attributes:
        resets_next_step: whether a step after an end is no transition.
    """

    def __init__(self, size: int, *, resets_next_step: bool) -> None:
        first = stepping.take_number(size)
        self.episodes = [Running(first + index) for index in range(size)]
        self.resets_next_step = resets_next_step

    def add(self, rewards: Any, ends: Any, returns: dict[int, float]) -> None:
        """One step.

        Args:
            rewards: float[environments].
            ends: bool[environments], terminated or truncated.
            returns: of those that ended, where the environment's own statistics give it, which wrappers do not change.
        """
        watch = stepping.watch
        assert watch is not None
        live = [episode for episode in self.episodes if not (self.resets_next_step and episode.ended)]
        watch.transition(len(live))
        nesting.counted += len(live)
        alive = set(map(id, live))
        for index, episode in enumerate(self.episodes):
            if id(episode) not in alive:
                episode.ended = False
                continue
            episode.episodic_return += float(rewards[index])
            episode.length += 1
            if ends[index]:
                episode.episodic_return = returns.get(index, episode.episodic_return)
                stepping.end_episode(episode)
                episode.ended = True

    def cut(self, chosen: Any = None) -> None:
        """The script resets all environments, or those that are chosen."""
        for index, episode in enumerate(self.episodes):
            if chosen is None or chosen[index]:
                if episode.length:
                    stepping.end_episode(episode, cut=True)
                episode.ended = False


batches = stepping.ByIdentity()


def wrapper_step(step: Method, self: object, *args: Any, **kwargs: Any) -> Any:
    """``step`` of a wrapper, and of a vector environment that hands it on to ``step_async`` and ``step_wait``."""
    if stepping.watch is None or not stepping.watch.active:
        return step(self, *args, **kwargs)
    return nested(step, self, args, kwargs, before_step=True)


def step(step: Method, self: Any, *args: Any, **kwargs: Any) -> Any:
    """``step`` of a vector environment."""
    if stepping.watch is None or not stepping.watch.active:
        return step(self, *args, **kwargs)
    counted = nesting.counted
    result = nested(step, self, args, kwargs, before_step=True)
    if nesting.counted == counted:
        _count_arrays(self, result)
    return result


def step_async(step: Method, self: object, *args: Any, **kwargs: Any) -> Any:
    """The first half of a step: the place to stop a script, as nothing is under way yet."""
    watch = stepping.watch
    if watch is not None and watch.active and nesting.vector == nesting.single == 0:
        watch.before_step()
    return step(self, *args, **kwargs)


def step_wait(step: Method, self: Any, *args: Any, **kwargs: Any) -> Any:
    """The second half."""
    if stepping.watch is None or not stepping.watch.active:
        return step(self, *args, **kwargs)
    counted = nesting.counted
    result = nested(step, self, args, kwargs, before_step=False)
    if nesting.counted == counted:
        _count_arrays(self, result)
    return result


def wrapper_step_wait(step: Method, self: object, *args: Any, **kwargs: Any) -> Any:
    """The second half of a wrapper's step."""
    if stepping.watch is None or not stepping.watch.active:
        return step(self, *args, **kwargs)
    return nested(step, self, args, kwargs, before_step=False)


def reset(reset: Method, self: object, *args: Any, **kwargs: Any) -> Any:
    """``reset`` by the script: what has not ended is cut."""
    watch = stepping.watch
    if watch is not None and watch.active:
        cut(self, kwargs)
        if watch.configuration.seed is not None and batches.get(self) is None:
            kwargs = seeds.with_seed(reset, self, kwargs, watch.configuration.seed)
    return reset(self, *args, **kwargs)


def cut(environment: object, options: dict[str, Any]) -> None:
    """End the running episodes of all environments, or of those that ``reset`` is told to reset."""
    batch = batches.get(environment)
    if batch is not None:
        batch.cut((options.get("options") or {}).get("reset_mask"))


def batch_of(environment: Any, *, resets_next_step: bool) -> Batch:
    """The running episodes of a vector environment, their first where there were none."""
    batch = batches.get(environment)
    if batch is None:
        batch = Batch(environment.num_envs, resets_next_step=resets_next_step)
        batches.set(environment, batch)
        watch = stepping.watch
        assert watch is not None
        watch.environments = max(watch.environments, environment.num_envs)
    return batch  # type: ignore[no-any-return]


def nested(step: Method, self: object, args: Any, kwargs: Any, *, before_step: bool) -> Any:
    """Call a step one level further in; count a call of the outermost environment."""
    watch = stepping.watch
    assert watch is not None
    outermost = nesting.vector == 0
    if outermost and before_step and nesting.single == 0:
        watch.before_step()
    nesting.vector += 1
    single, nesting.single = nesting.single, 0
    try:
        result = step(self, *args, **kwargs)
    finally:
        nesting.vector -= 1
        nesting.single = single
    if outermost:
        watch.vector_steps += 1
    return result


def _count_arrays(environment: Any, result: Any) -> None:
    _, rewards, terminated, truncated, infos = result
    mode = getattr(environment.metadata.get("autoreset_mode"), "value", None)
    ends = host_array(terminated) | host_array(truncated)
    batch = batch_of(environment, resets_next_step=mode == NEXT_STEP)
    batch.add(host_array(rewards), ends, _own_returns(infos))


def _own_returns(infos: dict[str, Any]) -> dict[int, float]:
    """What ``RecordEpisodeStatistics`` in the environments says: it may be inside of wrappers that change rewards."""
    found: dict[int, float] = {}
    final: Any = infos.get("final_info")
    for told in (infos, final):
        if isinstance(told, dict) and "_episode" in told and "episode" in told:
            returns = told["episode"]["r"]
            found.update({index: float(returns[index]) for index, ended in enumerate(told["_episode"]) if ended})
    if final is not None and not isinstance(final, dict):
        # Up to gymnasium 0.29: one dictionary an environment, or None.
        ended_with = {index: told for index, told in enumerate(final) if told and "episode" in told}
        found.update({index: float(host_array(told["episode"]["r"]).sum()) for index, told in ended_with.items()})
    return found
