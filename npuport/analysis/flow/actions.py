"""Which reads of the device are the action on its way to the environment.

``env.step(action.cpu().numpy())`` needs that one copy: the read is inherent. The action is followed backwards
from the arguments of ``env.step`` through assignments and the functions called there; of what such a function
returns, the first element is the action.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from npuport.analysis.flow.calls import last_name
from npuport.analysis.flow.declarations import Function, blocks_of
from npuport.analysis.flow.frames import Place
from npuport.analysis.flow.knowledge import Knowledge
from npuport.analysis.flow.vocabulary import ACTING_FUNCTION, ACTION_NAME, ENVIRONMENT_CLASS, ENVIRONMENT_NAME

_HOST_LIBRARIES = frozenset({"np", "numpy", "random"})


class Actions:
    """The functions of a program that choose actions, and the nodes on the way of an action."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._flows: dict[tuple[str, bool], _Backflow] = {}
        self.acting: set[str] = set()
        waiting = [f for f in knowledge.functions.values() if ACTING_FUNCTION.match(f.name)]
        self.acting.update(function.key for function in waiting)
        for function in knowledge.functions.values():
            if _steps(function):
                waiting += self._news(self._callees(function, returns=False))
        while waiting:
            waiting += self._news(self._callees(waiting.pop(), returns=True))

    def _news(self, callees: Iterable[str]) -> list[Function]:
        known = self._knowledge.functions
        new = [known[key] for key in callees if key not in self.acting and key in known]
        new = [function for function in new if function.name != "forward"]
        self.acting.update(function.key for function in new)
        return new

    def _callees(self, function: Function, *, returns: bool) -> frozenset[str]:
        if returns not in function.backflow:
            function.backflow[returns] = frozenset(self._flow(function, returns=returns).callees)
        return function.backflow[returns]

    def _flow(self, function: Function, *, returns: bool) -> _Backflow:
        asked = (function.key, returns)
        if asked not in self._flows:
            if function.node is None:
                self._knowledge.load(function.file)
            self._flows[asked] = _Backflow(function, returns=returns)
        return self._flows[asked]

    def forget(self, file: str) -> None:
        """A file has a new text: look at its functions again when asked."""
        for asked in [asked for asked in self._flows if asked[0].startswith(f"{file}:")]:
            del self._flows[asked]

    def inherent(self, function: Function) -> frozenset[ast.AST]:
        """The nodes of a function through which an action goes to the environment."""
        nodes: set[ast.AST] = set()
        if _steps(function):
            nodes |= self._flow(function, returns=False).nodes
        if function.key in self.acting:
            nodes |= self._flow(function, returns=True).nodes
        if function.node is not None and function.owner is not None and self._is_environment(function.owner):
            given = {name for name in function.order if ACTION_NAME.search(name)}
            nodes.update(node for node in ast.walk(function.node) if given & _read_names(node))
        return frozenset(nodes)

    def _is_environment(self, owner: str) -> bool:
        """Whether a class is an environment: what its methods do with a given action is the action's way."""
        names = [*self._knowledge.library_bases(owner), *(entry.name for entry in self._knowledge.lineage(owner))]
        return any(ENVIRONMENT_CLASS.search(name) for name in names)


def _steps(function: Function) -> bool:
    return any(what == "step" for what, _, _ in function.facts)


