"""Many files to their fixed texts, each written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import Path

from npuport.analysis.module import key_of
from npuport.engine.cells import in_cells
from npuport.engine.checking import unreadable
from npuport.engine.files import ChangedMeanwhile, write_atomically
from npuport.engine.finding import Finding
from npuport.engine.fixing import Fixed, fix_source
from npuport.engine.program import Program, SourceFile
from npuport.engine.shared_names import TEXT, new_modules, shared_imports
from npuport.sources.errors import UnreadableSource
from npuport.sources.text import SourceText


@dataclass(frozen=True)
class ChangedFile:
    """One file before and after, a byte order mark included."""

    path: Path
    before: str
    after: str
    encoding: str = "utf-8"


@dataclass
class Outcome:
    """What a run of ``fix`` did.

    Attributes:
        changed: the files with fixes, in order.
        ported: the findings that were fixed.
        remaining: what is left, with places in the files as they are on disk afterwards.
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
    fixed: list[tuple[SourceFile, SourceText, Fixed]] = []
    try:
        for done, file in enumerate(program.files, start=1):
            result = _fix(program, file, outcome, unsafe=unsafe)
            if result is not None:
                fixed.append((file, *result))
            progress(done, len(program.files))
        modules: list[Path] = []
        if program.checker.style == "portable":
            fixed, modules = _with_shared_names(program, fixed, outcome, unsafe=unsafe)
        for path in modules:
            _create(path, outcome, write=write)
        for file, source, final in fixed:
            _conclude(file, source, final, outcome, write=write)
    except KeyboardInterrupt:
        outcome.interrupted = True
    return outcome


def _fix(program: Program, file: SourceFile, outcome: Outcome, *, unsafe: bool) -> tuple[SourceText, Fixed] | None:
    """The fixed text of one file; None where there is nothing to look at."""
    try:
        if file.data is not None and not file.named and not program.checker.rules_for(file.path, file.code):
            return None
        source = program.source(file)
    except UnreadableSource as error:
        outcome.remaining += program.reported(file, unreadable(program.checker, str(file.path), error))
        return None
    facts, ignored = program.facts_of(file.path), program.ignored(file.path)
    whole = program.flow.program_of(key_of(file.path)) if program.uses_flow else None
    fixed = fix_source(program.checker, source, facts, unsafe=unsafe, ignored=ignored, whole=whole)
    fixed.remaining = program.reported(file, fixed.remaining)
    return source, fixed


def _with_shared_names(
    program: Program, fixed: list[tuple[SourceFile, SourceText, Fixed]], outcome: Outcome, *, unsafe: bool
) -> tuple[list[tuple[SourceFile, SourceText, Fixed]], list[Path]]:
    """Fix the files again that import the portable names from one module of their package."""
    words = shared_imports({file.path: (source.text, result.text) for file, source, result in fixed})
    for path, import_words in words.items():
        program.project[path] = replace(program.facts_of(path), helper_import=import_words)
    again: list[tuple[SourceFile, SourceText, Fixed]] = []
    for file, source, result in fixed:
        redone = _fix(program, file, outcome, unsafe=unsafe) if file.path in words else None
        again.append((file, *redone) if redone is not None else (file, source, result))
    return again, new_modules(words)


def _create(path: Path, outcome: Outcome, *, write: bool) -> None:
    """Make the module with the portable names."""
    relative = Path(os.path.relpath(path))
    try:
        if write:
            with path.open("x", encoding="utf-8", newline="") as stream:
                stream.write(TEXT)
    except OSError as error:
        outcome.faults.append(f"{relative}: not written: {error.strerror or error}")
        return
    outcome.changed.append(ChangedFile(relative, "", TEXT))


def _conclude(file: SourceFile, source: SourceText, fixed: Fixed, outcome: Outcome, *, write: bool) -> None:
    """Write one fixed file and note what became of its findings."""
    if fixed.fault:
        outcome.faults.append(f"{file.path}: left as it was: {fixed.fault}")
    elif fixed.text != source.text:
        try:
            if not source.round_trips:
                raise UnreadableSource(f"its bytes are not exact {source.encoding}")
            if write:
                write_atomically(file.path, source.encode(fixed.text), file.data or b"")
        except (ChangedMeanwhile, OSError, UnreadableSource) as error:
            outcome.faults.append(f"{file.path}: not written: {getattr(error, 'strerror', None) or error}")
            return
        mark = "\ufeff" if source.byte_order_mark else ""
        before, after = mark + source.written(source.text), mark + source.written(fixed.text)
        outcome.changed.append(ChangedFile(file.path, before, after, source.encoding))
    outcome.ported += fixed.ported
    if write:
        outcome.remaining += in_cells(replace(source, text=fixed.text), fixed.remaining)
    else:
        outcome.remaining += in_cells(source, _at_old_places(fixed, source.text))


def _at_old_places(fixed: Fixed, before: str) -> list[Finding]:
    """What is left, with the rows of the text that is still on disk."""
    if fixed.text == before or not fixed.remaining:
        return fixed.remaining
    old, new = before.split("\n"), fixed.text.split("\n")
    row_of: dict[int, int] = {}
    for _, old_start, old_end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for step in range(new_end - new_start):
            # A line more than there was stands where its neighbours stood.
            row_of[new_start + step + 1] = min(old_start + step + 1, max(old_end, 1))
    shifts = [(finding, row_of[finding.location.row] - finding.location.row) for finding in fixed.remaining]
    return [finding.shifted(rows) for finding, rows in shifts]
