"""How many findings a rule has."""

from __future__ import annotations

from collections import Counter

import click

from npuport.engine.finding import Applicability
from npuport.reports.report import Report


def write(report: Report) -> None:
    """Print one line a rule, the most frequent first; ``[*]`` marks rules whose findings all have a safe fix."""
    counts = Counter((finding.code, finding.name, finding.severity.value) for finding in report.findings)
    safe = Counter(f.code for f in report.findings if f.fix and f.fix.applicability is Applicability.SAFE)
    width = len(str(max(counts.values(), default=0)))
    for (code, name, severity), number in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        mark = "[*]" if safe[code] == number else "[-]" if safe[code] else "[ ]"
        click.echo(f"{number:>{width}}  {code}  {mark}  {severity:7}  {name}")
    if not report.quiet:
        click.echo(report.summary())
