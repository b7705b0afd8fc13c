"""Whole agents of ``fixtures/agents``, ported and unchanged, train on the emulated device."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.conftest import Emulator

ROOT = Path(__file__).parent.parent
AGENTS = ROOT / "fixtures" / "agents"
# Runs a program and writes afterwards what the device of this process has counted.
COUNTED = """
import json, runpy, sys
sys.path.insert(0, {root!r})
from tests.device_programs import LIBRARY
sys.argv = sys.argv[1:]
sys.path.insert(0, ".")
runpy.run_path(sys.argv[0], run_name="__main__")
print("\\n" + json.dumps(LIBRARY.counts()))
"""


def trained(emulator: Emulator, agent: str, style: str, *more: str) -> dict[str, list[int]]:
    """What was counted while the agent ran as its ``command`` says."""
    words = shlex.split((AGENTS / agent / "command").read_text()) + list(more)
    done = emulator.run(COUNTED.format(root=str(ROOT)), *words, cwd=AGENTS / agent / style)
    assert done.returncode == 0, done.stderr
    counts: dict[str, list[int]] = json.loads(done.stdout.splitlines()[-1])
    return counts


@pytest.mark.parametrize(
    ("agent", "style", "options", "kernels"),
    [
        ("dqn_argparse", "portable", (), ("aclnnSmoothL1Loss", "aclnnForeachSqrt")),
        ("ppo_tyro", "npu", (), ("aclnnMultinomial", "aclnnForeachSqrt")),
        ("ppo_recurrent", "npu", (), ("aclnnGRU", "aclnnGRUBackward")),
        ("sac_amp", "npu", ("--amp",), ("aclnnAmpUpdateScale", "aclnnForeachSqrt")),
    ],
)
def test_trains_on_the_device(
    emulator: Emulator, agent: str, style: str, options: tuple[str, ...], kernels: tuple[str, ...]
) -> None:
    counts = trained(emulator, agent, style, *options)
    assert counts["copy.host_to_device"][0] > 100 and counts["copy.device_to_host"][0] > 100
    for kernel in kernels:
        assert counts[f"kernel.{kernel}"][0] > 10, kernel


def test_workers_of_an_agent_train_in_processes(emulator: Emulator) -> None:
    """Each spawned worker has the device to itself; the parent reads what they share."""
    words = shlex.split((AGENTS / "a3c_processes" / "command").read_text())
    done = emulator.run(AGENTS / "a3c_processes" / "npu" / words[0], *words[1:])
    assert done.returncode == 0, done.stderr
    assert [f"worker {number} (npu:0) finished" in done.stdout for number in range(2)] == [True, True]
