"""Runs programs: one after the other where time counts, side by side where it does not; finished runs are kept."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from npuport.observe.measurement import Measurement
from npuport.observe.run import RunOptions
from npuport.validate.program import Program
from npuport.validate.store import RunStore

PROBE = "npuport.validate.inside.probe"
# Seconds between two looks at what has finished: how often the remaining time is told anew.
_TICK = 0.5


class Watch(Protocol):
    """``npuport.observe.run.watch``, or what stands for it in a test."""

    def __call__(
        self, options: RunOptions, *, started: Callable[[subprocess.Popen[bytes]], None] | None = None
    ) -> Measurement: ...


class Progress(Protocol):
    """What is told while a validation runs."""

    def __call__(self, phase: str, done: int, total: int, remaining_seconds: float | None) -> None: ...


class Interrupted(Exception):
    """Ctrl-C; runs that had finished are kept.

    Attributes:
        finished: how many runs are kept, in all.
    """

    def __init__(self, finished: int) -> None:
        super().__init__(f"{finished} finished runs are kept")
        self.finished = finished


@dataclass
class Runner:
    """Runs programs through a store.

    Attributes:
        watch: runs one program; `progress` hears of it.
        jobs: how many run side by side.
        gym_alias: see ``RunOptions``.
        resumed: how many runs were taken from the store; `finished`: those and what was run and kept.
    """

    watch: Watch
    store: RunStore
    progress: Progress
    jobs: int
    gym_alias: bool = False
    dtype_checks: str = "strict"
    cwd: Path | None = None
    resumed: int = 0
    finished: int = 0
    _children: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def counting_run(self, program: Program, seed: int, transitions: int, *, steps: int | None) -> RunOptions:
        """The options of a short, deterministic run that counts."""
        return self._options(program, seed, steps, counting=True, limit=transitions)

    def short_run(self, program: Program, seed: int, transitions: int, *, steps: int | None) -> RunOptions:
        """The options of a run of as many transitions, without counting."""
        return self._options(program, seed, steps, counting=False, limit=transitions)

    def learning_run(self, program: Program, seed: int, *, steps: int | None) -> RunOptions:
        """The options of a whole run of one seed; the script is ended from outside where it is not told the steps."""
        limit = None if program.takes_steps else steps
        return self._options(program, seed, steps, counting=False, limit=limit)

    def _options(
        self, program: Program, seed: int, steps: int | None, *, counting: bool, limit: int | None
    ) -> RunOptions:
        script, module, arguments = program.command(seed, steps)
        return RunOptions(
            script,
            arguments,
            module,
            device=program.device,
            dtype_checks=self.dtype_checks,
            max_steps=limit,
            counting=counting,
            # Where the script seeds itself this is undone by its own seed, and hurts nothing.
            seed=seed,
            gym_alias=self.gym_alias,
            capture_output=True,
            cwd=self.cwd,
            extra_hook=PROBE,
            deterministic_threads=1,
        )

    def fresh(self, phase: str, runs: Sequence[RunOptions]) -> list[Measurement]:
        """Run one after the other, never from the store: for what is timed.

        Raises:
            Interrupted: by Ctrl-C, which reaches the child.
        """
        measured: list[Measurement] = []
        for number, options in enumerate(runs):
            self.progress(phase, number, len(runs), None)
            measured.append(self._run(options))
            if measured[-1].outcome.ending == "interrupted":
                raise Interrupted(self.finished)
        self.progress(phase, len(runs), len(runs), 0.0)
        return measured

    def all(self, phase: str, runs: Sequence[RunOptions]) -> list[Measurement]:
        """Run side by side what is not in the store.

        Raises:
            Interrupted: by Ctrl-C; what had finished is kept.
        """
        found = [self.store.find(options) for options in runs]
        missing = [number for number, measurement in enumerate(found) if measurement is None]
        self.resumed += len(runs) - len(missing)
        self.finished += len(runs) - len(missing)
        begin = time.monotonic()
        with ThreadPoolExecutor(max(1, self.jobs)) as pool:
            futures = {pool.submit(self._run_and_keep, runs[number]): number for number in missing}
            try:
                self._wait(phase, futures, len(runs), begin)
            except KeyboardInterrupt:
                self._interrupt(futures)
                raise Interrupted(self.finished + sum(map(_succeeded, futures))) from None
            except BaseException:
                self._interrupt(futures)
                raise
        self.finished += len(futures)
        for future, number in futures.items():
            found[number] = future.result()
        return [measurement for measurement in found if measurement is not None]

    def _wait(self, phase: str, futures: dict[Future[Measurement], int], total: int, begin: float) -> None:
        """Until all are done; tells the time that is left, from what those that are done took."""
        left: set[Future[Measurement]] = set(futures)
        while left:
            done = len(futures) - len(left)
            elapsed = time.monotonic() - begin
            remaining = elapsed / done * len(left) if done else None
            self.progress(phase, total - len(left), total, remaining)
            finished, left = wait(left, timeout=_TICK, return_when=FIRST_COMPLETED)
            for future in finished:
                future.result()
                if future.result().outcome.ending == "interrupted":
                    raise KeyboardInterrupt
        self.progress(phase, total, total, 0.0)

    def _run_and_keep(self, options: RunOptions) -> Measurement:
        measurement = self._run(options)
        if is_finished(measurement):
            self.store.keep(options, measurement)
        return measurement

    def _run(self, options: RunOptions) -> Measurement:
        return self.watch(options, started=self._remember)

    def _remember(self, child: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._children = [known for known in self._children if known.poll() is None]
            self._children.append(child)

    def _interrupt(self, futures: dict[Future[Measurement], int]) -> None:
        """Start nothing more, and end what runs: a terminal's Ctrl-C has reached it already, a signal has not."""
        for future in futures:
            future.cancel()
        with self._lock:
            for child in self._children:
                if child.poll() is None:
                    child.send_signal(signal.SIGINT)


def _succeeded(future: Future[Measurement]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None and is_finished(future.result())


def is_finished(measurement: Measurement) -> bool:
    """Whether the run came to its end: by itself, or by the steps that it was to have."""
    outcome = measurement.outcome
    return outcome.ending in ("finished", "steps") or (outcome.ending == "exited" and outcome.exit_status == 0)


def available_jobs() -> int:
    """As many runs side by side as this process may use cores."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
