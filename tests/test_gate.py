"""The bytes gate lets through what a rule may have something to say about, and little else."""

from __future__ import annotations

from pathlib import Path

import pytest

from npuport.engine.checking import Checker
from npuport.engine.gate import Gate
from npuport.engine.program import Program
from npuport.engine.registry import all_rules
from npuport.sources.settings import Settings
from tests.conftest import write_files

# Rules on values are coarse: for them the whole program is evaluated anyway.
GATE = Gate([rule for rule in all_rules() if not rule.uses_flow])


def codes(text: str) -> set[str]:
    """Codes of the rules on names that would look into a file of this text."""
    return {rule.code for rule in GATE.rules_for(text.encode())}


def test_a_file_without_triggers_is_nobodys_business() -> None:
    assert codes("import torch\n\nnet = torch.nn.Linear(2, 1)\n") == set()


@pytest.mark.parametrize(
    "line",
    [
        "    # moved to cuda later",
        "\t# cuda",
        "    :param device: Device (cpu, cuda, ...) on which the code runs.",
    ],
)
def test_lines_without_code_do_not_open_it(line: str) -> None:
    assert codes(f"import torch\n{line}\n") == set()
    assert "NPU101" in codes(f'import torch\n{line}\ndevice = "cuda"\n')


@pytest.mark.parametrize("line", ["x = y.cuda()  # behind code", 'x = {"a": 1,  # :param\n "d": "cuda"}', ":cuda"])
def test_lines_with_code_open_it(line: str) -> None:
    assert "NPU102" in codes(f"import torch\n{line}\n")


def test_other_line_ends_are_not_taken_for_one_long_comment() -> None:
    assert "NPU102" in codes("# an old editor wrote this\rimport torch\rx = y.cuda()\r")


def test_suppressions_are_seen_in_comments() -> None:
    assert codes("x = 1\n# npuport: ignore[NPU101]\n") == {"NPU001"}


def test_a_launcher_without_torch_is_read_for_its_environment() -> None:
    assert "NPU107" in codes('import os\nos.environ["CUDA_VISIBLE_DEVICES"] = "0"\n')


def test_other_words_with_npu_in_them_do_not_open_it() -> None:
    assert codes("import torch\n\ndef forward(input):\n    return input.sum()\n") == set()


MEMORY = """import numpy as np


class Memory:
    def __init__(self, states):
        self.states = states

    def sample(self):
        chosen = np.random.choice(1000, 32)
        self.states[self.states > 3] = 3
        return self.states[chosen] + self.states[chosen]
"""
LEARNER = """import torch
from memory import Memory

device = torch.device("cuda")


def learn(model, optimizer):
    memory = Memory(torch.zeros((1000, 4), device=device))
    for _ in range(10):
        loss = model(memory.sample()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_a_file_that_says_nothing_of_torch_is_part_of_a_torch_program(tmp_path: Path) -> None:
    write_files(tmp_path, {"memory.py": MEMORY, "learner.py": LEARNER})

    def found(*, gate: bool) -> list[tuple[str, str, int]]:
        rules = all_rules()
        checker = Checker(rules, frozenset(rule.code for rule in rules), gate=gate)
        program = Program(sorted(tmp_path.glob("*.py")), Settings(root=tmp_path), checker, use_cache=False)
        return [(Path(f.filename).name, f.code, f.location.row) for f in program.check()]

    assert found(gate=True) == found(gate=False)
    assert ("memory.py", "NPU405", 11) in found(gate=True)
