"""Values joined where ways meet, and cut where they are nested too deeply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from npuport.analysis.flow.value import (
    A_TEXT,
    ARRAY,
    EMPTY,
    LOADER,
    MAPPING,
    MAX_DEPTH,
    MAX_KEYS,
    MAX_MIXED,
    MAX_REFS,
    NUMBER,
    SEQUENCE,
    TENSOR,
    TEXT,
    UNKNOWN,
    Atom,
    Items,
    Value,
)


def join(one: Value | None, other: Value | None, depth: int = MAX_DEPTH) -> Value:
    """What holds of either value."""
    if one is other or other is None or not other.atoms:
        return one if one is not None else UNKNOWN
    if one is None or not one.atoms:
        return other
    atoms: dict[str, Atom] | None = None
    mine = one.atoms
    for kind, atom in other.atoms.items():
        known = mine.get(kind)
        if known is None:
            merged = atom
        elif known.same(atom):
            continue
        else:
            merged = _join_atoms(known, atom, depth)
        if atoms is None:
            atoms = dict(mine)
        atoms[kind] = merged
    if atoms is None:
        return one
    result = Value()
    result.atoms = atoms
    return result


def join_all(values: Iterable[Value | None]) -> Value:
    """What holds of any of the values."""
    result: Value | None = None
    for value in values:
        result = value if result is None else join(result, value)
    return result if result is not None else UNKNOWN


def _join_atoms(one: Atom, other: Atom, depth: int) -> Atom:
    refs = one.refs if one.refs == other.refs else one.refs | other.refs
    if len(refs) > MAX_REFS:
        refs = EMPTY if one.kind in (NUMBER, TEXT) else one.refs
    mixed = one.mixed | other.mixed
    if depth <= 0:
        return Atom(
            one.kind, one.dtypes | other.dtypes, one.devices | other.devices, refs=refs, marks=one.marks | other.marks
        )
    element, items = _join_contents(one, other, depth - 1)
    return Atom(
        one.kind,
        one.dtypes | other.dtypes,
        one.devices | other.devices,
        element,
        items,
        refs,
        one.marks | other.marks,
        mixed if len(mixed) <= MAX_MIXED else one.mixed,
        one.origin,
    )


def _join_contents(one: Atom, other: Atom, depth: int) -> tuple[Value | None, Items]:
    element = join(one.element, other.element, depth) if one.element is not None or other.element is not None else None
    mine, theirs = one.items, other.items
    if isinstance(mine, tuple) and isinstance(theirs, tuple) and len(mine) == len(theirs):
        return element, tuple(join(a, b, depth) for a, b in zip(mine, theirs, strict=True))
    if isinstance(mine, Mapping) or isinstance(theirs, Mapping):
        first = mine if isinstance(mine, Mapping) else {}
        second = theirs if isinstance(theirs, Mapping) else {}
        joined = {key: join(first.get(key), second.get(key), depth) for key in {**first, **second}}
        return element, joined if len(joined) <= MAX_KEYS else None
    for items in (mine, theirs):
        for item in items or ():
            element = join(element, item, depth)
    return element, None


def bounded(value: Value, depth: int = MAX_DEPTH) -> Value:
    """The value without what is nested more deeply than ``depth``."""
    if all(atom.element is None and atom.items is None for atom in value.atoms.values()):
        return value
    atoms = []
    for atom in value.atoms.values():
        if atom.element is None and atom.items is None:
            atoms.append(atom)
        elif depth <= 0:
            atoms.append(atom.holding(None))
        else:
            items = atom.items
            if isinstance(items, tuple):
                items = tuple(bounded(item, depth - 1) for item in items)
            elif items is not None:
                items = {key: bounded(item, depth - 1) for key, item in items.items()}
            element = bounded(atom.element, depth - 1) if atom.element is not None else None
            atoms.append(atom.holding(element, items))
    return Value(*atoms)


def element_of(value: Value) -> Value:
    """What iterating over a value gives."""
    result: Value | None = None
    for atom in value.atoms.values():
        kind = atom.kind
        if kind in (TENSOR, ARRAY):
            result = join(result, Value(atom))
        elif kind == SEQUENCE:
            result = join(result, atom.element)
            if isinstance(atom.items, tuple):
                for item in atom.items:
                    result = join(result, item)
        elif kind in (MAPPING, TEXT):
            result = join(result, A_TEXT)
        elif kind == LOADER:
            result = join(result, atom.element)
    return result if result is not None else UNKNOWN
