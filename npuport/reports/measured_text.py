"""A watched run for people, in the terminal: the verdict first, then figures a step, then the lines that cause them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from npuport.observe.measurement import DOWN, UP, Measurement
from npuport.reports.measured import Figure, figures, nothing_seen, overheads, per_step, setting, size, verdict
from npuport.reports.measured_lines import NOT_FOUND, Findings, LineRow, line_rows, place
from npuport.reports.measured_remarks import Remark, notices
from npuport.reports.report import counted

SHOWN_LINES, SHOWN_NOTICES = 10, 4
# Lines that neither copy nor wait are there for orientation.
SHOWN_KERNEL_LINES = 3
# In a file nothing is folded, so that grep finds whole lines; source text is cut all the same.
_FILE_WIDTH, _SOURCE_WIDTH, _LEAST_WIDTH = 1000, 140, 80
_STYLES = {"bad": "bold red", "fair": "yellow", "good": "bold green"}


def write(measurement: Measurement, findings: Findings, out: TextIO) -> None:
    """Write the report; colours only on a terminal."""
    width = max(_LEAST_WIDTH, shutil.get_terminal_size().columns) if out.isatty() else _FILE_WIDTH
    console = Console(file=out, width=width, highlight=False, markup=False, emoji=False)
    rows = line_rows(measurement, findings)
    for index, sentence in enumerate(verdict(measurement)):
        console.print(Text(sentence.text, style=_STYLES[sentence.tone] if index == 0 or sentence.tone == "bad" else ""))
    if not nothing_seen(measurement):
        console.print()
        _print(console, _figures(measurement))
        console.print()
        _print(console, _notices(measurement, rows))
        _lines(console, measurement, rows)
    _foot(console, measurement)


def _figures(run: Measurement) -> Table:
    table = _table("per environment step", "calls", "bytes", "calls in all", "before the first step")
    for figure in figures(run):
        moved = figure.count.bytes / run.transitions if run.transitions else 0.0
        table.add_row(
            Text(figure.label),
            per_step(run, figure.count.calls),
            size(moved) if figure.moves and run.transitions else "",
            f"{figure.count.calls:,}",
            _before(figure),
        )
    return table


def _before(figure: Figure) -> str:
    if figure.before is None:
        return ""
    return f"{figure.before.calls:,} ({size(figure.before.bytes)})" if figure.moves else f"{figure.before.calls:,}"


def _notices(run: Measurement, rows: list[LineRow]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for heading, remarks in notices(run, rows):
        for index, remark in enumerate(remarks[:SHOWN_NOTICES] or [Remark("none")]):
            table.add_row(Text(heading if index == 0 else ""), Text(remark.text, style="red" if remark.bad else ""))
        if len(remarks) > SHOWN_NOTICES:
            table.add_row(Text(), Text(f"and {len(remarks) - SHOWN_NOTICES} more"))
    return table


def _lines(console: Console, run: Measurement, rows: list[LineRow]) -> None:
    explained = [row for row in rows if row.place.filename]
    costly = [row for row in explained if row.moves_or_waits or row.troubles]
    others = [row for row in explained if not (row.moves_or_waits or row.troubles)]
    told = costly[:SHOWN_LINES] + others[:SHOWN_KERNEL_LINES]
    unexplained = [row for row in rows if not row.place.filename]
    if not told and not unexplained:
        return
    console.print()
    heads = ("up", "down", "waits", "kernels")
    console.print(Text(_columns(heads) + "lines, per environment step", style="bold"))
    for row in [*told, *unexplained]:
        _line(console, run, row)
    hidden = len(explained) - len(told)
    if hidden:
        console.print(Text(f"{counted(hidden, 'more line')}; the formats html and json have all", style="dim"))


def _line(console: Console, run: Measurement, row: LineRow) -> None:
    """The numbers with the source text, cut to the width; below it what ``check`` says."""
    numbers = [row.calls(event) for event in (UP, DOWN, "wait", "kernel")]
    columns = _columns([per_step(run, number) if number else "." for number in numbers])
    text = Text(columns + place(row.place))
    if row.source:
        text.append(f"  {row.source}", style="dim")
    text.truncate(min(console.width, _SOURCE_WIDTH), overflow="ellipsis")
    console.print(text)
    if row.verdict:
        found = row.verdict != NOT_FOUND
        told = f"{row.verdict} ({row.troubles})" if row.troubles else row.verdict
        console.print(Text(f"{' ' * len(columns)}= {told}", style="cyan" if found else "dim"), overflow="fold")


def _columns(cells: Iterable[str]) -> str:
    return "".join(f"{cell:>8}" for cell in cells) + "  "


def _foot(console: Console, run: Measurement) -> None:
    console.print()
    for text in run.not_measured:
        console.print(Text(f"Not measured: {text}"))
    console.print(Text(f"{overheads(run)}.", style="dim"))
    console.print(Text(setting(run), style="dim"))


def _table(first: str, *numbers: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(first, no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _print(console: Console, table: Table) -> None:
    """Print without the blanks that rich fills lines up with."""
    with console.capture() as capture:
        console.print(table)
    for line in capture.get().splitlines():
        console.file.write(line.rstrip() + "\n")
