"""The functions that fixes write into files: on the emulated device they give what each tensor by itself would be."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from npuport.analysis.module import Module, ProjectFacts
from npuport.engine.document import parse
from npuport.engine.rewriting.helper_functions import UPLOAD, UPLOAD_TOGETHER, function_definition, function_text
from npuport.sources.text import SourceText
from tests.conftest import fixed

FUNCTIONS = "\n\n".join(function_text(base, base, "torch", tabs=False) for base in (UPLOAD, UPLOAD_TOGETHER))
PROGRAM = f"""
import ctypes
import torch

{FUNCTIONS}

library = ctypes.CDLL("libascendcl.so")


def counted(call):
    call()  # what is allocated once
    library.npuport_reset_counts()
    call()
    room = ctypes.create_string_buffer(1 << 20)
    library.npuport_read_counts(room, ctypes.c_int64(1 << 20))
    rows = [line.split() for line in room.value.decode().splitlines()]
    return {{name: int(calls) for name, calls, _ in rows if name.startswith(("copy.", "wait."))}}


torch.manual_seed(0)
tensors = [
    torch.randn(7, 3),
    torch.randint(-5, 5, (7, 1)),
    torch.rand(7) > 0.5,
    torch.tensor(3.0),
    torch.zeros(0, 3),
    torch.arange(3, dtype=torch.float64),
    torch.randn(4, 6).t(),
    torch.randn(5)[::2],
    torch.arange(5, dtype=torch.uint8),
    torch.randn(3).half(),
]
for device in ("npu", "npu:0", torch.device("npu")):
    together = upload_together(tensors, device)
    assert isinstance(together, tuple)
    alone = [upload(tensor, device) for tensor in tensors]
    for tensor, there in zip([*tensors, *tensors], [*together, *alone], strict=True):
        assert there.device.type == "npu"
        assert (there.dtype, there.shape) == (tensor.dtype, tensor.shape)
        assert torch.equal(there.cpu(), tensor)

# What is on the device already stays there, and what goes to the CPU goes its old way.
assert upload(together[0], "npu") is together[0]
assert upload_together((together[0], tensors[1]), "npu")[1].device.type == "npu"
assert upload(tensors[0], "cpu") is tensors[0]
assert upload_together(tensors, "cpu")[1] is tensors[1]

# A change in place of one does not spoil the gradients of another.
net = torch.nn.Linear(3, 2).npu()
loss = net(together[0]).sum()
together[3].mul_(2)
loss.backward()

assert counted(lambda: upload_together(tensors, "npu")) == {{"copy.host_to_device": 1}}
assert counted(lambda: upload(tensors[0], "npu")) == {{"copy.host_to_device": 1}}
assert counted(lambda: tensors[0].to("npu")) == {{"copy.host_to_device": 1, "wait.stream": 1}}
print("equal")
"""


def module_of(text: str) -> Module:
    module = parse(SourceText(Path("agent.py"), text), "2.13.0", ProjectFacts())
    assert isinstance(module, Module)
    return module


def test_uploads_give_what_each_tensor_is(emulator) -> None:  # type: ignore[no-untyped-def]
    done = emulator.run(PROGRAM)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "equal"


@pytest.mark.parametrize("base", [UPLOAD, UPLOAD_TOGETHER])
@pytest.mark.parametrize("tabs", [False, True])
def test_functions_are_found_again(base: str, tabs: bool) -> None:
    text = f"import torch\n\n\n{function_text(base, '_moved', 'torch', tabs=tabs)}"
    definition = function_definition(module_of(text), base)
    assert isinstance(definition, ast.FunctionDef)
    assert definition.name == "_moved"
    assert function_definition(module_of("import torch\n\n\ndef upload(a, b):\n    pass\n"), base) is None


def test_a_second_fix_uses_the_function_that_is_there() -> None:
    text = (
        "import torch\nimport gymnasium as gym\n\nnet = torch.nn.Linear(4, 2).npu()\n"
        "optimizer = torch.optim.Adam(net.parameters())\nenv = gym.make('CartPole-v1')\nobs, _ = env.reset()\n"
        "for _ in range(9):\n    action = net(torch.Tensor(obs).npu()).argmax().item()\n"
        "    obs, *_ = env.step(action)\n"
    )
    first = fixed(text, "npu", ["NPU409"], unsafe=True)
    again = fixed(
        first.text.replace("    obs, *_", "    other = torch.Tensor(obs).npu()\n    obs, *_"),
        "npu",
        ["NPU409"],
        unsafe=True,
    )
    assert first.text.count("def upload(") == again.text.count("def upload(") == 1
    assert again.text.count("upload(torch.Tensor(obs), ") == 2
