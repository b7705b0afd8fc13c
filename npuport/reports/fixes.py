"""What ``fix`` prints: the diff, and what was ported and what is left for a person."""

from __future__ import annotations

import difflib
import sys
from collections import Counter

import click

from npuport.engine.finding import Applicability, Finding, Severity
from npuport.engine.porting import ChangedFile, Outcome
from npuport.reports.report import counted

_LISTED = 40


def print_diff(outcome: Outcome) -> None:
    """Print a unified diff that ``patch`` and ``git apply`` take: in each file's own bytes, without colours."""
    coloured = sys.stdout.isatty()
    for file in outcome.changed:
        for line in diff_lines(file):
            if coloured:
                click.echo(_coloured(line), nl=False)
            else:
                sys.stdout.buffer.write(line.encode(file.encoding, "surrogateescape"))
    sys.stdout.flush()


def diff_lines(file: ChangedFile) -> list[str]:
    """The unified diff of one file, line ends as in the file."""
    name = file.path.as_posix()
    names = (name, name) if name.startswith(("/", "../")) else (f"a/{name}", f"b/{name}")
    # A tab ends a name with spaces, as git writes it; patch would take the first word for the name.
    before, after = (f"{text}\t" if " " in text else text for text in names)
    lines = difflib.unified_diff(_lines(file.before), _lines(file.after), before, after)
    return [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines]


def _lines(text: str) -> list[str]:
    """Lines as diff counts them: split at line feeds only."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _coloured(line: str) -> str:
    colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    return click.style(line, fg=colour) if colour else line


def print_summary(outcome: Outcome, *, written: bool, unsafe: bool) -> None:
    """Say what was ported, what is left and why, on stderr where a diff is on stdout."""
    lines = [_ported(outcome, written=written), *_left(outcome.remaining, unsafe=unsafe)]
    for line in lines:
        click.echo(line, err=not written)


def print_left(remaining: list[Finding], *, unsafe: bool) -> None:
    """Say on stderr what is left in a file whose fixed text is on stdout; nothing where nothing is."""
    if any(finding.severity is not Severity.NOTE for finding in remaining):
        click.echo("\n".join(_left(remaining, unsafe=unsafe)), err=True)


def _ported(outcome: Outcome, *, written: bool) -> str:
    if not outcome.ported:
        return "Nothing to port."
    counts = Counter(f"{finding.code} {finding.name}" for finding in outcome.ported)
    what = ", ".join(f"{number} {name}" for name, number in counts.most_common())
    head = "Ported" if written else "Would port"
    tail = "" if written else "; run again with --write"
    findings, files = counted(len(outcome.ported), "finding"), counted(len(outcome.changed), "file")
    return f"{head} {findings} in {files}: {what}{tail}."


def _left(remaining: list[Finding], *, unsafe: bool) -> list[str]:
    """The findings that stay, by reason; notes are only counted."""
    notes = [finding for finding in remaining if finding.severity is Severity.NOTE]
    work = [finding for finding in remaining if finding.severity is not Severity.NOTE]
    waiting = [f for f in work if not unsafe and f.fix is not None and f.fix.applicability is Applicability.UNSAFE]
    manual = [finding for finding in work if finding not in waiting]
    lines = _listed("Left, fixed by --unsafe-fixes", waiting) + _listed("Left for a person", manual)
    if not work:
        lines.append("Nothing is left for a person.")
    if notes:
        lines.append(f"{counted(len(notes), 'note')} of advice; `npuport check` lists them.")
    return lines


def _listed(title: str, findings: list[Finding]) -> list[str]:
    if not findings:
        return []
    lines = [f"{title}: {len(findings)}"]
    lines += (f"  {finding.place} {finding.code} {_why(finding)}" for finding in findings[:_LISTED])
    if len(findings) > _LISTED:
        lines.append(f"  and {len(findings) - _LISTED} more; `npuport check` lists them")
    return lines


def _why(finding: Finding) -> str:
    """The message, and for an unsafe fix what it would do and why it is unsafe."""
    return f"{finding.message}. {finding.fix.message}" if finding.fix is not None else finding.message
