"""What is known of a file's functions and classes as plain data, for the cache, and back.

Strings and values repeat a lot: both are kept once, in tables, and told by their number. Syntax is not kept: a
function that must be evaluated again gets it from its file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from npuport.analysis.flow.declarations import Class, Function, Scope
from npuport.analysis.flow.frames import Frame
from npuport.analysis.flow.losses import LossInput
from npuport.analysis.flow.traits import Traits
from npuport.analysis.flow.value import Atom, Value

Data = dict[str, Any]
Reads = Iterable[tuple[str, ...]]


def stored(scope: Scope, reads: Mapping[str, Reads]) -> Data:
    """A file as JSON data.

    Args:
        scope: the file.
        reads: for the key of each function, what it has read.
    """
    writer = _Writer()
    return {
        "functions": [_function(writer, function, reads.get(function.key, ())) for function in scope.functions],
        "classes": [_class(writer, declared) for declared in scope.classes],
        "names": writer.named(scope.names),
        "stars": [[source and writer.text(source), writer.text(dotted)] for source, dotted in scope.stars],
        "imports": [writer.text(key) for key in sorted(scope.imports)],
        "traits": [*scope.traits[:-1], sorted(scope.traits.environments)],
        "texts": list(writer.texts),
        "values": writer.values,
        "frames": writer.frames,
    }


@dataclass(frozen=True)
class StoredScope:
    """A file that is known from the cache, and what each of its functions has read."""

    scope: Scope
    reads: dict[str, list[tuple[str, ...]]]


def restored(key: str, data: Data) -> StoredScope:
    """A file from JSON data, without its syntax.

    Raises:
        KeyError, IndexError, TypeError, ValueError: the data is damaged.
    """
    reader = _Reader(data)
    functions: dict[str, Function] = {}
    reads: dict[str, list[tuple[str, ...]]] = {}
    for row in data["functions"]:
        function = _restored_function(reader, key, row, functions)
        functions[function.key] = function
        reads[function.key] = [tuple(reader.text(number) for number in what) for what in row["reads"]]
    scope = Scope(key, None, next(iter(functions.values())))
    scope.functions = list(functions.values())
    scope.classes = [_restored_class(reader, key, row) for row in data["classes"]]
    scope.names = reader.named(data["names"])
    scope.stars = [(None if s is None else reader.text(s), reader.text(dotted)) for s, dotted in data["stars"]]
    scope.imports = {reader.text(number) for number in data["imports"]}
    *flags, environments = data["traits"]
    scope.traits = Traits._make((*map(bool, flags), frozenset(environments)))
    return StoredScope(scope, reads)


def _function(writer: _Writer, function: Function, reads: Reads) -> Data:
    text, value = writer.text, writer.value
    return {
        "key": text(function.key),
        "name": text(function.name),
        "line": function.line,
        "owner": function.owner and text(function.owner),
        "parent": function.parent and text(function.parent.key),
        "order": [text(name) for name in function.order],
        "keyword_only": sorted(text(name) for name in function.keyword_only),
        "spread": function.spread,
        "kind": function.kind,
        "decorators": list(function.decorators),
        "flags": [function.is_generator, function.eventful, function.asks_for_time],
        "nested": writer.named(function.nested),
        "passed": [[text(name), writer.named(sites)] for name, sites in function.contributions.items()],
        "parameters": writer.named(function.parameters),
        "returns": None if function.returns is None else value(function.returns),
        "locals": writer.named(function.locals),
        "globals": sorted(function.global_names),
        "writes": [[text(key), text(name), value(v)] for (key, name), v in function.writes.items()],
        "calls": [[text(callee), *place, writer.frame(frame)] for callee, place, frame in function.calls],
        "weak": sorted([text(callee), *place] for callee, place in function.weak_calls),
        "facts": [[what, *place, writer.frame(frame)] for what, place, frame in function.facts],
        "losses": [
            [*_place(writer, o), dtype, promoted and _place(writer, promoted), *_place(writer, at)]
            for o, dtype, promoted, at in function.losses
        ],
        "backflow": [[returns, sorted(map(text, callees))] for returns, callees in function.backflow.items()],
        "reads": [[text(part) for part in what] for what in reads],
    }


def _restored_function(reader: _Reader, file: str, row: Data, known: Mapping[str, Function]) -> Function:
    text, value = reader.text, reader.value
    function = Function(
        text(row["key"]),
        text(row["name"]),
        file,
        None,
        row["line"],
        None if row["owner"] is None else text(row["owner"]),
        None if row["parent"] is None else known[text(row["parent"])],
        tuple(map(text, row["order"])),
        frozenset(map(text, row["keyword_only"])),
        row["spread"],
        row["kind"],
        tuple(row["decorators"]),
    )
    function.is_generator = bool(row["flags"][0])
    function.eventful, function.asks_for_time = map(bool, row["flags"][1:])
    function.nested = reader.named(row["nested"])
    function.contributions = {text(name): reader.named(sites) for name, sites in row["passed"]}
    function.parameters = reader.named(row["parameters"])
    function.returns = None if row["returns"] is None else value(row["returns"])
    function.locals = reader.named(row["locals"])
    function.global_names = set(row["globals"])
    function.writes = {(text(key), text(name)): value(number) for key, name, number in row["writes"]}
    function.calls = [(text(callee), (line, column), reader.frame(f)) for callee, line, column, f in row["calls"]]
    function.weak_calls = {(text(callee), (line, column)) for callee, line, column in row["weak"]}
    function.facts = [(what, (line, column), reader.frame(f)) for what, line, column, f in row["facts"]]
    function.losses = {
        LossInput((text(file_), line), dtype, promoted and (text(promoted[0]), promoted[1]), (text(at), at_line))
        for file_, line, dtype, promoted, at, at_line in row["losses"]
    }
    function.backflow = {bool(returns): frozenset(map(text, callees)) for returns, callees in row["backflow"]}
    return function


def _place(writer: _Writer, origin: tuple[str, int]) -> list[int]:
    return [writer.text(origin[0]), origin[1]]


def _class(writer: _Writer, declared: Class) -> Data:
    text = writer.text
    return {
        "key": text(declared.key),
        "name": text(declared.name),
        "bases": list(declared.bases),
        "methods": [[text(name), text(key)] for name, key in declared.methods.items()],
        "fields": declared.fields,
        "written": [[text(name), writer.named(by)] for name, by in declared.contributions.items()],
        "attributes": writer.named(declared.attributes),
    }


def _restored_class(reader: _Reader, file: str, row: Data) -> Class:
    text = reader.text
    return Class(
        text(row["key"]),
        text(row["name"]),
        file,
        None,
        tuple(row["bases"]),
        {text(name): text(key) for name, key in row["methods"]},
        list(row["fields"]),
        {text(name): reader.named(by) for name, by in row["written"]},
        reader.named(row["attributes"]),
    )


class _Writer:
    """Collects the tables."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}
        self.values: list[list[Any]] = []
        self.frames: list[list[Any]] = []
        self._numbers: dict[str, int] = {}
        self._seen: dict[int, tuple[Value, int]] = {}
        self._frame_numbers: dict[int, int] = {}

    def text(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))

    def named(self, values: Mapping[str, Value]) -> list[list[int]]:
        return [[self.text(name), self.value(value)] for name, value in values.items()]

    def value(self, value: Value) -> int:
        seen = self._seen.get(id(value))
        if seen is not None:
            return seen[1]
        row = [self._atom(atom) for atom in value.atoms.values()]
        number = self._numbers.setdefault(repr(row), len(self.values))
        if number == len(self.values):
            self.values.append(row)
        self._seen[id(value)] = (value, number)  # the value is kept: its id must not be given away
        return number

    def _atom(self, atom: Atom) -> list[Any]:
        items: Any = None
        if isinstance(atom.items, tuple):
            items = [self.value(item) for item in atom.items]
        elif atom.items is not None:
            items = {key: self.value(item) for key, item in atom.items.items()}
        return [
            atom.kind,
            sorted(atom.dtypes),
            sorted(atom.devices),
            None if atom.element is None else self.value(atom.element),
            items,
            sorted(map(self.text, atom.refs)),
            sorted(atom.marks),
            sorted([self.text(a), b, c, self.text(d), e] for a, b, c, d, e in atom.mixed),
            atom.origin and [self.text(atom.origin[0]), atom.origin[1]],
        ]

    def frame(self, frame: Frame | None) -> int | None:
        if frame is None:
            return None
        known = self._frame_numbers.get(id(frame))
        if known is not None:
            return known
        outer = self.frame(frame.outer)
        self.frames.append([outer, frame.kind, frame.about, *frame.place, sorted(frame.dtypes)])
        self._frame_numbers[id(frame)] = len(self.frames) - 1
        return len(self.frames) - 1


