"""What the dtype rules say besides the place: evidence over files, weights, and when a fix is only unsafe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command, write_files

HEAD = "import numpy as np\nimport torch\nimport torch.nn.functional as F\n\n\n"
BUFFER = """import torch


class Buffer:
    def __init__(self, size, device):
        self.ended = torch.zeros(size, dtype=torch.bool, device=device)

    def sample(self, index):
        return self.ended[index]
"""
AGENT = """import torch.nn.functional as F

from buffer import Buffer


class Agent:
    def __init__(self, critic, device):
        self.critic = critic
        self.buffer = Buffer(100, device)

    def loss(self, states, index):
        ended = self.buffer.sample(index)
        value = self.critic(states)
        target = ~ended * value.detach()
        return F.mse_loss(value, target)
"""


def findings(npuport: Command, *arguments: str) -> list[dict[str, Any]]:
    run = npuport("check", "--select", "dtype", "--output-format", "json", *arguments)
    found: list[dict[str, Any]] = json.loads(run.out)
    return found


def one(npuport: Command, tmp_path: Path, body: str) -> dict[str, Any]:
    write_files(tmp_path, {"agent.py": HEAD + body})
    (found,) = findings(npuport, "agent.py")
    return found


def test_evidence_names_the_steps_and_other_files(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"buffer.py": BUFFER, "agent.py": AGENT})
    (found,) = findings(npuport, ".")
    assert Path(found["filename"]).name == "buffer.py"
    assert found["location"]["row"] == 6
    steps = ["self.ended: bool (line 6)", "promoted (agent.py:14)", "loss (agent.py:15)"]
    assert found["evidence"][:3] == steps
    assert found["fix"] is None, "~ended in the other file would raise on floats"


def test_float64_parameter_is_an_error_and_a_tensor_a_warning(npuport: Command, tmp_path: Path) -> None:
    body = "def f(device):\n    return torch.tensor(np.log(0.2), requires_grad=True, device=device)\n"
    assert one(npuport, tmp_path, body)["severity"] == "error"
    body = "def f(device):\n    return torch.tensor(np.log(0.2), device=device)\n"
    assert one(npuport, tmp_path, body)["severity"] == "warning"


def test_upload_tells_where_the_float64_array_was_made(npuport: Command, tmp_path: Path) -> None:
    body = "def f(device):\n    weights = np.zeros(3)\n    return torch.as_tensor(weights, device=device)\n"
    assert one(npuport, tmp_path, body)["evidence"] == ["float64 array (line 7)"]


def test_suspected_float64_is_a_note_that_says_what_is_assumed(npuport: Command, tmp_path: Path) -> None:
    body = """def f(x, device):
    y = np.zeros(3) if x is None else np.asarray(x)
    return torch.from_numpy(y).to(device)
"""
    found = one(npuport, tmp_path, body)
    assert found["severity"] == "note"
    assert found["evidence"][-1].startswith("assumed: ")
    assert found["fix"]["applicability"] == "unsafe"


NUMBERS = "t = torch.tensor([1, 0], device='npu')\nq = torch.rand(2, device='npu')\n"
FRACTIONS = "t = torch.tensor([.5, 1.], dtype=int, device='npu')\nq = torch.rand(2, device='npu')\n"
LOSS = "F.mse_loss(q, q * t)\n"


@pytest.mark.parametrize(
    ("body", "applicability"),
    [
        (NUMBERS + LOSS, "safe"),
        (NUMBERS + LOSS + "print(t)\n", "unsafe"),
        (NUMBERS + LOSS + "q[t]\n", None),
        (FRACTIONS + LOSS, "unsafe"),
    ],
    ids=["arithmetic", "printed", "index", "cuts fractions"],
)
def test_constructor_changes_only_where_the_tensor_is_a_number(
    npuport: Command, tmp_path: Path, body: str, applicability: str | None
) -> None:
    fix = one(npuport, tmp_path, body)["fix"]
    assert (fix and fix["applicability"]) == applicability


def test_numpy_scalar_beside_a_tensor_makes_no_float64(npuport: Command, tmp_path: Path) -> None:
    body = """def f(q):
    loss = (q * np.log(2.0) + np.float64(0.5)).mean().to("npu")
    loss.backward()
"""
    write_files(tmp_path, {"agent.py": HEAD + body})
    assert findings(npuport, "agent.py") == []


def test_gathered_arguments_keep_their_dtypes(npuport: Command, tmp_path: Path) -> None:
    body = """def learn(q, *columns):
    rewards, dones = columns
    return F.mse_loss(q, q.detach() * dones + rewards)


def main(q, rewards, dones):
    rewards = torch.as_tensor(rewards, dtype=torch.float32, device="npu")
    dones = torch.as_tensor(dones, dtype=torch.bool, device="npu")
    learn(q, rewards, dones)
"""
    assert one(npuport, tmp_path, body)["location"]["row"] == 13
