"""What is known of the script while it runs, and what the hooks tell it."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from npuport.observe.configuration import Configuration
from npuport.observe.inside import importing
from npuport.observe.inside.counters import Counters
from npuport.observe.inside.endings import End, LimitReached
from npuport.observe.inside.lines import NOWHERE, Place, UserFiles
from npuport.observe.measurement import Episode

# A second look at the time for each thousand transitions costs nothing, and shows where a run slowed down.
TRANSITIONS_PER_TIME = 1000


class Watch:
    """One watched script.

    Hooks call the methods; ``npuport.observe.inside.snapshot`` turns the attributes into a measurement. A module given
    as ``--extra-hook`` gets this object: it may add to the listeners and to `extra`, and use ``when_imported``.

    Attributes:
        active: false in the children that the script forks: they have the hooks, but are not watched.
        end: how the script ended, once it has.
        step_listeners: called without arguments before each step of the outermost environment.
        update_listeners: called with the optimiser after each of its steps.
        backward_listeners: called with the tensors that a backward starts from, before it does.
        dispatched: copies and waits as the dispatched operators tell them, where that is done.
        extra: kept in the measurement, by name; values that JSON can hold.
        not_measured: what could not be seen, in words, each once.
    """

    def __init__(self, configuration: Configuration, files: UserFiles) -> None:
        self.configuration = configuration
        self.files = files
        self.counters = Counters()
        self.active = True
        self.end: End | None = None
        self.started = time.monotonic()
        self.start_seconds = time.time() - configuration.started
        self.seconds: float | None = None
        self.transitions = 0
        self.vector_steps = 0
        self.environments = 0
        self.updates = 0
        self.backward_calls = 0
        self.device_parameters = False
        self.loss_inputs: dict[tuple[Place, str, tuple[str, ...]], int] = {}
        self.non_finite: dict[Place, list[Any]] = {}
        self.losses: list[float | None] = []
        self.episodes: list[Episode] = []
        self.transition_at: list[float] = []
        self.not_measured: dict[str, None] = {}
        self.step_listeners: list[Callable[[], None]] = []
        self.update_listeners: list[Callable[[Any], None]] = []
        self.backward_listeners: list[Callable[[tuple[Any, ...]], None]] = []
        self.first_step_listeners: list[Callable[[], None]] = []
        self.snapshot_listeners: list[Callable[[], None]] = []
        self.write: Callable[[], None] = lambda: None
        self.extra: dict[str, object] = {}
        self.limit_reached = False
        self.backward_places: list[Place] = []
        self.dispatched: Counters | None = None
        # Filled by the hook of torch that can tell; a script without torch has neither.
        self.device_tensors: Callable[[], bool] = lambda: False
        self.kernels: Callable[[], dict[str, int]] = dict
        self._forked = 0
        self._own_thread = threading.local()
        os.register_at_fork(after_in_child=self._in_child, after_in_parent=self._count_fork)

    def when_imported(self, name: str, call: importing.Call) -> None:
        """Call `call` with a module as soon as the script has imported it."""
        importing.when_imported(name, call)

    def place(self, frame: FrameType | None = None) -> Place:
        """The user's line that is at work in this thread; in autograd's threads the one that called backward."""
        place = self.files.nearest(frame or sys._getframe(1))
        if place is NOWHERE and self.backward_places and threading.current_thread() is not threading.main_thread():
            return self.backward_places[-1]
        return place

    @property
    def suspended(self) -> bool:
        """Whether npuport itself uses the device in this thread."""
        return getattr(self._own_thread, "depth", 0) > 0

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """What npuport does to the device itself is not the script's."""
        self._own_thread.depth = getattr(self._own_thread, "depth", 0) + 1
        try:
            yield
        finally:
            self._own_thread.depth -= 1

    def count(self, event: str, moved: int = 0, detail: str = "", frame: FrameType | None = None) -> None:
        """Count an event on the line that is at work; none after the script, when torch_npu lets go of the device."""
        if self.active and self.end is None and not self.suspended:
            self.counters.add(event, moved, self.place(frame or sys._getframe(1)), detail)

    def before_step(self) -> None:
        """An environment is about to be stepped by the script.

        Raises:
            LimitReached: the script has had its steps.
        """
        configuration = self.configuration
        if configuration.max_steps is not None and self.transitions >= configuration.max_steps:
            self.stop()
        self.check_updates()
        if self.counters.setup:
            self._first_step()
        for listener in self.snapshot_listeners:
            listener()
        for listener in self.step_listeners:
            listener()

    def check_updates(self) -> None:
        """Raise ``LimitReached`` where the script has had its optimiser steps."""
        limit = self.configuration.max_updates
        if limit is not None and self.updates >= limit:
            self.stop()

    def stop(self) -> None:
        """End the script: by an exception, and where that was swallowed or cannot reach the main thread, at once."""
        if self.limit_reached or threading.current_thread() is not threading.main_thread():
            self.limit_reached = True
            self.end = End("steps")
            self.leave(0)
        self.limit_reached = True
        raise LimitReached

    def leave(self, status: int) -> None:
        """Write the measurement and end the process without unwinding the script."""
        self.write()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)

    def transition(self, live: int) -> None:
        """`live` environments made a step that counts."""
        before = self.transitions // TRANSITIONS_PER_TIME
        self.transitions += live
        for _ in range(self.transitions // TRANSITIONS_PER_TIME - before):
            self.transition_at.append(round(time.monotonic() - self.started, 4))

    def finished(self, end: End) -> None:
        """The script's own code has ended."""
        self.end = end
        self.seconds = time.monotonic() - self.started

    @property
    def forked(self) -> int:
        """How many children the script has forked."""
        return self._forked

    def _first_step(self) -> None:
        self.counters.setup = False
        for listener in self.first_step_listeners:
            listener()

    def _in_child(self) -> None:
        self.active = False

    def _count_fork(self) -> None:
        self._forked += 1
