"""How findings are printed: one module an output format, each with a function ``write``.

Formats get findings and texts; they never check, fix or read settings.
"""

from __future__ import annotations

import importlib

from npuport.reports.report import Report

FORMATS = ("full", "concise", "json", "github")
_MODULES = {"json": "npuport.reports.json_format"}


def report_in(output_format: str, report: Report) -> None:
    """Print a report in one of ``FORMATS``, or its statistics."""
    if report.statistics:
        from npuport.reports.statistics import write
    else:
        write = importlib.import_module(_MODULES.get(output_format, f"npuport.reports.{output_format}")).write
    write(report)


__all__ = ["FORMATS", "Report", "report_in"]
