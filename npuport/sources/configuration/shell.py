"""Reads the commands of a shell script: assignments, options with their values, tests, and the variables read.

The scan knows words, quotes, comments, here-documents and continued lines. What it does not understand it leaves
out: nothing inside quotes but a whole value, no code of other languages, no text that is only printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from npuport.sources.configuration.entries import Entry, Reading, Scalar, Use, variables_read

_SINGLE = r"'[^']*'"
_DOUBLE = r'"(?:[^"\\]|\\.)*"'
_EXPANSION = r"\$\{[^{}]*\}|\$\([^()]*\)|`[^`]*`|\$"
_WORD = rf"(?:{_SINGLE}|{_DOUBLE}|{_EXPANSION}|\\[^\n]|[^\s;&|()<>'\"`\\$])+"
_TOKEN = re.compile(
    r"(?P<continued>\\\r?\n)"
    r"|(?P<blank>[ \t\r]+)"
    r"|(?P<comment>(?<![^\s;&|()])\#[^\r\n]*)"
    r"|<<-?[ \t]*(?P<here>['\"]?)(?P<mark>\w+)(?P=here)"
    rf"|(?P<word>{_WORD})"
    r"|(?P<separator>[\n;&|()])"
    r"|.",
    re.DOTALL,
)
_ASSIGNED = re.compile(r"(?P<key>[-+]*[A-Za-z_][\w./-]*)\+?=(?P<value>.*)", re.DOTALL)
# A member of an object of JSON inside a word, in either kind of quotes.
_MEMBER = re.compile(r'\\?"(?P<key>[\w./-]+)\\?"\s*:\s*(?:\\?"(?P<text>[^"\\]*)\\?"|(?P<plain>[\w.+-]+))')
_QUOTED = re.compile(r"""(?P<quote>["'])(?P<text>[^"'\\]*)(?P=quote)""")
# Commands whose words are texts, names or patterns, not settings.
_TEXT_COMMANDS = frozenset({
    "echo", "printf", "sed", "grep", "egrep", "awk", "pip", "pip3", "uv", "conda", "mamba", "apt", "apt-get", "git",
})  # fmt: skip
_TESTS = frozenset({"[", "[[", "test"})
# Words before a command.
_KEYWORDS = frozenset({"if", "elif", "while", "until", "then", "else", "do", "!", "{", "time", "exec", "sudo", "nohup"})
_COMPARISONS = frozenset({"=", "==", "!="})


def read_shell(text: str) -> Reading:
    """The entries of a shell script. A shell tells what is wrong when it runs: nothing is refused."""
    reading = Reading()
    read_commands(text, 0, len(text), reading)
    return reading


def read_commands(text: str, start: int, end: int, reading: Reading, above: tuple[str, ...] = ()) -> None:
    """Add the entries of the commands between two places of a text, with the keys ``above`` them."""
    words: list[Scalar] = []
    reads: list[Entry] = []
    documents: list[str] = []
    position = start
    while position < end and (token := _TOKEN.match(text, position, end)):
        position = token.end()
        if token["word"] is not None:
            words.append(Scalar(*token.span(), token[0]))
            reading.inner_line_ends += (end.start() + token.start() for end in re.finditer("\n", token[0]))
            reads += variables_read(words[-1], above)
            reading.entries += _members(words[-1], above)
        elif token["continued"]:
            reading.inner_line_ends.append(token.end() - 1)
        elif token["comment"]:
            reading.comment(text, *token.span())
        elif token["mark"]:
            documents.append(token["mark"])
        elif token["separator"]:
            reading.entries += _command(words, above)
            words = []
            if token["separator"] == "\n":
                for mark in documents:
                    position = _behind(text, position, end, mark)
                documents.clear()
    reading.entries += _command(words, above)
    reading.entries += reads


def _behind(text: str, position: int, end: int, mark: str) -> int:
    """The place behind the here-document that ``mark`` ends."""
    found = re.compile(rf"^[ \t]*{mark}[ \t\r]*(?:\n|\Z)", re.MULTILINE).search(text, position, end)
    return found.end() if found else end


def _members(word: Scalar, above: tuple[str, ...]) -> Iterator[Entry]:
    """The settings in a word that is JSON: ``--runtime-env-json='{"env_vars": {...}}'``."""
    for found in _MEMBER.finditer(word.text) if '":' in word.text else ():
        group = "text" if found["text"] is not None else "plain"
        yield Entry((*above, found["key"]), word.part(found, group), word.part(found, "key"))


def _command(words: list[Scalar], above: tuple[str, ...]) -> Iterator[Entry]:
    """The entries of one command."""
    while words and words[0].text in _KEYWORDS:
        words = words[1:]
    first = next((word.text for word in words if not _ASSIGNED.fullmatch(word.text)), "")
    if first in _TEXT_COMMANDS:
        words = words[: [word.text for word in words].index(first)]
    if first in _TESTS:
        yield from _compared(words, above)
    if first == "for" and len(words) > 3 and words[2].text == "in":
        yield from (Entry((*above, words[1].text), _unquoted(word)) for word in words[3:])
        return
    option = ""
    for word in words:
        assigned = _ASSIGNED.fullmatch(word.text)
        if assigned:
            option = ""
            keys = tuple(assigned["key"].lstrip("-+").split("."))
            yield Entry((*above, *keys), _unquoted(word.part(assigned, "value")), _last(word.part(assigned, "key")))
        elif word.text.startswith("-"):
            option = word.text.lstrip("-")
        elif option:
            yield Entry((*above, *option.split(".")), _unquoted(word))


def _compared(words: list[Scalar], above: tuple[str, ...]) -> Iterator[Entry]:
    """``[ "$DEVICE" = cuda ]``, from either side."""
    for left, operator, right in zip(words, words[1:], words[2:], strict=False):
        if operator.text in _COMPARISONS:
            for asked, value in ((left, right), (right, left)):
                name = re.fullmatch(r"\"?\$\{?(\w+)[^}]*\}?\"?", asked.text)
                if name and not value.text.startswith("$"):
                    yield Entry((*above, name[1]), _unquoted(value), use=Use.ASKED)


def _unquoted(word: Scalar) -> Scalar:
    """The word without the quotes around the whole of it."""
    quoted = _QUOTED.fullmatch(word.text)
    return word.part(quoted, "text") if quoted else word


def _last(key: Scalar) -> Scalar:
    """The last part of a dotted key, without the dashes before it."""
    found = re.search(r"[^.+-][^.]*$", key.text)
    return key.part(found) if found else key
