"""Reads the fixtures of the rules: ``fixtures/rules/<code>[-aspect].py`` with ``.fixed.py`` and ``.portable.py``.

A line on which the rule must find something ends in ``# <code>``; every other line must be left in peace. A
first line ``# fix: unsafe`` makes the fixed files the result of ``--unsafe-fixes``. Configuration files (``.yaml``,
``.toml``, ``.sh``) stay as they are in portable style, and in npu style where they have no ``.fixed`` file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FIXTURES = Path(__file__).parent.parent / "fixtures"
_NAME = re.compile(r"([A-Z]+\d+)(-[\w-]+)?\.(?:py|yaml|toml|sh)")


@dataclass(frozen=True)
class RuleFixture:
    """One fixture of one rule."""

    path: Path
    code: str

    @property
    def id(self) -> str:
        return self.path.name.removesuffix(".py")

    @property
    def text(self) -> str:
        return self.path.read_bytes().decode("utf-8")

    @property
    def expected_rows(self) -> list[int]:
        """Rows with the rule's mark, once for each time that it stands there."""
        marks = re.compile(rf"#.*?\b{self.code}\b(?: x(\d+))?\s*$")
        found = [(row, marks.search(line)) for row, line in enumerate(self.text.split("\n"), start=1)]
        return [row for row, mark in found if mark for _ in range(int(mark.group(1) or 1))]

    @property
    def unsafe(self) -> bool:
        return self.text.startswith("# fix: unsafe")

    def fixed(self, style: str) -> Path:
        """The file with the expected text after the fix in a style."""
        ending = self.path.suffix
        expected = self.path.with_suffix(f".fixed{ending}" if style == "npu" else f".portable{ending}")
        return expected if ending == ".py" or expected.exists() else self.path


def rule_fixtures() -> list[RuleFixture]:
    """All fixtures, by name."""
    paths = sorted((FIXTURES / "rules").iterdir())
    return [RuleFixture(path, match.group(1)) for path in paths if (match := _NAME.fullmatch(path.name))]
