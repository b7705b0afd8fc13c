"""Findings with their source line, the reason, the evidence and the fix."""

from __future__ import annotations

import sys
import unicodedata

import click

from npuport.engine.finding import Applicability, Finding, Severity
from npuport.reports.report import Report

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


def write(report: Report) -> None:
    """Print the findings and the summary; colours only on a terminal."""
    blocks = [block(report, finding) + "\n" for finding in report.findings]
    if not report.quiet:
        blocks.append(report.summary())
    if blocks:
        click.echo("\n".join(blocks))


def block(report: Report, finding: Finding) -> str:
    """The text of one finding."""
    head = click.style(f"{finding.code} {finding.name}", fg=_COLOURS[finding.severity], bold=True)
    lines = [f"{head} ({finding.severity.value}): {finding.message}"]
    lines.append(f"  --> {finding.place}")
    lines += _frame(report, finding)
    lines += (f"   = because {step}" for step in finding.evidence)
    if finding.fix is not None:
        mark = "[*] " if finding.fix.applicability is Applicability.SAFE else ""
        lines.append(f"   = fix: {mark}{finding.fix.message}")
    return "\n".join(lines)


def _frame(report: Report, finding: Finding) -> list[str]:
    """The source line with the place underlined; tabs are widened so that the marks stand right."""
    source = report.source(finding.filename)
    row = finding.location.row
    if source is None or source.row_of(row, finding.cell) > len(source.line_starts):
        return []
    text = source.line(source.row_of(row, finding.cell))
    end = finding.end_location.column - 1 if finding.end_location.row == row else len(text)
    start = finding.location.column - 1
    before, marked = text[:start].expandtabs(4), text[start : max(end, start + 1)].expandtabs(4)
    gutter = len(str(row))
    shown = _printable(text.expandtabs(4))
    return [
        f"{' ' * gutter} |",
        f"{row} | {shown}",
        f"{' ' * gutter} | {' ' * _columns(before)}{'^' * max(_columns(marked), 1)}",
    ]


def _columns(text: str) -> int:
    """How many columns a terminal gives a text: Chinese characters take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def _printable(text: str) -> str:
    """The text without control characters, in what the terminal's encoding can show."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    visible = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
    return visible.encode(encoding, "replace").decode(encoding)
