"""Reads TOML: ``tomllib`` says whether it is valid, a scan of its tokens says where everything stands."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import TypeAlias

from npuport.sources.configuration.entries import BrokenConfiguration, Reading, Scalar
from npuport.sources.configuration.tree import Tree

_TOKEN = re.compile(
    r'(?P<long>"""(?:[^\\]|\\.)*?"{3,5}|'
    r"'''.*?'{3,5})"
    r'|"(?P<basic>[^"\\\n]*)"'
    r'|(?P<escaped>"(?:[^"\\\n]|\\.)*")'
    r"|'(?P<literal>[^'\n]*)'"
    r"|(?P<comment>#[^\r\n]*)"
    r"|(?P<end>\n)"
    r"|(?P<mark>[\[\]{},=])"
    r"|(?P<date>\d{4}-\d\d-\d\d [\d:.]+)"
    r"|(?P<plain>[^\s\[\]{},=#\"']+)",
    re.DOTALL,
)
_SCALARS = ("basic", "literal", "plain", "date")
_POSITION = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")

_Token: TypeAlias = "re.Match[str]"


def read_toml(text: str) -> Reading:
    """The entries of a TOML text.

    Raises:
        BrokenConfiguration: it is not valid.
    """
    _validate(text)
    reading = Reading()
    _Scan(text, reading).file()
    return reading


def _validate(text: str) -> None:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _POSITION.search(str(error))
        offset = 0
        if place and place[1]:
            lines = text.replace("\r\n", "\n").split("\n")[: int(place[1]) - 1]
            offset = sum(map(len, lines)) + len(lines) * (2 if "\r\n" in text else 1)
        raise BrokenConfiguration(f"not valid TOML: {_POSITION.sub('', str(error))}", offset) from None
    except (RecursionError, ValueError) as error:
        raise BrokenConfiguration(f"not readable as TOML: {error}", 0) from None


class _Scan:
    """One pass over the tokens of a valid text."""

    def __init__(self, text: str, reading: Reading) -> None:
        self._text = text
        self._reading = reading
        self._tree = Tree(text, reading)
        self._tokens = self._without_comments()

    def _without_comments(self) -> Iterator[_Token]:
        for token in _TOKEN.finditer(self._text):
            if token["comment"]:
                self._reading.comment(self._text, *token.span("comment"))
            else:
                yield token

    def file(self) -> None:
        """Read everything."""
        table: tuple[str, ...] = ()
        for token in self._tokens:
            if token["mark"] == "[":
                table = tuple(key.text for key in self._keys(token, stop="]"))
                self._rest_of_line()
            elif not token["end"]:
                self._tree.begin(table, is_list=False)
                self._pair(token)
                self._tree.end()
                self._rest_of_line()

    def _rest_of_line(self) -> None:
        next((token for token in self._tokens if token["end"]), None)

    def _pair(self, first: _Token) -> None:
        """``key = value``; each part of a dotted key but the last opens a mapping."""
        *outer, last = self._keys(first, stop="=")
        for key in outer:
            self._tree.scalar(key)
            self._tree.begin(is_list=False)
        self._tree.scalar(last)
        self._value(next(self._tokens))
        for _ in outer:
            self._tree.end()

    def _keys(self, first: _Token, stop: str) -> list[Scalar]:
        """The parts of a key up to ``stop``."""
        keys: list[Scalar] = []
        token: _Token | None = first
        while token is not None and token["mark"] != stop:
            scalar = _scalar(token)
            if token["plain"] and scalar is not None:  # a.b comes in one piece
                keys += (scalar.part(part) for part in re.finditer(r"[^.]+", scalar.text))
            elif scalar is not None or not (token["mark"] or token["end"]):
                keys.append(scalar or Scalar(token.start(), token.end(), token[0]))
            token = next(self._tokens, None)
        return keys

    def _value(self, token: _Token) -> None:
        if token["mark"] == "[":
            self._tree.begin(is_list=True)
            self._members("]", self._value)
        elif token["mark"] == "{":
            self._tree.begin(is_list=False)
            self._members("}", self._pair)
        else:
            scalar = _scalar(token)
            is_text = token.lastgroup in ("basic", "literal")
            self._tree.scalar(scalar, command=scalar if is_text else None)

    def _members(self, stop: str, read: Callable[[_Token], None]) -> None:
        for token in self._tokens:
            if token["mark"] == stop:
                break
            if token["mark"] != "," and not token["end"]:
                read(token)
        self._tree.end()


def _scalar(token: _Token) -> Scalar | None:
    """The text of a token; None for marks and for texts that are spelled otherwise than they read."""
    kind = next((kind for kind in _SCALARS if token[kind] is not None), None)
    return Scalar(*token.span(kind), token[kind]) if kind else None
