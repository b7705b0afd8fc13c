"""Lines that copied or waited, held against what ``check`` says of them."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from npuport.analysis.flow.levels import Level
from npuport.engine.checking import Checker
from npuport.engine.finding import Finding
from npuport.engine.program import Program
from npuport.engine.registry import all_rules
from npuport.observe.measurement import DOWN, UP, WAITS, Measurement
from npuport.sources.settings import Settings

EVENTS = frozenset({UP, DOWN, *WAITS})
# Rules of these topics say that a line copies or waits; those of the others say other things of it.
TOPICS = frozenset({"h2d", "item", "sync"})
# They belong to another topic, but are about shapes and masks that the host must wait for.
ALSO = frozenset({"NPU603"})


@dataclass(frozen=True)
class HotLine:
    """A statement that copied or waited often.

    Attributes:
        per_step: copies or waits per environment step, whichever are more: a blocking copy is one of each.
        found: codes of findings of ``check`` on it.
        asked: codes of rules that find no fault and speak of it when they are asked.
    """

    filename: str
    line: int
    text: str
    per_step: float
    found: tuple[str, ...]
    asked: tuple[str, ...]


@dataclass(frozen=True)
class Prediction:
    """A finding that says a line copies or waits once per environment step or more often, where the line did not.

    Attributes:
        ran: whether anything of the device happened on the line.
    """

    finding: Finding
    text: str
    per_step: float
    ran: bool


@dataclass(frozen=True)
class Comparison:
    """One program.

    Attributes:
        events: copies and waits in all, after the first environment step; `unexplained`: those on no line.
        hot: the hot lines, hottest first.
        confirmed: how many per-step predictions were hot; `quiet`: the others.
    """

    events: int
    unexplained: int
    hot: tuple[HotLine, ...]
    confirmed: int
    quiet: tuple[Prediction, ...]


def compare(measurement: Measurement, at_least: float) -> Comparison:
    """Hold the measured lines against the findings.

    Args:
        measurement: of a program whose files are still there.
        at_least: copies or waits per environment step that make a line hot.
    """
    files = [Path(name) for name in measurement.user_files if Path(name).is_file()]
    statements = {str(path): _statements(path) for path in files}
    measured, ran = _measured(measurement, statements)
    findings = _findings(files, statements)
    hot = [
        HotLine(
            file,
            line,
            _text(file, line),
            rate,
            _codes(findings, file, line, improving=False),
            _codes(findings, file, line, improving=True),
        )
        for (file, line), rate in sorted(measured.items(), key=lambda pair: (-pair[1], pair[0]))
        if rate >= at_least
    ]
    predicted = [
        (place, finding)
        for place, found in findings.items()
        for finding in found
        if finding.code not in _improving() and finding.how_often in _PER_STEP
    ]
    quiet = [
        Prediction(finding, _text(*place), measured.get(place, 0.0), place in ran)
        for place, finding in predicted
        if measured.get(place, 0.0) < at_least
    ]
    events = sum(count.calls for event, count in measurement.counts.items() if event in EVENTS)
    told = sum(e.count.calls for e in measurement.lines if e.event in EVENTS and not e.setup and e.place.filename)
    return Comparison(events, events - told, tuple(hot), len(predicted) - len(quiet), tuple(quiet))


_PER_STEP = frozenset({Level.STEP.word, Level.TRANSITION.word})


def _improving() -> frozenset[str]:
    return frozenset(rule.code for rule in all_rules() if rule.improves)


def _measured(
    measurement: Measurement, statements: Mapping[str, Mapping[int, int]]
) -> tuple[dict[tuple[str, int], float], set[tuple[str, int]]]:
    """Copies or waits per environment step by statement, and the statements on which the device did anything."""
    copies: dict[tuple[str, int], int] = defaultdict(int)
    waits: dict[tuple[str, int], int] = defaultdict(int)
    ran = set()
    for entry in measurement.lines:
        lines = statements.get(entry.place.filename)
        if lines is None:
            continue
        place = entry.place.filename, lines.get(entry.place.line, entry.place.line)
        ran.add(place)
        if not entry.setup and entry.event in EVENTS:
            (waits if entry.event in WAITS else copies)[place] += entry.count.calls
    steps = measurement.transitions or 1
    return {place: max(copies[place], waits[place]) / steps for place in {*copies, *waits}}, ran


def _findings(files: list[Path], statements: Mapping[str, Mapping[int, int]]) -> dict[tuple[str, int], list[Finding]]:
    codes = frozenset(rule.code for rule in all_rules() if rule.topic in TOPICS or rule.code in ALSO)
    program = Program(files, Settings(), Checker(all_rules(), codes), use_cache=False, named=files)
    found: dict[tuple[str, int], list[Finding]] = defaultdict(list)
    for finding in program.check():
        row = finding.location.row
        found[finding.filename, statements[finding.filename].get(row, row)].append(finding)
    return found


def _codes(
    findings: Mapping[tuple[str, int], Iterable[Finding]], file: str, line: int, *, improving: bool
) -> tuple[str, ...]:
    wanted = _improving()
    return tuple(sorted({f.code for f in findings.get((file, line), ()) if (f.code in wanted) == improving}))


def _text(filename: str, line: int) -> str:
    return Path(filename).read_text(encoding="utf-8").splitlines()[line - 1].strip()


def _statements(path: Path) -> dict[int, int]:
    """The first line of the statement that a line is in; of a compound statement, of its header."""
    first: dict[int, int] = {}
    nodes = [node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.stmt)]
    for node in sorted(nodes, key=lambda node: (node.lineno, -(node.end_lineno or 0))):
        first.update(dict.fromkeys(range(node.lineno, (node.end_lineno or node.lineno) + 1), node.lineno))
    return first
