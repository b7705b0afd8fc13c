"""Rules as text: the list, the table of the README, and the page of one rule. All of it comes from the rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from npuport.engine.rule import Rule


def rows(rules: Iterable[Rule]) -> Iterator[dict[str, Any]]:
    """The data of each rule."""
    for rule in rules:
        yield {
            "code": rule.code,
            "name": rule.name,
            "topic": rule.topic,
            "severity": rule.severity.value,
            "fix": rule.has_fix(),
            "since": rule.since,
            "until": rule.until,
            "summary": rule.summary(),
        }


def table(rules: Iterable[Rule], *, markdown: bool = False) -> str:
    """One line a rule; a Markdown table for the README."""
    data = list(rows(rules))
    if markdown:
        return "\n".join([_MARKDOWN_HEAD, *map(_markdown_row, data)])
    width = max((len(row["name"]) for row in data), default=0)
    return "\n".join(_text_row(row, width) for row in data)


_MARKDOWN_HEAD = "| code | name | topic | severity | fix | what it finds |\n|---|---|---|---|---|---|"


def _markdown_row(row: dict[str, Any]) -> str:
    fix = "yes" if row["fix"] else ""
    cells = (row["code"], row["name"], row["topic"], row["severity"], fix, row["summary"].replace("``", "`"))
    return f"| {' | '.join(cells)} |"


def _text_row(row: dict[str, Any], width: int) -> str:
    fix = "fix" if row["fix"] else "   "
    summary = row["summary"].replace("``", "`")
    return f"{row['code']}  {row['name']:{width}}  {row['topic']:10}  {row['severity']:7}  {fix}  {summary}"


def page(rule: Rule) -> str:
    """The documentation page of a rule."""
    title = f"{rule.code} {rule.name}"
    return f"{title}\n{'=' * len(title)}\n\n{facts(rule)}\n\n{rule.page()}"


def facts(rule: Rule) -> str:
    """Topic, severity and for which releases a rule holds, in one line."""
    data = [f"topic {rule.topic}", f"severity {rule.severity.value}", "has fixes" if rule.has_fix() else "report only"]
    if rule.since:
        data.append(f"from torch_npu release line {rule.since}")
    if rule.until:
        data.append(f"for torch_npu before release line {rule.until}")
    return ", ".join(data)
