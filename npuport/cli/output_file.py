"""A file that a report goes to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from npuport.sources.errors import UsageError


def check_writable(path: Path) -> None:
    """A report that cannot be written is told before the script runs, not after."""
    there = path.exists()
    try:
        path.open("a").close()
    except OSError as error:
        raise _unwritable(path, error) from None
    if not there:
        path.unlink()


@contextmanager
def report_file(path: Path) -> Iterator[TextIO]:
    """The file, open for the report.

    Raises:
        UsageError: it cannot be written, or its disk is full.
    """
    try:
        with path.open("w", encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path}: cannot be written: {error.strerror}")
