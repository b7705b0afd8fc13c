"""What a rule is: the API for the built-in rules and for rule packs of others.

A rule is one file: a docstring that is its documentation page, its data, a ``check`` that asks the analysis
and, where it can mend what it found, fixes that work on libcst nodes. Nothing else is touched to add one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from npuport.analysis.configuration import Configuration, Scalar
from npuport.analysis.module import Module
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix

# The headings of a rule's docstring, in this order; "Fix safety" only where there is a fix.
HEADINGS = ("What it does", "Why on an NPU", "Example", "Use instead", "Fix safety", "Sources")


@dataclass(frozen=True)
class Triggers:
    """Texts without which a rule has nothing to say about a file.

    They may over-match, never under-match: the bytes gate is made of them, and a test holds that findings
    are the same without it.

    Attributes:
        texts: a file must contain one of these, or
        patterns: match one of these regular expressions; begin them with literal text, which is searched fast.
        torch: the file must contain ``torch`` as well.
        comments: a text in a comment counts too.
    """

    texts: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    torch: bool = True
    comments: bool = False


@dataclass(frozen=True)
class Hit:
    """What a rule's ``check`` yields: a finding before it has a file name and edits.

    Attributes:
        node: where it is; in a configuration file the key or value.
        message: what is wrong, with the reason; one line.
        fix: what would mend it.
        severity: overrides the rule's own.
        evidence: how the analysis came to it.
        how_often: how often the place runs, where the rule asked: ``once`` ... ``transition``.
        topic: overrides the rule's own, where its findings are of two kinds.
        together: nodes of other hits that must change in the same edit (the halves of a choice).
    """

    node: ast.AST | Scalar
    message: str
    fix: Fix | None = None
    severity: Severity | None = None
    evidence: tuple[str, ...] = ()
    how_often: str | None = None
    topic: str | None = None
    together: tuple[ast.AST, ...] = ()


class Rule:
    """Base class of all rules. Subclasses set the data and write ``check``; some look into configuration files too.

    Attributes:
        code: e.g. ``NPU301``; stable once released.
        name: e.g. ``item-per-step``; the module is named after both.
        topic: one word, see ``npuport rules``.
        severity: what a finding weighs.
        triggers: derived from nothing, asked by the bytes gate.
        configuration_triggers: texts without one of which ``check_configuration`` has nothing to say of a file.
        since: first torch_npu release line for which the rule holds.
        until: torch_npu release line from which it does not hold any more.
        uses_flow: it asks ``module.flow``, for which the whole program must be evaluated.
        improves: what it finds is no fault, only code that could cost less on an NPU. Such a rule runs with
            ``fix --unsafe-fixes``, after all others, or where it is selected by its own code or name.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    topic: ClassVar[str]
    severity: ClassVar[Severity] = Severity.ERROR
    triggers: ClassVar[Triggers]
    configuration_triggers: ClassVar[tuple[str, ...]] = ()
    since: ClassVar[str | None] = None
    until: ClassVar[str | None] = None
    uses_flow: ClassVar[bool] = False
    improves: ClassVar[bool] = False

    def check(self, module: Module) -> Iterable[Hit]:
        """Yield what is wrong in ``module``."""
        raise NotImplementedError

    def check_configuration(self, configuration: Configuration) -> Iterable[Hit]:
        """Yield what is wrong in a file of YAML, TOML, JSON or shell commands; nothing for most rules."""
        return ()

    @classmethod
    def page(cls) -> str:
        """The documentation page: the docstring, which starts with a one-line summary."""
        import inspect

        return inspect.cleandoc(cls.__doc__ or "")

    @classmethod
    def summary(cls) -> str:
        """The first line of the page."""
        return cls.page().partition("\n")[0]

    @classmethod
    def sections(cls) -> dict[str, str]:
        """The page by heading."""
        parts = re.split(r"^(" + "|".join(HEADINGS) + r")\n-+\n", cls.page(), flags=re.MULTILINE)
        return {heading: body.strip() for heading, body in zip(parts[1::2], parts[2::2], strict=True)}

    @classmethod
    def has_fix(cls) -> bool:
        """Whether the rule proposes fixes, safe or unsafe."""
        return "Fix safety" in cls.sections()


class SourceRule(Rule):
    """A rule about the file as such, whose findings the engine itself makes (NPU000 and NPU001)."""

    def check(self, module: Module) -> Iterable[Hit]:
        """Nothing: the engine reports where it reads files and suppressions."""
        return ()


class ConfigurationRule(Rule):
    """A rule about configuration files alone."""

    triggers = Triggers()

    def check(self, module: Module) -> Iterable[Hit]:
        """Nothing: Python files are not looked into."""
        return ()
