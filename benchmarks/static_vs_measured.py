"""Lines that copy or wait on the emulated device, held against what ``check`` says, and the other way round.

    python benchmarks/static_vs_measured.py FOLDER [--only PATTERN]... [--at-least N] [--cache FOLDER]

Each script of ``benchmarks/public_scripts`` is ported by ``npuport fix`` and run; FOLDER and what is needed are those
of ``port_success.py``, with which the measurements are shared. For lines that copied or waited N times per environment
step it prints which rules ``check`` had reported there; and for lines of which ``check`` says that they do so once per
step, which did not. Totals are those of the emulated device's own counters; what no line explains is told.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.port_success import KEPT
from benchmarks.public_scripts.catalogue import Script, all_scripts
from benchmarks.public_scripts.layout import LayoutError, lay_out
from benchmarks.public_scripts.lines import Comparison, compare
from benchmarks.public_scripts.ports import PortFailed, ported_copy
from benchmarks.public_scripts.runs import Runner

# A line of the loop over steps does not run in the phase that fills a buffer or explores at random, a sixth of a run.
PER_STEP = 0.8
WIDTH = 90


def compared(script: Script, repositories: Path, runner: Runner, at_least: float, folder: Path) -> Comparison:
    """One script after ``fix``.

    Raises:
        LayoutError, PortFailed: it is not there, or was not ported.
    """
    original, copy = folder / "original", folder / "ported"
    entry = ported_copy(original, lay_out(script, repositories, original), copy, "fix")
    return compare(runner.measured(script, copy, entry, "emulated"), at_least)


def shown(name: str, found: Comparison) -> str:
    """What is told of one script."""
    lines = [f"{name}: {found.events} copies and waits, {found.unexplained} of them on no line"]
    for line in found.hot:
        word = ", ".join(line.found) or (f"({', '.join(line.asked)})" if line.asked else "not found")
        lines.append(f"  {line.per_step:7.2f}  {word:16} {Path(line.filename).name}:{line.line}: {line.text[:WIDTH]}")
    for quiet in found.quiet:
        word = f"{quiet.finding.code} {'quiet' if quiet.ran else 'never ran'}"
        place = f"{Path(quiet.finding.filename).name}:{quiet.finding.location.row}"
        lines.append(f"  {quiet.per_step:7.2f}  {word:16} {place}: {quiet.text[:WIDTH]}")
    return "\n".join(lines)


def summary(found: Sequence[Comparison]) -> str:
    """The sums over all scripts."""
    hot = [line for comparison in found for line in comparison.hot]
    flagged = sum(bool(line.found) for line in hot)
    asked = sum(bool(line.asked) and not line.found for line in hot)
    quiet = [prediction for comparison in found for prediction in comparison.quiet]
    confirmed = sum(comparison.confirmed for comparison in found)
    events, unexplained = (sum(getattr(c, name) for c in found) for name in ("events", "unexplained"))
    return "\n".join(
        [
            f"{len(found)} scripts, {events} copies and waits, {unexplained / max(events, 1):.1%} of them on no line",
            f"{len(hot)} hot lines: {flagged} reported by check, {asked} by rules that are asked for, "
            f"{len(hot) - flagged - asked} by none",
            f"{confirmed + len(quiet)} per-step findings: {confirmed} hot, "
            f"{sum(p.ran for p in quiet)} less often or quiet, {sum(not p.ran for p in quiet)} never ran on the device",
        ]
    )


def main() -> int:
    """Compare the scripts that the command names."""
    parser = argparse.ArgumentParser(description="Findings of check against measured lines.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="names of scripts")
    parser.add_argument("--at-least", type=float, default=PER_STEP, help="copies or waits per step of a hot line")
    parser.add_argument("--cache", type=Path, default=KEPT, help="where measurements are kept")
    arguments = parser.parse_args()
    runner, found = Runner(arguments.cache), []
    for script in all_scripts():
        if arguments.only and not any(fnmatch(script.name, pattern) for pattern in arguments.only):
            continue
        with TemporaryDirectory() as temporary:
            try:
                one = compared(script, arguments.folder, runner, arguments.at_least, Path(temporary))
            except (LayoutError, PortFailed) as error:
                print(f"left out: {error}", file=sys.stderr)
                continue
            print(shown(script.name, one), flush=True)
            found.append(one)
    print(summary(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
