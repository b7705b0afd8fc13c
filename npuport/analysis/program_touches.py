"""What touches the device in the other files of a program: in functions that a file calls, and before its own are."""

from __future__ import annotations

import ast
import os
from functools import cached_property

from npuport.analysis.device_evidence import called_name
from npuport.analysis.flow.declarations import Function, dotted_text
from npuport.analysis.flow.frames import Place
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import DEVICE, FUNCTION, TENSOR, Value

_CHOOSERS = frozenset({"set_start_method", "get_context"})


class ProgramTouches:
    """Answers for one file of a program, about the files that imports connect with it."""

    def __init__(self, flow: FileFlow) -> None:
        self._flow = flow
        self._program = flow.program
        self._files: dict[str, FileFlow] = {flow.scope.key: flow}
        self._known: dict[str, str] = {}

    def chooses_start_method(self) -> bool:
        """Whether another file of the program chooses how processes start, by something else than fork."""
        knowledge = self._program.knowledge
        for scope in knowledge.scopes.values():
            if scope.traits.chooses_start and scope.key != self._flow.scope.key:
                knowledge.load(scope.key)
                nodes = ast.walk(scope.tree) if scope.tree is not None else ()
                if any(isinstance(node, ast.Call) and _chooses(node) for node in nodes):
                    return True
        return False

    def in_call(self, call: ast.Call) -> str:
        """Where a function of another file that is called here touches the device; empty where none does."""
        callees = self._callees.get((call.lineno, call.col_offset), ())
        return next((place for key in callees if self._is_elsewhere(key) and (place := self._inside(key, set()))), "")

    def in_value(self, target: ast.expr) -> str:
        """Where a function of another file that is handed on touches the device."""
        named = self._program.knowledge.named_statically(self._flow.scope.key, dotted_text(target))
        atom = named.get(FUNCTION) if named is not None else None
        keys = sorted(atom.refs) if atom is not None else []
        return next((place for key in keys if self._is_elsewhere(key) and (place := self._inside(key, set()))), "")

    def before_function(self, node: ast.AST) -> str:
        """Where a caller in another file touches the device before it calls a function of this file."""
        function = next((function for function in self._flow.scope.functions if function.node is node), None)
        if function is None:
            return ""
        for caller in self._program.knowledge.functions.values():
            if caller.file == function.file:
                continue
            places = [place for callee, place, _ in caller.calls if callee == function.key]
            if places and (found := self._first(caller, set(), before=min(places))):
                return found
        return ""

    @cached_property
    def _callees(self) -> dict[Place, list[str]]:
        found: dict[Place, list[str]] = {}
        for function in self._flow.scope.functions:
            for callee, place, _ in function.calls:
                found.setdefault(place, []).append(callee)
        return found

    def _is_elsewhere(self, key: str) -> bool:
        function = self._program.knowledge.functions.get(key)
        return function is not None and function.file != self._flow.scope.key

    def _inside(self, key: str, seen: set[str]) -> str:
        """Where a function, or one that it calls, touches the device."""
        if key in self._known or key in seen:
            return self._known.get(key, "")
        seen.add(key)
        function = self._program.knowledge.functions.get(key)
        found = self._first(function, seen) if function is not None else ""
        self._known[key] = found
        return found

    def _first(self, function: Function, seen: set[str], before: Place | None = None) -> str:
        flow = self._file(function.file)
        for event in flow.events("moved", "upload", "factory"):
            place = (getattr(event.node, "lineno", 0), getattr(event.node, "col_offset", 0))
            there = _is_accelerator(flow.value(event.node) if event.kind == "upload" else event.value)
            if event.function is function and there and (before is None or place < before):
                return f"{os.path.basename(function.file)}:{place[0]}"
        for callee, place, _ in function.calls:
            if (before is None or place < before) and (found := self._inside(callee, seen)):
                return found
        return ""

    def _file(self, key: str) -> FileFlow:
        if key not in self._files:
            self._files[key] = self._program.file(key)
        return self._files[key]


def _is_accelerator(value: Value) -> bool:
    atom = value.get(DEVICE) or value.get(TENSOR)
    return atom is not None and atom.on_accelerator


def _chooses(call: ast.Call) -> bool:
    if called_name(call) not in _CHOOSERS:
        return False
    given = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "method")]
    return bool(given) and not (isinstance(given[0], ast.Constant) and given[0].value in ("fork", None))
