"""How many findings a rule has."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass

import click

from npuport.engine.finding import Applicability
from npuport.reports.report import Report


@dataclass(frozen=True)
class Row:
    """One rule: how many findings it has, and how many of these have a safe fix."""

    code: str
    name: str
    severity: str
    count: int
    fixable: int


def rows(report: Report) -> list[Row]:
    """A row for each rule and severity, the most frequent first."""
    kinds = Counter((f.code, f.name, f.severity.value) for f in report.findings)
    safe = Counter(
        (f.code, f.name, f.severity.value)
        for f in report.findings
        if f.fix and f.fix.applicability is Applicability.SAFE
    )
    found = [Row(*kind, count, safe[kind]) for kind, count in kinds.items()]
    return sorted(found, key=lambda row: (-row.count, row.code, row.severity))


def write(report: Report) -> None:
    """Print one line a rule; ``[*]`` marks rows whose findings all have a safe fix, ``[-]`` where some have."""
    table = rows(report)
    width = len(str(max((row.count for row in table), default=0)))
    for row in table:
        mark = "[*]" if row.fixable == row.count else "[-]" if row.fixable else "[ ]"
        click.echo(f"{row.count:>{width}}  {row.code}  {mark}  {row.severity:7}  {row.name}")
    if not report.quiet:
        if table:
            click.echo(f"By topic: {topics(report)}")
        click.echo(report.summary())


def topics(report: Report) -> str:
    """How many findings a topic has, the most frequent first."""
    counts = Counter(finding.topic for finding in report.findings)
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{topic} {count}" for topic, count in ordered)


def write_json(report: Report) -> None:
    """Print the rows as one JSON list."""
    click.echo(json.dumps([asdict(row) for row in rows(report)], indent=2))
