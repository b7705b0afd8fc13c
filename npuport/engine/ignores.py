"""Writes suppressing comments for findings that are to stay: ``check --add-ignores``."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from npuport.engine.cells import in_text
from npuport.engine.checking import SYNTAX_ERROR, UNUSED_SUPPRESSION
from npuport.engine.files import ChangedMeanwhile, write_atomically
from npuport.engine.finding import Finding
from npuport.engine.suppressions import with_ignores
from npuport.sources.errors import UnreadableSource
from npuport.sources.reading import read_source
from npuport.sources.text import read_bytes


def suppress_findings(findings: list[Finding], reason: str) -> tuple[int, list[str]]:
    """Suppress findings where they are.

    Returns:
        How many were suppressed, and one line for each file that could not be written.
    """
    by_file: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.code not in (SYNTAX_ERROR, UNUSED_SUPPRESSION):
            by_file[finding.filename].append(finding)
    written, faults = 0, []
    for filename, found in by_file.items():
        path = Path(filename)
        try:
            data = read_bytes(path)
            source = read_source(path, data)
            text = with_ignores(source, in_text(source, found), reason)
            write_atomically(path, source.encode(text), data)
            written += len(found)
        except (UnreadableSource, ChangedMeanwhile, OSError, UnicodeEncodeError) as error:
            faults.append(f"{filename}: {getattr(error, 'strerror', None) or error}")
    return written, faults
