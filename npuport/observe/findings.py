"""What ``check`` says of the lines that were measured."""

from __future__ import annotations

import ast
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from npuport.engine.checking import Checker
from npuport.engine.finding import Finding
from npuport.engine.program import Program
from npuport.engine.registry import rules_for
from npuport.observe.measurement import Measurement
from npuport.sources.settings import Settings

_LOSS = re.compile(r"loss \(line (\d+)\)$")
# What the statement holds besides its own expressions: statements of their own, with findings of their own.
_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


def findings_on_lines(measurement: Measurement) -> dict[tuple[str, int], list[Finding]]:
    """Check the user's files that ran, and give what was found by the lines that were measured.

    With all rules that find faults: what only could cost less is asked for by name.

    A finding counts for every line of its statement: of a call that goes over several lines, Python names another
    line than a rule does. One on what enters a loss counts at the loss as well: a bool is found where it is made, and
    refused there.
    """
    files = [Path(name) for name in measurement.user_files if os.path.isfile(name)]
    found = defaultdict(list)
    for finding in _check(files):
        found[finding.filename].append(finding)
    result: dict[tuple[str, int], list[Finding]] = {}
    for filename in {entry.place.filename for entry in measurement.lines} & set(found):
        statements = _statements(Path(filename))
        measured = {entry.place.line for entry in measurement.lines if entry.place.filename == filename}
        for line in measured:
            first, last = statements.get(line, (line, line))
            rows = range(first, last + 1)
            here = [finding for finding in found[filename] if any(row in rows for row in _rows(finding))]
            if here:
                result[filename, line] = here
    return result


def _rows(finding: Finding) -> list[int]:
    """The lines of its own file that a finding speaks of."""
    losses = (_LOSS.match(step) for step in finding.evidence)
    return [finding.location.row, *(int(match[1]) for match in losses if match)]


def _check(files: list[Path]) -> list[Finding]:
    settings = Settings()
    rules = rules_for(settings.target_torch_npu)
    checker = Checker(
        rules, frozenset(rule.code for rule in rules if not rule.improves), target=settings.target_torch_npu
    )
    return Program(files, settings, checker, use_cache=False, named=files).check(lambda done, total: None)


def _statements(path: Path) -> dict[int, tuple[int, int]]:
    """First and last line of the statement that a line is in; of a compound statement only its header counts."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return {}
    lines: dict[int, tuple[int, int]] = {}
    for statement in ast.walk(tree):
        if isinstance(statement, (ast.stmt, ast.excepthandler)):
            first, last = statement.lineno, _last_line(statement)
            lines.update(dict.fromkeys(range(first, last + 1), (first, last)))
    return lines


def _last_line(statement: ast.stmt | ast.excepthandler) -> int:
    inner = [child.lineno for child in _inner(statement)]
    end = statement.end_lineno or statement.lineno
    return max(statement.lineno, min(inner) - 1) if inner else end


def _inner(statement: ast.AST) -> Iterator[ast.stmt]:
    for name in _BODIES:
        for child in getattr(statement, name, []):
            if isinstance(child, ast.stmt):
                yield child
            else:
                yield from _inner(child)
