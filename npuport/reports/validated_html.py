"""A validation as one HTML page that needs nothing else: no script, no font, no picture from anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from npuport import __version__
from npuport.reports.learning_curves import learning_curves
from npuport.reports.validated import (
    LineCost,
    cost_line,
    duration,
    headline,
    line_costs,
    score_line,
    source_line,
    wish,
)
from npuport.validate.checks import place_of
from npuport.validate.curves import band
from npuport.validate.scores import Scores
from npuport.validate.validation import Validation

_LINES = 20
_MARKS = {True: "holds", False: "broken", None: "open"}

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1c2733; }
h1 span { padding: .1em .5em; border-radius: .3em; color: white; margin-right: .4em; }
.PASS { background: #1b7f4b; } .FAIL { background: #b3261e; } .INCONCLUSIVE { background: #a86a00; }
h1 { font-size: 1.4rem; font-weight: 500; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; padding: .25rem .6rem; vertical-align: top; }
tr { border-bottom: 1px solid #dde3e9; } td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.state { white-space: nowrap; } .holds, .ok { color: #1b7f4b; } .broken { color: #b3261e; font-weight: 600; }
.open, .note { color: #a86a00; }
code { font: 13px ui-monospace, monospace; } .code { color: #5a6772; display: block; white-space: pre-wrap; }
svg { width: 100%; height: auto; } svg text { font-size: 12px; fill: #5a6772; }
svg .left { text-anchor: end; } svg .below { text-anchor: middle; }
.grid { stroke: #dde3e9; } .threshold { stroke: #5a6772; stroke-dasharray: 6 4; }
.mean { fill: none; stroke-width: 2; } .band { opacity: .18; }
.port.mean { stroke: #0b62c4; } .port.band { fill: #0b62c4; }
.reference.mean { stroke: #c4620b; } .reference.band { fill: #c4620b; }
.key { display: inline-block; width: 1.2em; height: .7em; margin: 0 .4em 0 1em; }
.key.port { background: #0b62c4; } .key.reference { background: #c4620b; }
.bars { width: 40%; } .bar { display: inline-block; height: .8em; }
.up { background: #0b62c4; } .down { background: #c4620b; } .waits { background: #7a4fb5; }
.key.up { background: #0b62c4; } .key.down { background: #c4620b; } .key.waits { background: #7a4fb5; }
"""


def render(validation: Validation) -> str:
    """The page."""
    verdict = validation.verdict
    word = verdict.word.value
    parts = [
        "<!DOCTYPE html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{word}: {escape(headline(validation))}</title>',
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>',
        f'<h1><span class="{word}">{word}</span>{escape(headline(validation))}</h1>',
        *_summary(validation),
        *_curves(validation),
        "<h2>Gates</h2>",
        _table((_MARKS[gate.holds], gate.name, gate.reason) for gate in verdict.gates),
        "<h2>Checks beside the returns</h2>",
        _table((check.state, check.name, check.text) for check in validation.checks),
        *_costs(validation),
        *_scores(validation),
        *_what_was_run(validation),
        f"<p>npuport {__version__}</p></body></html>",
    ]
    return "\n".join(parts)


def _summary(validation: Validation) -> list[str]:
    verdict = validation.verdict
    entries = [score_line(comparison) for comparison in verdict.comparisons]
    entries += [str(verdict.failed)] if verdict.failed is not None else []
    entries.append(cost_line(validation))
    entries += verdict.notes
    entries += [wish(validation)] if wish(validation) else []
    return ["<ul>", *(f"<li>{escape(entry)}</li>" for entry in entries), "</ul>"]


def _curves(validation: Validation) -> list[str]:
    task = validation.question.task
    arms = [
        (validation.port.title, "port", band(validation.port.runs)),
        (validation.reference.title, "reference", band(validation.reference.runs)),
    ]
    keys = "".join(f'<span class="key {name}"></span>{escape(title)}' for title, name, _ in arms)
    return [
        "<h2>Learning curves</h2>",
        f"<p>Mean over seeds of the last 20 episodes' return, with its 90 % interval.{keys}</p>",
        learning_curves(arms, task.threshold, task.low, task.high),
    ]


def _table(rows: Iterable[tuple[str, str, str]]) -> str:
    """Rows of state, name and text."""
    lines = [
        f'<tr><td class="state {escape(state)}">{escape(state)}</td><td>{escape(name)}</td><td>{escape(text)}</td></tr>'
        for state, name, text in rows
    ]
    return "\n".join(["<table>", *lines, "</table>"])


def _costs(validation: Validation) -> list[str]:
    costs = line_costs(validation.counted.port)[:_LINES]
    if not costs:
        return []
    most = max(cost.total for cost in costs)
    kinds = "".join(f'<span class="key {kind}"></span>{kind}' for kind in ("up", "down", "waits"))
    return [
        "<h2>Copies and waits by source line</h2>",
        f"<p>Per transition.{kinds}</p><table>",
        *(_cost_row(cost, most) for cost in costs),
        "</table>",
    ]


def _cost_row(cost: LineCost, most: float) -> str:
    bars = "".join(
        f'<span class="bar {kind}" style="width:{100 * value / most:.1f}%" title="{value:.3g} {kind}"></span>'
        for kind, value in (("up", cost.up), ("down", cost.down), ("waits", cost.waits))
        if value
    )
    code = escape(source_line(cost.place))
    return (
        f"<tr><td>{escape(place_of(cost.place))}<code class='code'>{code}</code></td>"
        f'<td class="bars">{bars}</td><td class="number">{cost.total:.3g}</td></tr>'
    )


def _scores(validation: Validation) -> list[str]:
    verdict, best = validation.verdict, validation.question.final_score == "best"
    rows = [
        f"<tr><td>{escape(arm.title)}</td><td class='number'>{run.seed}</td>"
        f"{_numbers(score, best=best)}<td class='number'>{run.transitions:,}</td></tr>"
        for arm, scores in ((validation.port, verdict.port), (validation.reference, verdict.reference))
        for run, score in zip(arm.runs, scores, strict=True)
    ]
    titles: Sequence[str] = ("seed", "F", "A", "S", "transitions")
    return [
        "<h2>Scores of every seed</h2><table>",
        "<tr><th></th>" + "".join(f'<th class="number">{title}</th>' for title in titles) + "</tr>",
        *rows,
        "</table>",
    ]


def _numbers(scores: Scores, *, best: bool) -> str:
    solved = "never" if scores.solved_at == float("inf") else f"{scores.solved_at:,.0f}"
    values = (f"{scores.best if best else scores.final:.4g}", f"{scores.average:.4g}", solved)
    return "".join(f'<td class="number">{value}</td>' for value in values)


def _what_was_run(validation: Validation) -> list[str]:
    request, port = validation.request, validation.counted.port
    times = ", ".join(f"{name} {duration(seconds)}" for name, seconds in validation.seconds.items())
    rows = [
        ("device", f"{validation.device.name}: {validation.device.reason}"),
        ("script", f"{request.program.script} {' '.join(request.program.arguments)}"),
        ("against", f"{validation.reference.title}, {len(validation.reference.runs)} seeds"),
        ("task", f"{validation.question.task.environment or 'unknown'}: {validation.question.task.source}"),
        ("counted", f"{port.transitions} transitions, {port.updates} updates"),
        ("versions", ", ".join(f"{name} {version}" for name, version in port.versions.items())),
        ("time", times),
        *(("not seen", text) for text in port.not_measured),
    ]
    lines = [f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in rows]
    return ["<h2>What was run</h2><table>", *lines, "</table>"]
