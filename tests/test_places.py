"""What says where a tensor is, and what does not: reads on the host are found where there is evidence."""

from __future__ import annotations

from pathlib import Path

import pytest

from npuport.analysis.module import ProjectFacts
from npuport.engine.checking import Checker, check_source
from npuport.engine.finding import Severity
from npuport.engine.registry import all_rules
from npuport.sources.text import SourceText
from tests.conftest import Command, findings_in, write_files

UPDATES = """import torch
from torch import nn


class Learner:
    def __init__(self, device):
        self.device = device
        self.lstm = nn.LSTM(4, 4).to(device)
        self.optimizer = torch.optim.Adam(self.lstm.parameters())

    def learn(self, rows, indices):
        first = torch.as_tensor(rows)
        for batch in rows:
            loss = self.lstm(batch.to(self.device))[0].mean()
            loss.backward()
            self.optimizer.step()
            {body}
"""
BODIES = {
    "loss.cpu()": 1,
    "loss.to('cpu')": 1,
    "loss.to(first.device)": 0,
    "use = self.lstm.bias_ih_l0 if self.lstm.bias else None": 0,
    "use = 1 if loss else None": 1,
}


@pytest.mark.parametrize(("body", "found"), BODIES.items(), ids=BODIES)
def test_what_reads_on_the_host(body: str, found: int) -> None:
    assert len(findings_in(UPDATES.format(body=body), ["NPU303"])) == found


STORE = """import torch


def priorities(device, count):
    return torch.zeros(count, device=device)


class Store:
    def add(self, index):
        return self.first(index)

    def first(self, index):
        return self.second(index)

    def second(self, index):
        return self.third(index)

    def third(self, index: torch.Tensor):
        return int(index.max())
"""
SCRIPT = """import torch

from store import Store

net = torch.nn.Linear(4, 1){device}
optimizer = torch.optim.Adam(net.parameters())
store = Store()
for batch in batches:
    optimizer.zero_grad()
    net(batch).mean().backward()
    optimizer.step()
    store.{method}(batch)
"""


@pytest.mark.parametrize(
    ("device", "method", "found"),
    [
        ('.to("cuda")', "third", True),
        ("", "third", False),  # the script that makes it frequent stays on the host
        ('.to("cuda")', "add", False),  # too far to assume where the tensor is
    ],
)
def test_a_device_is_assumed_near_a_loop_of_a_program_that_has_one(
    tmp_path: Path, npuport: Command, device: str, method: str, found: bool
) -> None:
    write_files(tmp_path, {"store.py": STORE, "train.py": SCRIPT.format(device=device, method=method)})
    done = npuport("check", "--no-cache", "--select", "NPU303", "--output-format", "concise", "--exit-zero")
    assert ("store.py" in done.out) == found


IMPORTED = "import torch.cuda\n\nx = torch.zeros(3).to(0)\n"


def test_what_does_no_harm_is_a_note() -> None:
    (imported,) = findings_in(IMPORTED, ["NPU103"])
    assert imported.severity is Severity.NOTE
    (named,) = findings_in(IMPORTED.replace("import torch.cuda", "import torch, torch.cuda as cuda"), ["NPU103"])
    assert named.severity is Severity.ERROR


@pytest.mark.parametrize(("target", "severity"), [("2.13.0", Severity.NOTE), ("2.1.0", Severity.WARNING)])
def test_a_bare_number_is_a_note_where_torch_means_the_accelerator(target: str, severity: Severity) -> None:
    text = IMPORTED.replace("import torch.cuda", "import torch\n\ntorch.cuda.synchronize()")
    checking = Checker(all_rules(), frozenset({"NPU111"}), target=target)
    (found,) = check_source(checking, SourceText(Path("agent.py"), text), ProjectFacts()).findings
    assert found.severity is severity


@pytest.mark.parametrize(("value", "advice"), [("0.0", "masked_fill_"), ("source[mask]", "torch.where")])
def test_an_assignment_through_a_mask_is_told_what_replaces_it(value: str, advice: str) -> None:
    text = "import torch\n\n\ndef fill(size, source):\n    x = torch.zeros(size, device='cuda')\n    mask = x > 1\n"
    text += f"    source = source.float()\n    x[mask] = {value}\n"
    (found,) = findings_in(text, ["NPU603"])
    assert advice in found.message
