"""Where fixes put ``import torch_npu`` and the helper names, held by text and by running the fixed code.

The code runs against small stand-ins for torch and torch_npu: torch has no NPU until torch_npu is imported, so
a missing, late or misplaced import fails here as it does on a real machine.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from npuport.analysis.module import ProjectFacts
from npuport.engine.fixing import fix_source
from npuport.sources.text import SourceText
from tests.conftest import PORTABLE, checker, fixed, write_files

NPU_LINE = "import torch_npu  # noqa: F401"
TYPE_LINE = 'DEVICE_TYPE = "npu" if hasattr(torch, "npu") and torch.npu.is_available() else "cuda"'
MODULE_LINE = "device_module = getattr(torch, DEVICE_TYPE)"

STAND_INS = {
    "torch/__init__.py": """
class Tensor:
    def __init__(self, device="cpu"):
        self.device = str(device)
    def cuda(self, device=None):
        return Tensor("cuda")
    def to(self, device):
        return Tensor(device)
def zeros(*size, device="cpu"):
    return Tensor(device)
device = str
from torch import cuda, nn
""",
    "torch/cuda.py": "def is_available(): return True\ndef empty_cache(): pass\n",
    "torch/nn/__init__.py": (
        "import torch\nclass Linear(torch.Tensor):\n    def __init__(self, *size): super().__init__()\n"
    ),
    "torch/nn/functional.py": "",
    "torch_npu.py": """
