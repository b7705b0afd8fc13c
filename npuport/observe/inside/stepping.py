"""Counts transitions and episodes out of the calls of ``step`` and ``reset`` of all environments, nested as they are.

The functions that replace the methods of environments find this module again by its name, and hold nothing else, so
that classes with them can be pickled and sent to other processes. There `watch` is None and they do nothing.

A transition is what the script sees as one: a call of ``step`` of the outermost environment that is no vector
environment. Its reward is the one of the innermost environment, before any wrapper has changed it.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from typing import Any

from npuport.observe.inside import seeds
from npuport.observe.inside.watch import Watch
from npuport.observe.measurement import Episode

Method = Callable[..., Any]

watch: Watch | None = None
# Set on the functions that replace methods.
WATCHED = "npuport_watched"


class Running:
    """The running episode of one environment that is no vector environment.

    Attributes:
        number: of the environment, in the order in which they were first used.
        was_reset: whether the script has reset it at least once; `was_stepped` likewise.
    """

    def __init__(self, number: int) -> None:
        self.was_reset = self.was_stepped = False
        self.number = number
        self.episodic_return = 0.0
        self.length = 0
        self.ended = False


class ByIdentity:
    """Values of objects that may not be hashable, kept as long as the objects live."""

    def __init__(self) -> None:
        self._values: dict[int, Any] = {}

    def values(self) -> list[Any]:
        """Of all objects that live."""
        return list(self._values.values())

    def get(self, owner: object) -> Any:
        """The value of the object, None where there is none."""
        return self._values.get(id(owner))

    def set(self, owner: object, value: Any) -> None:
        """Keep the value until the object goes."""
        key = id(owner)
        self._values[key] = value
        weakref.finalize(owner, self._values.pop, key, None)


class Nesting(threading.local):
    """How deep this thread is in calls of environments.

    Attributes:
        vector: calls of vector environments; `single`: of others.
        base: the innermost environment that is being stepped.
        stepped: the running episodes that were stepped since the outermost call.
        counted: transitions that were counted in this thread.
    """

    def __init__(self) -> None:
        self.vector = 0
        self.single = 0
        self.base: object = None
        self.stepped: list[Running] = []
        self.counted = 0


nesting = Nesting()
running = ByIdentity()
made = [0]  # environments seen so far, which gives them their numbers


def replace(cls: type, name: str, call: Method) -> None:
    """Let `call` be called with the method before its arguments, in place of the method.

    The method is the class's own, or inherited from a class where it was not replaced, such as a mixin.
    """
    found = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
    if not callable(found) or isinstance(found, type) or hasattr(found, WATCHED):
        return

    @functools.wraps(found)
    def method(self: object, *args: Any, **kwargs: Any) -> Any:
        return call(found, self, *args, **kwargs)

    setattr(method, WATCHED, True)
    setattr(cls, name, method)


def take_number(of: int = 1) -> int:
    """The number of the next environment, or of the first of several."""
    number = made[0]
    made[0] += of
    return number


def running_of(environment: object) -> Running:
    """The running episode of an environment, its first where there was none."""
    episode = running.get(environment)
    if episode is None:
        episode = Running(take_number())
        running.set(environment, episode)
    return episode  # type: ignore[no-any-return]


def base_step(step: Method, self: object, *args: Any, **kwargs: Any) -> Any:
    """``step`` of an environment that is no wrapper."""
    if watch is None or not watch.active or nesting.base is self:
        return step(self, *args, **kwargs)
    outermost, outer = _enter(), nesting.base
    stepped = len(nesting.stepped)
    nesting.base = self
    try:
        result = step(self, *args, **kwargs)
    finally:
        nesting.base = outer
        nesting.single -= 1
    # An environment that steps another one inside is a wrapper by another name.
    if len(nesting.stepped) == stepped:
        episode = running_of(self)
        reward, ended = _reward_and_end(result)
        episode.episodic_return += reward
        episode.ended = episode.ended or ended
        nesting.stepped.append(episode)
        if not episode.was_stepped:
            episode.was_stepped = True
            alive = sum(other.was_stepped for other in running.values())
            watch.environments = max(watch.environments, alive)
    if outermost:
        _count()
    return result


def wrapper_step(step: Method, self: object, *args: Any, **kwargs: Any) -> Any:
    """``step`` of a wrapper."""
    if watch is None or not watch.active:
        return step(self, *args, **kwargs)
    outermost = _enter()
    try:
        result = step(self, *args, **kwargs)
    finally:
        nesting.single -= 1
    if type(self).__name__ == "TimeLimit" and len(result) == 5 and result[3]:
        for episode in nesting.stepped:
            episode.ended = True
    if outermost:
        _count()
    return result


def base_reset(reset: Method, self: object, *args: Any, **kwargs: Any) -> Any:
    """``reset`` of an environment that is no wrapper: an episode that had not ended is cut."""
    if watch is None or not watch.active:
        return reset(self, *args, **kwargs)
    episode = running_of(self)
    if episode.length:
        end_episode(episode, cut=True)
    if not episode.was_reset:
        episode.was_reset = True
        if watch.configuration.seed is not None:
            kwargs = seeds.with_seed(reset, self, kwargs, watch.configuration.seed + episode.number)
    return reset(self, *args, **kwargs)


def end_episode(episode: Running, *, cut: bool = False) -> None:
    """Keep what has ended and begin anew."""
    assert watch is not None
    watch.episodes.append(
        Episode(watch.transitions, episode.number, float(episode.episodic_return), episode.length, cut)
    )
    episode.episodic_return, episode.length, episode.ended = 0.0, 0, False


def host_array(values: Any) -> Any:
    """Rewards or ends as a NumPy array, from whatever a vector environment gives."""
    if hasattr(values, "detach"):
        assert watch is not None
        with watch.uncounted():
            values = values.detach().cpu()
    import numpy  # gymnasium has imported it

    return numpy.asarray(values)


def _enter() -> bool:
    outermost = nesting.single == 0
    if outermost:
        nesting.stepped = []
        if nesting.vector == 0:
            assert watch is not None
            watch.before_step()
    nesting.single += 1
    return outermost


def _count() -> None:
    """The outermost call has returned."""
    assert watch is not None
    episodes = {id(episode): episode for episode in nesting.stepped}.values()
    nesting.stepped = []
    if not episodes:
        return
    nesting.counted += len(episodes)
    watch.transition(len(episodes))
    if nesting.vector == 0:
        watch.vector_steps += 1
    for episode in episodes:
        episode.length += 1
        if episode.ended:
            end_episode(episode)


def _reward_and_end(result: Any) -> tuple[float, bool]:
    """From five values, or the four of the older interface."""
    reward = result[1]
    reward = reward if isinstance(reward, (float, int)) else float(host_array(reward).sum())
    return reward, bool(result[2]) or (len(result) == 5 and bool(result[3]))
