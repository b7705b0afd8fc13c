"""A progress bar on the terminal when something takes longer than a second."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

DELAY = 1.0  # seconds


class Progress:
    """Counts files on stderr, where that is a terminal.

    Args:
        announcement: a line for stderr before the first file, also where that is no terminal.
    """

    def __init__(self, *, quiet: bool, announcement: str = "") -> None:
        self._on = not quiet and sys.stderr.isatty()
        self._announcement = "" if quiet else announcement
        self._begin = time.monotonic()
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def update(self, done: int, total: int) -> None:
        """Say how far it is."""
        if self._announcement:
            click.echo(self._announcement, err=True)
            self._announcement = ""
        if self._on and time.monotonic() - self._begin > DELAY:
            if self._bar is None or self._task is None:
                self._bar, self._task = _started(total)
            self._bar.update(self._task, completed=done)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def _started(total: int) -> tuple[Bar, TaskID]:
    """A bar that goes away when it is stopped; rich is imported only by a run that is slow enough to need it."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("files", total=total)
    bar.start()
    return bar, task
