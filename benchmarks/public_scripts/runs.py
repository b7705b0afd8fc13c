"""Runs a laid out script on the emulated device, or on a plain CPU without torch_npu, and keeps what was measured.

A run that came to its end is not made again where its files, arguments and device are the same: a folder of
measurements belongs to one version of the emulated device and of what measures, and is deleted with them.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import threading
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from benchmarks.public_scripts.catalogue import Script
from npuport.device.choice import choose_device
from npuport.observe.measurement import Line, Measurement, Outcome, measurement_from_json
from npuport.observe.run import RunOptions, watch

BENCHMARKS = Path(__file__).parent.parent
OLD_GYMNASIUM = "benchmarks.gymnasium_0_29"
SEED = 1
LONGEST_RUN = 900.0  # seconds; a script that takes longer counts as stopped
_ROOT = "<root>"  # stands, in what is kept, for the folder that a script was laid out in

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
            machine: the emulated device, or a CPU on which torch_npu cannot be imported, where nothing is counted.
        """
        arguments = (*script.arguments, *(script.on_cpu if machine == "cpu" else script.on_device))
        steps = self.steps or script.steps
        kept = self.cache / f"{_key(root, entry, [*arguments, str(steps), machine])}.json"
        if kept.exists():
            return measurement_from_json(json.loads(kept.read_text(encoding="utf-8").replace(_ROOT, str(root))))
        measurement = _run(root, entry, arguments, steps, machine)
        if measurement.outcome.ending in ("finished", "steps"):
            self.cache.mkdir(parents=True, exist_ok=True)
            text = json.dumps(measurement.to_json(), ensure_ascii=False)
            kept.write_text(text.replace(str(root.resolve()), _ROOT), encoding="utf-8")
        return measurement


def _key(root: Path, entry: Path, settings: list[str]) -> str:
    """Changes with the program and with what it runs on."""
    digest = hashlib.sha256()
    packages = [version(name) for name in ("torch", "torch_npu", "gymnasium", "stable_baselines3")]
    digest.update(json.dumps([*settings, *packages, str(entry.relative_to(root))]).encode())
    around = [BENCHMARKS / "gymnasium_0_29.py", *sorted((BENCHMARKS / "stand_ins").rglob("*.py"))]
    for path in [*sorted(root.rglob("*.py")), *around]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:32]


def _environment(root: Path, machine: Machine) -> dict[str, str]:
    folders = [root, BENCHMARKS / "stand_ins", BENCHMARKS.parent]
    if machine == "cpu":
        folders.insert(0, BENCHMARKS / "without_torch_npu")
    return {"MPLBACKEND": "Agg", "PYTHONPATH": os.pathsep.join(map(str, folders))}


def _run(root: Path, entry: Path, arguments: tuple[str, ...], steps: int, machine: Machine) -> Measurement:
    options = RunOptions(
        str(entry),
        arguments,
        device=choose_device(machine),
        max_steps=steps,
        counting=machine != "cpu",
        capture_output=True,
        cwd=root,
        extra_hook=OLD_GYMNASIUM,
        environment=_environment(root, machine),
        deterministic_threads=1,
        seed=SEED,
    )
    timers: list[threading.Timer] = []

    def started(child: subprocess.Popen[bytes]) -> None:
        timers.append(threading.Timer(LONGEST_RUN, child.kill))
        timers[0].start()

    measurement = watch(options, started=started)
    timers[0].cancel()
    if measurement.seconds > LONGEST_RUN:
        outcome = Outcome("killed", 1, f"took longer than {LONGEST_RUN:.0f} seconds", Line("", 0))
        measurement.outcome = outcome
    return measurement
