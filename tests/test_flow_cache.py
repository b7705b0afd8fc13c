"""After an edit only what it touches is evaluated again, and what is found is what a run from nothing finds."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from npuport.analysis.flow import program as flow_program
from npuport.analysis.flow import visits
from npuport.engine.checking import Checker
from npuport.engine.finding import Finding
from npuport.engine.program import Program
from npuport.engine.registry import all_rules
from npuport.sources.settings import Settings
from tests.conftest import write_files

NETS = """\
import torch
import torch.nn as nn

device = torch.device("cuda")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        return self.layer(x)


def loss_of(net, batch):
    return net(batch).mean()
"""
LEARNER = """\
from nets import Net, device, loss_of


class Learner:
    def __init__(self, optimizer):
        self.net = Net().to(device)
        self.optimizer = optimizer

    def learn(self, batch):
        loss = loss_of(self.net, batch)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return report(loss)


def report(loss):
    return loss.item()
"""
TRAIN = """\
import torch
from learner import Learner


def train(loader, epochs):
    learner = Learner(torch.optim.Adam([]))
    total = 0.0
    for epoch in range(epochs):
        for batch in loader:
            total += learner.learn(batch)
    return total


def summary(learner, batch):
    return learner.learn(batch)
"""
OTHER = """\
import torch


def mean(x):
    return x.mean().item()
"""
PROGRAM = {"nets.py": NETS, "learner.py": LEARNER, "train.py": TRAIN, "other.py": OTHER}


def check(folder: Path, *, cached: bool = True) -> list[Finding]:
    checker = Checker(all_rules(), frozenset(rule.code for rule in all_rules()))
    return Program(sorted(folder.glob("*.py")), Settings(root=folder), checker, use_cache=cached).check()


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Names of the files of which some function was evaluated for the program's sake."""
    names: set[str] = set()
    visit = visits.visit

    def noted(knowledge, function, recording=None):  # type: ignore[no-untyped-def]
        if recording is None:
            names.add(Path(function.file).name)
        return visit(knowledge, function, recording)

    monkeypatch.setattr(flow_program, "visit", noted)
    return names


def rows(findings: list[Finding], code: str) -> list[tuple[str, int, str | None]]:
    return [(Path(f.filename).name, f.location.row, f.how_often) for f in findings if f.code == code]


def edit(folder: Path, name: str, old: str, new: str) -> None:
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new))


def test_an_unchanged_program_is_not_evaluated(tmp_path: Path, evaluated: set[str]) -> None:
    write_files(tmp_path, PROGRAM)
    cold = check(tmp_path)
    assert ("learner.py", 18, "update") in rows(cold, "NPU301")
    evaluated.clear()
    assert check(tmp_path) == cold
    assert evaluated == set()


def test_a_body_that_tells_the_others_nothing_new_leaves_them_alone(tmp_path: Path, evaluated: set[str]) -> None:
    write_files(tmp_path, PROGRAM)
    check(tmp_path)
    evaluated.clear()
    edit(tmp_path, "learner.py", "        loss = loss_of", "        # the loss\n        loss = loss_of")
    assert check(tmp_path) == check(tmp_path, cached=False)
    evaluated.clear()
    edit(tmp_path, "learner.py", "# the loss", "# a loss")
    check(tmp_path)
    assert evaluated == {"learner.py"}


def test_what_a_value_becomes_reaches_other_files(tmp_path: Path) -> None:
    write_files(tmp_path, PROGRAM)
    assert ("learner.py", 18, "update") in rows(check(tmp_path), "NPU301")
    edit(tmp_path, "nets.py", "net(batch).mean()", 'net(batch).mean().to("cpu")')
    warm = check(tmp_path)
    assert ("learner.py", 18, "update") not in rows(warm, "NPU301")
    assert warm == check(tmp_path, cached=False)


def test_how_often_a_caller_runs_reaches_other_files(tmp_path: Path) -> None:
    helper = {"helper.py": OTHER, "main.py": "import torch\nfrom helper import mean\n\nprint(mean(torch.ones(3)))\n"}
    write_files(tmp_path, helper)
    assert rows(check(tmp_path), "NPU301") == []
    edit(
        tmp_path,
        "main.py",
        "print(mean(torch.ones(3)))",
        'x = torch.ones(3, device="cuda")\nfor batch in range(3):\n    x.sum().backward()\n    mean(x)',
    )
    warm = check(tmp_path)
    assert rows(warm, "NPU301") == [("helper.py", 5, "update")]
    assert warm == check(tmp_path, cached=False)


def test_deleted_and_new_files_are_seen(tmp_path: Path) -> None:
    write_files(tmp_path, PROGRAM)
    check(tmp_path)
    (tmp_path / "train.py").unlink()
    assert check(tmp_path) == check(tmp_path, cached=False)
    write_files(tmp_path, {"train.py": TRAIN.replace("learner.learn(batch)", "learner.learn(batch.cpu())")})
    assert check(tmp_path) == check(tmp_path, cached=False)


def test_damaged_data_is_evaluated_again(tmp_path: Path) -> None:
    write_files(tmp_path, PROGRAM)
    cold = check(tmp_path)
    for path in (tmp_path / ".npuport_cache").glob("*-flow/*.json"):
        path.write_text('{"key": 3}' if path.stat().st_size % 2 else path.read_text()[:100])
    edit(tmp_path, "other.py", "mean", "average")
    assert [f.code for f in check(tmp_path)] == [f.code for f in cold]


EDITS: Mapping[str, list[tuple[str, str]]] = {
    "nets.py": [("cuda", "cpu"), ("net(batch).mean()", "batch.double().mean()"), ("Linear(4, 2)", "Linear(4, 3)")],
    "learner.py": [("return report(loss)", "return loss"), ("loss.item()", "float(loss)"), ("learn", "improve")],
    "train.py": [("for batch in loader", "for batch in [1, 2]"), ("total +=", "total = 0 +"), ("Adam", "SGD")],
    "other.py": [("mean", "average"), (".item()", ""), ("import torch", "import torch\nfrom nets import device")],
}


@pytest.mark.parametrize("seed", range(12))
def test_a_sequence_of_edits_finds_what_a_cold_run_finds(tmp_path: Path, seed: int) -> None:
    write_files(tmp_path, PROGRAM)
    choose = random.Random(seed)
    check(tmp_path)
    for _ in range(5):
        name = choose.choice(sorted(EDITS))
        old, new = choose.choice(EDITS[name])
        text = (tmp_path / name).read_text()
        changed = text.replace(old, new) if choose.random() < 0.7 else PROGRAM[name]
        (tmp_path / name).write_text(changed)
        warm = check(tmp_path)
        cold = check(tmp_path, cached=False)
        assert [(f.filename, f.location, f.code, f.severity) for f in warm] == [
            (f.filename, f.location, f.code, f.severity) for f in cold
        ]


def test_a_class_may_go_to_which_another_file_writes(tmp_path: Path) -> None:
    agent = "import torch\n\n\nclass Agent:\n    pass\n\n\nclass Actor:\n    pass\n\n\nchosen = Agent\n"
    other = "import torch\nfrom agent import chosen\n\n\nagent = chosen()\nagent.x = torch.ones(3)\nagent.x.item()\n"
    write_files(tmp_path, {"agent.py": agent, "other.py": other})
    check(tmp_path)
    edit(tmp_path, "agent.py", "class Agent:\n    pass\n\n\n", "")
    edit(tmp_path, "agent.py", "chosen = Agent", "chosen = Actor")
    assert check(tmp_path) == check(tmp_path, cached=False)
