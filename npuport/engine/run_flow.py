"""The programs among the files of a run, and what flows through each: built when a rule asks, from the cache where
it can be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from npuport.analysis.flow.linking import requests_of
from npuport.analysis.flow.storage import Data, StoredScope, restored
from npuport.analysis.module import Module
from npuport.engine.components import Components
from npuport.engine.flow_store import FlowStore
from npuport.engine.whole_program import WholeProgram

if TYPE_CHECKING:
    import ast

# An entry of the findings cache: plain data of one file.
Entry = dict[str, Any]


class RunFlow:
    """The programs of one run.

    Args:
        entries: for every readable file by absolute path, its entry in the findings cache; None without cache.
        torch: the files that import torch; a program without any has nothing that rules ask for.
        parse: gives a file's syntax, None where it is not valid Python.
        store: what earlier runs knew; None without cache.
        target: the torch_npu release whose facts count.
    """

    def __init__(
        self,
        entries: Mapping[str, Entry | None],
        torch: frozenset[str],
        parse: Callable[[str], Module | None],
        store: FlowStore | None,
        target: str,
    ) -> None:
        self._entries = entries
        self._parse = parse
        self._store = store
        self._target = target
        requests = {key: asked for key in entries if (asked := self._requests(key)) is not None}
        hashes = {key: entry["hash"] for key, entry in entries.items() if entry is not None}
        self._components = Components(requests, hashes)
        self._with_torch = {self._components.of(key) for key in torch if key in self._components}
        self._programs: dict[str, WholeProgram] = {}

    def _requests(self, key: str) -> Iterable[tuple[str, int]] | None:
        """What a file imports, from the cache or from its text; None where it cannot be parsed."""
        entry = self._entries[key]
        if entry is not None and "requests" in entry:
            return [(str(dotted), int(level)) for dotted, level in entry["requests"]]
        module = self._parse(key)
        if module is None:
            return None
        requests = requests_of(module.tree)
        if entry is not None:
            entry["requests"] = sorted(requests)
        return requests

    def program_of(self, key: str, *, even_without_torch: bool = False) -> WholeProgram | None:
        """The program that a file is part of; None for one without torch, and for a file that cannot be parsed."""
        if key not in self._components:
            return None
        component = self._components.of(key)
        if component not in self._with_torch and not even_without_torch:
            return None
        if component not in self._programs:
            self._programs[component] = self._build(self._components.members(component))
        return self._programs[component]

    def _build(self, members: Iterable[str]) -> WholeProgram:
        modules: list[Module] = []
        known: list[StoredScope] = []
        for key in members:
            data = self._store.load(key) if self._store is not None else None
            scope = _restored(key, data) if data is not None else None
            if scope is not None:
                known.append(scope)
            if scope is None or data is None or not self._is_current(key, data):
                module = self._parse(key)
                if module is not None:
                    modules.append(module)
        return WholeProgram(self._target, modules, known, self._tree, self._components.linker)

    def _is_current(self, key: str, data: Data) -> bool:
        """Whether stored data is of the file as it is, with imports that mean the same files."""
        entry = self._entries[key]
        targets = self._components.targets(key)
        return entry is not None and data.get("hash") == entry["hash"] and set(data["resolved"]) == targets

    def _tree(self, key: str) -> ast.Module | None:
        module = self._parse(key)
        return module.tree if module is not None else None

    def still_holds(self, key: str) -> bool:
        """Whether what was found in an unchanged file is not touched by changes of other files."""
        entry = self._entries.get(key)
        if entry is None or key not in self._components:
            return True  # no Python: nothing flows through it
        if not entry.get("asks_flow", True):
            return True
        digest = self._components.digest(key)
        if entry.get("program") == digest:
            return True
        program = self.program_of(key)
        if program is None or key in program.flow.visited:
            return False
        # Who touches the device before a process starts is asked of all files.
        if program.flow.starts_processes(key) or entry.get("view") != program.flow.view(key):
            return False
        entry["program"] = digest
        return True

    def remember(self, key: str, *, asks_flow: bool) -> None:
        """Note in a file's entry on what its findings depend."""
        entry = self._entries.get(key)
        if entry is None or key not in self._components:
            return
        entry["asks_flow"] = asks_flow
        entry["program"] = self._components.digest(key)
        program = self._programs.get(self._components.of(key))
        if asks_flow and program is not None:
            entry["view"] = program.flow.view(key)

    def component(self, key: str) -> str:
        """A name of the program that a file is part of; empty for a file that cannot be parsed."""
        return self._components.of(key) if key in self._components else ""

    def release(self, component: str) -> list[str]:
        """Keep in the store what is known of a program's evaluated files, and forget the program; tells its files."""
        program = self._programs.pop(component, None)
        if program is not None and self._store is not None:
            for key, data in program.flow.stored():
                entry = self._entries.get(key)
                if entry is not None:
                    data["hash"] = entry["hash"]
                    data["resolved"] = sorted(self._components.targets(key))
                    self._store.save(key, data)
        return self._components.members(component) if component else []


def _restored(key: str, data: Data) -> StoredScope | None:
    try:
        return restored(key, data)
    except (KeyError, IndexError, TypeError, ValueError, StopIteration):
        return None  # damaged: evaluate again
