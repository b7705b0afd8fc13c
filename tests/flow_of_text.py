"""The flow through a few lines of code, for tests."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Mapping

from npuport.analysis.flow.program import FileFlow, ProgramFlow
from npuport.analysis.flow.value import Value


def flow_of(text: str) -> FileFlow:
    """The flow through one file that is a program by itself."""
    return flow_of_files({"main.py": text})["main.py"]


def flow_of_files(files: Mapping[str, str]) -> dict[str, FileFlow]:
    """The flows through the files of one program."""
    texts = {f"/program/{name}": textwrap.dedent(text) for name, text in files.items()}
    program = ProgramFlow({key: (ast.parse(text), text) for key, text in texts.items()})
    return {name: program.file(f"/program/{name}") for name in files}


def value_at(flow: FileFlow, line: int) -> Value:
    """What the expression statement, or the right side of the assignment, on a line may be."""
    assert flow.scope.tree is not None
    for node in ast.walk(flow.scope.tree):
        if isinstance(node, ast.Expr | ast.Assign | ast.Return) and node.lineno == line and node.value is not None:
            return flow.value(node.value)
    raise AssertionError(f"no statement with a value on line {line}")


def shown(text: str) -> str:
    """The value of the last line of some code, as text."""
    lines = textwrap.dedent(text).rstrip("\n").split("\n")
    # Something that rules look for, so that the body is worth a visit.
    flow = flow_of("\n".join([*lines, "loss.backward()"]))
    return repr(value_at(flow, len(lines)))