import sys, types
import torch
torch.npu = sys.modules["torch.npu"] = types.ModuleType("torch.npu")
torch.npu.is_available = lambda: True
torch.npu.empty_cache = lambda: None
torch.Tensor.npu = lambda self, device=None: torch.Tensor("npu")
""",
}


@pytest.fixture
def stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    write_files(tmp_path, STAND_INS)
    monkeypatch.syspath_prepend(tmp_path)
    real = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in ("torch", "torch_npu")}
    for name in real:
        del sys.modules[name]
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] in ("torch", "torch_npu")]:
        del sys.modules[name]
    sys.modules.update(real)


def device_after_running(text: str, *, npu_machine: bool) -> str:
    """Run a program and give the device of what its name ``x``, or its function ``f``, holds."""
    if npu_machine:
        __import__("torch_npu")  # as torch's autoload does
    names: dict[str, object] = {"__name__": "__main__"}
    exec(compile(text, "agent.py", "exec"), names)
    result = names["f"]() if callable(names.get("f")) else names["x"]  # type: ignore[operator]
    return str(getattr(result, "device", result))


PROGRAMS = {
    "import torch": "import torch\nx = torch.zeros(1).cuda()\n",
    "alias": "import os\nimport torch as th\nimport sys\nx = th.zeros(1).cuda()\n",
    "several on a line": "import os, torch, sys\nx = torch.zeros(1).cuda()\n",
    "broken line": "import os, \\\n    torch\nx = torch.zeros(1).cuda()\n",
    "parts only": "from torch import nn\nimport torch.nn.functional as F\nx = nn.Linear(1, 1).cuda()\n",
    "parts in parentheses": "from torch import (\n    nn,\n    zeros,\n)\nx = zeros(1, device='cuda')\n",
    "star": "from torch import *\nx = zeros(1).to(device('cuda'))\n",
    "from torch import cuda": (
        "import torch\nfrom torch import cuda\nx = torch.zeros(1, device='cuda' if cuda.is_available() else 'cpu')\n"
    ),
    "only cuda": "from torch import cuda\ncuda.empty_cache()\nx = 'cuda' if cuda.is_available() else 'cpu'\n",
    "module alias": "import torch.cuda as tc\nimport torch\ntc.empty_cache()\nx = torch.zeros(1).cuda()\n",
    "functions of torch.cuda": (
        "import torch\nfrom torch.cuda import empty_cache, is_available\nempty_cache()\n"
        "x = 'cuda' if is_available() else 'cpu'\n"
    ),
    "assigned module": (
        "import torch\ncuda = torch.cuda\ncuda.empty_cache()\nx = 'cuda' if cuda.is_available() else 'cpu'\n"
    ),
    "looked up module": "import torch\ncuda = getattr(torch, 'cuda')\ncuda.empty_cache()\nx = torch.zeros(1).cuda()\n",
    "import in a function": "def f():\n    import torch\n    return torch.zeros(1, device='cuda')\n",
    "both halves in a function": (
        "def f():\n    import torch\n    return torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"
    ),
    "two needs in a function": (
        "def f():\n    import torch\n    torch.cuda.empty_cache()\n    return torch.zeros(1).cuda()\n"
    ),
    "function in a function": (
        "def f():\n    import torch\n    def g():\n        return torch.zeros(1).cuda()\n    return g()\n"
    ),
    "imports in two functions": (
        "def g():\n    import torch as th\n    return th.zeros(1).cuda()\ndef f():\n"
        "    import torch\n    torch.cuda.empty_cache()\n    return g()\n"
    ),
    "imports in two branches": (
        "def f(first=True):\n    if first:\n        import torch\n"
        "        return torch.zeros(1).cuda()\n    else:\n        import torch\n"
        "        return torch.zeros(2).cuda()\n"
    ),
    "type checking": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\ndef f():\n"
        "    import torch\n    return torch.zeros(1).cuda()\n"
    ),
    "code between imports": (
        "import os\nos.getcwd()\nimport torch\nfirst = torch.zeros(1).cuda()\nimport sys\nx = torch.zeros(1).cuda()\n"
    ),
    "default argument": "import torch\ndef f(device='cuda'):\n    return torch.zeros(1, device=device)\nimport os\n",
    "class default": (
        "import torch\nclass A:\n    device = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        "import os\nx = torch.zeros(1).to(A.device)\n"
    ),
    "import in a class": "class A:\n    import torch\n    x = torch.zeros(1).to('cuda')\nx = A.x\n",
    "taken names": (
        "import torch\nDEVICE_TYPE, device_module = 'gpu', 0\ntorch.cuda.empty_cache()\nx = torch.zeros(1).cuda()\n"
    ),
    "taken parameter": "import torch\ndef f(DEVICE_TYPE='gpu'):\n    return torch.zeros(1).cuda()\n",
    "taken parameter, own import": "def f(DEVICE_TYPE='gpu'):\n    import torch\n    return torch.zeros(1).cuda()\n",
    "visible cards chosen below the imports": (
        "import os\nimport torch\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\nx = torch.zeros(1).cuda()\n"
    ),
}
programs = pytest.mark.parametrize("text", PROGRAMS.values(), ids=list(PROGRAMS))
# Portable style keeps its hands off where no place for the helper names is sound.
LEFT_ALONE = {
    "import in a try": (
        "try:\n    import torch\nexcept ImportError:\n    torch = None\ndef f():\n    return torch.zeros(1).cuda()\n"
    ),
    "import in an if": "import sys\nif sys.argv:\n    import torch\nx = torch.zeros(1).cuda()\n",
    "last line is the import": "def f():\n    return torch.zeros(1).cuda()\nimport torch",
    "use above the import": "device = 'cuda'\nimport torch\nx = torch.zeros(1, device=device)\n",
}
left_alone = pytest.mark.parametrize("text", LEFT_ALONE.values(), ids=list(LEFT_ALONE))


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize("text", [*PROGRAMS.values(), *LEFT_ALONE.values()], ids=[*PROGRAMS, *LEFT_ALONE])
def test_npu_style_runs_on_the_npu_without_autoload(text: str) -> None:
    result = fixed(text)
    assert (result.fault, result.remaining) == ("", [])
    assert device_after_running(result.text, npu_machine=False) == "npu"


@pytest.mark.usefixtures("stand_ins")
@programs
@pytest.mark.parametrize(("npu_machine", "device"), [(False, "cuda"), (True, "npu")], ids=["on-cuda", "on-npu"])
def test_portable_style_runs_on_either_machine(text: str, npu_machine: bool, device: str) -> None:
    result = fixed(text, PORTABLE)
    assert result.fault == ""
    assert result.text != text
    assert device_after_running(result.text, npu_machine=npu_machine) == device


@pytest.mark.usefixtures("stand_ins")
@left_alone
def test_portable_style_says_what_has_no_sound_place(text: str) -> None:
    result = fixed(text, PORTABLE)
    assert (result.text, result.fault) == (text, "")
    assert [finding.fix for finding in result.remaining] == [None]
    assert device_after_running(result.text, npu_machine=False) == "cuda"


@pytest.mark.parametrize("text", [*PROGRAMS.values(), *LEFT_ALONE.values()], ids=[*PROGRAMS, *LEFT_ALONE])
@pytest.mark.parametrize("style", ["npu", PORTABLE])
def test_second_run_changes_nothing(text: str, style: str) -> None:
    once = fixed(text, style).text
    assert fixed(once, style).text == once


def test_import_follows_docstring_future_and_torch() -> None:
    head = (
        '#!/usr/bin/env python\n"""An agent."""\nfrom __future__ import annotations\n\n'
        "import os\nimport torch  # the library\n"
    )
    tail = "import sys\n\nx = torch.zeros(1)."
    assert fixed(f"{head}{tail}cuda()\n").text == f"{head}{NPU_LINE}\n{tail}npu()\n"


def test_helpers_stand_once_below_the_leading_imports() -> None:
    head = '"""An agent."""\nfrom __future__ import annotations\n\nimport torch\nimport os\n'
    tail = "\ntorch.cuda.empty_cache()\nx = torch.zeros(1).cuda()\ny = torch.zeros(1).cuda()\n"
    changed = "\ndevice_module.empty_cache()\nx = torch.zeros(1).to(DEVICE_TYPE)\ny = torch.zeros(1).to(DEVICE_TYPE)\n"
    assert fixed(head + tail, PORTABLE).text == f"{head}\n{TYPE_LINE}\n{MODULE_LINE}\n{changed}"


def test_helpers_follow_the_choice_of_visible_cards() -> None:
    lines = fixed(PROGRAMS["visible cards chosen below the imports"], PORTABLE).text.splitlines()
    assert TYPE_LINE in lines
    assert "VISIBLE_DEVICES" in "".join(lines[: lines.index(TYPE_LINE)])


def test_present_import_is_not_repeated() -> None:
    text = "import torch\nimport torch_npu\n\nx = torch.zeros(1).cuda()\n"
    assert fixed(text).text == text.replace("cuda", "npu")


def test_present_helpers_are_used_again() -> None:
    text = f"import torch\n\n{TYPE_LINE}\n{MODULE_LINE}\n\ntorch.cuda.empty_cache()\nx = torch.zeros(1).cuda()\n"
    expected = text.replace("torch.cuda.", "device_module.").replace(".cuda()", ".to(DEVICE_TYPE)")
    assert fixed(text, PORTABLE).text == expected


def test_import_in_a_function_goes_below_the_one_that_is_there() -> None:
    text = "def f():\n\timport torch\n\treturn torch.zeros(1, device='cuda')\n"
    assert fixed(text).text == f"def f():\n\timport torch\n\t{NPU_LINE}\n\treturn torch.zeros(1, device='npu')\n"


@pytest.mark.usefixtures("stand_ins")
def test_file_without_torch_that_a_torch_file_imports() -> None:
    source = SourceText(Path("settings.py"), '"""Settings."""\n\nDEVICE = "cuda"\n')
    used = ProjectFacts(used_by_torch=True)
    assert fix_source(checker(), source, ProjectFacts(), unsafe=False).text == source.text
    assert fix_source(checker(), source, used, unsafe=False).text == '"""Settings."""\n\nDEVICE = "npu"\n'
    portable = fix_source(checker((), PORTABLE), source, used, unsafe=False).text
    assert portable.startswith('"""Settings."""\n')
    assert device_after_running(portable + "x = DEVICE\n", npu_machine=False) == "cuda"


def test_import_that_shares_its_line_gives_no_broken_code() -> None:
    for text in (
        "import torch; import os\nx = torch.zeros(1).cuda()\n",
        "def f(): import torch; return torch.zeros(1).cuda()\n",
    ):
        for style in ("npu", PORTABLE):
            result = fixed(text, style)
            compile(result.text, "agent.py", "exec")
            assert ("torch_npu" in result.text) == (".npu()" in result.text)
            assert ("DEVICE_TYPE =" in result.text) == (".to(DEVICE_TYPE)" in result.text)