class _Reader:
    """Reads what the tables number; each value and frame is made once."""

    def __init__(self, data: Data) -> None:
        self._texts: list[str] = data["texts"]
        self._values: list[Value] = []
        for row in data["values"]:
            self._values.append(Value(*map(self._atom, row)))
        self._frames: list[Frame] = []
        for outer, kind, about, line, column, dtypes in data["frames"]:
            self._frames.append(Frame(self.frame(outer), kind, about, (line, column), frozenset(dtypes)))

    def text(self, number: int) -> str:
        return self._texts[number]

    def value(self, number: int) -> Value:
        return self._values[number]

    def named(self, pairs: Iterable[list[int]]) -> dict[str, Value]:
        return {self._texts[name]: self._values[number] for name, number in pairs}

    def frame(self, number: int | None) -> Frame | None:
        return None if number is None else self._frames[number]

    def _atom(self, row: list[Any]) -> Atom:
        kind, dtypes, devices, element, items, refs, marks, mixed, origin = row
        if isinstance(items, list):
            items = tuple(self._values[number] for number in items)
        elif items is not None:
            items = {key: self._values[number] for key, number in items.items()}
        return Atom(
            kind,
            frozenset(dtypes),
            frozenset(devices),
            None if element is None else self._values[element],
            items,
            frozenset(self._texts[number] for number in refs),
            frozenset(marks),
            frozenset((self._texts[a], b, c, self._texts[d], e) for a, b, c, d, e in mixed),
            origin and (self._texts[origin[0]], origin[1]),
        )
