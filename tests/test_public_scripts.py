"""What the benchmarks on public scripts are made of: layouts, ports, verdicts, and lines against findings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.public_scripts.catalogue import Script, all_scripts
from benchmarks.public_scripts.layout import LayoutError, lay_out, marimo_as_script, notebook_as_script
from benchmarks.public_scripts.lines import compare
from benchmarks.public_scripts.ports import ported_copy
from benchmarks.public_scripts.results import PortResult, Verdict
from benchmarks.public_scripts.table import as_text, ratios
from npuport.observe.measurement import UP, Count, Line, LineCount, Measurement, Outcome

AGENT = """\
from __future__ import annotations
import gymnasium as gym
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.Adam(net.parameters())
env = gym.make("CartPole-v1")
obs, _ = env.reset()
for _ in range(100):
    logits = net(torch.Tensor(obs).to(device))
    print(logits.max().item())
    obs, reward, terminated, truncated, _ = env.step(logits.argmax().item())
    optimizer.zero_grad()
    logits.sum().backward()
    optimizer.step()
"""
MARIMO = """\
import marimo

app = marimo.App()


@app.cell
def _(mo):
    mo.md("text")
    return


@app.cell
def _(np):
    def twice(x):
        return 2 * x

    number = twice(3)
    return number, twice


@app.cell
def _(number):
    print(number)
"""


def measured(calls: int, *, ending: str = "steps", updates: int = 3, on_device: bool = True) -> Measurement:
    outcome = Outcome("steps" if ending == "steps" else "crashed", error="" if ending == "steps" else "ValueError: no")
    return Measurement(
        "agent.py",
        [],
        "emulated",
        outcome=outcome,
        transitions=10,
        updates=updates,
        device_parameters=on_device,
        counts={UP: Count(calls, 4 * calls)},
    )


def test_every_script_has_a_name_of_its_own() -> None:
    names = [script.name for script in all_scripts()]
    assert len(names) == len(set(names)) >= 36
    assert all(script.steps >= 300 for script in all_scripts())


def test_notebook_becomes_a_script() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Title"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "x = 1"]},
        {"cell_type": "code", "source": ["print(x)"]},
    ]
    assert notebook_as_script(json.dumps({"cells": cells})) == "# %matplotlib inline\nx = 1\n\nprint(x)\n"


def test_marimo_application_becomes_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(marimo_as_script(MARIMO), "script", "exec"), {})
    assert capsys.readouterr().out == "6\n"


def test_scripts_are_laid_out_with_their_files_only(tmp_path: Path) -> None:
    source = tmp_path / "someone" / "agents" / "one folder"
    source.mkdir(parents=True)
    for name in ("main.py", "net.py", "notes.md"):
        (source / name).write_text("steps = 1_000_000\n", encoding="utf-8")
    script = Script("one", "someone/agents", "main.py", "one folder", ("*.py",), shortened={"1_000_000": "10"})
    entry = lay_out(script, tmp_path, tmp_path / "laid out")
    assert sorted(path.name for path in entry.parent.iterdir()) == ["main.py", "net.py"]
    assert entry.read_text(encoding="utf-8") == "steps = 10\n"
    with pytest.raises(LayoutError, match=r"other\.py is not there"):
        lay_out(Script("two", "someone/agents", "other.py"), tmp_path, tmp_path / "two")


def test_own_scripts_are_there(tmp_path: Path) -> None:
    own = [script for script in all_scripts() if not script.repository]
    assert own
    for script in own:
        lay_out(script, tmp_path, tmp_path / script.entry)


def test_ports_change_what_they_say(tmp_path: Path) -> None:
    original = tmp_path / "original"
    original.mkdir()
    entry = original / "agent.py"
    entry.write_text(AGENT, encoding="utf-8")

    def text(port: str) -> str:
        return ported_copy(original, entry, tmp_path / port, port).read_text(encoding="utf-8")

    replaced = text("text replacement")
    assert 'device("npu" if torch.npu.is_available()' in replaced
    assert ".npu()" in replaced
    assert text("transfer_to_npu").startswith("from __future__ import annotations\nimport torch_npu\n")
    assert "import torch_npu" in text("fix")
    assert "upload(" in text("fix --unsafe-fixes")
    assert "DEVICE_TYPE" in text("fix --style portable")


def test_verdicts() -> None:
    def verdict(measurement: Measurement | None) -> Verdict:
        return PortResult("agent", "fix", measurement, None).verdict

    assert verdict(measured(5)) is Verdict.TRAINED
    assert verdict(measured(5, on_device=False)) is Verdict.SILENT
    assert verdict(measured(5, ending="crashed")) is Verdict.STOPPED
    assert verdict(measured(5, updates=0)) is Verdict.STOPPED
    assert verdict(None) is Verdict.STOPPED


def test_costs_are_held_against_those_of_the_same_script() -> None:
    results = [
        PortResult("a", "transfer_to_npu", measured(40), None),
        PortResult("a", "fix", measured(10), measured(0), measured(0)),
        PortResult("b", "transfer_to_npu", measured(40, ending="crashed"), None),
        PortResult("b", "fix", measured(40), measured(0, ending="crashed")),
    ]
    assert ratios(results, "fix") == {"a": 0.25}
    text = as_text(results, ["c: not there"])
    assert "| fix | 2 | 0 | 0 | 2.50 | 0.00 | 0.00 | 2.50 | -75% (1) | 1 | 1 |" in text
    assert "stopped: b, transfer_to_npu: ValueError: no" in text
    assert "left out: c: not there" in text


def test_lines_are_held_against_findings(tmp_path: Path) -> None:
    agent = tmp_path / "agent.py"
    agent.write_text(AGENT, encoding="utf-8")

    def line(number: int, calls: int, event: str = UP) -> LineCount:
        return LineCount(Line(str(agent), number), event, Count(calls, calls))

    run = measured(30)
    run.user_files = [str(agent)]
    run.lines = [line(11, 10), line(12, 1), line(13, 10), LineCount(Line("", 0), UP, Count(9, 9))]
    found = compare(run, at_least=0.8)
    assert (found.events, found.unexplained) == (30, 9)
    assert [(hot.line, hot.found, hot.asked) for hot in found.hot] == [(11, (), ("NPU409",)), (13, (), ())]
    assert [(quiet.finding.code, quiet.ran) for quiet in found.quiet] == [("NPU301", True)]
    assert found.confirmed == 0
