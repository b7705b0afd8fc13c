"""Calls a function as soon as a module has been imported, so that a script which never imports it pays nothing."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

Call = Callable[[ModuleType], None]


def when_imported(name: str, call: Call) -> None:
    """Call `call` with the module, now where it is imported already, else right after its own code has run."""
    module = sys.modules.get(name)
    if module is not None:
        call(module)
        return
    _finder().calls.setdefault(name, []).append(call)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds nothing itself: lets the others find, and puts a loader around theirs."""

    def __init__(self) -> None:
        self.calls: dict[str, list[Call]] = {}
        self._searching: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.calls or fullname in self._searching:
            return None
        self._searching.add(fullname)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._searching.discard(fullname)
        if spec is not None and spec.loader is not None:
            _call_after(spec.loader, self.calls.pop(fullname))
        return spec


def _call_after(loader: object, calls: list[Call]) -> None:
    """Replace ``exec_module`` of this one loader, which stays what it is for everybody who asks for its type."""
    original = loader.exec_module  # type: ignore[attr-defined]

    def exec_module(module: ModuleType) -> None:
        original(module)
        for call in calls:
            call(module)

    loader.exec_module = exec_module  # type: ignore[attr-defined]


def _finder() -> _Finder:
    for finder in sys.meta_path:
        if isinstance(finder, _Finder):
            return finder
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    return finder
