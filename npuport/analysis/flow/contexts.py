"""Under which contexts of torch a place runs: those around it, its function's decorators, and those of all callers."""

from __future__ import annotations

from collections.abc import Iterable

from npuport.analysis.flow.declarations import Function
from npuport.analysis.flow.frames import AUTOCAST, CONTEXT_FRAME, GRAD, NO_GRAD, Frame, outwards
from npuport.analysis.flow.knowledge import Knowledge

_DECORATORS = {"no_grad": NO_GRAD, "inference_mode": NO_GRAD, "enable_grad": GRAD, "autocast": AUTOCAST}
_ABOUT_GRADIENTS = frozenset({NO_GRAD, GRAD})


class Contexts:
    """The contexts of all places of a program."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._callers: dict[str, list[tuple[Function, Frame | None]]] = {}
        self._called_from: dict[str, set[str]] = {}
        self._add(knowledge.functions.values())

    def _add(self, functions: Iterable[Function]) -> None:
        for function in functions:
            for callee, _, frame in function.calls:
                if callee != function.key:
                    self._callers.setdefault(callee, []).append((function, frame))
                    self._called_from.setdefault(function.file, set()).add(callee)

    def look_again(self, file: str, functions: Iterable[Function]) -> None:
        """A file has a new text with these functions; the others call what they did."""
        for callee in self._called_from.pop(file, ()):
            self._callers[callee] = [call for call in self._callers[callee] if call[0].file != file]
        self._add(functions)

    def without_gradients(self, function: Function, frame: Frame | None) -> bool:
        """Whether gradients may be off at a place: here, or at some call on the way to it."""
        return NO_GRAD in self._possible(function, frame, _ABOUT_GRADIENTS, set())

    def under_autocast(self, function: Function, frame: Frame | None) -> bool:
        """Whether a place may run under autocast."""
        return AUTOCAST in self._possible(function, frame, frozenset({AUTOCAST}), set())

    def around(self, function: Function) -> tuple[bool, bool]:
        """Whether gradients may be off, and autocast on, wherever a function runs."""
        return self.without_gradients(function, None), self.under_autocast(function, None)

    def _possible(self, function: Function, frame: Frame | None, asked: frozenset[str], seen: set[str]) -> set[str]:
        """The innermost of some contexts, on each way to a place."""
        for around in outwards(frame):
            if around.kind == CONTEXT_FRAME and around.about in asked:
                return {around.about}
        for about in decorated_with(function):
            if about in asked:
                return {about}
        if function.key in seen:
            return set()
        seen.add(function.key)
        found: set[str] = set()
        for caller, outer in self._callers.get(function.key, ()):
            found |= self._possible(caller, outer, asked, seen)
        return found


def decorated_with(function: Function) -> Iterable[str]:
    """The contexts that a function's decorators switch on, from the inside out."""
    for decorator in reversed(function.decorators):
        about = _DECORATORS.get(decorator.rpartition(".")[2])
        if about is not None:
            yield about
