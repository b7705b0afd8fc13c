"""What the rules of host reads say and fix, held against torch: the same numbers with fewer reads."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from npuport.engine.registry import rule_named
from tests.fixture_files import FIXTURES

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def counted(*arguments: str | Path) -> tuple[str, Any]:
    """What a script prints, and the counts on the last line."""
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, Path(__file__).with_name("count_reads.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    *printed, counts = done.stdout.splitlines()
    return "\n".join(printed), json.loads(counts)


@pytest.mark.parametrize("name", ["NPU301-sums", "NPU301-lists", "NPU303"])
@pytest.mark.parametrize("ending", [".fixed.py", ".portable.py"])
def test_fixed_script_prints_the_same_numbers_with_fewer_reads(name: str, ending: str) -> None:
    before, reads_before = counted(FIXTURES / "rules" / f"{name}.py")
    after, reads_after = counted(FIXTURES / "rules" / f"{name}{ending}")
    assert _NUMBER.sub("", after) == _NUMBER.sub("", before)
    numbers = [float(number) for number in _NUMBER.findall(before)]
    assert len(numbers) > 10
    assert [float(number) for number in _NUMBER.findall(after)] == pytest.approx(numbers, rel=1e-5)
    assert reads_after < reads_before


def test_waits_of_distributions_are_those_of_torch() -> None:
    waits = importlib.import_module(type(rule_named("NPU305")).__module__).WAITS
    _, measured = counted("distributions", *waits)
    assert measured == {name: [made, asked] for name, (made, asked, _) in waits.items()}
