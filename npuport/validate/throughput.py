"""Transitions a second of the port against the reference's, on the same device, taking turns.

A machine's speed wanders from minute to minute: only a ratio of runs that took turns means anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from npuport.observe.measurement import Measurement

# Turns of each; the median of their ratios is told.
TURNS = 2
_THOUSAND = 1000


@dataclass(frozen=True)
class Throughput:
    """What the turns gave.

    Attributes:
        port, reference: transitions a second of every turn, without start-up, in the second half of the run: agents
            that fill a replay memory first learn from there on.
        port_updates, reference_updates: optimiser steps a transition: an agent that learns more often is slower.
    """

    port: tuple[float, ...]
    reference: tuple[float, ...]
    port_updates: float
    reference_updates: float

    @property
    def ratio(self) -> float:
        """Median over turns of port / reference."""
        return median(ours / theirs for ours, theirs in zip(self.port, self.reference, strict=True))


def throughput_of(turns: Sequence[Measurement]) -> Throughput | None:
    """From runs of port, reference, port, reference ...; None where one of them made no transition."""
    port, reference = list(turns[::2]), list(turns[1::2])
    if not all(run.transitions and run.seconds for run in turns):
        return None
    return Throughput(
        tuple(map(transitions_a_second, port)),
        tuple(map(transitions_a_second, reference)),
        port[0].updates / port[0].transitions,
        reference[0].updates / reference[0].transitions,
    )


def transitions_a_second(run: Measurement) -> float:
    """Over the second half of the run; over all of it where it is too short for that."""
    times = run.transition_at[len(run.transition_at) // 2 :]
    if len(times) > 1 and times[-1] > times[0]:
        return (len(times) - 1) * _THOUSAND / (times[-1] - times[0])
    return run.transitions / run.seconds
