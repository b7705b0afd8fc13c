"""Abstract values: what an expression may be, as a small union with one part a kind.

An empty value is "unknown". Values never change once made: ``join`` makes a new one. Bounds on nesting and on
the size of sets make every repetition end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

# Kinds of parts. Plain strings: they are compared millions of times.
TENSOR: Final = "tensor"
ARRAY: Final = "array"  # a NumPy array
NUMPY_SCALAR: Final = "numpy scalar"
NUMPY: Final = "numpy"  # something of NumPy, nobody knows what
NUMBER: Final = "number"  # Python's int, float and bool; ``dtypes`` says which
TEXT: Final = "text"
NONE: Final = "none"
SEQUENCE: Final = "sequence"  # list, tuple, deque, iterator, named tuple
MAPPING: Final = "mapping"
ENVIRONMENT: Final = "environment"
LAYER: Final = "layer"  # a module of torch.nn
INSTANCE: Final = "instance"  # of a class of the program
CLASS: Final = "class"
FUNCTION: Final = "function"
FILE: Final = "file"  # a module of the program
IMPORT: Final = "import"  # a name of a module of the program, looked up when used
LIBRARY: Final = "library"  # a dotted name of a library, e.g. torch.cuda.amp
OPTIMIZER: Final = "optimizer"
LOSS: Final = "loss"
DISTRIBUTION: Final = "distribution"
DEVICE: Final = "device"
DTYPE: Final = "dtype"
LOADER: Final = "loader"  # a DataLoader
CONTEXT: Final = "context"  # what a ``with`` of torch switches
SPREAD: Final = "spread"  # an argument *x of unknown length

# Devices. ``ASSUMED`` is the unknown device of a tensor: taken for the training device, with less certainty.
HOST: Final = "host"
ACCELERATOR: Final = "accelerator"
ASSUMED: Final = "?"

# Marks of sequences, arrays, environments and distributions.
ROWS: Final = "rows"  # drawn from a replay buffer, one element a transition
FILTERED: Final = "filtered"  # made by a comprehension with a condition
FROM_ROWS: Final = "from rows"  # an array built of drawn rows
VECTOR: Final = "vector"  # an environment of several
CHECKED: Final = "checked"  # a distribution that validates its arguments
RECURRENT: Final = "recurrent"  # a layer that returns (output, state)
SCHEDULER: Final = "scheduler"

MAX_DEPTH: Final = 4
MAX_REFS: Final = 6
MAX_MIXED: Final = 8
MAX_KEYS: Final = 24

EMPTY: Final[frozenset[str]] = frozenset()

# Where a value was made: file key and line from 1.
Origin: TypeAlias = tuple[str, int]
# A bool, integer or float64 tensor that was promoted into a float one: where it was made, its dtype, and where
# it was promoted.
Mixed: TypeAlias = tuple[str, int, str, str, int]
Items: TypeAlias = "tuple[Value, ...] | Mapping[str, Value] | None"


class Atom:
    """One part of a value.

    Attributes:
        kind: what it is.
        dtypes: of a tensor or array: possible dtypes, ``"?"`` among them where one is unknown; of a number:
            ``int``, ``float``, ``bool``.
        devices: where a tensor, layer or device object may be.
        element: what iterating gives, where the positions do not tell.
        items: known positions of a sequence, or string keys of a mapping.
        refs: names: constants, dotted names, keys of functions and classes, fields of a named tuple.
        marks: what else is known, see the constants.
        mixed: evidence for rules about dtypes in a loss.
        origin: where it was made; carried along but never compared, or nothing would settle.
    """

    __slots__ = ("devices", "dtypes", "element", "items", "kind", "marks", "mixed", "origin", "refs")

    def __init__(
        self,
        kind: str,
        dtypes: frozenset[str] = EMPTY,
        devices: frozenset[str] = EMPTY,
        element: Value | None = None,
        items: Items = None,
        refs: frozenset[str] = EMPTY,
        marks: frozenset[str] = EMPTY,
        mixed: frozenset[Mixed] = frozenset(),
        origin: Origin | None = None,
    ) -> None:
        self.kind = kind
        self.dtypes = dtypes
        self.devices = devices
        self.element = element
        self.items = items
        self.refs = refs
        self.marks = marks
        self.mixed = mixed
        self.origin = origin

    def replaced(
        self,
        *,
        dtypes: frozenset[str] | None = None,
        devices: frozenset[str] | None = None,
        marks: frozenset[str] | None = None,
        origin: Origin | None = None,
    ) -> Atom:
        """The same part with other dtypes, devices, marks or origin."""
        return Atom(
            self.kind,
            self.dtypes if dtypes is None else dtypes,
            self.devices if devices is None else devices,
            self.element,
            self.items,
            self.refs,
            self.marks if marks is None else marks,
            self.mixed,
            origin or self.origin,
        )

    def holding(self, element: Value | None, items: Items = None) -> Atom:
        """The same container with another content."""
        return Atom(
            self.kind, self.dtypes, self.devices, element, items, self.refs, self.marks, self.mixed, self.origin
        )

    def same(self, other: Atom) -> bool:
        """Whether two parts say the same; the origin does not count."""
        return self is other or (
            self.kind == other.kind
            and self.dtypes == other.dtypes
            and self.devices == other.devices
            and self.refs == other.refs
            and self.marks == other.marks
            and self.mixed == other.mixed
            and same(self.element, other.element)
            and _same_items(self.items, other.items)
        )

    @property
    def on_host(self) -> bool:
        """Whether a tensor is known to be in host memory."""
        return len(self.devices) == 1 and HOST in self.devices

    @property
    def on_accelerator(self) -> bool:
        """Whether a tensor is known to be on an accelerator."""
        return ACCELERATOR in self.devices and HOST not in self.devices

    def __repr__(self) -> str:
        text = self.kind
        for opening, names, closing in (("<", self.dtypes, ">"), ("@", self.devices, ""), ("{", self.refs, "}")):
            if names:
                text += opening + "|".join(sorted(names)) + closing
        if self.marks:
            text += "!" + ",".join(sorted(self.marks))
        if self.items is not None:
            shown = self.items.items() if isinstance(self.items, Mapping) else self.items
            text += "(" + ", ".join(map(repr, shown)) + ")"
        if self.element is not None:
            text += f"[{self.element!r}]"
        return text


class Value:
    """A union of parts, at most one a kind. False where nothing is known."""

    __slots__ = ("atoms",)

    def __init__(self, *atoms: Atom) -> None:
        self.atoms = {atom.kind: atom for atom in atoms}

    def get(self, kind: str) -> Atom | None:
        """The part of a kind: what the value *may* be."""
        return self.atoms.get(kind)

    def only(self, *kinds: str) -> bool:
        """Whether the value *must* be of these kinds; None beside them does not count, None alone is none of them."""
        found = False
        for kind in self.atoms:
            if kind in kinds:
                found = True
            elif kind != NONE:
                return False
        return found

    def __bool__(self) -> bool:
        return bool(self.atoms)

    def __repr__(self) -> str:
        return " | ".join(map(repr, self.atoms.values())) or "unknown"


UNKNOWN: Final = Value()
NOTHING: Final = Value(Atom(NONE))
A_TEXT: Final = Value(Atom(TEXT))
AN_INT: Final = Value(Atom(NUMBER, frozenset({"int"})))
A_FLOAT: Final = Value(Atom(NUMBER, frozenset({"float"})))
A_BOOL: Final = Value(Atom(NUMBER, frozenset({"bool"})))


def tensor(
    dtypes: frozenset[str],
    devices: frozenset[str],
    origin: Origin | None = None,
    mixed: frozenset[Mixed] = frozenset(),
    marks: frozenset[str] = EMPTY,
) -> Value:
    """A tensor."""
    return Value(Atom(TENSOR, dtypes, devices, marks=marks, mixed=mixed, origin=origin))


def array(dtypes: frozenset[str], origin: Origin | None = None, marks: frozenset[str] = EMPTY) -> Value:
    """A NumPy array."""
    return Value(Atom(ARRAY, dtypes, frozenset({HOST}), marks=marks, origin=origin))


def sequence(
    element: Value | None = None,
    items: tuple[Value, ...] | None = None,
    fields: str = "",
    marks: frozenset[str] = EMPTY,
) -> Value:
    """A list, tuple or iterator; ``fields`` are the names of a named tuple, joined by commas."""
    return Value(
        Atom(SEQUENCE, element=element, items=items, refs=frozenset({fields}) if fields else EMPTY, marks=marks)
    )


def same(one: Value | None, other: Value | None) -> bool:
    """Whether two values say the same."""
    if one is other:
        return True
    if one is None or other is None or one.atoms.keys() != other.atoms.keys():
        return False
    theirs = other.atoms
    return all(atom.same(theirs[kind]) for kind, atom in one.atoms.items())


def _same_items(one: Items, other: Items) -> bool:
    if one is other:
        return True
    if one is None or other is None or len(one) != len(other):
        return False
    if isinstance(one, tuple):
        return isinstance(other, tuple) and all(map(same, one, other))
    return isinstance(other, Mapping) and one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)


def constant_texts(value: Value | None) -> frozenset[str]:
    """The texts that a value is known to be; empty where it may be another."""
    atom = value.get(TEXT) if value is not None else None
    return atom.refs if atom is not None else EMPTY


def is_false(value: Value | None) -> bool:
    """Whether a value is known to be False."""
    atom = value.get(NUMBER) if value is not None else None
    return atom is not None and atom.refs == {"False"}
