"""Counts of events, before and after the first environment step, in all and by line."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TypeVar

from npuport.observe.inside.lines import Place
from npuport.observe.measurement import Count, Line, LineCount

# What was not an event of the device is counted by line only.
ONLY_BY_LINE = ("kernel", "float64", "fallback", "refused")

Key = TypeVar("Key", bound=Hashable)


class Counters:
    """Calls and bytes by event, and by event and line.

    Attributes:
        setup: whether the first environment step is still to come.
    """

    def __init__(self) -> None:
        self.setup = True
        self._totals: dict[tuple[bool, str], list[int]] = {}
        self._lines: dict[tuple[bool, Place, str, str], list[int]] = {}

    def add(self, event: str, moved: int, place: Place, detail: str = "") -> None:
        """Count one event of `moved` bytes."""
        if event not in ONLY_BY_LINE:
            _add(self._totals, (self.setup, event), moved)
        _add(self._lines, (self.setup, place, event, detail), moved)

    def totals(self, *, setup: bool) -> dict[str, Count]:
        """By event."""
        return {event: Count(*count) for (before, event), count in list(self._totals.items()) if before == setup}

    def lines(self) -> list[LineCount]:
        """By line, those with most calls first."""
        return sorted(self._line_counts(), key=lambda line: (-line.count.calls, line.place.filename, line.place.line))

    def details(self, event: str) -> dict[str, int]:
        """Calls after the first environment step by detail, for example of fallbacks by operator."""
        found: dict[str, int] = {}
        for (setup, _, name, detail), (calls, _) in list(self._lines.items()):
            if name == event and not setup:
                found[detail] = found.get(detail, 0) + calls
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def _line_counts(self) -> Iterator[LineCount]:
        for (setup, place, event, detail), count in list(self._lines.items()):
            yield LineCount(Line(*place), event, Count(*count), detail, setup)


def _add(counts: dict[Key, list[int]], key: Key, moved: int) -> None:
    count = counts.get(key)
    if count is None:
        counts[key] = [1, moved]
    else:
        count[0] += 1
        count[1] += moved
