"""A Jupyter notebook as one text of Python, and a changed text as the notebook's bytes.

The code cells follow each other as the parts of a module, so that later cells see the names of earlier ones. In
place of what is IPython's own stands a name that nobody binds, of the same length: rows and columns hold, the text
is Python, and what it stands for comes back when the notebook is written. Nothing of the file changes but the
characters of the changed lines.
"""

from __future__ import annotations

import codecs
import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

from npuport.sources.errors import UnreadableSource
from npuport.sources.ipython import foreign_parts
from npuport.sources.json_text import Value, characters, document, elements, members, spliced
from npuport.sources.text import SourceText, common_ends

_NO_LINE_END = re.compile(r"[^\r\n]")


@dataclass(frozen=True)
class Cell:
    """A code cell.

    Attributes:
        number: from 1, over all cells of the notebook.
        source: its code as the document has it: a string, or an array of lines.
        literals: the strings of that, in order.
        foreign: start and end of what is IPython's own, in the code.
    """

    number: int
    source: Value
    literals: tuple[Value, ...]
    foreign: tuple[tuple[int, int], ...]

    @property
    def code(self) -> str:
        """The code, IPython's parts included."""
        return _joined(self.literals)

    @property
    def is_magic(self) -> bool:
        """Whether the cell starts with a cell magic, which must stay its first line."""
        return any(self.code.startswith("%%", start) for start, _ in self.foreign[:1])


@dataclass(frozen=True)
class Notebook(SourceText):
    """The Python of a notebook. ``text`` has the cells in order, each with a line end, and a line between two.

    Attributes:
        document: the file's text.
        cells: the code cells that are Python.
        placeholder: the name that stands for IPython's parts, one character.
        separator: the line between two cells; no cell has it.
    """

    document: str = "{}"
    cells: tuple[Cell, ...] = ()
    placeholder: str = ""
    separator: str = ""

    def written(self, text: str) -> str:
        parts = text.split(self.separator) if self.cells else []
        changes: list[tuple[int, int, str]] = []
        for cell, part in zip(self.cells, parts, strict=True):
            line_end = "\r\n" if part.endswith("\r\n") and not cell.code.endswith("\r") else "\n"
            code = self._restored(cell, part.removesuffix(line_end))
            if code != cell.code:
                changes.append((cell.source.start, cell.source.end, _source_text(self.document, cell, code)))
        return spliced(self.document, changes)

    def accepts(self, start: int, end: int, text: str) -> bool:
        if self.placeholder in text or self.separator in text:
            return False
        return not any(start < last and first < end for first, last in self._fixed_parts)

    def cell_at(self, row: int) -> tuple[int | None, int]:
        place = max(bisect_right(self._first_rows, row) - 1, 0)
        return (self.cells[place].number, self._first_rows[place]) if self.cells else (None, 1)

    def row_of(self, row: int, cell: int | None) -> int:
        numbers = [known.number for known in self.cells]
        return self._first_rows[numbers.index(cell)] + row - 1 if cell in numbers else row

    @cached_property
    def _starts(self) -> list[int]:
        """Where each cell starts in the text."""
        gaps = [match.end() for match in re.finditer(re.escape(self.separator), self.text)]
        return [0, *gaps]

    @cached_property
    def _first_rows(self) -> list[int]:
        return [self.position(start)[0] for start in self._starts]

    @cached_property
    def _fixed_parts(self) -> list[tuple[int, int]]:
        """What no edit may touch: the lines between cells, IPython's parts, and all up to a cell magic."""
        parts = [(start - len(self.separator), start) for start in self._starts[1:]]
        for cell, start in zip(self.cells, self._starts, strict=False):  # without cells there is still one start
            place = start
            for number, (first, last) in enumerate(cell.foreign):
                place = self.text.index(self.placeholder, place)
                # An insertion right before the magic counts as one inside this part.
                parts.append((start - 1 if number == 0 and cell.is_magic else place, place + last - first))
                place += last - first
        return parts

    def _restored(self, cell: Cell, text: str) -> str:
        """The code of a cell with what the placeholders stand for."""
        parts: list[tuple[int, int, str]] = []
        place = 0
        for first, last in cell.foreign:
            place = text.index(self.placeholder, place)
            parts.append((place, place + last - first, cell.code[first:last]))
            place += last - first
        return spliced(text, parts)


def decode_notebook(path: Path, data: bytes) -> Notebook:
    """Read a notebook; one of another language than Python has no cells for us.

    Raises:
        UnreadableSource: it is not UTF-8, not JSON, or no notebook of format 4.
    """
    has_mark = data.startswith(codecs.BOM_UTF8)
    body = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = body.decode("utf-8")
        found = tuple(_code_cells(text, document(text)))
    except UnicodeDecodeError as error:
        row = body.count(b"\n", 0, error.start) + 1
        raise UnreadableSource(f"not valid utf-8: byte 0x{body[error.start]:02x}", row) from None
    except json.JSONDecodeError as error:
        raise UnreadableSource(f"not valid JSON: {error.msg}", error.lineno, error.colno) from None
    except RecursionError:
        raise UnreadableSource("nested too deeply to be parsed") from None
    code = "".join(cell.code for cell in found)
    placeholder = _unused_name(code)
    # A form feed on a line of its own is a blank line to Python.
    separator = "\f" * (1 + max(map(len, re.findall("\f+", code)), default=0)) + "\n"
    joined = separator.join(_masked(cell, placeholder) + "\n" for cell in found)
    return Notebook(path, joined, "utf-8", has_mark, True, text, found, placeholder, separator)


