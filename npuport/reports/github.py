"""Annotations of GitHub Actions."""

from __future__ import annotations

import click

from npuport.engine.finding import Finding, Severity
from npuport.reports.report import Report

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def write(report: Report) -> None:
    """Print one workflow command a finding."""
    for finding in report.findings:
        click.echo(annotation(finding))


def annotation(finding: Finding) -> str:
    """The workflow command; https://docs.github.com/actions/reference/workflow-commands-for-github-actions.

    GitHub knows no cells: a notebook's findings stand at the file, with cell and row in the text.
    """
    properties = {"title": f"npuport ({finding.code})", "file": finding.filename}
    text = f"{finding.code} {finding.message}"
    if finding.cell is None:
        properties |= {
            "line": str(finding.location.row),
            "col": str(finding.location.column),
            "endLine": str(finding.end_location.row),
            "endColumn": str(finding.end_location.column),
        }
    else:
        text = f"cell {finding.cell}:{finding.location.row}:{finding.location.column}: {text}"
    joined = ",".join(f"{key}={_escaped(value, in_property=True)}" for key, value in properties.items())
    return f"::{_LEVELS[finding.severity]} {joined}::{_escaped(text)}"


def _escaped(text: str, *, in_property: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if in_property else text
