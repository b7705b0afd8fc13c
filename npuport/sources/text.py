"""A Python file as bytes and as text, with nothing lost between the two."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from npuport.sources.errors import UnreadableSource

# PEP 263: a coding declaration counts on the first two lines only.
_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
# What Python's tokenizer takes for a line end. str.splitlines would also split on form feeds.
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class SourceText:
    """The text of one file and how to turn it back into the same bytes.

    Attributes:
        path: where it was read from, as the user named it.
        text: the decoded text without byte order mark, line ends as they are.
        encoding: codec name that encodes ``text``.
        byte_order_mark: whether the bytes began with the UTF-8 mark.
    """

    path: Path
    text: str
    encoding: str = "utf-8"
    byte_order_mark: bool = False
    round_trips: bool = field(default=True)

    @cached_property
    def line_starts(self) -> list[int]:
        """Character offset of each line's first character."""
        if "\r" in self.text:
            return [0, *(match.end() for match in _LINE_END.finditer(self.text))]
        lengths = map(len, self.text.split("\n"))
        return [0, *accumulate(length + 1 for length in lengths)][:-1]

    @cached_property
    def line_end(self) -> str:
        """The line end that new lines are given: the file's first one."""
        match = _LINE_END.search(self.text)
        return match.group() if match else "\n"

    def line(self, row: int) -> str:
        """The text of line ``row`` (from 1) without its line end."""
        starts = self.line_starts
        end = starts[row] if row < len(starts) else len(self.text)
        return self.text[starts[row - 1] : end].rstrip("\r\n")

    def offset(self, row: int, utf8_column: int) -> int:
        """Character offset of an ``ast`` position: row from 1, column in UTF-8 bytes from 0."""
        start = self.line_starts[row - 1]
        head = self.text[start : start + utf8_column]
        if head.isascii():
            return start + utf8_column
        encoded = self.line(row).encode("utf-8", "surrogatepass")[:utf8_column]
        return start + len(encoded.decode("utf-8", "surrogatepass"))

    def position(self, offset: int) -> tuple[int, int]:
        """Row and column, both from 1 and in characters, of a character offset."""
        row = bisect_right(self.line_starts, offset)
        return row, offset - self.line_starts[row - 1] + 1

    def encode(self, text: str) -> bytes:
        """The bytes of ``text`` in this file's encoding.

        Raises:
            UnicodeEncodeError: ``text`` has a character that the encoding lacks.
        """
        mark = codecs.BOM_UTF8 if self.byte_order_mark else b""
        return mark + self.written(text).encode(self.encoding)

    # What a notebook answers in its own way.

    def written(self, text: str) -> str:
        """The characters of the file when its code is ``text``."""
        return text

    def accepts(self, start: int, end: int, text: str) -> bool:
        """Whether the characters from ``start`` up to ``end`` may become ``text``."""
        return True

    def cell_at(self, row: int) -> tuple[int | None, int]:
        """The number of the cell that has a row of the text, and the row on which that cell starts."""
        return None, 1

    def row_of(self, row: int, cell: int | None) -> int:
        """The row of the text that is a row of a cell."""
        return row


def declared_encoding(data: bytes) -> str:
    """The encoding that Python would use for ``data`` (PEP 263).

    Raises:
        UnreadableSource: the declared encoding does not exist or contradicts a byte order mark.
    """
    has_mark = data.startswith(codecs.BOM_UTF8)
    head = data[len(codecs.BOM_UTF8) if has_mark else 0 :].split(b"\n", 2)[:2]
    for row, line in enumerate(head, start=1):
        match = _CODING.match(line)
        if match:
            name = match.group(1).decode("ascii", "replace")
            try:
                codec = codecs.lookup(name)
            except LookupError:
                raise UnreadableSource(f"unknown encoding {name!r} declared", row) from None
            if not getattr(codec, "_is_text_encoding", True):
                raise UnreadableSource(f"{name!r} is not a text encoding", row)
            if has_mark and codec.name not in ("utf-8", "utf-8-sig"):
                raise UnreadableSource(f"encoding {name!r} declared in a file with a UTF-8 byte order mark", row)
            return "utf-8" if codec.name == "utf-8-sig" else codec.name
        if line.strip() and not line.lstrip().startswith(b"#"):
            break
    return "utf-8"


def decode(path: Path, data: bytes) -> SourceText:
    """Decode the bytes of a Python file.

    Raises:
        UnreadableSource: binary data, an unknown encoding, or bytes that the encoding does not have.
    """
    if b"\0" in data:
        raise UnreadableSource("binary file: it holds NUL bytes")
    encoding = declared_encoding(data)
    has_mark = data.startswith(codecs.BOM_UTF8)
    body = data[len(codecs.BOM_UTF8) :] if has_mark else data
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        row = body.count(b"\n", 0, error.start) + 1
        hint = "" if encoding != "utf-8" else "; declare its encoding in the first line (PEP 263)"
        raise UnreadableSource(f"not valid {encoding}: byte 0x{body[error.start]:02x}{hint}", row) from None
    except UnicodeError as error:  # codecs such as "undefined" and "idna" give no place
        raise UnreadableSource(f"cannot be decoded as {encoding}: {error}") from None
    return SourceText(path, text, encoding, has_mark, _round_trips(text, encoding, body))


def _round_trips(text: str, encoding: str, body: bytes) -> bool:
    """Whether encoding the text again gives the same bytes; some codecs have several spellings of one text."""
    try:
        return encoding == "utf-8" or text.encode(encoding) == body
    except UnicodeError:
        return False


def read_bytes(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        UnreadableSource: the operating system refuses.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnreadableSource(f"cannot be read: {error.strerror or error}") from None


def common_ends(before: str, after: str) -> tuple[int, int]:
    """How many characters two texts share at their start, and how many of the others at their end."""
    head = 0
    limit = min(len(before), len(after))
    while head < limit and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < limit - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    return head, tail
