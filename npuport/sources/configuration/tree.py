"""Follows mappings and lists while a file is read, and says under which keys each value stands."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from npuport.sources.configuration.entries import Entry, Reading, Scalar, variables_read
from npuport.sources.configuration.shell import read_commands

# Keys whose texts are commands of a shell.
_COMMANDS = frozenset({"command", "cmd", "run", "setup", "script", "entrypoint", "args", "commands"})
# A setting inside a list: an environment variable of a container, an override of Hydra.
_ASSIGNMENT = re.compile(r"[-+]*([\w./-]+)=(\S*)")
# Stands for a key that is spelled otherwise than it reads, or is no scalar.
_NO_KEY = Scalar(0, 0, "")


@dataclass
class _Container:
    """A mapping or list that is open.

    Attributes:
        keys: the keys above it.
        is_list: a list, whose items have no keys of their own.
        key: the key whose value comes next; None where a key comes next.
        texts: the scalars of the list so far.
        waiting: its scalars that become entries when all are known.
    """

    keys: tuple[str, ...]
    is_list: bool
    key: Scalar | None = None
    texts: list[str] = field(default_factory=list)
    waiting: list[Entry] = field(default_factory=list)


class Tree:
    """Told of a file's mappings, lists and scalars in their order, notes an entry for each value.

    Args:
        text: the text of the file.
        reading: takes the entries.
    """

    def __init__(self, text: str, reading: Reading) -> None:
        self._text = text
        self._reading = reading
        self._open: list[_Container] = []

    def begin(self, keys: tuple[str, ...] | None = None, *, is_list: bool) -> None:
        """A mapping or list begins, under ``keys`` or where the reader is."""
        in_list = bool(self._open) and self._open[-1].is_list
        here = (*self._keys(), "") if in_list and not is_list else self._keys()
        self._open.append(_Container(here if keys is None else keys, is_list))

    def end(self) -> None:
        """The innermost mapping or list ends."""
        container = self._open.pop()
        texts = tuple(container.texts)
        self._reading.entries += (Entry(e.keys, e.value, e.key, e.use, texts) for e in container.waiting)
        outer = self._open[-1] if self._open else None
        if outer is not None and not outer.is_list and outer.key is None:
            outer.key = _NO_KEY  # it was itself the key of a value: "? {a: b}"
        else:
            self._next()

    def scalar(self, value: Scalar | None, *, command: Scalar | None = None) -> None:
        """A key or a value comes.

        Args:
            value: None for a text that is spelled otherwise than it reads: over several lines, or with escapes.
            command: where the text stands if it can be read as the text of commands.
        """
        container = self._open[-1] if self._open else None
        if container is not None and not container.is_list and container.key is None:
            container.key = value or _NO_KEY
            return
        keys = self._keys()
        if command is not None and self._is_command(keys, command.text):
            read_commands(self._text, command.start, command.end, self._reading, keys[:-1])
        elif value is not None:
            self._reading.entries += variables_read(value, keys)
        if value is not None:
            if container is not None and container.is_list:
                self._item(container, keys, value)
            else:
                self._reading.entries.append(Entry(keys, value, container.key if container else None))
        self._next()

    def _next(self) -> None:
        """A value has ended: in a mapping a key comes next."""
        if self._open and not self._open[-1].is_list:
            self._open[-1].key = None

    def _keys(self) -> tuple[str, ...]:
        if not self._open:
            return ()
        container = self._open[-1]
        return (*container.keys, container.key.text) if container.key is not None else container.keys

    def _is_command(self, keys: tuple[str, ...], text: str) -> bool:
        """Whether a text is one of commands; a list may hold their single words instead."""
        if not keys or keys[-1].lower() not in _COMMANDS:
            return False
        return not self._open[-1].is_list or re.search(r"\s", text) is not None

    def _item(self, container: _Container, keys: tuple[str, ...], value: Scalar) -> None:
        """An item of a list; ``["--device", "cuda"]`` and ``["device=cuda"]`` have their key before the value."""
        option = container.texts[-1] if container.texts else ""
        container.texts.append(value.text)
        assigned = _ASSIGNMENT.fullmatch(value.text)
        if assigned:
            own = tuple(assigned[1].strip("-").split("."))
            container.waiting.append(Entry((*keys, *own), value.part(assigned, 2), value.part(assigned, 1)))
        elif option.startswith("-") and "=" not in option:
            container.waiting.append(Entry((*keys, *option.strip("-").split(".")), value))
        else:
            container.waiting.append(Entry(keys, value))
