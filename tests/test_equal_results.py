"""Fixes that change how numbers come about leave the numbers as they are: whole programs before and after.

Each program of ``fixtures/programs`` is named after the rule that mends it, and leaves its numbers in
``result``. It runs on the CPU, where an NPU's own random numbers do not matter.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import findings_in, fixed
from tests.fixture_files import FIXTURES

PROGRAMS = sorted((FIXTURES / "programs").glob("*.py"))
RUNNER = Path(__file__).parent / "run_snippets.py"

programs = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)


def after(program: Path, style: str) -> str:
    done = fixed(program.read_text(encoding="utf-8"), style, [program.stem], unsafe=True)
    assert done.fault == ""
    return done.text


@programs
@pytest.mark.parametrize("style", ["npu", "portable"])
def test_nothing_is_left_to_mend(program: Path, style: str) -> None:
    text = program.read_text(encoding="utf-8")
    assert findings_in(text, [program.stem])
    assert findings_in(after(program, style), [program.stem]) == []


@pytest.fixture(scope="module")
def ends() -> dict[str, list[str]]:
    """The ends of every program, before and after, by name."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs torch")
    pairs = {program.stem: [program.read_text(encoding="utf-8"), after(program, "portable")] for program in PROGRAMS}
    done = subprocess.run(
        [sys.executable, str(RUNNER)],
        input=json.dumps(pairs),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
    )
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


@programs
def test_the_numbers_stay(program: Path, ends: dict[str, list[str]]) -> None:
    before, later = ends[program.stem]
    assert before.startswith("result ["), before
    assert later == before
