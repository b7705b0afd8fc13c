"""The lines of a watched run: all that one line caused, what ``check`` says of it, and what no line explains."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TypeAlias

from npuport.engine.finding import Finding
from npuport.observe.measurement import DOWN, UP, WAITS, Count, Line, Measurement

NOT_FOUND = "not found by check"
NO_LINE = "no line of yours"

Findings: TypeAlias = Mapping[tuple[str, int], list[Finding]]


@dataclass
class LineRow:
    """All that one line of the user's files caused after the first environment step.

    Attributes:
        place: its filename is empty for what no such line explains.
        counts: by event; the waits of all kinds are ``wait``.
        details: by event: kernels that were refused or fell back, with their numbers.
        source: the text of the line, without indentation.
        findings: what ``check`` says of it.
    """

    place: Line
    counts: dict[str, Count] = field(default_factory=lambda: defaultdict(Count))
    details: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    source: str = ""
    findings: list[Finding] = field(default_factory=list)

    def calls(self, *events: str) -> int:
        """How often these events happened here."""
        return sum(self.counts[event].calls for event in events if event in self.counts)

    @property
    def moves_or_waits(self) -> int:
        """Copies between host and device and waits: what costs a step most."""
        return self.calls(UP, DOWN, "wait")

    @property
    def troubles(self) -> str:
        """What happened here beside copies, waits and kernels; empty where nothing did."""
        words = {"refused": "refused", "fallback": "on the CPU", "float64": "float64"}
        return ", ".join(f"{calls} {word}" for event, word in words.items() if (calls := self.calls(event)))

    @property
    def verdict(self) -> str:
        """The rules that found it; where it costs something and none did, that."""
        if not self.place.filename:
            return ""
        codes = sorted({f"{finding.code} {finding.name}" for finding in self.findings})
        if codes:
            return ", ".join(codes)
        return NOT_FOUND if self.moves_or_waits or self.calls("fallback", "float64", "refused") else ""


def line_rows(run: Measurement, findings: Findings) -> list[LineRow]:
    """The lines, those with most copies and waits first; what no line explains is the last row, where there is any."""
    rows: dict[tuple[str, int], LineRow] = {}
    for entry in run.lines:
        if entry.setup:
            continue
        key = (entry.place.filename, entry.place.line if entry.place.filename else 0)
        row = rows.setdefault(key, LineRow(entry.place))
        event = "wait" if entry.event in WAITS else entry.event
        row.counts[event] += entry.count
        if entry.detail:
            details = row.details[event]
            details[entry.detail] = details.get(entry.detail, 0) + entry.count.calls
    unexplained = rows.pop(("", 0), LineRow(Line("", 0)))
    _add_unlisted(run, rows.values(), unexplained)
    for (filename, number), row in rows.items():
        row.source = _source(filename, number)
        row.findings = list(findings.get((filename, number), []))
    ordered = sorted(rows.values(), key=_weight)
    return [*ordered, unexplained] if any(count.calls for count in unexplained.counts.values()) else ordered


def _add_unlisted(run: Measurement, rows: Iterable[LineRow], unexplained: LineRow) -> None:
    """What the device counted and no row has: it was seen without a stack, in another thread say."""
    known = [*rows, unexplained]
    for event, counted in (("wait", WAITS), (UP, [UP]), (DOWN, [DOWN])):
        all_calls = total(run.counts, counted)
        listed = sum((row.counts[event] for row in known if event in row.counts), Count())
        if all_calls.calls > listed.calls:
            rest = Count(all_calls.calls - listed.calls, max(0, all_calls.bytes - listed.bytes))
            unexplained.counts[event] += rest


def _weight(row: LineRow) -> tuple[int, int, str, int]:
    return (-row.moves_or_waits, -row.calls("kernel"), row.place.filename, row.place.line)


def total(counts: Mapping[str, Count], events: Iterable[str]) -> Count:
    return sum((counts.get(event, Count()) for event in events), Count())


def place(line: Line) -> str:
    """``file:line`` with the path as the user would type it."""
    return f"{shown(line.filename)}:{line.line}" if line.filename else NO_LINE


def shown(filename: str) -> str:
    """A path relative to the current folder where it is below it."""
    path = Path(filename)
    return str(path.relative_to(Path.cwd())) if path.is_absolute() and path.is_relative_to(Path.cwd()) else filename


def _source(filename: str, number: int) -> str:
    lines = _lines_of(filename)
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


@cache
def _lines_of(filename: str) -> list[str]:
    try:
        return Path(filename).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
