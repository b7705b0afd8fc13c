"""A watched run as one HTML file that can be sent around: the verdict, figures, notices, and every line with bars."""

from __future__ import annotations

import shlex
from html import escape
from typing import TextIO

from npuport.observe.measurement import DOWN, UP, Measurement
from npuport.reports.measured import figures, overheads, per_step, setting, size, verdict
from npuport.reports.measured_lines import NO_LINE, Findings, LineRow, line_rows, place, shown
from npuport.reports.measured_remarks import Remark, notices
from npuport.reports.page import bar, code, curve, page, table
from npuport.reports.report import counted

# More than these are folded away: their number is small, and nobody reads that far unasked.
OPEN_LINES = 25
_MARKED = ' class="mark"'
_BARS = {"up": UP, "down": DOWN, "wait": "wait"}


def write(measurement: Measurement, findings: Findings, out: TextIO) -> None:
    """Write the page."""
    rows = line_rows(measurement, findings)
    parts = [
        _head(measurement),
        _verdict(measurement),
        "<h2>Per environment step</h2>",
        _figures(measurement),
        "<h2>What else was seen</h2>",
        _notices(measurement, rows),
        *_lines(measurement, rows),
        *_curves(measurement),
        *_kernels(measurement),
        _foot(measurement),
    ]
    out.write(page(f"npuport run {shown(measurement.script)}", "\n".join(parts)))


def _head(run: Measurement) -> str:
    command = " ".join([shown(run.script), *(shlex.quote(word) for word in run.arguments)])
    return f'<h1>npuport run {code(command)}</h1>\n<p class="dim">{escape(setting(run))}</p>'


def _verdict(run: Measurement) -> str:
    first, *others = verdict(run)
    worst = "bad" if any(one.tone == "bad" for one in (first, *others)) else first.tone
    lines = [f'<p class="first {first.tone}">{escape(first.text)}</p>']
    lines += [f"<p{_MARKED if one.tone == 'bad' else ''}>{escape(one.text)}</p>" for one in others]
    return f'<div class="panel {worst}">\n' + "\n".join(lines) + "\n</div>"


def _figures(run: Measurement) -> str:
    rows = [
        (
            escape(figure.label),
            per_step(run, figure.count.calls),
            size(figure.count.bytes / run.transitions) if figure.moves and run.transitions else "",
            f"{figure.count.calls:,}",
            f"{figure.before.calls:,}" if figure.before is not None else "",
        )
        for figure in figures(run)
    ]
    return table(("", "calls", "bytes", "calls in all", "before the first step"), rows, (1, 2, 3, 4))


def _notices(run: Measurement, rows: list[LineRow]) -> str:
    told = [(escape(heading), "<br>".join(map(_remark, remarks)) or "none") for heading, remarks in notices(run, rows)]
    return table(("what", "where"), told)


def _remark(remark: Remark) -> str:
    return f"<span{_MARKED}>{escape(remark.text)}</span>" if remark.bad else escape(remark.text)


def _lines(run: Measurement, rows: list[LineRow]) -> list[str]:
    if not rows:
        return []
    largest = max(row.calls(event) for row in rows for event in _BARS.values())
    key = "".join(f'<span class="key bar {kind}"></span>{name}' for kind, name in _KEY.items())
    heads = ("line", "", "up", "down", "bytes", "waits", "kernels", "", "check")

    def part(some: list[LineRow]) -> str:
        return table(heads, [_line(run, row, largest) for row in some], (2, 3, 4, 5, 6))

    unexplained = [row for row in rows if not row.place.filename]
    explained = [row for row in rows if row.place.filename]
    parts = [
        "<h2>Lines, per environment step</h2>",
        f'<p class="dim">The lines with most copies and waits come first.{key}</p>',
        part([*explained[:OPEN_LINES], *unexplained]),
    ]
    if more := explained[OPEN_LINES:]:
        parts.append(f"<details><summary>{counted(len(more), 'more line')}</summary>{part(more)}</details>")
    return parts


_KEY = {"up": "copies to the device", "down": "copies to the host", "wait": "waits"}


def _line(run: Measurement, row: LineRow, largest: int) -> tuple[str, ...]:
    up, down, waits, kernels = (
        per_step(run, number) if (number := row.calls(event)) else "" for event in (UP, DOWN, "wait", "kernel")
    )
    moved = sum(row.counts[event].bytes for event in (UP, DOWN) if event in row.counts)
    bars = "".join(bar(kind, row.calls(event), largest) for kind, event in _BARS.items())
    where = code(place(row.place)) if row.place.filename else f"<em>{NO_LINE}</em>"
    troubles = f'<br><span class="mark">{escape(row.troubles)}</span>' if row.troubles else ""
    return (
        where,
        (code(row.source) if row.source else "") + troubles,
        up,
        down,
        size(moved / run.transitions) if moved and run.transitions else "",
        waits,
        kernels,
        f'<div class="bars">{bars}</div>',
        _found(row),
    )


def _found(row: LineRow) -> str:
    told = sorted({(f"{finding.code} {finding.name}", finding.message) for finding in row.findings})
    if told:
        return "<br>".join(f'<span title="{escape(message)}">{escape(name)}</span>' for name, message in told)
    return f'<span class="dim">{escape(row.verdict)}</span>'


def _curves(run: Measurement) -> list[str]:
    returns = [(float(episode.transition), episode.episodic_return) for episode in run.episodes]
    losses = [(float(index), loss) for index, loss in enumerate(run.losses, 1) if loss is not None]
    drawn = {
        "Return of each episode": curve(returns, "transitions", "return of each episode by transitions"),
        "The first losses": curve(losses, "backward calls", "loss by backward calls"),
    }
    return [f"<h2>{heading}</h2>\n{svg}" for heading, svg in drawn.items() if svg]


def _kernels(run: Measurement) -> list[str]:
    if not run.kernels:
        return []
    ordered = sorted(run.kernels.items(), key=lambda pair: (-pair[1], pair[0]))
    largest = ordered[0][1]
    rows = [
        (code(name), f"{calls:,}", per_step(run, calls), f'<div class="bars">{bar("up", calls, largest)}</div>')
        for name, calls in ordered
    ]
    body = table(("kernel", "calls", "per environment step", ""), rows, (1, 2))
    return [f"<h2>Kernels</h2>\n<details><summary>{counted(len(rows), 'kernel')}</summary>{body}</details>"]


def _foot(run: Measurement) -> str:
    texts = [*(f"Not measured: {text}." for text in run.not_measured), f"{overheads(run)}."]
    return "<h2>Limits</h2>\n" + "\n".join(f"<p>{escape(text)}</p>" for text in texts)
