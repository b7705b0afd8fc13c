"""A watched run as one JSON object: the measurement, and what the other reports make of it.

``npuport.observe.measurement.measurement_from_json`` reads it back. Numbers that JSON does not have (NaN, infinity)
are null.
"""

from __future__ import annotations

import json
import math
from typing import Any, TextIO

from npuport.engine.finding import Finding
from npuport.observe.measurement import Measurement
from npuport.reports.json_format import as_json
from npuport.reports.measured import figures, verdict
from npuport.reports.measured_lines import Findings


def write(measurement: Measurement, findings: Findings, out: TextIO) -> None:
    """Write the object, keys always all there."""
    data = {
        "verdict": [{"kind": one.kind, "tone": one.tone, "text": one.text} for one in verdict(measurement)],
        "silently_on_cpu": measurement.silently_on_cpu,
        "per_transition": _per_transition(measurement),
        **measurement.to_json(),
        "findings": [as_json(finding) for finding in _once(findings)],
    }
    json.dump(_finite(data), out, indent=2, allow_nan=False)
    out.write("\n")


def _once(findings: Findings) -> list[Finding]:
    """The findings of all lines, each once: one can count for several lines."""
    return sorted({finding for found in findings.values() for finding in found}, key=lambda finding: finding.sort_key)


def _per_transition(run: Measurement) -> dict[str, Any]:
    """Calls and bytes of each figure a transition; null without transitions."""
    values: dict[str, Any] = {}
    for figure in figures(run):
        values[figure.name] = figure.count.calls / run.transitions if run.transitions else None
        if figure.moves:
            values[f"bytes_{figure.name.removeprefix('copies_')}"] = (
                figure.count.bytes / run.transitions if run.transitions else None
            )
    return values


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
