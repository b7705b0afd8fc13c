"""How findings are printed: one module an output format, each with a function ``write``.

- ``report``      what a format gets: findings, texts, the summary
- ``full``, ``concise``, ``json_format``, ``github``, ``statistics``
- ``fixes``       the diff and what ``fix`` says of it
- ``catalogue``   the list of rules, for the terminal and the README
- ``diagnosis``   what ``doctor`` found
- ``watched``     the report of a watched run: ``measured_text``, ``measured_json``, ``measured_html``, and what
                  all of these say: ``measured``, ``measured_lines``, ``measured_remarks``
- ``validated``   the report of a validation: ``validated_text``, ``validated_json``, ``validated_html`` with
                  ``learning_curves``
- ``page``        pieces of a self-contained HTML page

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
        from npuport.reports import statistics

        write = statistics.write_json if output_format == "json" else statistics.write
    else:
        write = importlib.import_module(_MODULES.get(output_format, f"npuport.reports.{output_format}")).write
    write(report)


__all__ = ["FORMATS", "Report", "report_in"]
