"""What is read from a configuration file, whatever its format: values with their keys and their places."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

# $NAME and ${NAME} of shells and compose files, ${oc.env:NAME} and ${env:NAME} of OmegaConf.
_READ = re.compile(r"(?<!\\)\$(?:\{(?:oc\.env:|env:|[#!])?)?(?P<name>[A-Z][A-Z0-9_]+)\b")
_DIRECTIVE = re.compile(r"#[^\r\n]*\bnpuport:")


@dataclass(frozen=True, order=True)
class Scalar:
    """A piece of the file's text: a key or a value, without its quotes.

    Attributes:
        start: character offset of its first character.
        end: character offset behind its last one.
        text: what stands there.
    """

    start: int
    end: int
    text: str

    def part(self, match: re.Match[str], group: int | str = 0) -> Scalar:
        """The part of the text that a group of a match in it covers."""
        start, end = match.span(group)
        return Scalar(self.start + start, self.start + end, match[group])


class Use(Enum):
    """What is done with a value."""

    SET = "set"  # key: value, --key value, NAME=value
    ASKED = "asked"  # [ "$NAME" = value ]
    READ = "read"  # $NAME; the value is the name


@dataclass(frozen=True)
class Entry:
    """One value of a configuration file.

    Attributes:
        keys: the keys above the value, from the outside in; an empty one stands for a list of mappings.
        value: the value.
        key: where the last key stands; None for the items of a list.
        use: what is done with the value.
        beside: the other scalars of the same list.
    """

    keys: tuple[str, ...]
    value: Scalar
    key: Scalar | None = None
    use: Use = Use.SET
    beside: tuple[str, ...] = ()


def variables_read(value: Scalar, keys: tuple[str, ...]) -> Iterator[Entry]:
    """An entry for each environment variable that is read inside a text."""
    if "$" in value.text:
        for found in _READ.finditer(value.text):
            yield Entry(keys, value.part(found, "name"), use=Use.READ)


@dataclass
class Reading:
    """All that is read from one file.

    Attributes:
        entries: in the order of the file.
        comments: the comments that speak to npuport, with their ``#``.
        inner_line_ends: offsets of the line ends inside commands: the lines before them take no comment.
    """

    entries: list[Entry] = field(default_factory=list)
    comments: list[Scalar] = field(default_factory=list)
    inner_line_ends: list[int] = field(default_factory=list)

    def comment(self, text: str, start: int, end: int) -> None:
        """Keep the comment from ``start`` to ``end`` if it speaks to npuport."""
        found = _DIRECTIVE.match(text, start, end)
        if found:
            self.comments.append(Scalar(start, end, text[start:end]))


class BrokenConfiguration(Exception):
    """The text is not of its format.

    Attributes:
        fault: what is wrong, in one line.
        offset: character offset of the trouble.
    """

    def __init__(self, fault: str, offset: int) -> None:
        super().__init__(fault)
        self.fault = fault
        self.offset = offset
