"""The functions, classes and names that a file declares, before anything is evaluated."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from npuport.analysis.flow.frames import Frame, Place
from npuport.analysis.flow.losses import LossInput
from npuport.analysis.flow.traits import NO_TRAITS, Traits
from npuport.analysis.flow.value import CLASS, FUNCTION, IMPORT, LIBRARY, Atom, Value

Definition = ast.FunctionDef | ast.AsyncFunctionDef
Body = Definition | ast.Lambda | ast.Module

BODY = "<module>"
# Methods that the language or a framework reads as attributes.
_PROPERTIES = frozenset({"property", "cached_property", "functools.cached_property", "abc.abstractproperty"})


@dataclass(slots=True, eq=False)
class Function:
    """A function, method, lambda or module body, and what is known of it.

    Attributes:
        key: file, class and name; unique in the program.
        node: its syntax; None where it is known from the cache only.
        line: where it begins.
        owner: key of the class that it is a method of.
        parent: the function that it is defined in.
        decorators: its decorators as dotted text.
        asks_for_time: it answers whether it is time for something: ``return step % n == 0``.
        order: names of the positional parameters.
        contributions: for each parameter, what each call site passes.
        parameters: for each parameter, what any call site passes.
        returns: what it gives; None before the first visit.
        writes: what its last visit wrote to attributes, by class and name.
        calls: calls of functions of the program: callee, place, loops around.
        weak_calls: those of them in which only the method's name told the callee.
        facts: environment steps and updates: which, place, loops around.
        losses: tensors of doubtful dtype that reach a loss in it.
        backflow: functions that an action comes from: on the way to ``env.step`` (False) and in what is returned
            (True), where somebody asked.
        eventful: something happens in it that rules look for.
    """

    key: str
    name: str
    file: str
    node: Body | None
    line: int = 1
    owner: str | None = None
    parent: Function | None = None
    order: tuple[str, ...] = ()
    keyword_only: frozenset[str] = frozenset()
    spread: str = ""
    kind: str = "function"
    decorators: tuple[str, ...] = ()
    asks_for_time: bool = False
    is_generator: bool = False
    nested: dict[str, Value] = field(default_factory=dict)
    contributions: dict[str, dict[str, Value]] = field(default_factory=dict)
    parameters: dict[str, Value] = field(default_factory=dict)
    returns: Value | None = None
    locals: dict[str, Value] = field(default_factory=dict)
    global_names: set[str] = field(default_factory=set)
    writes: dict[tuple[str, str], Value] = field(default_factory=dict)
    calls: list[tuple[str, Place, Frame | None]] = field(default_factory=list)
    weak_calls: set[tuple[str, Place]] = field(default_factory=set)
    facts: list[tuple[str, Place, Frame | None]] = field(default_factory=list)
    losses: set[LossInput] = field(default_factory=set)
    backflow: dict[bool, frozenset[str]] = field(default_factory=dict)
    visits: int = 0
    eventful: bool = False

    @property
    def bound(self) -> int:
        """How many parameters a call through an instance fills by itself."""
        return 1 if self.owner is not None and self.kind != "static" and self.order else 0

    @property
    def self_name(self) -> str | None:
        """The name of the instance (or class) parameter of a method."""
        return self.order[0] if self.bound else None


@dataclass(slots=True, eq=False)
class Class:
    """A class of the program, and what is known of its attributes.

    Attributes:
        bases: its base expressions as dotted text.
        methods: keys of its own methods by name.
        fields: annotated names in its body, in order: those of a dataclass or named tuple.
        contributions: for each attribute, what each function writes into it.
        attributes: for each attribute, what any function writes.
    """

    key: str
    name: str
    file: str
    node: ast.ClassDef | None
    bases: tuple[str, ...] = ()
    methods: dict[str, str] = field(default_factory=dict)
    fields: list[str] = field(default_factory=list)
    contributions: dict[str, dict[str, Value]] = field(default_factory=dict)
    attributes: dict[str, Value] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Scope:
    """A file of the program.

    Attributes:
        key: its path.
        names: values of its global names.
        definitions: functions and classes by place; a name may be defined several times.
        stars: star imports: key of a file of the program, or a dotted name.
        imports: keys of the files that it imports.
        component: stands for all files that imports connect with this one.
        functions: all its functions, the module body first.
        classes: all its classes.
        traits: what its text says of the program.
    """

    key: str
    tree: ast.Module | None
    body: Function
    names: dict[str, Value] = field(default_factory=dict)
    definitions: dict[Place, Value] = field(default_factory=dict)
    stars: list[tuple[str | None, str]] = field(default_factory=list)
    imports: set[str] = field(default_factory=set)
    component: str = ""
    functions: list[Function] = field(default_factory=list)
    classes: list[Class] = field(default_factory=list)
    traits: Traits = NO_TRAITS


def declare(key: str, tree: ast.Module) -> Scope:
    """The declarations of one file; imports are left to ``linking``."""
    body = Function(f"{key}:{BODY}", BODY, key, tree)
    scope = Scope(key, tree, body)
    scope.functions.append(body)
    _declare_block(scope, tree.body, body, None, "")
    return scope


def _declare_block(
    scope: Scope, statements: Iterable[ast.stmt], inside: Function, owner: Class | None, prefix: str
) -> None:
    for statement in statements:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            function = _declare_function(scope, statement, inside, owner, prefix)
            _declare_block(scope, statement.body, function, None, f"{prefix}{statement.name}.")
        elif isinstance(statement, ast.ClassDef):
            declared = _declare_class(scope, statement, inside, owner, prefix)
            _declare_block(scope, statement.body, inside, declared, f"{prefix}{statement.name}.")
        else:
            for block in blocks_of(statement):
                _declare_block(scope, block, inside, owner, prefix)


def blocks_of(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of statements inside a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if isinstance(block, list):
            yield block
    for name in ("handlers", "cases"):
        for part in getattr(statement, name, ()):
            yield part.body


def _declare_function(scope: Scope, node: Definition, inside: Function, owner: Class | None, prefix: str) -> Function:
    key = f"{scope.key}:{prefix}{node.name}"
    if any(function.key == key for function in scope.functions[-64:]):
        key = f"{key}#{node.lineno}"
    function = function_of(node, key, node.name, scope.key)
    function.owner = owner.key if owner is not None else None
    function.parent = inside if inside is not scope.body else None
    scope.functions.append(function)
    if owner is not None:
        if node.name not in owner.methods or function.kind != "setter":
            owner.methods[node.name] = key
    else:
        _bind(scope, inside, node, function_value(key))
    return function


def function_of(node: Definition | ast.Lambda, key: str, name: str, file: str) -> Function:
    """A function with its parameters, nothing known yet."""
    arguments = node.args
    return Function(
        key,
        name,
        file,
        node,
        node.lineno,
        order=tuple(a.arg for a in (*arguments.posonlyargs, *arguments.args)),
        keyword_only=frozenset(a.arg for a in arguments.kwonlyargs),
        spread=arguments.vararg.arg if arguments.vararg else "",
        kind=_kind(node),
        decorators=() if isinstance(node, ast.Lambda) else tuple(map(dotted_text, node.decorator_list)),
        asks_for_time=isinstance(node, ast.FunctionDef) and _returns_remainder(node.body[-1]),
    )


def _returns_remainder(statement: ast.stmt) -> bool:
    answer = statement.value if isinstance(statement, ast.Return) else None
    return isinstance(answer, ast.Compare | ast.BoolOp | ast.UnaryOp) and any(map(takes_remainder, ast.walk(answer)))


def takes_remainder(node: ast.AST) -> bool:
    """``step % n``, but not a text that is formatted."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mod):
        return False
    text = isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
    return not text and not isinstance(node.left, ast.JoinedStr)


