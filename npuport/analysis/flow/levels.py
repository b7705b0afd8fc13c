"""How often a function runs as such, before anything is known of who calls it: by its name, base classes and file."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from npuport.analysis.flow.declarations import BODY, Function
from npuport.analysis.flow.knowledge import Knowledge
from npuport.analysis.flow.vocabulary import (
    CALLBACKS,
    STEP_FUNCTION,
    STEP_METHOD_PARAMETERS,
    TEST_FILE,
    TEST_FOLDER,
    UPDATE_FUNCTION,
)

STEPS: Final = "step"
UPDATES: Final = "update"


class Level(IntEnum):
    """How often a place runs; higher is more often."""

    ONCE = 0
    ITERATION = 1
    UPDATE = 2
    STEP = 3
    TRANSITION = 4

    @property
    def word(self) -> str:
        """The level in reports: ``step``."""
        return self.name.lower()

    @property
    def phrase(self) -> str:
        """The level in a sentence: "once per environment step"."""
        return _PHRASES[self]


_PHRASES = {
    Level.ONCE: "once",
    Level.ITERATION: "once per iteration",
    Level.UPDATE: "once per update",
    Level.STEP: "once per environment step",
    Level.TRANSITION: "once per transition of a batch",
}
_BY_WORD = {level.word: level for level in Level}


class OwnLevels:
    """The levels of functions that nobody in the program calls.

    Args:
        knowledge: the program.
    """

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._test_files: dict[str, bool] = {}

    def level(self, function: Function, called: set[str], direct: set[str], anywhere: set[str]) -> tuple[Level, str]:
        """The level of a callback of a framework, or of a function that nobody in the program calls, and why.

        Args:
            function: the function.
            called: keys of the functions that are called.
            direct: what one run of it does outside its own loops: ``STEPS``, ``UPDATES``.
            anywhere: what it does at all.
        """
        name = function.name
        if name in CALLBACKS and self._library_bases(function):
            return _BY_WORD[CALLBACKS[name]], f"a framework calls {name}"
        if function.key in called or name == BODY or self.tests(function):
            return Level.ONCE, ""
        if name == "step" and any(base.startswith("torch.optim.") for base in self._library_bases(function)):
            return Level.UPDATE, "an optimiser steps once per update"
        if STEP_FUNCTION.match(name) or (
            name == "step" and len(function.order) - function.bound >= STEP_METHOD_PARAMETERS
        ):
            return Level.STEP, f"by its name, {name} runs once per environment step"
        makes_loops_of_updates = UPDATES in anywhere and UPDATES not in direct
        if UPDATE_FUNCTION.match(name) and not makes_loops_of_updates:
            return Level.UPDATE, f"by its name, {name} makes one update"
        if UPDATES in direct:
            return Level.UPDATE, f"{name} makes one update"
        if name == "forward" and function.owner is not None and "Loss" in function.owner.rpartition(".")[2]:
            return Level.UPDATE, "a loss module runs once per update"
        return Level.ONCE, ""

    def _library_bases(self, function: Function) -> frozenset[str]:
        return self._knowledge.library_bases(function.owner) if function.owner is not None else frozenset()

    def tests(self, function: Function) -> bool:
        """Whether a function tests or measures the program."""
        in_test_file = self._test_files.get(function.file)
        if in_test_file is None:
            path = self._knowledge.linker.relative(function.file)
            names = (other.name for other in self._knowledge.scopes[function.file].functions)
            in_test_file = TEST_FOLDER.search(path) is not None or (
                TEST_FILE.search(path) is not None and any(name.startswith("test_") for name in names)
            )
            self._test_files[function.file] = in_test_file
        return in_test_file
