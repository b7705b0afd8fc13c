"""One line a finding: ``file:row:column: CODE [*] message``, in a notebook ``file:cell 3:row:column``."""

from __future__ import annotations

import click

from npuport.engine.finding import Applicability, Finding
from npuport.reports.report import Report


def write(report: Report) -> None:
    """Print the findings and the summary."""
    lines = [line(finding) for finding in report.findings]
    if not report.quiet:
        lines.append(report.summary())
    if lines:
        click.echo("\n".join(lines))


def line(finding: Finding) -> str:
    """The line of one finding; ``[*]`` marks a safe fix."""
    mark = " [*]" if finding.fix and finding.fix.applicability is Applicability.SAFE else ""
    return f"{finding.place}: {finding.code}{mark} {finding.message}"
