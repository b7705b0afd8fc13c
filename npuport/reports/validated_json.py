"""A validation as JSON, with everything in it: what reports tell and what they are made from."""

from __future__ import annotations

import dataclasses
import json
import math
from enum import Enum
from typing import Any

from npuport import __version__
from npuport.reports.validated import EXIT_STATUS, Findings, headline, line_costs
from npuport.validate.curves import band
from npuport.validate.validation import Validation

FORMAT = 1


def render(validation: Validation, findings: Findings) -> str:
    """The JSON's text."""
    return json.dumps(as_data(validation, findings), indent=1)


def as_data(validation: Validation, findings: Findings) -> dict[str, Any]:
    """Plain data. Numbers that JSON has not are null: infinity as the first solved step, NaN as a missing score."""
    verdict = validation.verdict
    data: dict[str, Any] = {
        "format": FORMAT,
        "npuport": __version__,
        **_plain(validation),
        "verdict": verdict.word.value,
        "exit_status": EXIT_STATUS[verdict.word],
        "headline": headline(validation),
        "reasons": _plain(verdict),
    }
    data["counted"] = {
        name: measurement.to_json() if measurement is not None else None
        for name, measurement in vars(validation.counted).items()
    }
    for entry, comparison in zip(data["reasons"]["comparisons"], verdict.comparisons, strict=True):
        entry["bootstrap"] = _plain(comparison.bootstrap())
    data["lines"] = _plain(line_costs(validation.counted.port, findings))
    data["curves"] = {"port": _plain(band(validation.port.runs)), "reference": _plain(band(validation.reference.runs))}
    if validation.throughput is not None:
        data["throughput"]["ratio"] = validation.throughput.ratio
    return data


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value
