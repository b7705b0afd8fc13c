"""Findings by the rows of a notebook's cells, as they are reported, and by the rows of its text, as they are made."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from npuport.engine.checking import SYNTAX_ERROR
from npuport.engine.finding import Finding, TextEdit
from npuport.sources.text import SourceText

# Python's words for the place where a block or bracket was opened.
_OPENED = re.compile(r"(?<= on line )\d+")


def in_cells(source: SourceText, findings: Iterable[Finding]) -> list[Finding]:
    """The findings of a text with cells and rows of the cells; those of a file without cells as they are."""
    return [_in_cell(source, finding) for finding in findings]


def in_text(source: SourceText, findings: Iterable[Finding]) -> list[Finding]:
    """The reverse: the findings with rows of the text."""
    return [
        replace(finding.shifted(source.row_of(finding.location.row, finding.cell) - finding.location.row), cell=None)
        for finding in findings
    ]


def _in_cell(source: SourceText, finding: Finding) -> Finding:
    cell, first_row = source.cell_at(finding.location.row)
    if cell is None:
        return finding
    fix = finding.fix and replace(finding.fix, edits=tuple(_edit_in_cell(source, edit) for edit in finding.fix.edits))
    message = finding.message
    if finding.code == SYNTAX_ERROR:
        message = _OPENED.sub(lambda match: _line_in_cell(source, int(match.group()), cell), message)
    return replace(finding.shifted(1 - first_row), cell=cell, fix=fix, message=message)


def _line_in_cell(source: SourceText, row: int, cell: int) -> str:
    """A row of the text, told to a reader who looks at ``cell``."""
    other, first_row = source.cell_at(row)
    return f"{row - first_row + 1}" + ("" if other == cell else f" of cell {other}")


def _edit_in_cell(source: SourceText, edit: TextEdit) -> TextEdit:
    cell, first_row = source.cell_at(edit.location.row)
    start, end = edit.location.shifted(1 - first_row), edit.end_location.shifted(1 - first_row)
    return replace(edit, location=start, end_location=end, cell=cell)
