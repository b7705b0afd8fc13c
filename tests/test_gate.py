"""The bytes gate lets through what a rule may have something to say about, and little else."""

from __future__ import annotations

import pytest

from npuport.engine.gate import Gate
from npuport.engine.registry import all_rules

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
