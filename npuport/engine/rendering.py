"""From a proposed fix to edits of the text: libcst on the smallest code around the site, spliced back.

Only what really changes becomes an edit: the replacement is trimmed to the part that differs, so that fixes
inside each other's code rarely overlap.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass

from npuport.analysis.configuration import Configuration
from npuport.analysis.module import Module
from npuport.analysis.walk import block_of
from npuport.engine.fix import Fix, Insertion, NotFixable, Replacement, Rewrite
from npuport.engine.lazy_libcst import cst
from npuport.engine.writer import Need, Writer
from npuport.sources.text import common_ends

_COMMENT = re.compile(r"#[^\r\n]*")


@dataclass(frozen=True, order=True)
class Edit:
    """Replace the characters from ``start`` up to ``end`` by ``text``."""

    start: int
    end: int
    text: str

    def overlaps(self, other: Edit) -> bool:
        """Whether both touch the same characters; two insertions at one place do not."""
        if self.start == self.end or other.start == other.end:
            return self.start < other.end and other.start < self.end
        return max(self.start, other.start) < min(self.end, other.end)


@dataclass(frozen=True)
class Rendered:
    """A fix as edits.

    Attributes:
        edits: what changes, imports not counted.
        needs: imports and helper lines that the planner has to add.
        loses_comment: a comment inside the replaced code is not in the replacement.
        first_use: where the first helper name is used; None where none is.
    """

    edits: tuple[Edit, ...]
    needs: tuple[Need, ...]
    loses_comment: bool
    first_use: int | None = None


def render(module: Module | Configuration, fix: Fix, style: str) -> Rendered | None:
    """The edits of ``fix`` in ``style``; None where the style has no sound replacement."""
    if isinstance(module, Configuration):
        replacements = (change for change in fix.changes if isinstance(change, Replacement))
        return Rendered(tuple(map(_replaced, replacements)), (), loses_comment=False)
    edits: list[Edit] = []
    needs: list[Need] = []
    loses = False
    first_use: int | None = None
    for change in fix.changes:
        assert not isinstance(change, Replacement)
        writer = Writer(module, style, change.node if isinstance(change, Rewrite) else change.statement)
        try:
            edit, lost = (
                _render_rewrite(module, change, writer)
                if isinstance(change, Rewrite)
                else _render_insertion(module, change, writer)
            )
        except NotFixable:
            return None
        if edit is not None:
            edits.append(edit)
            in_import = isinstance(change, Rewrite) and isinstance(change.node, ast.Import | ast.ImportFrom)
            stands_above = writer.portable or any(need.function for need in writer.needs)
            if stands_above and writer.needs and not in_import:
                first_use = edit.start if first_use is None else min(first_use, edit.start)
        loses |= lost
        needs += [need for need in writer.needs if need not in needs]
    return Rendered(tuple(edits), tuple(needs), loses, first_use) if edits else None


def _render_rewrite(module: Module, change: Rewrite, writer: Writer) -> tuple[Edit | None, bool]:
    start, end = module.branches.span(change.node)
    before = module.source.text[start:end]
    if isinstance(change.node, ast.expr) and not module.branches.is_exact(change.node):
        raise NotFixable("its place inside an f-string is not known")
    result = change.transform(_parse(change.node, before), writer)
    after = result if isinstance(result, str) else _code_of(result)
    after = _in_format_string(module, change.node, before, after)
    after = after.replace("\n", module.source.line_end) if "\n" in after and "\r" not in after else after
    if isinstance(change.node, ast.stmt):
        after = after.rstrip("\r\n")
        if not after:
            return _removal(module, change.node, before), "#" in before
    lost = Counter(_COMMENT.findall(before)) - Counter(_COMMENT.findall(after)) if "#" in before else Counter()
    return _trimmed(start, before, after), bool(lost)


def _replaced(change: Replacement) -> Edit:
    return Edit(change.scalar.start, change.scalar.end, change.text)


def _in_format_string(module: Module, node: ast.AST, before: str, after: str) -> str:
    """``after`` with quotes that an f-string around ``node`` allows; before Python 3.12 its own are not among them."""
    around = next((a for a in module.ancestors(node) if isinstance(a, ast.JoinedStr)), None)
    if around is None:
        return after
    opening = re.match(r"[A-Za-z]*(\"\"\"|'''|\"|')", module.text_of(around))
    quote = opening.group(1)[0] if opening else '"'
    if after.count(quote) <= before.count(quote):
        return after
    other = "'" if quote == '"' else '"'
    if other in after:
        raise NotFixable("no quotes are left inside the f-string")
    return after.replace(quote, other)


def _removal(module: Module, statement: ast.stmt, before: str) -> Edit:
    """Take a statement away: its whole line where that leaves the block alive."""
    start, end = module.branches.span(statement)
    starts = module.source.line_starts
    first = starts[statement.lineno - 1]
    last = statement.end_lineno or statement.lineno
    below = starts[last] if last < len(starts) else len(module.source.text)
    rest = module.source.text[end:below].strip()
    alone = not module.source.text[first:start].strip() and (not rest or rest.startswith("#"))
    parent = module.parent(statement)
    if alone and (len(block_of(statement, module.index.parents)) > 1 or parent is module.tree):
        # A comment behind the statement stays, on a line of its own.
        return Edit(start, below - len(module.source.text[end:below].lstrip()), "") if rest else Edit(first, below, "")
    return Edit(start, end, "pass")


def _render_insertion(module: Module, change: Insertion, writer: Writer) -> tuple[Edit | None, bool]:
    source = module.source
    start, end = module.branches.span(change.statement)
    indentation = source.text[source.line_starts[change.statement.lineno - 1] : start]
    text = change.text(writer)
    if not text:
        return None, False
    if indentation.strip():
        raise NotFixable("the statement shares its line with another")
    text = text.replace("\n", source.line_end + indentation)
    if not change.after:
        return Edit(start, start, text + source.line_end + indentation), False
    last = change.statement.end_lineno or change.statement.lineno
    behind = source.line_starts[last - 1] + len(source.line(last))
    if source.text[end:behind].lstrip().startswith(";"):
        raise NotFixable("the statement shares its line with another")
    return Edit(behind, behind, source.line_end + indentation + text), False


def _parse(node: ast.AST, code: str) -> cst.CSTNode:
    if isinstance(node, ast.stmt):
        return cst.parse_statement(code)
    # Newlines and comments are only allowed inside parentheses, which may stand outside the node.
    expression = cst.parse_expression(f"({code})" if "\n" in code or "\r" in code else code)
    if "\n" in code or "\r" in code:
        expression = expression.with_changes(lpar=expression.lpar[1:], rpar=expression.rpar[:-1])
    return expression


def _code_of(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def _trimmed(start: int, before: str, after: str) -> Edit | None:
    if before == after:
        return None
    head, tail = common_ends(before, after)
    return Edit(start + head, start + len(before) - tail, after[head : len(after) - tail])


def apply(text: str, edits: list[Edit]) -> str:
    """``text`` with all edits made; they must not overlap."""
    parts: list[str] = []
    position = 0
    for edit in sorted(edits):
        parts += (text[position : edit.start], edit.text)
        position = edit.end
    parts.append(text[position:])
    return "".join(parts)