def _kind(node: Definition | ast.Lambda) -> str:
    if isinstance(node, ast.Lambda):
        return "function"
    for decorator in node.decorator_list:
        name = dotted_text(decorator)
        if name == "staticmethod":
            return "static"
        if name == "classmethod":
            return "class"
        if name in _PROPERTIES:
            return "property"
        if name.endswith((".setter", ".deleter")):
            return "setter"
    return "function"


def _declare_class(scope: Scope, node: ast.ClassDef, inside: Function, owner: Class | None, prefix: str) -> Class:
    key = f"{scope.key}:{prefix}{node.name}"
    if any(known.key == key for known in scope.classes):
        key = f"{key}#{node.lineno}"
    declared = Class(key, node.name, scope.key, node, tuple(filter(None, map(dotted_text, node.bases))))
    scope.classes.append(declared)
    if owner is None:
        _bind(scope, inside, node, Value(Atom(CLASS, refs=frozenset({key}))))
    return declared


def _bind(scope: Scope, inside: Function, node: Definition | ast.ClassDef, value: Value) -> None:
    scope.definitions[node.lineno, node.col_offset] = value
    names = scope.names if inside is scope.body else inside.nested
    names[node.name] = value


def adopt(new: Scope, old: Scope) -> None:
    """Begin with what was known of a file's functions and classes before its text changed.

    What a function gives and what an attribute may be is compared with this when it is evaluated: where nothing
    differs, no other file has to be looked at.
    """
    functions = {function.key: function for function in old.functions}
    for function in new.functions:
        before = functions.get(function.key)
        if before is not None:
            function.contributions = before.contributions
            function.parameters = before.parameters
            function.returns = before.returns
            function.is_generator = False
    classes = {declared.key: declared for declared in old.classes}
    for declared in new.classes:
        known = classes.get(declared.key)
        if known is not None:
            declared.contributions = known.contributions
            declared.attributes = known.attributes


def dotted_text(node: ast.expr) -> str:
    """``a.b.c`` of an expression, calls and subscripts looked through; empty where it is something else."""
    parts: list[str] = []
    while True:
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Name):
            return ".".join([node.id, *reversed(parts)])
        elif isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        else:
            return ""


# gym's interface is gymnasium's, but for the number of values of step.
_SAME_LIBRARY = {"gym": "gymnasium"}


@cache
def library(dotted: str) -> Value:
    """A name of a library."""
    top, dot, rest = dotted.partition(".")
    return Value(Atom(LIBRARY, refs=frozenset({_SAME_LIBRARY.get(top, top) + dot + rest})))


@cache
def function_value(key: str) -> Value:
    """A function of the program, as a value."""
    return Value(Atom(FUNCTION, refs=frozenset({key})))


def imported_name(file: str, name: str) -> Value:
    """A name of another file of the program, looked up when it is used."""
    return Value(Atom(IMPORT, refs=frozenset({f"{file}\0{name}"})))
