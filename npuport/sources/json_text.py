"""Places in the text of a JSON document, so that a string can be changed and every other character stays."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\r\n]*")
# What stands for one character of a string; two escaped surrogates are one.
_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL
)


@dataclass(frozen=True)
class Value:
    """A value of a document and the place of its text.

    Attributes:
        data: what it stands for.
        start: character offset of its first character.
        end: character offset behind its last one.
    """

    data: Any
    start: int
    end: int


def document(text: str) -> Value:
    """The outermost value.

    Raises:
        json.JSONDecodeError: the text is not valid JSON.
        RecursionError: it is nested too deeply.
    """
    value = _value(text, _behind_blanks(text, 0))
    end = _behind_blanks(text, value.end)
    if end < len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return value


def members(text: str, value: Value) -> dict[str, Value]:
    """The members of an object; the last one counts where a key stands twice."""
    found: dict[str, Value] = {}
    place = _behind_blanks(text, value.start + 1)
    while text[place] != "}":
        key = _value(text, place)
        member = _value(text, _behind_blanks(text, _behind_blanks(text, key.end) + 1))
        found[key.data] = member
        place = _next(text, member)
    return found


def elements(text: str, value: Value) -> Iterator[Value]:
    """The elements of an array."""
    place = _behind_blanks(text, value.start + 1)
    while text[place] != "]":
        element = _value(text, place)
        yield element
        place = _next(text, element)


def characters(text: str, string: Value) -> list[str]:
    """How each character of a string is written."""
    return _CHARACTER.findall(text, string.start + 1, string.end - 1)


def spliced(text: str, replacements: Iterable[tuple[int, int, str]]) -> str:
    """``text`` with parts of it replaced: start, end and the new characters of each, in order."""
    parts: list[str] = []
    place = 0
    for start, end, new in replacements:
        parts += (text[place:start], new)
        place = end
    return "".join((*parts, text[place:]))


def _value(text: str, start: int) -> Value:
    data, end = _DECODER.raw_decode(text, start)
    return Value(data, start, end)


def _behind_blanks(text: str, place: int) -> int:
    match = _BLANK.match(text, place)
    assert match is not None, "the pattern matches nothing at least"
    return match.end()


def _next(text: str, value: Value) -> int:
    """Where the value behind ``value`` starts, or the closing bracket."""
    place = _behind_blanks(text, value.end)
    return _behind_blanks(text, place + 1) if text[place] == "," else place
