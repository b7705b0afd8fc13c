"""What the analysis knows of values: kinds, dtypes and devices through names, containers, calls and files."""

from __future__ import annotations

import pytest

from npuport.analysis.flow.value import TENSOR
from tests.flow_of_text import flow_of, flow_of_files, shown, value_at

IMPORTS = """\
import random
from collections import deque, namedtuple
import numpy as np
import torch
import torch.nn as nn
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("torch.zeros(3)", "tensor<float32>@host"),
        ("torch.zeros(3, device='cuda')", "tensor<float32>@accelerator"),
        ("torch.zeros(3, dtype=float)", "tensor<float64>@host"),
        ("torch.tensor([1, 2])", "tensor<int64>@host"),
        ("torch.tensor([1, 2.5])", "tensor<float32>@host"),
        ("torch.tensor(np.zeros(3))", "tensor<float64>@host"),
        ("torch.tensor(np.log(0.2))", "tensor<float64>@host"),
        ("torch.from_numpy(np.zeros(3, dtype=np.float32)).to('npu:0')", "tensor<float32>@accelerator"),
        ("torch.ones(3) > 0.5", "tensor<bool>@host"),
        ("torch.arange(3) * 0.5", "tensor<float32>@host"),
        ("torch.arange(3).float().cuda()", "tensor<float32>@accelerator"),
        ("np.arange(3) < 2", "array<bool>@host"),
        ("np.ones(3, dtype=np.float32) * np.arange(3)", "array<float64>@host"),
        ("np.stack([np.zeros(3)]).astype(np.float32)", "array<float32>@host"),
        ("torch.FloatTensor([1]).new_zeros(3)", "tensor<float32>@host"),
        ("1 - torch.ones(3, dtype=torch.bool).float()", "tensor<float32>@host"),
    ],
)
def test_constructors_and_arithmetic(code: str, expected: str) -> None:
    assert shown(IMPORTS + code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = torch.zeros(3) if flag else torch.zeros(3, dtype=torch.int64)\nx", "tensor<float32|int64>@host"),
        ("x = [np.zeros(2)]\nx.append(np.ones(2))\nx[0]", "array<float64>@host"),
        ("d = {'done': torch.ones(1, dtype=torch.bool)}\nd['done']", "tensor<bool>@host"),
        ("a, b = torch.zeros(1), 3\nb", "number<int>{3}"),
        ("Row = namedtuple('Row', 'obs act')\nRow(np.zeros(2), 1).obs", "array<float64>@host"),
        (
            "memory = deque(maxlen=9)\nmemory.append((np.zeros(3), True))\n"
            "states, dones = zip(*random.sample(memory, 4))\ntorch.tensor(dones)",
            "tensor<bool>@host",
        ),
        ("x = None\nif flag:\n    x = torch.zeros(3)\nx", "tensor<float32>@host | none"),
        ("x = None\nif flag:\n    x = torch.zeros(3)\nif x is not None:\n    y = x\ny", "tensor<float32>@host"),
        ("for i in range(3):\n    total = torch.zeros(1)\ntotal", "tensor<float32>@host"),
        ("f = lambda x: x.double()\nf(torch.zeros(3))", "tensor<float64>@host"),
        ("unknown(3)", "unknown"),
    ],
)
def test_names_branches_and_containers(code: str, expected: str) -> None:
    assert shown(IMPORTS + code) == expected


def test_methods_attributes_and_parameters() -> None:
    flow = flow_of(
        """\
        import numpy as np
        import torch

        class Buffer:
            def __init__(self, size, device):
                self.dones = np.zeros(size, dtype=bool)
                self.device = device

            def sample(self, index):
                return torch.as_tensor(self.dones[index], device=self.device)

        buffer = Buffer(10, torch.device("cuda"))
        batch = buffer.sample(np.arange(4))
        batch.sum().backward()
        """
    )
    assert repr(value_at(flow, 13)) == "tensor<bool>@accelerator"


def test_values_cross_files() -> None:
    flows = flow_of_files(
        {
            "storage.py": "import torch\ndef empty(n):\n    return torch.zeros(n, dtype=torch.int64)\n",
            "train.py": "from storage import empty as made\nx = made(3)\nx.backward()\n",
        }
    )
    assert repr(value_at(flows["train.py"], 2)) == "tensor<int64>@host"


def test_a_default_device_is_no_proof() -> None:
    flow = flow_of(
        """\
        import torch
        def zeros(device="cpu"):
            x = torch.zeros(3, device=device)
            x.backward()
        """
    )
    atom = value_at(flow, 3).get(TENSOR)
    assert atom is not None
    assert not atom.on_host


def test_a_name_with_a_method_that_only_tensors_have_is_a_tensor() -> None:
    flow = flow_of(
        """\
        def learn(loss):
            loss.backward()
            x = float(loss)
        """
    )
    assert [event.how for event in flow.events("read")] == ["float"]


def test_what_a_loop_hands_on_reaches_its_next_turn() -> None:
    flow = flow_of(
        """\
        import torch
        previous = None
        for i in range(3):
            if previous is not None:
                float(previous)
            previous = torch.zeros(1, device="cuda").sum()
            previous.backward()
        """
    )
    assert [event.how for event in flow.events("read")] == ["float"]


def test_integers_in_a_loss_are_told_with_their_way() -> None:
    flow = flow_of(
        """\
        import torch
        import torch.nn.functional as F

        def learn(q, rewards, best):
            rewards = torch.as_tensor(rewards, dtype=torch.int64)
            target = rewards + 0.9 * best.detach()
            return F.mse_loss(q, target)
        """
    )
    found = [
        (loss.origin[1], loss.dtype, loss.promoted and loss.promoted[1], loss.loss[1]) for loss in flow.reaching_loss
    ]
    assert found == [(5, "int64", 6, 7)]


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    return f(x)\nf(1)\n",
        "def f(x):\n    return g(x)\ndef g(x):\n    return [f(x)]\nf(1)\n",
        "class A(A):\n    pass\nA().x\n",
        "class A(B):\n    pass\nclass B(A):\n    pass\nA().f()\n",
        "x = []\nfor i in range(3):\n    x = [x, x]\n",
        "x = {}\nx['x'] = x\n",
        "def f(*a, **k):\n    return f(*a, **k)\nf(1, a=2)\n",
        "x = " + "+".join(["torch.zeros(1)"] * 700),
        "x = " + "[" * 90 + "]" * 90,
        "def f():\n    yield from f()\n",
        "import main\nfrom main import *\nmain.main.x\n",
        "class A(metaclass=type):\n    @property\n    def x(self):\n        return self.x\nA().x\n",
    ],
    ids=range(12),
)
def test_what_turns_in_circles_ends(text: str) -> None:
    flow = flow_of("import torch\n" + text + "\ntorch.zeros(1).backward()\n")
    assert list(flow.events("backward")) or "+" in text
