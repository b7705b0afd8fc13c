"""What is reported: findings with their place, severity and fix, as plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any


class Severity(str, Enum):
    """How bad a finding is on an NPU."""

    ERROR = "error"  # breaks, or gives wrong numbers
    WARNING = "warning"  # known to be slow or unstable
    NOTE = "note"  # advice

    @property
    def rank(self) -> int:
        """0 for an error, rising as it matters less."""
        return list(Severity).index(self)


class Applicability(str, Enum):
    """Whether a fix keeps what the author had."""

    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True, order=True)
class Location:
    """A place in a file: row and column from 1, in characters."""

    row: int
    column: int

    def shifted(self, rows: int) -> Location:
        """The place some rows further down."""
        return Location(self.row + rows, self.column)


@dataclass(frozen=True)
class TextEdit:
    """Replace what lies between two places by ``content``.

    Attributes:
        cell: a notebook's cell from 1. The row below a cell's last one is a place too, for what comes after it.
    """

    content: str
    location: Location
    end_location: Location
    cell: int | None = None


@dataclass(frozen=True)
class ProposedFix:
    """A fix as it is reported; ``edits`` is empty where the format did not ask for them."""

    applicability: Applicability
    message: str
    edits: tuple[TextEdit, ...] = ()


@dataclass(frozen=True)
class Finding:
    """One finding, in the words and keys of the JSON format.

    Attributes:
        how_often: how often the line runs, where the analysis knows (once ... per transition).
        evidence: the steps that led to it, for people.
        cell: a notebook's cell from 1.
    """

    code: str
    name: str
    message: str
    filename: str
    location: Location
    end_location: Location
    severity: Severity
    topic: str
    fix: ProposedFix | None = None
    how_often: str | None = None
    evidence: tuple[str, ...] = ()
    cell: int | None = None

    @property
    def sort_key(self) -> tuple[str, int, int, int, str]:
        """Order of reports: by file, place and code."""
        return (self.filename, self.cell or 0, self.location.row, self.location.column, self.code)

    @property
    def place(self) -> str:
        """File, row and column, as people and editors read them; in a notebook also the cell."""
        cell = "" if self.cell is None else f"cell {self.cell}:"
        return f"{self.filename}:{cell}{self.location.row}:{self.location.column}"

    def as_dict(self) -> dict[str, Any]:
        """The finding as JSON data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Finding:
        """The finding that ``as_dict`` wrote."""
        values = {
            **data,
            "location": Location(**data["location"]),
            "end_location": Location(**data["end_location"]),
            "severity": Severity(data["severity"]),
            "evidence": tuple(data["evidence"]),
            "fix": data["fix"] and _fix(data["fix"]),
        }
        return cls(**values)

    def at(self, filename: str) -> Finding:
        """The same finding under another file name."""
        return replace(self, filename=filename)

    def shifted(self, rows: int) -> Finding:
        """The same finding some rows further down."""
        return replace(self, location=self.location.shifted(rows), end_location=self.end_location.shifted(rows))


def _fix(data: dict[str, Any]) -> ProposedFix:
    return ProposedFix(Applicability(data["applicability"]), data["message"], tuple(map(_edit, data["edits"])))


def _edit(data: dict[str, Any]) -> TextEdit:
    return TextEdit(data["content"], Location(**data["location"]), Location(**data["end_location"]), data["cell"])
