"""How far a validation is, on stderr: a bar on a terminal, a line a phase elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID


class ValidateProgress:
    """Takes what ``npuport.validate.passes.Progress`` tells."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._terminal = sys.stderr.isatty()
        self._bar: Bar | None = None
        self._tasks: dict[str, TaskID] = {}
        self._told: set[tuple[str, int]] = set()

    def update(self, phase: str, done: int, total: int, remaining_seconds: float | None) -> None:
        """Tell how many runs of a phase are done, and what is left of it."""
        if self._quiet:
            return
        if self._terminal:
            self._draw(phase, done, total, remaining_seconds)
        elif (phase, done) not in self._told:
            self._told.add((phase, done))
            click.echo(f"npuport: {phase}: {done} of {total}{_left(remaining_seconds)}", err=True)

    def of_build(self, done: int, total: int) -> None:
        """Tell how far the emulated device is."""
        self.update("building the emulated device", done, total, None)

    def _draw(self, phase: str, done: int, total: int, remaining_seconds: float | None) -> None:
        if self._bar is None:
            self._bar = _started()
        if phase not in self._tasks:
            self._tasks[phase] = self._bar.add_task(phase, total=total, left="")
        self._bar.update(self._tasks[phase], completed=done, total=total, left=_left(remaining_seconds))

    def __enter__(self) -> ValidateProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def _left(seconds: float | None) -> str:
    if not seconds:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    return f", about {minutes} min {rest} s left" if minutes else f", about {rest} s left"


def _started() -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
        TimeElapsedColumn(), TextColumn("{task.fields[left]}"),
    )  # fmt: skip
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    bar.start()
    return bar
