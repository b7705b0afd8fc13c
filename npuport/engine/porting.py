"""Many files to their fixed texts, each written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from npuport.engine.checking import unreadable
from npuport.engine.files import ChangedMeanwhile, write_atomically
from npuport.engine.finding import Finding
from npuport.engine.fixing import fix_source
from npuport.engine.program import Program, SourceFile
from npuport.sources.errors import UnreadableSource


@dataclass(frozen=True)
class ChangedFile:
    """One file before and after."""

    path: Path
    before: str
    after: str


@dataclass
class Outcome:
    """What a run of ``fix`` did.

    Attributes:
        changed: the files with fixes, in order.
        ported: the findings that were fixed.
        remaining: what is left.
        faults: one line for each file that could not be fixed or written.
        interrupted: the run was stopped; files not yet reached are untouched.
    """

    changed: list[ChangedFile] = field(default_factory=list)
    ported: list[Finding] = field(default_factory=list)
    remaining: list[Finding] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    interrupted: bool = False


def port(program: Program, *, unsafe: bool, write: bool, progress: Callable[[int, int], None]) -> Outcome:
    """Fix all files of a program.

    Args:
        program: the files.
        unsafe: apply unsafe fixes too.
        write: change the files; else only tell what would change.
        progress: called with files done and all files.
    """
    outcome = Outcome()
    try:
        for done, file in enumerate(program.files, start=1):
            _port_file(program, file, outcome, unsafe=unsafe, write=write)
            progress(done, len(program.files))
    except KeyboardInterrupt:
        outcome.interrupted = True
    return outcome


def _port_file(program: Program, file: SourceFile, outcome: Outcome, *, unsafe: bool, write: bool) -> None:
    try:
        if file.data is not None and not file.named and not program.checker.rules_for(file.data):
            return
        source = program.source(file)
    except UnreadableSource as error:
        outcome.remaining += unreadable(program.checker, str(file.path), error)
        return
    fixed = fix_source(
        program.checker, source, program.facts_of(file.path), unsafe=unsafe, ignored=program.ignored(file.path)
    )
    if fixed.fault:
        outcome.faults.append(f"{file.path}: left as it was: {fixed.fault}")
    elif fixed.text != source.text and not source.round_trips:
        outcome.faults.append(f"{file.path}: left as it was: its bytes are not exact {source.encoding}")
        return
    elif fixed.text != source.text and write:
        try:
            write_atomically(file.path, source.encode(fixed.text), file.data or b"")
        except (ChangedMeanwhile, OSError) as error:
            outcome.faults.append(f"{file.path}: not written: {getattr(error, 'strerror', None) or error}")
            return
    if fixed.text != source.text:
        outcome.changed.append(ChangedFile(file.path, source.text, fixed.text))
    outcome.ported += fixed.ported
    outcome.remaining += fixed.remaining
