"""The example agents: ``fix`` makes the stored ports of them, and before and portable after run on the CPU."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from npuport.engine.checking import Checker
from npuport.engine.porting import port
from npuport.engine.program import Program
from npuport.engine.registry import all_rules
from npuport.sources.discovery import discover
from npuport.sources.settings import DEFAULT_EXCLUDE, Settings
from tests.fixture_files import FIXTURES

AGENTS = FIXTURES / "agents"
STYLES_OF_AGENTS = sorted(folder.name for folder in AGENTS.iterdir() if folder.is_dir())
agents = pytest.mark.parametrize("agent", STYLES_OF_AGENTS)
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs torch, which only `make test` installs"
)


def files_of(folder: Path) -> dict[str, bytes]:
    """The Python files below a folder, by relative name."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.py"))}


def ported(folder: Path, style: str) -> list[str]:
    """Fix a folder in place and give the codes of what is left, notes not counted."""
    checker = Checker(all_rules(), frozenset(rule.code for rule in all_rules()), style, with_edits=True)
    files = discover([folder], DEFAULT_EXCLUDE, folder)
    program = Program(files, Settings(root=folder, style=style), checker, use_cache=False)
    outcome = port(program, unsafe=False, write=True, progress=lambda done, total: None)
    assert outcome.faults == []
    return [finding.code for finding in outcome.remaining if finding.severity.value == "error"]


def test_there_are_at_least_eight_agents() -> None:
    assert len(STYLES_OF_AGENTS) >= 8


@agents
@pytest.mark.parametrize("style", ["npu", "portable"])
def test_fix_makes_the_stored_port(agent: str, style: str, tmp_path: Path) -> None:
    work = tmp_path / agent
    shutil.copytree(AGENTS / agent / "cuda", work)
    ported(work, style)
    assert files_of(work) == files_of(AGENTS / agent / style)


@agents
@pytest.mark.parametrize("style", ["npu", "portable"])
def test_a_stored_port_has_nothing_left_to_port(agent: str, style: str, tmp_path: Path) -> None:
    work = tmp_path / agent
    shutil.copytree(AGENTS / agent / style, work)
    left = ported(work, style)
    assert files_of(work) == files_of(AGENTS / agent / style)
    # One agent hides all cards with an empty CUDA_VISIBLE_DEVICES, which has no twin: it is left to a person.
    assert left == (["NPU107"] if agent == "a3c_processes" else [])


@needs_torch
@agents
@pytest.mark.parametrize("version", ["cuda", "portable"])
def test_runs_on_the_cpu(agent: str, version: str, tmp_path: Path) -> None:
    work = tmp_path / agent
    shutil.copytree(AGENTS / agent / version, work)
    command = shlex.split((AGENTS / agent / "command").read_text(encoding="utf-8"))
    environment = {
        **os.environ,
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, *command], cwd=work, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "mean return" in done.stdout.splitlines()[-1]
