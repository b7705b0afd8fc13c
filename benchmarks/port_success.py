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
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.public_scripts.catalogue import Script, all_scripts
from benchmarks.public_scripts.layout import LayoutError, lay_out
from benchmarks.public_scripts.ports import PORTS, PortFailed, ported_copy
from benchmarks.public_scripts.results import PortResult, came_to_its_end
from benchmarks.public_scripts.runs import Runner
from benchmarks.public_scripts.table import as_json, as_text

KEPT = Path.home() / ".cache" / "npuport" / "public_scripts"


def results_of(script: Script, repositories: Path, ports: list[str], runner: Runner) -> list[PortResult] | str:
    """A script after every port, or why it was left out."""
    with TemporaryDirectory() as temporary:
        original = Path(temporary) / "original"
        try:
            entry = lay_out(script, repositories, original)
        except LayoutError as error:
            return str(error)
        plain = runner.measured(script, original, entry, "cpu")
        if not came_to_its_end(plain):
            return f"{script.name}: {plain.outcome.error or 'no optimiser step was made'}"
        found = []
        for number, port in enumerate(ports):
            try:
                copy = Path(temporary) / str(number)
                ported = ported_copy(original, entry, copy, port)
            except PortFailed as error:
                found.append(PortResult(script.name, port, None, None, str(error)))
                continue
            on_device = runner.measured(script, copy, ported, "emulated")
            without = runner.measured(script, copy, ported, "cpu")
            found.append(PortResult(script.name, port, on_device, without))
        return found


def main() -> int:
    """Run what the command names and print the tables."""
    parser = argparse.ArgumentParser(description="Public scripts on the emulated device, after each way of porting.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="names of scripts")
    parser.add_argument("--port", action="append", default=[], choices=list(PORTS), help="by default all")
    parser.add_argument("--steps", type=int, help="environment steps of every run")
    parser.add_argument("--cache", type=Path, default=KEPT, help="where measurements are kept")
    parser.add_argument("--json", type=Path, help="also write every number there")
    arguments = parser.parse_args()
    runner = Runner(arguments.cache, arguments.steps)
    results, left_out = [], []
    for script in all_scripts():
        if arguments.only and not any(fnmatch(script.name, pattern) for pattern in arguments.only):
            continue
        found = results_of(script, arguments.folder, arguments.port or list(PORTS), runner)
        if isinstance(found, str):
            left_out.append(found)
            print(f"left out: {found}", file=sys.stderr, flush=True)
            continue
        results += found
        print(script.name, *(f"{r.port}: {r.why or r.verdict.value}" for r in found), sep="\n  ", file=sys.stderr)
    print(as_text(results, left_out))
    if arguments.json:
        arguments.json.write_text(json.dumps(as_json(results, left_out), indent=1), encoding="utf-8")
    return 1 if left_out else 0


if __name__ == "__main__":
    sys.exit(main())
