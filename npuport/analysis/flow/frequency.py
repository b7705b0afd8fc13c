"""How often a place runs: once < iteration < update < environment step < transition of a batch.

From loops around ``env.step``, loops with ``backward()`` or ``optimizer.step()``, and the calls between
functions: ``agent.act(obs)`` inside the step loop makes the body of ``act`` run once a step. Gates lower it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from npuport.analysis.flow.declarations import Function
from npuport.analysis.flow.frames import (
    COMPREHENSION,
    EPISODE_END,
    EVERY_NTH,
    FAILURE,
    GATE,
    LOOP,
    ROWS_LOOP,
    SMALL_LOOP,
    Frame,
    Place,
    loops,
    outwards,
)
from npuport.analysis.flow.knowledge import Knowledge
from npuport.analysis.flow.levels import STEPS, UPDATES, Level, OwnLevels
from npuport.analysis.flow.vocabulary import EVALUATING_FUNCTION

__all__ = ["Frequencies", "Level", "Reason"]


@dataclass(frozen=True)
class Reason:
    """One step of an explanation: a place and what about it sets the level."""

    file: str
    line: int
    text: str
    is_call: bool = False


class Frequencies:
    """The levels of all places of a program."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._own_levels = OwnLevels(knowledge)
        self._by_file: dict[str, list[object]] | None = None
        # By function: what happens in one run of it, outside its own loops, and anywhere below.
        self._direct: dict[str, set[str]] = defaultdict(set)
        self._anywhere: dict[str, set[str]] = defaultdict(set)
        # By loop: what its own body does, and what an inner loop or a callee's own loop does.
        self._loop_direct: dict[tuple[str, Place], set[str]] = defaultdict(set)
        self._loop_anywhere: dict[tuple[str, Place], set[str]] = defaultdict(set)
        self._updating_gates: set[tuple[str, Place]] = set()
        self._looping: set[str] = set()
        self._entry: dict[str, Level] = {}
        self._entry_reason: dict[str, tuple[Function, Place, Frame | None] | str] = {}
        self._look_at(list(knowledge.functions.values()))

    def _look_at(self, functions: list[Function]) -> None:
        functions.sort(key=lambda function: function.key)  # of several reasons always the same is told
        self._collect(functions)
        self._mark_gates(functions)
        self._enter(functions)

    def look_again(self, file: str) -> None:
        """A file has a new text; how often the others call its functions is as it was."""
        own = f"{file}:"
        self._by_file = None
        for table in (self._direct, self._anywhere):
            for key in [key for key in table if key.startswith(own)]:
                del table[key]
        for places in (self._loop_direct, self._loop_anywhere):
            for place in [place for place in places if place[0] == file]:
                del places[place]
        self._looping = {key for key in self._looping if not key.startswith(own)}
        self._updating_gates = {gate for gate in self._updating_gates if gate[0] != file}
        self._look_at([function for function in self._knowledge.functions.values() if function.file == file])

    # Steps and updates

    def _collect(self, functions: Iterable[Function]) -> None:
        callers: dict[str, list[tuple[Function, Frame | None]]] = defaultdict(list)
        for function in functions:
            for callee, _, frame in function.calls:
                callers[callee].append((function, frame))
        waiting: list[tuple[str, str, bool]] = []
        self._looping |= {function.key for function in functions if _updates_in_loop(function)}
        for function in functions:
            for what, _, frame in function.facts:
                self._note(function, frame, what, direct=True, waiting=waiting)
        for function in functions:
            for callee, _, frame in function.calls:
                self._note_known(function, frame, callee, waiting)
        seen: set[tuple[str, str, bool]] = set()
        while waiting:
            entry = waiting.pop()
            if entry in seen:
                continue
            seen.add(entry)
            callee, what, direct = entry
            for function, frame in callers[callee]:
                self._note(function, frame, what, direct=direct, waiting=waiting)

    def _note_known(
        self, function: Function, frame: Frame | None, callee: str, waiting: list[tuple[str, str, bool]]
    ) -> None:
        """A call of a function of which something is known already."""
        for what in tuple(self._anywhere.get(callee, ())):
            direct = what in self._direct.get(callee, ())
            self._note(function, frame, what, direct=direct, waiting=waiting)

    def _note(
        self, function: Function, frame: Frame | None, what: str, *, direct: bool, waiting: list[tuple[str, str, bool]]
    ) -> None:
        """Something happens inside ``frame`` of a function; ``direct`` where it is not in a callee's own loop."""
        around = list(loops(frame))
        # One more update behind a loop of updates does not make a call of the function one update.
        direct = direct and (bool(around) or what != UPDATES or function.key not in self._looping)
        news = what not in self._anywhere[function.key]
        self._anywhere[function.key].add(what)
        if direct and not around and what not in self._direct[function.key]:
            self._direct[function.key].add(what)
            news = True
        if direct and around:
            self._loop_direct[function.file, around[0].place].add(what)
            around = around[1:]
        for loop in around:
            self._loop_anywhere[function.file, loop.place].add(what)
        if news:
            waiting.append((function.key, what, what in self._direct[function.key]))

    def _mark_gates(self, functions: Iterable[Function]) -> None:
        """Gates whose block makes one update; a whole loop of updates would make it an iteration."""
        for function in functions:
            for what, _, frame in function.facts:
                if what == UPDATES:
                    self._mark(function.file, frame)
            for callee, _, frame in function.calls:
                if UPDATES in self._direct[callee]:
                    self._mark(function.file, frame)

    def _mark(self, file: str, frame: Frame | None) -> None:
        for around in outwards(frame):
            if around.kind == GATE:
                self._updating_gates.add((file, around.place))
            elif around.kind == LOOP and self._loop_level(file, around) is Level.UPDATE:
                return

    def _loop_level(self, file: str, loop: Frame) -> Level | None:
        if loop.about == ROWS_LOOP:
            return Level.TRANSITION
        if loop.about == SMALL_LOOP:
            return None
        own = self._loop_direct.get((file, loop.place), ())
        if STEPS in own:
            return Level.STEP
        if UPDATES in own:
            return Level.UPDATE
        return Level.ITERATION if self._loop_anywhere.get((file, loop.place)) else None

    # Levels of functions

    def _enter(self, functions: Iterable[Function]) -> None:
        called = {callee for function in functions for callee, _, _ in function.calls if callee != function.key}
        for function in functions:
            key = function.key
            if key in self._entry:  # known before its file got a new text
                continue
            level, why = self._own_levels.level(function, called, self._direct[key], self._anywhere[key])
            self._entry[key] = level
            if why:
                self._entry_reason[key] = why
        surely_called = {
            callee
            for function in functions
            for callee, place, _ in function.calls
            if callee != function.key and (callee, place) not in function.weak_calls
        }
        waiting = list(functions)
        while waiting:  # levels only rise, and there are five
            function = waiting.pop()
            for callee, place, frame in function.calls:
                # What shares a name with a method is no caller of it where others are known.
                if callee in surely_called and (callee, place) in function.weak_calls:
                    continue
                level = self.level(function, frame)
                if callee in self._entry and level > self._entry[callee]:
                    self._entry[callee] = level
                    self._entry_reason[callee] = (function, place, frame)
                    waiting.append(self._knowledge.functions[callee])

    # Asking

    def of_file(self, file: str) -> list[object]:
        """All that levels within a file depend on, in an order that holds from run to run."""
        if self._by_file is None:
            self._by_file = self._grouped()
        return self._by_file.get(file, [])

    def _grouped(self) -> dict[str, list[object]]:
        found: dict[str, list[object]] = defaultdict(list)
        for key, function in sorted(self._knowledge.functions.items()):
            found[function.file].append((key, int(self.entry(function))))
        for table in (self._loop_direct, self._loop_anywhere):
            for (file, place), what in sorted(table.items()):
                found[file].append((place, sorted(what)))
        for file, place in sorted(self._updating_gates):
            found[file].append(place)
        return found

    def updates(self, function: str) -> bool:
        """Whether a function makes updates, itself or in what it calls."""
        return UPDATES in self._anywhere[function]

    def updates_within(self, file: str, frame: Frame | None) -> bool:
        """Whether a loop around a place makes updates, itself or in what it calls."""
        places = [(file, around.place) for around in loops(frame)]
        tables = (self._loop_direct, self._loop_anywhere)
        return any(UPDATES in table.get(place, ()) for place in places for table in tables)

    def entry(self, function: Function) -> Level:
        """How often a function is called."""
        return self._entry.get(function.key, Level.ONCE)

    def level(self, function: Function, frame: Frame | None) -> Level:
        """How often a place runs."""
        level = self.entry(function)
        for around in reversed(list(outwards(frame))):
            level = self._inside(function.file, around, level)
        if EVALUATING_FUNCTION.match(function.name) or self._own_levels.tests(function):
            return min(level, Level.ITERATION)
        return level

    def _inside(self, file: str, frame: Frame, level: Level) -> Level:
        if frame.kind == LOOP:
            own = self._loop_level(file, frame)
            return level if own is None else max(level, own)
        if frame.kind == COMPREHENSION:
            return Level.TRANSITION if frame.about == ROWS_LOOP else level
        if frame.about == EVERY_NTH:
            updates = (file, frame.place) in self._updating_gates
            return min(level, Level.UPDATE if updates else Level.ITERATION)
        if frame.about == FAILURE:
            return Level.ONCE
        return min(level, Level.ITERATION) if frame.about == EPISODE_END else level

    def is_guess(self, function: Function) -> bool:
        """Whether a function's level comes from a name only: its own, that of a caller, or that of a method called."""
        seen: set[str] = set()
        while function.key not in seen:
            seen.add(function.key)
            why = self._entry_reason.get(function.key)
            if isinstance(why, str):
                return why.startswith("by its name")
            if why is None:
                return False
            caller, place, _ = why
            if (function.key, place) in caller.weak_calls:
                return True
            function = caller
        return False

    def reasons(self, function: Function, frame: Frame | None) -> list[Reason]:
        """Why a place runs as often as it does: from the outermost call to the place's own loops."""
        chain: list[Reason] = []
        seen: set[str] = set()
        while True:
            chain[:0] = self._reasons_within(function, frame)
            why = self._entry_reason.get(function.key)
            if why is None or function.key in seen:
                return chain
            seen.add(function.key)
            if isinstance(why, str):
                return [Reason(function.file, function.line, why), *chain]
            caller, place, frame = why
            chain.insert(0, Reason(caller.file, place[0], f"calls {function.name}", is_call=True))
            function = caller

    def _reasons_within(self, function: Function, frame: Frame | None) -> list[Reason]:
        reasons = []
        for around in reversed(list(outwards(frame))):
            text = self._about(function.file, around)
            if text:
                reasons.append(Reason(function.file, around.place[0], text))
        return reasons

    def _about(self, file: str, frame: Frame) -> str:
        if frame.kind == LOOP:
            level = self._loop_level(file, frame)
            return (
                {
                    Level.TRANSITION: "loop over the transitions of a batch",
                    Level.STEP: "loop that steps the environment",
                    Level.UPDATE: "loop of updates",
                    Level.ITERATION: "loop of iterations",
                }.get(level, "")
                if level is not None
                else ""
            )
        if frame.kind == COMPREHENSION:
            return "comprehension over the transitions of a batch" if frame.about == ROWS_LOOP else ""
        if frame.about == EVERY_NTH:
            return "only every n-th time"
        return "only at the end of an episode, or for people" if frame.about == EPISODE_END else ""


def _updates_in_loop(function: Function) -> bool:
    return any(what == UPDATES and next(loops(frame), None) is not None for what, _, frame in function.facts)
