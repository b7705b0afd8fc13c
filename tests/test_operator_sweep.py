"""Every row of the operator tables gives on the emulated device what it gives on the CPU."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from npuport.emulator.shared_libraries import read_library
from tests.conftest import Emulator

PREPARE = "GetWorkspaceSize"
ROOT = Path(__file__).parent.parent
TABLES = sorted(path.stem for path in (ROOT / "tests/operator_sweep/tables").glob("*.py") if path.stem != "__init__")
CRASHES = 20  # after as many the sweep is given up
# torch_npu has other kernels for these tables where TORCH_NPU_USE_COMPATIBLE_IMPL=1.
COMPATIBLE = ("normalisation", "pooling", "matrix_products")
# torch_npu looks whether they are there, and calls the newer HardswishBackwardV2 and LogSigmoidForward instead.
LOOKED_UP = {"aclnnHardswishBackward", "aclnnLogSigmoid"}
MUST_HAVE = 250  # operators


@pytest.fixture(scope="session")
def sweep(emulator: Emulator, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Failures of each row, and the kernels that ran; all workers of xdist share one run.

    Values are compared, so no dtype is refused here.
    """
    folder = tmp_path_factory.getbasetemp()
    # A worker's own folder is below the one of all.
    result = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "operator_sweep.json"
    with result.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not result.exists():
            environment = {**emulator.environment, "NPUPORT_EMULATOR_DTYPE_CHECKS": "off"}
            usual = run_sweep(environment)
            compatible = run_sweep({**environment, "TORCH_NPU_USE_COMPATIBLE_IMPL": "1"}, *COMPATIBLE)
            result.write_text(json.dumps({"usual": usual, "compatible": compatible}))
    loaded: dict[str, Any] = json.loads(result.read_text())
    return loaded


def run_sweep(environment: dict[str, str], *tables: str) -> dict[str, Any]:
    """Run rows in one child, all of them where no table is named.

    After a crash, which counts against its row, those behind it run in another child.
    """
    failures: dict[str, list[str]] = {}
    kernels: set[str] = set()
    after = ""
    for _ in range(CRASHES):
        command = [sys.executable, "-m", "tests.operator_sweep", "--after", after, *tables]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        failures |= {line["end"]: line["failures"] for line in lines if "end" in line}
        begun = [line["begin"] for line in lines if "begin" in line]
        kernels |= {name for line in lines for name in line.get("kernels", ())}
        if done.returncode == 0:
            return {"failures": failures, "kernels": sorted(kernels)}
        assert begun and begun[-1] not in failures, done.stderr
        after = begun[-1]
        failures[after] = [f"ends the process with {done.returncode}: {done.stderr[-2000:]}"]
    raise AssertionError(f"{CRASHES} rows end the process: {failures}")


@pytest.mark.parametrize(
    ("mode", "table"), [*[("usual", table) for table in TABLES], *[("compatible", table) for table in COMPATIBLE]]
)
def test_table(mode: str, table: str, sweep: dict[str, Any]) -> None:
    rows = {name: found for name, found in sweep[mode]["failures"].items() if name.startswith(f"{table}/")}
    assert rows
    assert {name: found for name, found in rows.items() if found} == {}


def test_every_operator_has_a_row(emulator: Emulator, sweep: dict[str, Any]) -> None:
    defined = read_library(emulator.libraries / "libopapi.so").defined
    operators = {name.removesuffix(PREPARE) for name in defined if name.endswith(PREPARE)}
    ran = {*sweep["usual"]["kernels"], *sweep["compatible"]["kernels"]}
    assert operators - ran == LOOKED_UP
    assert len(operators) >= MUST_HAVE


def test_a_crash_counts_against_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows of three end their process; the third is run all the same."""
    (tmp_path / "tests" / "operator_sweep").mkdir(parents=True)
    (tmp_path / "tests" / "operator_sweep" / "__main__.py").write_text(
        "import json, os, sys\n"
        "names = ['t/a', 't/b', 't/c']\n"
        "after = sys.argv[2]\n"
        "for name in names[names.index(after) + 1 if after else 0:]:\n"
        "    print(json.dumps({'begin': name}), flush=True)\n"
        "    if name != 't/c': os.abort()\n"
        "    print(json.dumps({'end': name, 'failures': []}), flush=True)\n"
        "print(json.dumps({'kernels': ['aclnnAdd']}))\n"
    )
    monkeypatch.setattr("tests.test_operator_sweep.ROOT", tmp_path)
    found = run_sweep({})
    assert list(found["failures"]) == ["t/a", "t/b", "t/c"] and found["failures"]["t/c"] == []
    assert all("ends the process with -6" in found["failures"][name][0] for name in ("t/a", "t/b"))
    assert found["kernels"] == ["aclnnAdd"]
