"""Runs a laid out script on the emulated device, or on a plain CPU without torch_npu, and keeps what was measured.

A run whose files, arguments, device and measuring code are those of an earlier run is not made again.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from benchmarks.public_scripts.catalogue import Script
from npuport.emulator.build import built_emulator
from npuport.emulator.environment import emulated_environment
from npuport.observe.measurement import Line, Measurement, Outcome, measurement_from_json

BENCHMARKS = Path(__file__).parent.parent
CHILD = Path(__file__).with_name("counting_child.py")
LONGEST_RUN = 900.0  # seconds; a script that takes longer counts as stopped

Machine = Literal["emulated", "cpu"]


@dataclass(frozen=True)
class Runner:
    """Runs scripts, and remembers.

    Attributes:
        cache: a folder for what was measured.
        steps: environment steps after which every run is ended; None for what each script says.
    """

    cache: Path
    steps: int | None = None

    def measured(self, script: Script, root: Path, entry: Path, machine: Machine) -> Measurement:
        """What a run of a script in `root` counts.

        Args:
            machine: the emulated device, or a CPU on which torch_npu cannot be imported.
        """
        arguments = [*script.arguments, *(script.on_cpu if machine == "cpu" else script.on_device)]
        steps = self.steps or script.steps
        kept = self.cache / f"{_key(root, entry, [*arguments, str(steps), machine])}.json"
        if kept.exists():
            return measurement_from_json(json.loads(kept.read_text(encoding="utf-8")))
        measurement = _run(root, entry, arguments, steps, machine)
        self.cache.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(measurement.to_json()), encoding="utf-8")
        return measurement


def _key(root: Path, entry: Path, settings: list[str]) -> str:
    """Changes with whatever the measurement may depend on."""
    digest = hashlib.sha256()
    packages = [version(name) for name in ("torch", "torch_npu", "gymnasium", "stable_baselines3")]
    digest.update(json.dumps([*settings, *packages, str(entry.relative_to(root))]).encode())
    digest.update(str(built_emulator(sys.executable)).encode())
    measuring = [CHILD, BENCHMARKS / "gymnasium_0_29.py", *sorted((BENCHMARKS / "stand_ins").rglob("*.py"))]
    for path in [*sorted(root.rglob("*.py")), *measuring]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:32]


def _environment(root: Path, machine: Machine) -> dict[str, str]:
    folders = [root, BENCHMARKS / "stand_ins", BENCHMARKS.parent]
    base = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    if machine == "cpu":
        base["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
        folders.insert(0, BENCHMARKS / "without_torch_npu")
    base["PYTHONPATH"] = os.pathsep.join(map(str, folders))
    return base if machine == "cpu" else emulated_environment(built_emulator(sys.executable), base)


def _run(root: Path, entry: Path, arguments: list[str], steps: int, machine: Machine) -> Measurement:
    with TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        command = [sys.executable, str(CHILD), str(result), str(steps), str(entry), *arguments]
        try:
            done = subprocess.run(
                command,
                cwd=entry.parent,
                env=_environment(root, machine),
                capture_output=True,
                text=True,
                errors="replace",
                timeout=LONGEST_RUN,
            )
        except subprocess.TimeoutExpired:
            return _without_word(entry, arguments, machine, f"took longer than {LONGEST_RUN:.0f} seconds")
        if not result.exists():
            last = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
            return _without_word(entry, arguments, machine, last)
        return measurement_from_json(json.loads(result.read_text(encoding="utf-8")))


def _without_word(entry: Path, arguments: list[str], machine: Machine, error: str) -> Measurement:
    outcome = Outcome("killed", 1, error, Line("", 0))
    return Measurement(str(entry), arguments, machine, outcome=outcome)
