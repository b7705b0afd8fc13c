"""The loops, gates, comprehensions and contexts around a place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

# Kinds of frames.
LOOP: Final = "loop"
COMPREHENSION: Final = "comprehension"
GATE: Final = "gate"
CONTEXT_FRAME: Final = "context"

# What a loop or comprehension runs over, and what a gate asks.
ROWS_LOOP: Final = "rows"  # the transitions of a batch
SMALL_LOOP: Final = "small"  # parameters, items, literals: counts as no loop
EVERY_NTH: Final = "every n-th"
EPISODE_END: Final = "end of an episode"
FAILURE: Final = "failure"  # an exception follows

# What a context switches.
NO_GRAD: Final = "no grad"
GRAD: Final = "grad"
AUTOCAST: Final = "autocast"

# Line and column of the statement or expression that makes a frame; unique within its file.
Place: TypeAlias = tuple[int, int]


class Frame:
    """One loop, gate, comprehension or ``with`` of torch, and those around it.

    Attributes:
        outer: the next one out.
        kind: loop, comprehension, gate or context.
        about: what it runs over, asks or switches; empty where nothing is known.
        place: where it stands.
        dtypes: what an autocast computes in.
    """

    __slots__ = ("about", "dtypes", "kind", "outer", "place")

    def __init__(
        self, outer: Frame | None, kind: str, about: str, place: Place, dtypes: frozenset[str] = frozenset()
    ) -> None:
        self.outer = outer
        self.kind = kind
        self.about = about
        self.place = place
        self.dtypes = dtypes


def outwards(frame: Frame | None) -> Iterator[Frame]:
    """A frame and those around it, from the inside out."""
    while frame is not None:
        yield frame
        frame = frame.outer


def loops(frame: Frame | None) -> Iterator[Frame]:
    """The loops around a place that count, from the inside out."""
    return (f for f in outwards(frame) if f.kind == LOOP and f.about != SMALL_LOOP)
