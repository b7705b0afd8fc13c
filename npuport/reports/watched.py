"""The report of a watched run in the format that is asked for."""

from __future__ import annotations

import importlib
from typing import TextIO

from npuport.observe.measurement import Measurement
from npuport.reports.measured_lines import Findings

FORMATS = ("text", "json", "html")


def write_in(output_format: str, measurement: Measurement, findings: Findings, out: TextIO) -> None:
    """Write it in one of ``FORMATS``; only what that format needs is imported."""
    importlib.import_module(f"npuport.reports.measured_{output_format}").write(measurement, findings, out)