class _Backflow:
    """Where the action of one function comes from: the nodes, and the functions called on the way."""

    def __init__(self, function: Function, *, returns: bool) -> None:
        self.nodes: set[ast.AST] = set()
        self.callees: set[str] = set()
        self._names: set[str] = set()
        self._calls: dict[Place, list[str]] = {}
        for callee, place, _ in function.calls:
            self._calls.setdefault(place, []).append(callee)
        self._assignments = [s for s in _statements(function) if isinstance(s, ast.Assign | ast.AnnAssign) and s.value]
        for start in _returned(function) if returns else _stepped(function):
            self._follow_whole(start)
        self._follow_names()

    def _follow_whole(self, expression: ast.expr) -> None:
        for node in ast.walk(expression):
            self.nodes.add(node)
            if isinstance(node, ast.Name):
                self._names.add(node.id)
            self._note_callees(node)

    def _note_callees(self, node: ast.AST) -> None:
        if isinstance(node, ast.Call):
            self.callees.update(self._calls.get((node.lineno, node.col_offset), ()))

    def _follow_names(self) -> None:
        waiting, done = set(self._names), set[int]()
        while waiting:
            names, waiting = waiting, set()
            for number, statement in enumerate(self._assignments):
                if number in done or names.isdisjoint(_targets(statement)):
                    continue
                done.add(number)
                assert statement.value is not None
                self.nodes.update(ast.walk(statement.value))
                waiting |= self._sources(statement.value) - self._names
            self._names |= waiting

    def _sources(self, expression: ast.expr) -> set[str]:
        """Names of further actions in what an action is computed from; calls on the way are noted."""
        found: set[str] = set()
        stack: list[ast.expr] = [expression]
        while stack:
            node = stack.pop()
            if isinstance(node, ast.Name) and ACTION_NAME.search(node.id):
                found.add(node.id)
            elif isinstance(node, ast.Call):
                self._note_callees(node)
                stack += node.args
                if _draws(node):
                    found.update(_names_in(*node.args, *(keyword.value for keyword in node.keywords)))
                elif isinstance(node.func, ast.Attribute):
                    stack.append(node.func.value)
                    found.update(_receiver(node.func.value))
            elif isinstance(node, ast.Subscript | ast.Attribute):
                stack.append(node.value)
            elif isinstance(node, ast.IfExp):
                stack += (node.body, node.orelse)
        return found


def _statements(function: Function) -> Iterator[ast.stmt]:
    """The statements of a function, without those of functions and classes inside it."""
    node = function.node
    waiting = list(node.body) if node is not None and not isinstance(node, ast.Lambda) else []
    while waiting:
        statement = waiting.pop()
        yield statement
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for block in blocks_of(statement):
                waiting += block


def _own_expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement's own expressions, not those of the statements inside it."""
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.expr):
            yield from ast.walk(child)


def _stepped(function: Function) -> Iterator[ast.expr]:
    """The arguments of the calls that step an environment, or send it actions."""
    places = {place for what, place, _ in function.facts if what == "step"}
    for statement in _statements(function):
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for node in _own_expressions(statement):
            if isinstance(node, ast.Call) and ((node.lineno, node.col_offset) in places or _sends(node)):
                yield from node.args


def _sends(call: ast.Call) -> bool:
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr in ("send", "step_async")
        and ENVIRONMENT_NAME.search(last_name(call.func.value)) is not None
    )


def _returned(function: Function) -> Iterator[ast.expr]:
    """The first element of what a function returns."""
    if isinstance(function.node, ast.Lambda):
        yield function.node.body
    for statement in _statements(function):
        if isinstance(statement, ast.Return) and statement.value is not None:
            value = statement.value
            yield value.elts[0] if isinstance(value, ast.Tuple) and value.elts else value


def _draws(call: ast.Call) -> bool:
    """Whether NumPy or ``random`` makes the action: of probabilities or values that the host needs instead of it."""
    node: ast.expr = call.func
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(call.func, ast.Attribute) and isinstance(node, ast.Name) and node.id in _HOST_LIBRARIES


def _names_in(*expressions: ast.expr) -> set[str]:
    return {node.id for part in expressions for node in ast.walk(part) if isinstance(node, ast.Name)} - _HOST_LIBRARIES


def _receiver(node: ast.expr) -> set[str]:
    """The name of the tensor at the start of ``values.max(1)[1].item()``."""
    while isinstance(node, ast.Attribute | ast.Subscript) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ):
        node = node.func if isinstance(node, ast.Call) else node.value
    return {node.id} if isinstance(node, ast.Name) and node.id != "self" else set()


def _read_names(node: ast.AST) -> set[str]:
    """The name of the tensor at the start of a method call."""
    return _receiver(node.func.value) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else set()


def _targets(statement: ast.Assign | ast.AnnAssign) -> set[str]:
    names: set[str] = set()
    for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        names.update(part.id for part in parts if isinstance(part, ast.Name))
    return names
