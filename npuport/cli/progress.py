"""A line on the terminal when a run takes longer than a second."""

from __future__ import annotations

import sys
import time
from types import TracebackType

DELAY = 1.0  # seconds


class Progress:
    """Counts files on stderr, where that is a terminal."""

    def __init__(self, *, quiet: bool) -> None:
        self._on = not quiet and sys.stderr.isatty()
        self._begin = time.monotonic()
        self._shown = 0.0

    def update(self, done: int, total: int) -> None:
        """Say how far it is, at most ten times a second."""
        now = time.monotonic()
        if self._on and now - self._begin > DELAY and now - self._shown > 0.1:
            self._shown = now
            sys.stderr.write(f"\r\x1b[2K{done} of {total} files")
            sys.stderr.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
