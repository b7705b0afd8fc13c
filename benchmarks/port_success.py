"""How many public training scripts train on the emulated device after each way of porting them, and at what cost.

    python benchmarks/port_success.py FOLDER [--only PATTERN]... [--steps N] [--cache FOLDER] [--json FILE]

FOLDER holds the repositories as ``OWNER/NAME``. Needs torch, torch_npu, gymnasium, Stable-Baselines3, tensorboard,
matplotlib, tqdm and tyro. A script that does not pass on a plain CPU as it is, is left out and named. What was
measured is kept, so that a second call only runs what changed. Exit status 1 where a script was left out.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.public_scripts.catalogue import Script, all_scripts
from benchmarks.public_scripts.layout import LayoutError, lay_out
from benchmarks.public_scripts.ports import PORTS, PortFailed, imports_torch_npu, ported_copy
from benchmarks.public_scripts.results import PortResult, came_to_its_end
from benchmarks.public_scripts.runs import Runner
from benchmarks.public_scripts.table import as_json, as_text

KEPT = Path.home() / ".cache" / "npuport" / "public_scripts"


@dataclass
class Ported:
    """A script after every port.

    Attributes:
        original: its folder and the file to run, before.
        copies: likewise after each port; the fault where that could not be made.
    """

    script: Script
    original: tuple[Path, Path]
    copies: dict[str, tuple[Path, Path] | str] = field(default_factory=dict)


def port_all(script: Script, repositories: Path, folder: Path, ports: list[str]) -> Ported:
    """Lay a script out and port it in every way.

    Raises:
        LayoutError: it is not there.
    """
    original = folder / "original"
    entry = lay_out(script, repositories, original)
    ported = Ported(script, (original, entry))
    for number, port in enumerate(ports):
        try:
            copy = folder / str(number)
            ported.copies[port] = (copy, ported_copy(original, entry, copy, port))
        except PortFailed as error:
            ported.copies[port] = str(error)
    return ported


def results_of(ported: Ported, runner: Runner) -> list[PortResult] | str:
    """What the runs of a script come to after every port, or why it was left out."""
    script = ported.script
    plain = Runner(runner.cache).measured(script, *ported.original, "cpu")
    if not came_to_its_end(plain):
        return f"{script.name}: {plain.outcome.error or 'no optimiser step was made'}"
    found = []
    for port, copy in ported.copies.items():
        if isinstance(copy, str):
            found.append(PortResult(script.name, port, None, None, plain, copy))
            continue
        on_device = runner.measured(script, *copy, "emulated")
        without = None if imports_torch_npu(copy[0]) else runner.measured(script, *copy, "cpu")
        found.append(PortResult(script.name, port, on_device, without, plain))
    return found


def measure_all(arguments: argparse.Namespace, folder: Path) -> tuple[list[PortResult], list[str]]:
    """Port everything, then run it; gives the results and what was left out."""
    results: list[PortResult] = []
    left_out: list[str] = []
    chosen = [s for s in all_scripts() if not arguments.only or any(fnmatch(s.name, p) for p in arguments.only)]
    runner = Runner(arguments.cache, arguments.steps)

    def port(script: Script) -> Ported | str:
        try:
            return port_all(script, arguments.folder, folder / script.name, arguments.port or list(PORTS))
        except LayoutError as error:
            return str(error)

    def run(ported: Ported | str) -> list[PortResult] | str:
        return ported if isinstance(ported, str) else results_of(ported, runner)

    with ThreadPoolExecutor(arguments.jobs) as pool:
        outcomes = pool.map(run, list(pool.map(port, chosen)))
        for script, found in zip(chosen, outcomes, strict=True):
            _take(script, found, results, left_out)
    return results, left_out


def _take(script: Script, found: list[PortResult] | str, results: list[PortResult], left_out: list[str]) -> None:
    """Note and tell what came of a script."""
    if isinstance(found, str):
        left_out.append(found)
        print(f"left out: {found}", file=sys.stderr, flush=True)
        return
    results += found
    told = (f"{r.port}: {r.why or r.verdict.value}, {r.events_per_step:.2f}" for r in found)
    print(script.name, *told, sep="\n  ", file=sys.stderr, flush=True)


def main() -> int:
    """Run what the command names and print the tables."""
    parser = argparse.ArgumentParser(description="Public scripts on the emulated device, after each way of porting.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="names of scripts")
    parser.add_argument("--port", action="append", default=[], choices=list(PORTS), help="by default all")
    parser.add_argument("--steps", type=int, help="environment steps of every run of a port")
    parser.add_argument("--jobs", type=int, default=1, help="scripts that run side by side")
    parser.add_argument("--cache", type=Path, default=KEPT, help="where measurements are kept")
    parser.add_argument("--json", type=Path, help="also write every number there")
    arguments = parser.parse_args()
    with TemporaryDirectory() as temporary:
        results, left_out = measure_all(arguments, Path(temporary))
    print(as_text(results, left_out))
    if arguments.json:
        arguments.json.write_text(json.dumps(as_json(results, left_out), indent=1), encoding="utf-8")
    return 1 if left_out else 0


if __name__ == "__main__":
    sys.exit(main())
