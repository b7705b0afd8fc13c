"""What a rule proposes to change, before a style has worded it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from npuport.analysis.configuration import Scalar

if TYPE_CHECKING:
    import libcst as cst

    from npuport.engine.writer import Writer

    # Gets the libcst node of the rewritten code and the writer of the style; gives its replacement, as a node
    # or as source text.
    Transform: TypeAlias = Callable[[cst.CSTNode, Writer], cst.CSTNode | str]
else:
    Transform: TypeAlias = Callable


class NotFixable(Exception):
    """Raised by a transform that finds that this style, or this code, has no sound replacement."""


@dataclass(frozen=True)
class Rewrite:
    """Replace the code of one expression or simple statement.

    Attributes:
        node: what is replaced.
        transform: makes the replacement.
    """

    node: ast.AST
    transform: Transform


@dataclass(frozen=True)
class Insertion:
    """Put a new statement before or behind ``statement``, with its indentation.

    Attributes:
        statement: the statement that the new one comes beside.
        text: makes the new source text, without indentation and line end; empty where the style needs none.
        after: behind the statement's last line and its comment.
    """

    statement: ast.stmt
    text: Callable[[Writer], str]
    after: bool = False


@dataclass(frozen=True)
class Replacement:
    """Write another text in the place of a key or value of a configuration file, inside its quotes.

    Attributes:
        scalar: what is replaced.
        text: the new text. It needs no writer: a configuration file cannot choose, so it is only changed in npu style.
    """

    scalar: Scalar
    text: str


@dataclass(frozen=True)
class Fix:
    """A change that a rule proposes. All of its parts are made, or none.

    Attributes:
        message: what it does, in the imperative.
        changes: the rewrites and insertions; in a configuration file the replacements.
        unsafe_because: why it needs ``--unsafe-fixes``; empty for a safe fix.
    """

    message: str
    changes: tuple[Rewrite | Insertion | Replacement, ...]
    unsafe_because: str = ""

    @property
    def safe(self) -> bool:
        """Whether behaviour on the NPU is what the author had on the GPU."""
        return not self.unsafe_because

    def demoted(self, reason: str) -> Fix:
        """The same fix as an unsafe one; the first reason is kept."""
        return replace(self, unsafe_because=self.unsafe_because or reason)


def rewrite(message: str, node: ast.AST, transform: Transform, *, unsafe_because: str = "") -> Fix:
    """A fix that replaces one node."""
    return Fix(message, (Rewrite(node, transform),), unsafe_because)


def replacement(message: str, scalar: Scalar, text: str, *, unsafe_because: str = "") -> Fix:
    """A fix that writes another text for one scalar of a configuration file."""
    return Fix(message, (Replacement(scalar, text),), unsafe_because)
