"""What ``check`` says of measured lines: matched by statement, for the files that ran."""

from __future__ import annotations

from pathlib import Path

from npuport.observe.findings import findings_on_lines
from npuport.observe.measurement import UP, Count, Line, LineCount, Measurement
from tests.conftest import write_files

SCRIPT = """\
import torch

x = torch.zeros(3)
y = torch.add(
    x.cuda(),
    x,
)
for z in (x.cuda(), x):
    print(z)
"""


# A bool is made on line 4 and refused on line 5.
BOOL_IN_LOSS = """\
import torch

value = torch.zeros(4, device="npu")
done = torch.tensor([True] * 4).to("npu")
loss = torch.nn.functional.mse_loss(value, done)
loss.backward()
"""


def measured(folder: Path, *lines: int, files: tuple[str, ...] = ("train.py",), text: str = SCRIPT) -> Measurement:
    write_files(folder, {"train.py": text})
    counts = [LineCount(Line(str(folder / "train.py"), line), UP, Count(1, 4)) for line in lines]
    return Measurement("train.py", [], "emulated", user_files=[str(folder / name) for name in files], lines=counts)


def codes(folder: Path, *lines: int) -> dict[int, list[str]]:
    found = findings_on_lines(measured(folder, *lines))
    return {line: [finding.code for finding in findings] for (_, line), findings in found.items()}


def test_a_finding_counts_for_every_line_of_its_statement(tmp_path: Path) -> None:
    assert codes(tmp_path, 4, 5, 6) == {4: ["NPU102"], 5: ["NPU102"], 6: ["NPU102"]}


def test_the_header_of_a_loop_is_not_its_body(tmp_path: Path) -> None:
    assert codes(tmp_path, 8, 9) == {8: ["NPU102"]}


def test_lines_without_a_finding_have_no_entry(tmp_path: Path) -> None:
    assert codes(tmp_path, 1, 3) == {}


def test_files_that_are_gone_are_left_out(tmp_path: Path) -> None:
    """A script may have been made in a temporary folder, or be no file at all."""
    found = findings_on_lines(measured(tmp_path, 4, files=("train.py", "gone.py", "<string>")))
    assert [line for _, line in found] == [4]


def test_a_dtype_is_found_where_it_is_made_and_where_it_ends(tmp_path: Path) -> None:
    found = findings_on_lines(measured(tmp_path, 3, 4, 5, text=BOOL_IN_LOSS))
    lines = [line for (_, line), findings in found.items() if any(one.code == "NPU201" for one in findings)]
    assert sorted(lines) == [4, 5]
