"""What touches the device, and what has touched it before a place is reached, in a file and what it calls.

The order is that of the source: in a function what stands above, in a method also ``__init__`` of its class, in a
function that is called what its callers did before, and at last the module's own statements.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from npuport.analysis.device_evidence import called_function, is_accelerator, target_name, targets_of
from npuport.analysis.module import Module
from npuport.analysis.program_touches import ProgramTouches
from npuport.analysis.walk import FUNCTIONS

# Functions of torch.cuda and torch.npu that start the device; is_available() and the seeds do not.
_STARTS = frozenset({
    "init", "set_device", "synchronize", "current_stream", "empty_cache", "memory_allocated", "mem_get_info",
    "get_device_properties", "reset_peak_memory_stats", "Stream", "Event",
})  # fmt: skip


@dataclass(frozen=True)
class Touch:
    """One call that uses the device.

    Attributes:
        call: the call.
        moved: what it puts on the device, where it is a method of that.
        place: file and line of the touch itself, where the call only leads there.
    """

    call: ast.Call
    moved: ast.expr | None = None
    place: str = ""


class DeviceTouches:
    """Answers for one file; what it calls in others is asked of the program."""

    def __init__(self, module: Module, program: ProgramTouches) -> None:
        self._module = module
        self._program = program
        self._calls: defaultdict[ast.AST, list[ast.Call]] = defaultdict(list)
        for call in module.index.calls:
            self._calls[module.names.scope_of(call)].append(call)

    def before(self, site: ast.AST) -> Touch | None:
        """What touches the device before ``site`` is reached; None where this file shows nothing."""
        return self._before(site, set())

    def inside(self, function: ast.AST) -> Touch | None:
        """What a function, or a function of this file that it calls, does on the device."""
        return self._inside(function, set())

    def is_on_device(self, value: ast.expr) -> bool:
        """Whether a variable or attribute was put on the device, where it is bound or by a statement of its own."""
        for touch in self._statements():
            if touch.moved is not None and self._is_same(touch.moved, value) and not self._comes_later(touch, value):
                return True
        if isinstance(value, ast.Name):
            bound = [binding.value for binding in self._module.names.bindings(value.id, value)]
        else:
            name = target_name(value)
            bound = [
                s.value for s in self._module.index.assignments if name and name in map(target_name, targets_of(s))
            ]
        return any(isinstance(node, ast.Call) and self._is_made_on_device(node) for node in bound)

    def reads(self, function: ast.AST) -> ast.expr | None:
        """A variable of the module, or an attribute of ``self``, on the device, that a function reads."""
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
                if self.is_on_device(node):
                    return node
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                bindings = self._module.names.bindings(node.id, node)
                if bindings and bindings == self._module.index.bindings[self._module.tree].get(node.id):
                    if self.is_on_device(node):
                        return node
        return None

    def _is_made_on_device(self, call: ast.Call) -> bool:
        """A call that puts its result on the device, or makes an object that touches the device as it is made."""
        if self.touch(call) is not None:
            return True
        function, _ = called_function(self._module, call)
        return function is not None and function.name == "__init__" and self.inside(function) is not None

    def _is_same(self, one: ast.expr, other: ast.expr) -> bool:
        """Whether two expressions are the same variable, or attributes of the same name."""
        if isinstance(one, ast.Name) and isinstance(other, ast.Name):
            bindings = self._module.names.bindings
            return one.id == other.id and bindings(one.id, one) == bindings(other.id, other)
        return isinstance(one, ast.Attribute) and isinstance(other, ast.Attribute) and one.attr == other.attr

    def _comes_later(self, touch: Touch, site: ast.expr) -> bool:
        scope_of = self._module.names.scope_of
        return scope_of(touch.call) is scope_of(site) and not _ends_before(touch.call, site)

    def touch(self, call: ast.Call) -> Touch | None:
        """The touch that a call is, itself or at the start of its chain: ``Net().to(device).eval()``."""
        function = call.func
        if isinstance(function, ast.Attribute):
            dotted = self._module.resolve(function)
            if dotted is not None:
                starts = dotted.startswith(("torch.cuda.", "torch.npu.")) and function.attr in _STARTS
                return Touch(call) if starts or self._made_there(call) else None
            places = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "device")]
            if function.attr in ("cuda", "npu"):
                return Touch(call, function.value)
            if function.attr == "to" and any(is_accelerator(self._module, place) for place in places):
                return Touch(call, function.value)
            if isinstance(function.value, ast.Call):
                return self.touch(function.value)
        return Touch(call) if self._made_there(call) else None

    def _made_there(self, call: ast.Call) -> bool:
        """``torch.zeros(3, device=device)``."""
        dotted = self._module.resolve(call.func) or ""
        keywords = (keyword.value for keyword in call.keywords if keyword.arg == "device")
        return dotted.startswith("torch.") and any(is_accelerator(self._module, value) for value in keywords)

    def _statements(self) -> Iterator[Touch]:
        """The touches that are statements of their own: ``policy.to(device)`` moves a module in place."""
        for calls in self._calls.values():
            for call in calls:
                if isinstance(self._module.parent(call), ast.Expr) and (touch := self.touch(call)) is not None:
                    yield touch

    def _inside(self, function: ast.AST, seen: set[ast.AST]) -> Touch | None:
        if function in seen:
            return None
        seen.add(function)
        return self._first(self._calls[function], seen)

    def _first(self, calls: list[ast.Call], seen: set[ast.AST]) -> Touch | None:
        """The first of some calls that touches the device, itself or by what it runs."""
        for call in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
            touch = self.touch(call)
            if touch is None:
                function, _ = called_function(self._module, call)
                touch = self._inside(function, seen) if function is not None else self._elsewhere(call)
            if touch is not None:
                return touch
        return None

    def _elsewhere(self, call: ast.Call) -> Touch | None:
        """A call of a function of another file that touches the device."""
        place = self._program.in_call(call)
        return Touch(call, place=place) if place else None

    def _before(self, site: ast.AST, seen: set[ast.AST]) -> Touch | None:
        if site in seen:
            return None
        seen.add(site)
        scope = self._module.names.scope_of(site)
        above = [call for call in self._calls[scope] if _ends_before(call, site) and not self._excludes(call, site)]
        found = self._first(above, set())
        if found is not None or not isinstance(scope, FUNCTIONS):
            return found
        owner = self._module.enclosing(scope, ast.ClassDef)
        makers = [f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"] if owner else []
        for maker in makers:
            if maker is not scope and (found := self.inside(maker)) is not None:
                return found
        callers = self._callers(scope)
        for caller in callers:
            if (found := self._before(caller, seen)) is not None:
                return found
        if callers:
            return None
        # Called from elsewhere, if at all: by then the file was imported.
        imported = [call for call in self._calls[self._module.tree] if not self._runs_as_script(call)]
        return self._first(imported, set())

    def _runs_as_script(self, call: ast.Call) -> bool:
        """Whether a call of the module stands in its ``__main__`` block."""
        tests = (a.test for a in self._module.ancestors(call) if isinstance(a, ast.If))
        return any("__main__" in self._module.text_of(test) for test in tests)

    def _excludes(self, call: ast.Call, site: ast.AST) -> bool:
        """Whether both stand in different arms of one ``if``, so that never both run."""
        child: ast.AST = call
        arms: dict[ast.AST, ast.AST] = {}
        for ancestor in self._module.ancestors(call):
            if isinstance(ancestor, ast.If):
                arms[ancestor] = child
            child = ancestor
        child = site
        for ancestor in self._module.ancestors(site):
            if isinstance(ancestor, ast.If) and ancestor in arms:
                one, other = arms[ancestor], child
                return (one in ancestor.body and other in ancestor.orelse) or (
                    one in ancestor.orelse and other in ancestor.body
                )
            child = ancestor
        return False

    def _callers(self, function: ast.AST) -> list[ast.Call]:
        name = getattr(function, "name", None)
        calls = [call for calls in self._calls.values() for call in calls if target_name(call.func) == name]
        return [call for call in calls if called_function(self._module, call)[0] is function]


def _ends_before(call: ast.Call, site: ast.AST) -> bool:
    end = (call.end_lineno or call.lineno, call.end_col_offset or call.col_offset)
    return end <= (site.lineno, site.col_offset)  # type: ignore[attr-defined]
