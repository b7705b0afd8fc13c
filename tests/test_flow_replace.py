"""A new text of one file takes the place of the old one in its program, as ``fix`` does pass after pass."""

from __future__ import annotations

import ast

from npuport.analysis.flow.program import FileFlow, ProgramFlow
from tests.flow_of_text import value_at

MAIN, OTHER = "/program/main.py", "/program/other.py"


def replaced(main: str, other: str, *edits: tuple[str, str]) -> FileFlow:
    """The flow through ``main`` once its text is edited."""
    texts = {MAIN: main, OTHER: other}
    program = ProgramFlow({key: (ast.parse(text), text) for key, text in texts.items()})
    for old, new in edits:
        assert old in main
        main = main.replace(old, new)
    program.replace(MAIN, ast.parse(main), main)
    return program.file(MAIN)


def read_lines(flow: FileFlow) -> list[int]:
    """The lines on which tensors come to the host."""
    return [event.node.lineno for event in flow.events("read") if isinstance(event.node, ast.expr)]


ONE_LINE_LOWER = ("import torch\n", "import torch\nimport torch_npu\n")


def test_a_lambda_within_a_lambda_may_move() -> None:
    flow = replaced(
        "import torch\nfrom other import init\n\n\n"
        "class Net:\n    def __init__(self):\n        make = lambda m: init(m, lambda x: x + 1)\n"
        "        self.layer = make(torch.zeros(3, device='cuda'))\n        print(self.layer.item())\n",
        "def init(module, how):\n    return how(module)\n",
        ONE_LINE_LOWER,
    )
    assert read_lines(flow) == [10]


def test_a_lambda_that_moved_reads_what_changed() -> None:
    flow = replaced(
        "import torch\n\n\ndef loss(x):\n    return x.sum()\n\n\n"
        "read = lambda: loss(torch.ones(3, device='cuda')).item()\nread()\n",
        "",
        ONE_LINE_LOWER,
        ("x.sum()", "x.long().sum()"),
    )
    assert read_lines(flow) == [9]


def test_what_a_gone_call_passed_is_dropped() -> None:
    flow = replaced(
        "import torch\n\n\ndef scale(x):\n    return x * 2\n\n\n"
        "y = scale(torch.zeros(3, dtype=torch.int64))\nprint(y.sum().item())\n",
        "",
        ("scale(torch.zeros(3, dtype=torch.int64))", "scale(torch.zeros(3))"),
    )
    assert repr(value_at(flow, 8)).count("float32") == 1
    assert "int64" not in repr(value_at(flow, 8))