def _code_cells(text: str, notebook: Value) -> Iterator[Cell]:
    """The code cells that hold Python."""
    top = members(text, notebook) if isinstance(notebook.data, dict) else {}
    if "cells" not in top and "worksheets" in top:
        raise UnreadableSource("a notebook of format 3; `jupyter nbconvert --to notebook` writes format 4")
    if "cells" not in top or not isinstance(top["cells"].data, list):
        raise UnreadableSource("no notebook: it has no list of cells")
    if not _is_python(notebook.data):
        return
    for number, value in enumerate(elements(text, top["cells"]), start=1):
        cell = value.data if isinstance(value.data, dict) else {}
        if cell.get("cell_type") != "code" or _editor_language(cell) != "python":
            continue
        source = members(text, value).get("source")
        literals = _literals(text, source) if source else None
        if source is None or literals is None:
            raise UnreadableSource(f"no notebook: cell {number} has no source", text.count("\n", 0, value.start) + 1)
        foreign = foreign_parts(_joined(literals))
        if foreign is not None:
            yield Cell(number, source, literals, tuple(foreign))


def _literals(text: str, source: Value) -> tuple[Value, ...] | None:
    """The strings of a cell's source; None where it is something else."""
    if isinstance(source.data, str):
        return (source,)
    if isinstance(source.data, list) and all(isinstance(line, str) for line in source.data):
        return tuple(elements(text, source))
    return None


def _joined(literals: tuple[Value, ...]) -> str:
    return "".join(literal.data for literal in literals)


def _is_python(notebook: dict[str, Any]) -> bool:
    """Whether the metadata names Python, or no language."""
    metadata = _table(notebook, "metadata")
    language = _table(metadata, "language_info").get("name") or _table(metadata, "kernelspec").get("language")
    return not isinstance(language, str) or language.lower() in ("python", "ipython")


def _editor_language(cell: dict[str, Any]) -> object:
    """The language that an editor with several in one notebook gave a cell."""
    return _table(_table(cell, "metadata"), "vscode").get("languageId", "python")


def _table(parent: dict[str, Any], key: str) -> dict[str, Any]:
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def _unused_name(code: str) -> str:
    """A letter that the code does not have, hence no name of it: the click letters first, which look like ``!``."""
    letters = (chr(number) for number in chain(range(0x1C0, 0x1C4), range(0x400, 0x3000)))
    name = next((letter for letter in letters if letter.isidentifier() and letter not in code), None)
    if name is None:
        raise UnreadableSource("it uses more letters than there are")
    return name


def _masked(cell: Cell, placeholder: str) -> str:
    """The code of a cell with the placeholder, and blanks behind it, for what is IPython's own."""
    code = cell.code
    return spliced(
        code,
        ((start, end, placeholder + _NO_LINE_END.sub(" ", code[start + 1 : end])) for start, end in cell.foreign),
    )


def _source_text(document: str, cell: Cell, code: str) -> str:
    """A cell's source with another code, as the document has it: a string, or an array of lines."""
    source, literals = cell.source, cell.literals
    if isinstance(source.data, str):
        return f'"{"".join(_changed_lines(document, cell, _lines(source.data), _lines(code)))}"'
    lines = [f'"{line}"' for line in _changed_lines(document, cell, source.data, _lines(code))]
    if not literals:
        return f"[{', '.join(lines)}]"
    opening, closing = document[source.start : literals[0].start], document[literals[-1].end : source.end]
    between = document[literals[0].end : literals[1].start] if len(literals) > 1 else f",{opening[1:] or ' '}"
    return opening + between.join(lines) + closing


def _lines(code: str) -> list[str]:
    """The lines with their ends, as Jupyter splits them."""
    return code.splitlines(keepends=True)


def _changed_lines(document: str, cell: Cell, old: list[str], new: list[str]) -> Iterator[str]:
    """New lines as they stand between quotes; the characters that were there before as they were written."""
    written = [character for literal in cell.literals for character in characters(document, literal)]
    starts = [0, *accumulate(map(len, old))]
    for _, first, last, new_first, new_last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        paired = last - first == new_last - new_first
        for number, line in enumerate(new[new_first:new_last], start=first):
            if paired:
                yield _changed(document, old[number], written[starts[number] : starts[number + 1]], line)
            else:
                yield _changed(document, "", [], line)


def _changed(document: str, before: str, written: list[str], after: str) -> str:
    """One line as it stands between quotes; what is not ASCII is escaped in a document that is all ASCII."""
    head, tail = common_ends(before, after)
    new = json.dumps(after[head : len(after) - tail], ensure_ascii=document.isascii())[1:-1]
    return "".join((*written[:head], new, *written[len(before) - tail :]))
