"""What all reports of a validation say alike: the sentence on top, what returns, seeds and costs come to."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from npuport.engine.finding import Finding
from npuport.observe.measurement import DOWN, UP, WAITS, Line, Measurement
from npuport.validate.checks import per_transition
from npuport.validate.returns import Comparison
from npuport.validate.scores import Scores
from npuport.validate.statistics import mean
from npuport.validate.validation import Validation
from npuport.validate.verdict import Word

Findings: TypeAlias = "Mapping[tuple[str, int], Sequence[Finding]]"

EXIT_STATUS = {Word.PASS: 0, Word.FAIL: 1, Word.INCONCLUSIVE: 3}

_SAYS = {
    Word.PASS: "learns as",
    Word.FAIL: "does not learn as",
    Word.INCONCLUSIVE: "may or may not learn as",
}


@dataclass(frozen=True)
class LineCost:
    """Copies and waits of one source line, per transition, and the codes of what ``check`` finds there."""

    place: Line
    up: float
    down: float
    waits: float
    found: tuple[str, ...] = ()

    @property
    def total(self) -> float:
        """What lines are sorted by."""
        return self.up + self.down + self.waits


def headline(validation: Validation) -> str:
    """The verdict in one sentence, without its word."""
    request, word = validation.request, validation.verdict.word
    other = request.reference or (Path(request.against.script).name if request.against else "")
    other = f"the reference {other}" if request.reference else other
    says = _SAYS[word]
    if word is Word.FAIL and validation.verdict.gates[0].holds is False:
        says = "is not sound; held against"
    task = validation.question.task.environment or "its environment"
    device = validation.device.name
    return f"{Path(request.program.script).name} {says} {other} on {task} ({len(validation.port.runs)} seeds, {device})"


def score_line(comparison: Comparison) -> str:
    """One score of both arms with the interval of their difference."""
    interval = comparison.interval
    return (
        f"{comparison.letter} {mean(comparison.port):.4g} against {mean(comparison.reference):.4g}:"
        f" {interval.difference:+.4g}, 90 % interval [{interval.lower:+.4g}, {interval.upper:+.4g}],"
        f" margin {comparison.margin:.4g}" + ("" if comparison.counts else " (informs only)")
    )


def cost_line(validation: Validation) -> str:
    """Copies, waits and speed, with the reference's where it was run."""
    port, reference = validation.counted.port, validation.counted.reference
    if port.device == "cpu":
        text = "copies and waits are not measured on the CPU"
    else:
        text = ", ".join(f"{value:.3g} {what}" for what, value in per_transition(port).items()) + " a transition"
        if reference is not None:
            text += f" (reference {', '.join(f'{value:.3g}' for value in per_transition(reference).values())})"
    if validation.throughput is not None:
        text += f"; {validation.throughput.ratio:.2g} times the reference's transitions a second"
    return text


def wish(validation: Validation) -> str:
    """How many seeds would decide; empty where more seeds are not the question."""
    seeds = validation.verdict.seeds
    return f"{seeds} seeds an arm would decide" if seeds is not None else ""


def line_costs(measurement: Measurement, findings: Findings) -> list[LineCost]:
    """Copies and waits by source line, most first; of what happened after the first environment step."""
    counts: dict[Line, Counter[str]] = {}
    for line in measurement.lines:
        if not line.setup and line.event in (UP, DOWN, *WAITS):
            kind = {UP: "up", DOWN: "down"}.get(line.event, "waits")
            counts.setdefault(line.place, Counter())[kind] += line.count.calls
    share = 1.0 / measurement.transitions if measurement.transitions else 0.0
    costs = [
        LineCost(place, count["up"] * share, count["down"] * share, count["waits"] * share, _codes(findings, place))
        for place, count in counts.items()
    ]
    return sorted(costs, key=lambda cost: (-cost.total, cost.place.filename, cost.place.line))


def _codes(findings: Findings, place: Line) -> tuple[str, ...]:
    found = findings.get((place.filename, place.line), ())
    return tuple(sorted({f"{finding.code} {finding.name}" for finding in found}))


def source_line(place: Line) -> str:
    """The text of a line of the user's files; empty where it cannot be read."""
    try:
        lines = Path(place.filename).read_text(encoding="utf-8", errors="replace").splitlines()
        return lines[place.line - 1].strip()
    except (OSError, IndexError, ValueError):
        return ""


def duration(seconds: float) -> str:
    """``48 s``, ``3 min 5 s``."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def solved(scores: Scores) -> str:
    """S in words."""
    if math.isnan(scores.solved_at):
        return "no threshold"
    return "never" if math.isinf(scores.solved_at) else f"{scores.solved_at:,.0f}"


def what_was_run(validation: Validation) -> list[tuple[str, str]]:
    """Device, script, reference, task, versions and times, by name."""
    request, port = validation.request, validation.counted.port
    task = validation.question.task
    times = [f"{name} {duration(seconds)}" for name, seconds in validation.seconds.items() if seconds >= 0.5]
    rows = [
        ("device", f"{validation.device.name}: {validation.device.reason}"),
        ("script", f"{request.program.script} {' '.join(request.program.arguments)}".rstrip()),
        ("against", f"{validation.reference.title}, {len(validation.reference.runs)} seeds"),
        ("task", f"{task.environment or 'unknown'}: {task.source}"),
        ("counted", f"{port.transitions} transitions, {port.updates} updates on {port.device_name or port.device}"),
        ("versions", ", ".join(f"{name} {version}" for name, version in port.versions.items())),
        ("time", ", ".join([*times, f"{validation.jobs} runs side by side"])),
    ]
    if validation.resumed:
        kept = f"{validation.resumed} runs were finished before and taken from .npuport_cache/validate"
        rows.append(("resumed", kept))
    return [*rows, *(("not seen", text) for text in port.not_measured)]
