"""What the tables of a library need of the evaluation that runs."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Protocol, TypeAlias

from npuport.analysis.flow.events import CallSite
from npuport.analysis.flow.value import UNKNOWN, Atom, Origin, Value


class Evaluation(Protocol):
    """The evaluation of one function or module body.

    Attributes:
        file: key of the file, for origins.
        unpacked: how many targets the statement unpacks the call into, 0 where it does not.
    """

    file: str
    unpacked: int

    @property
    def autocast(self) -> frozenset[str]:
        """The dtypes that autocast computes in at this place; empty outside of one."""

    @property
    def recording(self) -> bool:
        """Whether events are wanted."""

    def origin(self, node: ast.AST) -> Origin:
        """Where a value that this node makes is made."""

    def event(
        self,
        kind: str,
        node: ast.AST,
        value: Value = UNKNOWN,
        how: str = "",
        values: tuple[Value, ...] = (),
        keywords: dict[str, Value] | None = None,
    ) -> None:
        """Reports what happens at a node; see ``npuport.analysis.flow.events``."""

    def mutate(self, container: ast.expr, value: Value) -> None:
        """The container behind this expression may from now on be this value too."""

    def set_attribute(self, class_key: str, name: str, value: Value) -> None:
        """An attribute of the instances of a class of the program gets a value."""


# The call of one function of a library: its last name and the arguments.
LibraryCall: TypeAlias = Callable[[Evaluation, str, CallSite], Value]
# A method: the part of the receiver that it belongs to, the whole receiver, the method's name, the arguments.
MethodCall: TypeAlias = Callable[[Evaluation, Atom, Value, str, CallSite], "Value | None"]
