"""A file that a report goes to."""

from __future__ import annotations

from pathlib import Path

from npuport.sources.errors import UsageError


def check_writable(path: Path) -> None:
    """A report that cannot be written is told before the script runs, not after."""
    there = path.exists()
    try:
        path.open("a").close()
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None
    if not there:
        path.unlink()
