"""What every output format gets."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from npuport.engine.finding import Applicability, Finding
from npuport.sources.errors import UnreadableSource
from npuport.sources.reading import read_source
from npuport.sources.text import SourceText, read_bytes


@dataclass
class Report:
    """Findings and how to print them.

    Attributes:
        findings: sorted.
        files: how many files were checked.
        texts: contents that are not on disk (standard input), by file name.
        statistics: count by rule instead of listing.
        quiet: no summary.
    """

    findings: list[Finding]
    files: int
    texts: dict[str, bytes]
    statistics: bool = False
    quiet: bool = False
    _sources: dict[str, SourceText | None] = field(default_factory=dict)

    def source(self, filename: str) -> SourceText | None:
        """The text of a file with findings, for source frames; None where it cannot be read."""
        if filename not in self._sources:
            try:
                path = Path(filename)
                data = self.texts[filename] if filename in self.texts else read_bytes(path)
                self._sources[filename] = read_source(path, data)
            except UnreadableSource:
                self._sources[filename] = None
        return self._sources[filename]

    def summary(self) -> str:
        """One line: how many findings of which severity, and how many can be fixed."""
        if not self.findings:
            return f"All clear: {counted(self.files, 'file')} checked"
        counts = Counter(finding.severity.value for finding in self.findings)
        parts = [counted(counts[name], name) for name in ("error", "warning", "note") if counts[name]]
        files = len({finding.filename for finding in self.findings})
        text = f"Found {', '.join(parts)} in {files} of {counted(self.files, 'file')}"
        safe = sum(f.fix is not None and f.fix.applicability is Applicability.SAFE for f in self.findings)
        unsafe = sum(f.fix is not None and f.fix.applicability is Applicability.UNSAFE for f in self.findings)
        if safe:
            text += f"; up to {safe} can be fixed with `npuport fix --write`"
        if unsafe:
            text += f"{' and' if safe else ';'} {unsafe} more with `--unsafe-fixes`"
        return text


def counted(number: int, noun: str) -> str:
    """``1 file``, ``2,000 files``."""
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"
