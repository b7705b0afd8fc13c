"""What says where a tensor is, and what does not: reads on the host are found where there is evidence."""

from __future__ import annotations

from pathlib import Path

import pytest

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
