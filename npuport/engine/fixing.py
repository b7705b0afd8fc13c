"""One file to its fixed text: check, edit, check again, until nothing changes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from npuport.analysis.module import ProjectFacts
from npuport.engine.checking import UNUSED_SUPPRESSION, Checked, Checker, check_source, with_imports
from npuport.engine.document import Document, parse
from npuport.engine.finding import Applicability, Finding
from npuport.engine.fix import NotFixable
from npuport.engine.rendering import Edit, Rendered, apply
from npuport.sources.errors import UnreadableSource
from npuport.sources.text import SourceText

if TYPE_CHECKING:
    from npuport.engine.whole_program import WholeProgram

MAX_PASSES = 10


@dataclass
class Fixed:
    """The outcome for one file.

    Attributes:
        text: the new text; the old one where nothing was fixed.
        ported: the findings that were fixed, with their places in the text of their pass.
        remaining: what is left, with places in the new text.
        fault: why the file was left as it was although there were fixes.
    """

    text: str
    ported: list[Finding] = field(default_factory=list)
    remaining: list[Finding] = field(default_factory=list)
    fault: str = ""


def fix_source(
    checker: Checker,
    source: SourceText,
    project: ProjectFacts,
    *,
    unsafe: bool,
    ignored: frozenset[str] = frozenset(),
    whole: WholeProgram | None = None,
) -> Fixed:
    """Apply all fixes to one file.

    Args:
        checker: must render edits.
        source: the file.
        project: facts of the files around it.
        unsafe: apply unsafe fixes too.
        ignored: codes that are not reported, hence not fixed, in this file.
        whole: the program that the file is part of.
    """
    ported: list[Finding] = []
    current = source
    seen = {source.text}
    checked = check_source(checker, current, project, ignored, whole=whole)
    first = checked
    for _ in range(MAX_PASSES):
        if checked.module is None:
            break
        taken, edits = _compatible(checked, checked.module, unsafe, checker.improving)
        if not edits:
            break
        text = apply(current.text, edits)
        fault = _fault(source, text, seen, checker.target)
        if fault:
            return Fixed(source.text, [], first.findings, fault)
        seen.add(text)
        ported += taken
        current = replace(source, text=text)
        checked = check_source(checker, current, project, ignored, whole=whole)
    else:
        return Fixed(source.text, [], first.findings, f"its fixes do not settle after {MAX_PASSES} passes")
    return Fixed(current.text, ported, checked.findings)


def _fault(source: SourceText, text: str, seen: set[str], target: str) -> str:
    if text in seen:
        return "its fixes undo each other"
    try:
        source.encode(text)
        parse(replace(source, text=text), target)
    except UnicodeEncodeError:
        return f"a fix needs a character that {source.encoding} lacks"
    except UnreadableSource as error:
        return f"a fix would break its syntax ({error.fault}); please report this"
    return ""


def _compatible(
    checked: Checked, module: Document, unsafe: bool, improving: frozenset[str]
) -> tuple[list[Finding], list[Edit]]:
    """The findings whose fixes fit together in one pass, and all edits of these.

    Earlier places win; what overlaps waits for the next pass. Faults are mended first, then what is none is improved.
    Suppressions are removed last, when it is known what the other fixes left.
    """
    candidates = [
        (finding, checked.changes[position])
        for position, finding in enumerate(checked.findings)
        if position in checked.changes and finding.fix and (unsafe or finding.fix.applicability is Applicability.SAFE)
    ]
    candidates = _without_the_removed(candidates)
    others = [pair for pair in candidates if pair[0].code != UNUSED_SUPPRESSION]
    others = [pair for pair in others if pair[0].code not in improving] or others
    taken: list[tuple[Finding, Rendered]] = []
    occupied: set[Edit] = set()
    for finding, rendered in sorted(others or candidates, key=lambda pair: pair[0].sort_key):
        new = [edit for edit in rendered.edits if edit not in occupied]
        if any(edit.overlaps(other) for edit in new for other in occupied) or _clash(new):
            continue
        occupied.update(new)
        taken.append((finding, rendered))
    while taken:
        try:
            return [finding for finding, _ in taken], with_imports(module, [rendered for _, rendered in taken])
        except NotFixable:
            # One place for all helper lines may not exist although each fix alone has one.
            taken.pop()
    return [], []


def _without_the_removed(candidates: list[tuple[Finding, Rendered]]) -> list[tuple[Finding, Rendered]]:
    """The candidates but for those that only change what another one takes away: their imports would be left over."""
    removals = [edit for _, rendered in candidates for edit in rendered.edits if edit.text in ("", "pass")]

    def removed(edit: Edit) -> bool:
        return any(r != edit and r.start <= edit.start and edit.end <= r.end for r in removals)

    return [pair for pair in candidates if not all(map(removed, pair[1].edits))]


def _clash(edits: list[Edit]) -> bool:
    return any(a.overlaps(b) for i, a in enumerate(edits) for b in edits[i + 1 :])
