"""The comments ``# npuport: ignore[NPU301] reason`` and ``# npuport: ignore-file[NPU3] reason``.

A comment behind code counts for its line; a comment on a line of its own counts for the next statement's
first line. Without codes it counts for all rules.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field

from npuport.analysis.configuration import Scalar
from npuport.engine.finding import Finding
from npuport.engine.rendering import Edit, apply
from npuport.engine.rule import Rule
from npuport.sources.text import SourceText

_DIRECTIVE = re.compile(
    r"#\s*npuport:\s*(?P<kind>ignore-file|ignore)(?P<list>\[(?P<codes>[^\]\r\n]*)\])?(?P<reason>[^\r\n#]*)",
    re.IGNORECASE,
)
_LAYOUT = (tokenize.NL, tokenize.COMMENT, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


@dataclass
class Suppression:
    """One suppressing comment.

    Attributes:
        row: line of the comment, from 1.
        start: character offset of the comment's ``#``.
        end: character offset behind the directive.
        target_row: the first line that it counts for; 0 for the whole file, -1 for none.
        last_row: the last one: a comment on a line of its own counts for the whole logical line below.
        words: codes, prefixes, names or topics; empty for all rules.
        used: the words that suppressed something; ``"*"`` for a comment without words.
    """

    row: int
    start: int
    end: int
    target_row: int
    last_row: int
    words: tuple[str, ...]
    text: str
    used: set[str] = field(default_factory=set)

    def covers(self, finding: Finding) -> bool:
        """Whether ``finding`` is suppressed by this comment; remembers which word did it."""
        begins_late = finding.location.row > self.last_row
        if self.target_row and (self.target_row < 0 or begins_late or finding.end_location.row < self.target_row):
            return False
        if not self.words:
            self.used.add("*")
            return True
        hit = next((word for word in self.words if means(word, finding)), None)
        if hit is None:
            return False
        self.used.add(hit)
        return True

    def unused(self, is_on: Callable[[str], bool]) -> tuple[str, ...]:
        """The words that suppressed nothing although their rules ran; ``("*",)`` for the whole comment."""
        if not self.words:
            return ("*",) if not self.used and is_on("") else ()
        return tuple(word for word in self.words if word not in self.used and is_on(word))


def means(word: str, rule: Rule | Finding) -> bool:
    """Whether a word of a comment names a rule, or the rule of a finding: by code, prefix, name or topic."""
    return rule.code.startswith(word.upper()) or word.lower() in (rule.name, rule.topic)


def find_suppressions(source: SourceText) -> list[Suppression]:
    """All suppressing comments of a file that can be tokenized; strings that look like one do not count."""
    if "npuport:" not in source.text:
        return []
    found: list[Suppression] = []
    with suppress(tokenize.TokenError, SyntaxError, IndentationError):
        _collect(source, found)
    return found


def _collect(source: SourceText, found: list[Suppression]) -> None:
    line_has_code = False
    waiting: list[Suppression] = []  # on lines of their own, before their statement
    opened: list[Suppression] = []  # inside their logical line
    for token in tokenize.generate_tokens(io.StringIO(source.text, newline="").readline):
        if token.type == tokenize.COMMENT:
            directive = _DIRECTIVE.search(token.string)
            if directive:
                suppression = _suppression(source, directive, *token.start, line_has_code)
                found.append(suppression)
                if suppression.target_row < 0:
                    waiting.append(suppression)
        elif token.type == tokenize.NEWLINE:
            for suppression in opened:
                suppression.last_row = token.start[0]
            opened.clear()
            line_has_code = False
        elif token.type == tokenize.NL:
            line_has_code = False
        elif token.type not in _LAYOUT and token.type != tokenize.ENDMARKER:
            line_has_code = True
            for suppression in waiting:
                suppression.target_row = suppression.last_row = token.start[0]
            opened += waiting
            waiting.clear()


def _suppression(source: SourceText, directive: re.Match[str], row: int, column: int, behind_code: bool) -> Suppression:
    start = source.line_starts[row - 1] + column + directive.start()
    words = tuple(word.strip() for word in (directive["codes"] or "").split(",") if word.strip())
    target = 0 if directive["kind"] == "ignore-file" else row if behind_code else -1
    return Suppression(row, start, start + len(directive.group()), target, target, words, directive.group())


def suppressions_in_comments(source: SourceText, comments: Iterable[Scalar], open_rows: Set[int]) -> list[Suppression]:
    """The suppressing comments among those of a configuration file.

    One on a line of its own counts for the next line that holds something, with the lines that continue it.
    """
    found: list[Suppression] = []
    for comment in comments:
        directive = _DIRECTIVE.search(comment.text)
        if directive:
            row, column = source.position(comment.start)
            behind = bool(source.line(row)[: column - 1].strip())
            suppression = _suppression(source, directive, row, column - 1, behind)
            found.append(suppression)
            if suppression.target_row < 0:
                suppression.target_row, suppression.last_row = _next_line(source, row, open_rows)
    return found


def _next_line(source: SourceText, row: int, open_rows: Set[int]) -> tuple[int, int]:
    """First and last row of the line below that is neither empty nor a comment; -1 where there is none."""
    rows = range(row + 1, len(source.line_starts) + 1)
    first = next((r for r in rows if (line := source.line(r).strip()) and not line.startswith("#")), -1)
    last = first
    while last in open_rows:
        last += 1
    return first, last


def removal(source: SourceText, suppression: Suppression, unused: Iterable[str]) -> Edit:
    """The edit that takes the unused words, or the whole comment, away."""
    gone = set(unused)
    kept = [word for word in suppression.words if word not in gone]
    if kept and "*" not in gone:
        opening = suppression.text.index("[") + 1
        closing = suppression.text.index("]")
        return Edit(suppression.start + opening, suppression.start + closing, ", ".join(kept))
    line_start = source.line_starts[suppression.row - 1]
    before = source.text[line_start : suppression.start]
    rest = source.line(suppression.row)[suppression.end - line_start :]
    if rest.lstrip().startswith("#"):  # another tool's comment follows: keep it
        return Edit(suppression.start, suppression.end + len(rest) - len(rest.lstrip()), "")
    if before.strip():
        return Edit(line_start + len(before.rstrip()), suppression.end, "")
    next_line = source.line_starts[suppression.row] if suppression.row < len(source.line_starts) else len(source.text)
    return Edit(line_start, next_line, "")


def with_ignores(
    source: SourceText,
    findings: Iterable[Finding],
    reason: str,
    suppressions: Iterable[Suppression],
    first_rows: Mapping[int, int],
    open_rows: Set[int],
) -> str:
    """The text with a suppressing comment for each finding, at its line's end where that is possible.

    Args:
        source: the file.
        findings: what is to be suppressed.
        reason: written behind the codes.
        suppressions: the comments that are there already; they get the codes of their line.
        first_rows: the first row of the statement or command that a row belongs to; absent for its own.
        open_rows: rows at whose end no comment can stand, for a backslash or a string: it goes on a line of its own
            above the statement.
    """
    codes_by_row: dict[int, set[str]] = {}
    for finding in findings:
        codes_by_row.setdefault(finding.location.row, set()).add(finding.code)
    present = {suppression.target_row: suppression for suppression in suppressions if suppression.target_row}
    edits: list[Edit] = []
    for row, codes in codes_by_row.items():
        existing = present.get(row)
        if existing is not None and existing.words:
            place = existing.start + existing.text.index("]")
            edits.append(Edit(place, place, "".join(f", {code}" for code in sorted(codes))))
            continue
        comment = f"# npuport: ignore[{', '.join(sorted(codes))}]" + (f" {reason}" if reason else "")
        line = source.line(row)
        if row in open_rows:
            first = source.line_starts[first_rows.get(row, row) - 1]
            indentation = re.match(r"[ \t]*", source.text[first:])
            edits.append(Edit(first, first, (indentation.group() if indentation else "") + comment + source.line_end))
        else:
            end = source.line_starts[row - 1] + len(line)
            edits.append(Edit(end, end, ("  " if not line.endswith(" ") else " ") + comment))
    return apply(source.text, edits)


def statement_rows(source: SourceText) -> tuple[dict[int, int], set[int]]:
    """First row of the logical line of each row, and the rows at whose end no comment can stand."""
    first_row: dict[int, int] = {}
    open_rows: set[int] = {row for row in range(1, len(source.line_starts) + 1) if source.line(row).endswith("\\")}
    start: int | None = None
    for token in tokenize.generate_tokens(io.StringIO(source.text, newline="").readline):
        if start is None and token.type not in _LAYOUT:
            start = token.start[0]
        if start is not None:
            for row in range(token.start[0], token.end[0] + 1):
                first_row.setdefault(row, start)
        if token.start[0] != token.end[0] and token.type not in _LAYOUT:
            open_rows.update(range(token.start[0], token.end[0]))
        if token.type == tokenize.NEWLINE:
            start = None
    return first_row, open_rows
