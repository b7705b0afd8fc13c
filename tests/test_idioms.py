"""Every idiom of GPU code comes out of ``fix`` as it should in both styles, and the portable one goes on running.

The idioms are data in ``fixtures/idioms``. Those of ``whole_files.toml`` are whole files; the others stand
below ``PRELUDE``, and imports and helper names that the fix adds are left out of the comparison.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from npuport.analysis.module import ProjectFacts
from npuport.engine.checking import Checker
from npuport.engine.fixing import fix_source
from npuport.engine.registry import all_rules
from npuport.sources.text import SourceText
from tests.fixture_files import FIXTURES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PRELUDE = """import argparse
import os
import subprocess
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

args = argparse.Namespace(cuda=True, no_cuda=False, gpu=0, seed=1, local_rank=0)
i = gpu = rank = local_rank = 0
net = nn.Linear(2, 1)
x = torch.ones(2, 2)
result = None
"""
HELPERS = (
    "import torch_npu  # noqa: F401",
    'DEVICE_TYPE = "npu" if hasattr(torch, "npu") and torch.npu.is_available() else "cuda"',
    "device_module = getattr(torch, DEVICE_TYPE)",
)


def idioms(*, whole: bool) -> list[dict[str, Any]]:
    files = sorted((FIXTURES / "idioms").glob("*.toml"))
    chosen = [file for file in files if (file.stem == "whole_files") == whole]
    return [idiom for file in chosen for idiom in tomllib.loads(file.read_text(encoding="utf-8"))["idiom"]]


def fixed(text: str, style: str, *, unsafe: bool) -> str:
    checker = Checker(all_rules(), frozenset(rule.code for rule in all_rules()), style, with_edits=True)
    outcome = fix_source(checker, SourceText(Path("agent.py"), text), ProjectFacts(), unsafe=unsafe)
    assert outcome.fault == ""
    return outcome.text


def added_to_prelude(text: str) -> list[str]:
    known = {*PRELUDE.splitlines(), *HELPERS, ""}
    return [line for line in text.splitlines() if line not in known]


@pytest.mark.parametrize("style", ["npu", "portable"])
@pytest.mark.parametrize("idiom", idioms(whole=False), ids=lambda idiom: idiom["id"])
def test_snippet(idiom: dict[str, Any], style: str) -> None:
    text = fixed(PRELUDE + idiom["before"] + "\n", style, unsafe=idiom.get("unsafe", False))
    assert added_to_prelude(text) == [line for line in idiom[style].splitlines() if line]


@pytest.mark.parametrize("style", ["npu", "portable"])
@pytest.mark.parametrize("idiom", idioms(whole=True), ids=lambda idiom: idiom["id"])
def test_whole_file(idiom: dict[str, Any], style: str) -> None:
    assert fixed(idiom["before"], style, unsafe=idiom.get("unsafe", False)) == idiom[style]


needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs torch, which only `make test` installs"
)


def ends(chosen: list[dict[str, Any]], *arguments: str) -> dict[str, list[str]]:
    """How each idiom ends before and after the portable fix; one child process runs them all."""
    pairs = {
        idiom["id"]: [
            PRELUDE + idiom["before"],
            fixed(PRELUDE + idiom["before"] + "\n", "portable", unsafe=idiom.get("unsafe", False)),
        ]
        for idiom in chosen
    }
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, str(Path(__file__).parent / "run_snippets.py"), *arguments]
    done = subprocess.run(
        command, input=json.dumps(pairs), capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    result: dict[str, list[str]] = json.loads(done.stdout)
    assert set(result) == set(pairs)
    return result


@needs_torch
def test_portable_snippets_end_as_before_on_a_machine_without_npu() -> None:
    """Same result, or the same kind of exception, for every idiom."""
    compared = [idiom for idiom in idioms(whole=False) if "differs" not in idiom]
    assert len(compared) > 80
    assert {name: end for name, end in ends(compared).items() if end[0] != end[1]} == {}


@needs_torch
def test_portable_snippets_ask_the_same_of_cuda() -> None:
    """The same calls, moves and factory calls in the same order, against a torch.cuda that plays two GPUs."""
    compared = [idiom for idiom in idioms(whole=False) if "unrecorded" not in idiom]
    assert len(compared) > 60
    recorded = ends(compared, "cuda")
    assert any("move to cuda" in end for end, _ in recorded.values())
    assert {name: end for name, end in recorded.items() if end[0] != end[1]} == {}
