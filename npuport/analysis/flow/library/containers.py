"""Methods and fields of Python's containers and texts."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from npuport.analysis.flow.events import CallSite
from npuport.analysis.flow.joining import bounded, element_of, join, join_all
from npuport.analysis.flow.library.evaluation import Evaluation, MethodCall
from npuport.analysis.flow.value import (
    A_BOOL,
    A_TEXT,
    AN_INT,
    EMPTY,
    MAPPING,
    MAX_DEPTH,
    MAX_KEYS,
    NOTHING,
    SEQUENCE,
    SPREAD,
    TENSOR,
    TEXT,
    UNKNOWN,
    Atom,
    Value,
    sequence,
)

_PUSHING: Final = frozenset({"append", "appendleft", "add", "insert", "put", "put_nowait"})
_EXTENDING: Final = frozenset({"extend", "extendleft", "update"})
_TAKING: Final = frozenset({"pop", "popleft", "get", "get_nowait"})
_SET_ALGEBRA: Final = frozenset({"union", "intersection", "difference", "symmetric_difference", "copy", "__iter__"})
_COUNTING: Final = frozenset({"index", "count", "__len__", "qsize"})
_IN_PLACE: Final = frozenset({"clear", "remove", "sort", "reverse", "rotate", "discard", "task_done"})


def container_behind(site: CallSite) -> ast.expr | None:
    """The expression that a method is called on."""
    function = site.node.func
    return function.value if isinstance(function, ast.Attribute) else None


def push(run: Evaluation, site: CallSite, container: ast.expr | None, atom: Atom, value: Value) -> None:
    """Something is put into a sequence."""
    if run.recording:
        run.event("push", site.node, Value(atom), values=(value,))
    _grow(run, container, atom, bounded(value, MAX_DEPTH - 1))


def _grow(run: Evaluation, container: ast.expr | None, atom: Atom, value: Value) -> None:
    if container is not None:
        grown = atom.holding(join(element_of(Value(atom)), value))
        run.mutate(container, bounded(Value(grown)))


def sequence_method(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value | None:
    """A method of a list, tuple, set, deque or named tuple."""
    if name in _PUSHING and site.args:
        push(run, site, container_behind(site), atom, site.args[-1])
        return NOTHING
    if name in _EXTENDING and site.args:
        _grow(run, container_behind(site), atom, bounded(element_of(site.first), MAX_DEPTH - 1))
        return NOTHING
    if name in _TAKING:
        return _position(atom, -1) if name == "pop" and not site.args else element_of(Value(atom))
    if name in _SET_ALGEBRA:
        return Value(atom)
    if name in _COUNTING:
        return AN_INT
    if name in _IN_PLACE:
        return NOTHING
    if name == "_asdict":
        return Value(Atom(MAPPING, items=_fields(atom)))
    if name == "_replace":
        return _replaced(atom, site)
    return A_BOOL if name in ("issubset", "issuperset", "isdisjoint", "empty", "full") else UNKNOWN


def _position(atom: Atom, position: int) -> Value:
    items = atom.items
    if isinstance(items, tuple) and items and atom.element is None:
        return items[position]
    return element_of(Value(atom))


def _field_names(atom: Atom) -> list[str]:
    return next(iter(atom.refs)).split(",") if len(atom.refs) == 1 else []


def _fields(atom: Atom) -> dict[str, Value]:
    items = atom.items
    return dict(zip(_field_names(atom), items, strict=False)) if isinstance(items, tuple) else {}


def _replaced(atom: Atom, site: CallSite) -> Value:
    fields = _fields(atom)
    if not fields:
        return Value(atom)
    return Value(atom.holding(atom.element, tuple(site.keywords.get(name, old) for name, old in fields.items())))


def sequence_attribute(run: Evaluation, atom: Atom, name: str, node: ast.AST) -> Value | None:
    """A field of a named tuple."""
    items = atom.items
    found: Value | None = None
    for fields in atom.refs:
        names = fields.split(",")
        if name in names:
            position = names.index(name)
            if isinstance(items, tuple) and position < len(items):
                found = join(found, items[position])
            elif atom.element is not None:
                found = join(found, atom.element)
    if found is None and name == "maxlen":
        return AN_INT
    return found


def make_namedtuple(fields: str, site: CallSite) -> Value:
    """A named tuple of the class with these fields, joined by commas; missing fields are unknown."""
    names = fields.split(",")
    values: list[Value] = []
    for value in site.args:
        spread = value.get(SPREAD)
        if spread is not None:
            values += [spread.element or UNKNOWN] * (len(names) - len(values))
            break
        values.append(value)
    values += [UNKNOWN] * (len(names) - len(values))
    items = tuple(site.keywords.get(name, value) for name, value in zip(names, values, strict=False))
    return sequence(items=items, fields=fields)


def _named_items(atom: Atom) -> Mapping[str, Value]:
    return atom.items if isinstance(atom.items, Mapping) else {}


def _all_values(atom: Atom) -> Value:
    return join_all((atom.element, *_named_items(atom).values()))


def _look_up(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value:
    default = site.args[1] if len(site.args) > 1 else site.keywords.get("default")
    found = look_up(atom, site.first)
    if name == "setdefault" and default is not None:
        _set_item(run, atom, site, site.first, default)
    return join(found, default)


def look_up(atom: Atom, key: Value) -> Value:
    """What ``mapping[key]`` gives."""
    items = _named_items(atom)
    texts = key.get(TEXT)
    if texts is not None and texts.refs:
        return join_all(items.get(text, atom.element) for text in texts.refs)
    return _all_values(atom)


def with_item(atom: Atom, key: Value, value: Value) -> Value:
    """The mapping after ``mapping[key] = value``."""
    texts = key.get(TEXT)
    if texts is None or len(texts.refs) != 1:
        return bounded(Value(atom.holding(join(atom.element, value), atom.items)))
    (text,) = texts.refs
    items = dict(_named_items(atom))
    items[text] = join(items.get(text), value)
    if len(items) > MAX_KEYS:
        return bounded(Value(atom.holding(join(_all_values(atom), value))))
    return bounded(Value(atom.holding(atom.element, items)))


def _set_item(run: Evaluation, atom: Atom, site: CallSite, key: Value, value: Value) -> None:
    container = container_behind(site)
    if container is not None:
        run.mutate(container, with_item(atom, key, value))


def _update(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value:
    container = container_behind(site)
    other = site.first.get(MAPPING)
    items = {**_named_items(atom), **(_named_items(other) if other is not None else {}), **site.keywords}
    element = join(atom.element, other.element) if other is not None else atom.element
    if container is not None:
        content = items if len(items) <= MAX_KEYS else None
        run.mutate(container, bounded(Value(atom.holding(element if element else None, content))))
    return NOTHING


def _values(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value:
    return sequence(_all_values(atom) or None)


def _items(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value:
    return sequence(sequence(items=(A_TEXT, _all_values(atom))))


def _keys(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value:
    return sequence(A_TEXT)


def _same(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value:
    return Value(atom)


_OF_MAPPING: Final[dict[str, MethodCall]] = {
    "get": _look_up,
    "pop": _look_up,
    "setdefault": _look_up,
    "update": _update,
    "values": _values,
    "items": _items,
    "keys": _keys,
    "copy": _same,
}


def mapping_method(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value | None:
    """A method of a dict."""
    method = _OF_MAPPING.get(name)
    if method is not None:
        return method(run, atom, receiver, name, site)
    return NOTHING if name in ("clear", "move_to_end") else UNKNOWN


def mapping_attribute(run: Evaluation, atom: Atom, name: str, node: ast.AST) -> Value | None:
    """An item of a mapping whose keys are attributes too, as batches and settings have it."""
    return _named_items(atom).get(name)


_TEXTS: Final = frozenset({"split", "rsplit", "splitlines"})
_TEXT_ASKING: Final = {
    **dict.fromkeys(("find", "rfind", "index", "rindex", "count"), AN_INT),
    **dict.fromkeys(
        ("startswith", "endswith", "isdigit", "isalpha", "isnumeric", "isidentifier", "isupper", "islower"), A_BOOL),
    "encode": UNKNOWN,
}  # fmt: skip


def text_method(run: Evaluation, atom: Atom, receiver: Value, name: str, site: CallSite) -> Value | None:
    """A method of a text."""
    if name == "format":
        report_formatted(run, site, (*site.args, *site.keywords.values()))
    if name in _TEXTS:
        return sequence(A_TEXT)
    if name in ("partition", "rpartition"):
        return sequence(items=(A_TEXT, A_TEXT, A_TEXT))
    return _TEXT_ASKING.get(name, A_TEXT)


def report_formatted(run: Evaluation, site: CallSite, values: tuple[Value, ...], how: str = "format") -> None:
    """Tensors become text: the host reads them."""
    if run.recording:
        for value in values:
            if value.only(TENSOR) and not value.atoms[TENSOR].on_host:
                run.event("read", site.node, value, how)


def marks_of(value: Value, kinds: tuple[str, ...] = (SEQUENCE,)) -> frozenset[str]:
    """The marks of the parts of these kinds."""
    marks: frozenset[str] = EMPTY
    for kind in kinds:
        atom = value.get(kind)
        if atom is not None:
            marks |= atom.marks
    return marks
