"""One file to its findings."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from npuport.analysis.configuration import Scalar
from npuport.analysis.module import Module, ProjectFacts
from npuport.engine.document import Document, hits_of, parse, span_of, suppressions_in
from npuport.engine.finding import Applicability, Finding, Location, ProposedFix, Severity, TextEdit
from npuport.engine.fix import Fix, NotFixable
from npuport.engine.gate import Gate
from npuport.engine.imports import plan
from npuport.engine.rendering import Edit, Rendered, render
from npuport.engine.rule import Hit, Rule
from npuport.engine.suppressions import Suppression, means, removal
from npuport.sources.configuration import is_configuration
from npuport.sources.errors import UnreadableSource
from npuport.sources.text import SourceText

if TYPE_CHECKING:
    from npuport.engine.whole_program import WholeProgram

SYNTAX_ERROR = "NPU000"
UNUSED_SUPPRESSION = "NPU001"


@dataclass(frozen=True)
class Checker:
    """The selected rules and how to apply them.

    Attributes:
        rules: every rule that holds for the target, selected or not: fixes of a choice need both halves.
        reported: codes of the rules whose findings are reported.
        style: what fixes are written in.
        target: torch_npu release.
        gate: skip rules whose triggers are not in the file.
        with_edits: render the edits of all fixes (slower; the JSON format and ``fix`` need them).
    """

    rules: tuple[Rule, ...]
    reported: frozenset[str]
    style: str = "npu"
    target: str = "2.13.0"
    gate: bool = True
    with_edits: bool = False

    @cached_property
    def improving(self) -> frozenset[str]:
        """Codes of the rules that find no fault."""
        return frozenset(rule.code for rule in self.rules if rule.improves)

    @cached_property
    def _gate(self) -> Gate:
        return Gate(self.rules)

    def rules_for(self, path: Path, data: bytes) -> Sequence[Rule]:
        """The rules that can have something to say about a file of these bytes."""
        return self._gated(path, data) if self.gate else self.rules

    @cached_property
    def uses_flow(self) -> bool:
        """Whether a reported rule asks what flows through the program."""
        return self.asks_flow(self.rules)

    def asks_flow(self, rules: Sequence[Rule] | None) -> bool:
        """Whether a reported one among some rules does."""
        return any(rule.uses_flow and rule.code in self.reported for rule in rules or ())

    def is_of_interest(self, path: Path, data: bytes) -> bool:
        """Whether a broken file of these bytes is worth a finding: some rule would have looked into it."""
        return bool(self._gated(path, data))

    def _gated(self, path: Path, data: bytes) -> Sequence[Rule]:
        return self._gate.rules_for_configuration(data) if is_configuration(path) else self._gate.rules_for(data)


@dataclass
class Checked:
    """What a file gave.

    Attributes:
        findings: what is reported, sorted.
        changes: for each finding with a fix, by index: its edits and needs.
        module: the parsed file; None where it could not be parsed.
    """

    findings: list[Finding]
    changes: dict[int, Rendered] = field(default_factory=dict)
    module: Document | None = None


def check_source(
    checker: Checker,
    source: SourceText,
    project: ProjectFacts,
    ignored: frozenset[str] = frozenset(),
    rules: Sequence[Rule] | None = None,
    whole: WholeProgram | None = None,
) -> Checked:
    """Check one decoded file.

    Args:
        checker: rules and options.
        source: the file.
        project: facts of the files around it.
        ignored: codes that ``per-file-ignores`` takes away here.
        rules: what the gate left for this file, where that is known.
        whole: the program that the file is part of; without it, it is one by itself.
    """
    if rules is None:
        rules = checker.rules_for(source.path, source.text.encode("utf-8", "surrogatepass"))
    try:
        module = whole.module(source, project) if whole is not None else parse(source, checker.target, project)
    except UnreadableSource as error:
        return Checked(unreadable(checker, str(source.path), error))
    return check_module(checker, module, rules, ignored)


def check_module(
    checker: Checker, module: Document, rules: Sequence[Rule], ignored: frozenset[str] = frozenset()
) -> Checked:
    """Check one parsed file.

    Args:
        checker: rules and options.
        module: the file; attached to its program where rules ask for values.
        rules: the rules to run.
        ignored: codes that ``per-file-ignores`` takes away here.
    """
    source = module.source
    reported = checker.reported - ignored
    # A flow rule that is not reported need not run: its fixes have no halves in other rules.
    running = [rule for rule in rules if not rule.uses_flow or rule.code in reported]
    hits = [(rule, hit) for rule in running for hit in hits_of(rule, module, checker.style)]
    # A choice has two halves: both change or neither, also when only one of the rules is selected.
    fixes = _joined_fixes([hit for _, hit in hits])
    pairs = [
        (_finding(module, rule, hit, fix), fix)
        for (rule, hit), fix in zip(hits, fixes, strict=True)
        if rule.code in reported
    ]
    suppressions = suppressions_in(module)
    pairs = [pair for pair in pairs if not _suppressed(suppressions, pair[0])]
    pairs.sort(key=lambda pair: pair[0].sort_key)
    checked = Checked([finding for finding, _ in pairs], module=module)
    if checker.with_edits:
        for position, (finding, fix) in enumerate(pairs):
            if fix is not None:
                _render_into(checker, checked, position, finding, fix)
    if UNUSED_SUPPRESSION in reported:
        _report_unused(checker, checked, source, suppressions, reported)
    return checked


def unreadable(checker: Checker, filename: str, error: UnreadableSource) -> list[Finding]:
    """The finding of a file that cannot be read or parsed."""
    rule = next((rule for rule in checker.rules if rule.code == SYNTAX_ERROR), None)
    if rule is None or rule.code not in checker.reported:
        return []
    place = Location(error.row, error.column)
    return [
        Finding(
            rule.code,
            rule.name,
            f"{error.fault}; the file was not checked",
            filename,
            place,
            place,
            rule.severity,
            rule.topic,
        )
    ]


def _finding(module: Document, rule: Rule, hit: Hit, fix: Fix | None) -> Finding:
    start, end = span_of(module, hit.node)
    proposed = None
    if fix is not None:
        message = fix.message if fix.safe else f"{fix.message} (unsafe: {fix.unsafe_because})"
        proposed = ProposedFix(Applicability.SAFE if fix.safe else Applicability.UNSAFE, message)
    return Finding(
        code=rule.code,
        name=rule.name,
        message=hit.message,
        filename=str(module.source.path),
        location=Location(*module.source.position(start)),
        end_location=Location(*module.source.position(end)),
        severity=hit.severity or rule.severity,
        topic=hit.topic or rule.topic,
        fix=proposed,
        how_often=hit.how_often,
        evidence=hit.evidence,
    )


def _joined_fixes(hits: Sequence[Hit]) -> list[Fix | None]:
    """The fix of each hit, joined with those of the hits that must change in the same edit."""
    by_node: dict[ast.AST | Scalar, list[int]] = {}
    for position, hit in enumerate(hits):
        by_node.setdefault(hit.node, []).append(position)
    group_of = list(range(len(hits)))

    def leader(position: int) -> int:
        while group_of[position] != position:
            position = group_of[position]
        return position

    for position, hit in enumerate(hits):
        for node in hit.together:
            for partner in by_node.get(node, ()):
                group_of[leader(partner)] = leader(position)
    groups: dict[int, list[int]] = {}
    for position in range(len(hits)):
        groups.setdefault(leader(position), []).append(position)
    joined: list[Fix | None] = [hit.fix for hit in hits]
    for members in groups.values():
        if len(members) > 1:
            for position in members:
                joined[position] = _joined([hits[member].fix for member in members], hits[position].fix)
    return joined


def _joined(fixes: Iterable[Fix | None], own: Fix | None) -> Fix | None:
    all_fixes = list(fixes)
    if own is None or any(fix is None for fix in all_fixes):
        return None
    changes = tuple(dict.fromkeys(change for fix in all_fixes if fix for change in fix.changes))
    reason = next((fix.unsafe_because for fix in all_fixes if fix and not fix.safe), "")
    return replace(own, changes=changes, unsafe_because=own.unsafe_because or reason)


def _render_into(checker: Checker, checked: Checked, position: int, finding: Finding, fix: Fix) -> None:
    """Render a fix; a fix without sound edits is taken from the finding, one that loses a comment is demoted."""
    module = checked.module
    assert module is not None
    rendered = render(module, fix, checker.style)
    proposed = finding.fix
    assert proposed is not None
    try:
        edits = with_imports(module, [rendered]) if rendered else []
    except NotFixable:
        rendered = None
    if rendered is None:
        checked.findings[position] = replace(finding, fix=None)
        return
    if rendered.loses_comment and proposed.applicability is Applicability.SAFE:
        proposed = replace(
            proposed, applicability=Applicability.UNSAFE, message=f"{proposed.message} (unsafe: loses a comment)"
        )
    text_edits = tuple(_text_edit(module.source, edit) for edit in edits)
    checked.findings[position] = replace(finding, fix=replace(proposed, edits=text_edits))
    checked.changes[position] = rendered


def with_imports(module: Document, rendered: Iterable[Rendered]) -> list[Edit]:
    """The edits of several fixes and of the imports that they need, each once, sorted.

    Raises:
        NotFixable: the imports have no sound place, or the file takes no such edit.
    """
    fixes = list(rendered)
    edits = {edit for fix in fixes for edit in fix.edits}
    needs = list(dict.fromkeys(need for fix in fixes for need in fix.needs))
    if needs:
        assert isinstance(module, Module)
        end = len(module.source.text)
        edits.update(
            plan(module, needs, min((fix.first_use for fix in fixes if fix.first_use is not None), default=end))
        )
    if not all(module.source.accepts(edit.start, edit.end, edit.text) for edit in edits):
        raise NotFixable("an edit does not lie in one cell, or touches what is no Python")
    return sorted(edits)


def _text_edit(source: SourceText, edit: Edit) -> TextEdit:
    return TextEdit(edit.text, Location(*source.position(edit.start)), Location(*source.position(edit.end)))


def _suppressed(suppressions: list[Suppression], finding: Finding) -> bool:
    covering = [suppression.covers(finding) for suppression in suppressions]  # all are asked: each notes its use
    return any(covering)


def _report_unused(
    checker: Checker, checked: Checked, source: SourceText, suppressions: list[Suppression], reported: frozenset[str]
) -> None:
    rule = next(rule for rule in checker.rules if rule.code == UNUSED_SUPPRESSION)

    def meant(word: str) -> set[str]:
        return {rule.code for rule in checker.rules if means(word, rule)}

    def ran(word: str) -> bool:
        """Whether a suppression word names rules that ran: unknown words count, deselected rules do not."""
        return meant(word) <= reported

    for suppression in suppressions:
        unused = suppression.unused(ran)
        if not unused or any(word.upper() == UNUSED_SUPPRESSION for word in suppression.words):
            continue
        unknown = [word for word in unused if word != "*" and not meant(word)]
        if unknown:
            message = f"{', '.join(unknown)} is no rule, family or topic; the comment suppresses nothing for it"
        else:
            whole = "*" in unused or len(unused) == len(suppression.words)
            message = f"{'this suppression' if whole else ', '.join(unused)} suppresses nothing"
        edit = removal(source, suppression, unused)
        finding = Finding(
            code=rule.code,
            name=rule.name,
            message=message,
            filename=str(source.path),
            location=Location(*source.position(suppression.start)),
            end_location=Location(*source.position(suppression.end)),
            severity=Severity(rule.severity),
            topic=rule.topic,
            fix=ProposedFix(Applicability.SAFE, "Remove it", (_text_edit(source, edit),) if checker.with_edits else ()),
        )
        checked.changes[len(checked.findings)] = Rendered((edit,), (), False)
        checked.findings.append(finding)
