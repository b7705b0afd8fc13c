"""A validation on the terminal: what a person reads in ten seconds, then the details."""

from __future__ import annotations

import click

from npuport.reports.validated import (
    Findings,
    cost_line,
    headline,
    line_costs,
    score_line,
    solved,
    source_line,
    what_was_run,
    wish,
)
from npuport.validate.checks import Check, place_of
from npuport.validate.returns import Comparison
from npuport.validate.scores import Scores
from npuport.validate.validation import Validation
from npuport.validate.verdict import Gate, Word

_COLOURS = {Word.PASS: "green", Word.FAIL: "red", Word.INCONCLUSIVE: "yellow"}
_MARKS = {True: "holds", False: "broken", None: "open"}
_LINES = 8


def render(validation: Validation, findings: Findings) -> str:
    """The report, with colours in it that ``click.echo`` takes out again where no terminal is."""
    return "\n".join([*summary(validation), "", *details(validation, findings)])


def summary(validation: Validation) -> list[str]:
    """The verdict and what it comes from, in a few lines."""
    verdict = validation.verdict
    word = click.style(verdict.word.value, fg=_COLOURS[verdict.word], bold=True)
    lines = [f"{word}  {headline(validation)}", ""]
    if verdict.comparisons:
        lines += (_row("returns" if not index else "", score_line(c)) for index, c in enumerate(verdict.comparisons))
    if verdict.failed is not None:
        lines.append(_row("seeds", str(verdict.failed)))
    lines.append(_row("cost", cost_line(validation)))
    lines += (_row("because", f"{gate.name}: {gate.reason}") for gate in verdict.gates if gate.holds is not True)
    lines += (_row("look at", f"{check.name}: {check.text}") for check in validation.checks if check.state == "note")
    lines += (_row("note", note) for note in verdict.notes)
    if wish(validation):
        lines.append(_row("next", wish(validation)))
    return lines


def details(validation: Validation, findings: Findings) -> list[str]:
    """Gates, checks, scores of every seed, source lines, and what was run."""
    return [
        "Gates",
        *(_gate(gate) for gate in validation.verdict.gates),
        *(_bootstrap(comparison) for comparison in validation.verdict.comparisons),
        "",
        "Checks beside the returns",
        *(_check(check) for check in validation.checks),
        "",
        *_scores(validation),
        *_costs(validation, findings),
        *_speed(validation),
        *_what_was_run(validation),
    ]


def _row(title: str, text: str) -> str:
    return f"  {title:<8} {text}"


def _gate(gate: Gate) -> str:
    return f"  {_MARKS[gate.holds]:<7} {gate.name}: {gate.reason}"


def _bootstrap(comparison: Comparison) -> str:
    """For the eye: where it is far from Welch's interval, a few seeds make the difference."""
    lower, upper = comparison.bootstrap()
    return f"  for the eye: {comparison.letter}, 90 % bootstrap interval [{lower:.4g}, {upper:.4g}]"


def _check(check: Check) -> str:
    return f"  {check.state:<7} {check.name}: {check.text}"


def _scores(validation: Validation) -> list[str]:
    final = validation.question.final_score
    title = "best 20" if final == "best" else "last 20 %"
    lines = [f"Returns by seed{'':17} F ({title})  A (average)  S (solved at)"]
    for arm, scores in (
        (validation.port, validation.verdict.port),
        (validation.reference, validation.verdict.reference),
    ):
        lines.append(f"  {arm.title}")
        lines += (
            f"    seed {run.seed:<22} {_final(score, final):>14}  {score.average:>11.4g}  {solved(score):>13}"
            for run, score in zip(arm.runs, scores, strict=True)
        )
    return [*lines, ""]


def _final(scores: Scores, final: str) -> str:
    return f"{scores.best if final == 'best' else scores.final:.4g}"


def _costs(validation: Validation, findings: Findings) -> list[str]:
    costs = line_costs(validation.counted.port, findings)
    if not costs:
        return []
    lines = [f"Copies and waits by line, a transition{'':4}      up    down   waits"]
    for cost in costs[:_LINES]:
        lines.append(f"  {place_of(cost.place):<38} {cost.up:>9.3g} {cost.down:>7.3g} {cost.waits:>7.3g}")
        if text := source_line(cost.place):
            lines.append(f"    {text[:100]}")
        if cost.found:
            lines.append(f"    = {', '.join(cost.found)}")
    if len(costs) > _LINES:
        lines.append(f"  and {len(costs) - _LINES} more lines")
    return [*lines, ""]


def _speed(validation: Validation) -> list[str]:
    speed = validation.throughput
    if speed is None:
        return []
    rows = (("port", speed.port, speed.port_updates), ("reference", speed.reference, speed.reference_updates))
    return [
        "Transitions a second, in turns on the same device",
        *(
            f"  {title:<9} {', '.join(f'{value:,.0f}' for value in values)}   ({updates:.3g} updates a transition)"
            for title, values, updates in rows
        ),
        "",
    ]


def _what_was_run(validation: Validation) -> list[str]:
    return ["What was run", *(f"  {name:<9} {text}" for name, text in what_was_run(validation))]
