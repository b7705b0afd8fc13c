"""One file as rules see it, Python or configuration, and the few questions whose answers differ between the two."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TypeAlias

from npuport.analysis.configuration import Configuration, Scalar
from npuport.analysis.module import Module, ProjectFacts
from npuport.engine.rule import Hit, Rule
from npuport.engine.suppressions import Suppression, find_suppressions, suppressions_in_comments
from npuport.sources.configuration import is_configuration
from npuport.sources.errors import UsageError
from npuport.sources.text import SourceText

Document: TypeAlias = Module | Configuration


def parse(source: SourceText, target: str, project: ProjectFacts | None = None) -> Document:
    """The parsed file, by its ending.

    Raises:
        UnreadableSource: it is not valid.
    """
    if is_configuration(source.path):
        return Configuration(source)
    return Module(source, target, project or ProjectFacts())


def hits_of(rule: Rule, module: Document, style: str) -> list[Hit]:
    """What a rule finds in a file.

    Raises:
        UsageError: the rule has a fault.
    """
    try:
        if isinstance(module, Module):
            return list(rule.check(module))
        hits = rule.check_configuration(module)
        # A configuration file has no condition: it cannot name the NPU and still run elsewhere.
        return [replace(hit, fix=None) if style == "portable" else hit for hit in hits]
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise UsageError(f"rule {rule.code} failed on {module.source.path} ({what}); please report this") from error


def span_of(module: Document, node: ast.AST | Scalar) -> tuple[int, int]:
    """First and last character offset of what a rule found."""
    if isinstance(node, Scalar):
        return node.start, node.end
    assert isinstance(module, Module)
    return module.branches.span(node)


def suppressions_in(module: Document) -> list[Suppression]:
    """The suppressing comments of a file."""
    if isinstance(module, Configuration):
        return suppressions_in_comments(module.source, module.comments, module.open_rows)
    return find_suppressions(module.source)
