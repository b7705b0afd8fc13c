"""A JSON list with ruff's keys, and ``topic``, ``how_often`` and ``evidence``."""

from __future__ import annotations

import json
from typing import Any

import click

from npuport.engine.finding import Finding
from npuport.reports.report import Report


def write(report: Report) -> None:
    """Print all findings as one list."""
    click.echo(json.dumps([as_json(finding) for finding in report.findings], indent=2))


def as_json(finding: Finding) -> dict[str, Any]:
    """One finding; its keys are always all there."""
    data = finding.as_dict()
    data["severity"] = finding.severity.value
    if finding.fix is not None:
        data["fix"]["applicability"] = finding.fix.applicability.value
    data["url"] = None
    return dict(sorted(data.items()))
