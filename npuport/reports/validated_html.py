"""A validation as one HTML page that needs nothing else: verdict, learning curves, gates, checks, lines with bars."""

from __future__ import annotations

from html import escape

from npuport import __version__
from npuport.reports.learning_curves import COLOURS, learning_curves
from npuport.reports.page import bar, code, page, table
from npuport.reports.validated import (
    Findings,
    LineCost,
    cost_line,
    headline,
    line_costs,
    score_line,
    solved,
    source_line,
    what_was_run,
    wish,
)
from npuport.validate.checks import place_of
from npuport.validate.curves import band
from npuport.validate.validation import Validation
from npuport.validate.verdict import Word

_LINES = 25
_TONES = {Word.PASS: "good", Word.FAIL: "bad", Word.INCONCLUSIVE: "fair"}
_MARKS = {True: "holds", False: "broken", None: "open"}
_BARS = {"up": "copies to the device", "down": "copies to the host", "wait": "waits"}


def render(validation: Validation, findings: Findings) -> str:
    """The page."""
    verdict = validation.verdict
    parts = [
        f"<h1>npuport validate {code(validation.request.program.script)}</h1>",
        *_verdict(validation),
        *_curves(validation),
        "<h2>Gates</h2>",
        _table("gate", [(_MARKS[gate.holds], gate.name, gate.reason) for gate in verdict.gates]),
        "<h2>Checks beside the returns</h2>",
        _table("check", [(check.state, check.name, check.text) for check in validation.checks]),
        *_costs(validation, findings),
        *_scores(validation),
        *_what_was_run(validation),
        f'<p class="dim">npuport {__version__}</p>',
    ]
    return page(f"{verdict.word.value}: {headline(validation)}", "\n".join(parts))


def _verdict(validation: Validation) -> list[str]:
    verdict = validation.verdict
    texts = [score_line(comparison) for comparison in verdict.comparisons]
    texts += [str(verdict.failed)] if verdict.failed is not None else []
    texts += [cost_line(validation), *verdict.notes]
    texts += [wish(validation)] if wish(validation) else []
    return [
        f'<div class="panel {_TONES[verdict.word]}">',
        f'<p class="first">{verdict.word.value}</p><p>{escape(headline(validation))}</p>',
        *(f"<p>{escape(text)}</p>" for text in texts),
        "</div>",
    ]


def _table(title: str, rows: list[tuple[str, str, str]]) -> str:
    """Rows of state, name and text."""

    def state(text: str) -> str:
        return f'<span class="mark">{text}</span>' if text == "broken" else text

    return table(("", title, ""), [(state(first), escape(name), escape(text)) for first, name, text in rows])


def _curves(validation: Validation) -> list[str]:
    task = validation.question.task
    arms = [(arm.title, band(arm.runs)) for arm in (validation.port, validation.reference)]
    keys = "".join(
        f'<span class="key" style="background:{colour}"></span>{escape(title)}'
        for (title, _), colour in zip(arms, COLOURS, strict=True)
    )
    return [
        "<h2>Learning curves</h2>",
        f'<p class="dim">Mean over seeds of the last 20 episodes\' return, with its 90 % interval.{keys}</p>',
        learning_curves(arms, task.threshold, task.low, task.high),
    ]


def _costs(validation: Validation, findings: Findings) -> list[str]:
    costs = line_costs(validation.counted.port, findings)[:_LINES]
    if not costs:
        return []
    most = max(max(cost.up, cost.down, cost.waits) for cost in costs)
    key = "".join(f'<span class="key bar {kind}"></span>{name}' for kind, name in _BARS.items())
    return [
        "<h2>Copies and waits by source line, per transition</h2>",
        f'<p class="dim">{key}</p>',
        table(("line", "", "up", "down", "waits", "", "check"), [_cost_row(cost, most) for cost in costs], (2, 3, 4)),
    ]


def _cost_row(cost: LineCost, most: float) -> tuple[str, ...]:
    values = {"up": cost.up, "down": cost.down, "wait": cost.waits}
    bars = "".join(bar(kind, value, most) for kind, value in values.items())
    numbers = [f"{value:.3g}" if value else "" for value in values.values()]
    found = "<br>".join(escape(name) for name in cost.found)
    return (
        code(place_of(cost.place)),
        code(source_line(cost.place)),
        *numbers,
        f'<div class="bars">{bars}</div>',
        found,
    )


def _scores(validation: Validation) -> list[str]:
    verdict, best = validation.verdict, validation.question.final_score == "best"
    rows = [
        (
            escape(arm.title),
            str(run.seed),
            f"{score.best if best else score.final:.4g}",
            f"{score.average:.4g}",
            solved(score),
            f"{run.transitions:,}",
        )
        for arm, scores in ((validation.port, verdict.port), (validation.reference, verdict.reference))
        for run, score in zip(arm.runs, scores, strict=True)
    ]
    final = "F: best 20 episodes" if best else "F: last 20 % of steps"
    heads = ("", "seed", final, "A: average", "S: solved at", "transitions")
    return ["<h2>Scores of every seed</h2>", table(heads, rows, (1, 2, 3, 4, 5))]


def _what_was_run(validation: Validation) -> list[str]:
    rows = [(escape(name), escape(text)) for name, text in what_was_run(validation)]
    return ["<h2>What was run</h2>", table(("", ""), rows)]
