"""Findings per rule and repository, and a random sample of them to be read.

    python benchmarks/corpus_findings.py DIR...                    a table, one column a repository
    python benchmarks/corpus_findings.py --sample 60 --seed 1 DIR...   findings drawn at random, with their lines

Each folder is checked by itself with all rules, as ``npuport check`` would. What reading such samples gave stands in
docs/precision.md.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from npuport.engine.checking import Checker
from npuport.engine.finding import Finding
from npuport.engine.program import Program
from npuport.engine.registry import all_rules
from npuport.sources.discovery import discover
from npuport.sources.reading import read_source
from npuport.sources.settings import DEFAULT_EXCLUDE, Settings

CONTEXT = 4


def findings_of(folder: Path, codes: frozenset[str], leave_out: Sequence[str] = ()) -> list[Finding]:
    """All findings of some rules in a folder, without those in files whose paths end in a pattern."""
    settings = Settings(root=folder)
    files = discover([folder], DEFAULT_EXCLUDE, folder)
    found = Program(files, settings, Checker(all_rules(), codes), use_cache=False).check()
    return [f for f in found if not any(Path(f.filename).match(pattern) for pattern in leave_out)]


def table(found: dict[str, list[Finding]]) -> str:
    """Rules down, repositories across; errors, warnings and notes of each repository last."""
    names = list(found)
    counts = {name: Counter(finding.code for finding in findings) for name, findings in found.items()}
    weights = {name: Counter(finding.severity.value for finding in findings) for name, findings in found.items()}
    rows = [[rule.code, rule.name, *(counts[name][rule.code] for name in names)] for rule in all_rules()]
    rows = [row for row in rows if any(row[2:])]
    rows += [["", word, *(weights[name][word] for name in names)] for word in ("error", "warning", "note")]
    header = ["", "", *names]
    width = max(len(str(row[1])) for row in rows)
    lines = ["  ".join([f"{header[0]:6}", f"{header[1]:{width}}", *names])]
    for row in rows:
        cells = [f"{value or '.':>{len(name)}}" for value, name in zip(row[2:], names, strict=True)]
        lines.append("  ".join([f"{row[0]:6}", f"{row[1]:{width}}", *cells]))
    return "\n".join(lines)


def shown(finding: Finding) -> str:
    """A finding with the lines around it, for a reader."""
    path = Path(finding.filename)
    source = read_source(path, path.read_bytes())
    lines = source.text.split("\n")
    row = source.row_of(finding.location.row, finding.cell)
    start = max(row - CONTEXT - 1, 0)
    shown_lines = [
        f"{'>' if number == row else ' '} {number:5} {line}"
        for number, line in enumerate(lines[start : row + CONTEXT], start=start + 1)
    ]
    head = f"{finding.code} {finding.severity.value} {finding.filename}:{row} [{finding.how_often}] {finding.message}"
    return "\n".join([head, *(f"    because {step}" for step in finding.evidence), *shown_lines])


def main() -> None:
    """Check the folders and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--select", default="NPU", help="only rules whose code begins so, or so: NPU2,NPU3")
    parser.add_argument(
        "--leave-out", action="append", default=[], help="files, by a pattern of the end of their paths"
    )
    arguments = parser.parse_args()
    codes = frozenset(rule.code for rule in all_rules() if rule.code.startswith(tuple(arguments.select.split(","))))
    found = {folder.name: findings_of(folder, codes, arguments.leave_out) for folder in arguments.folders}
    if not arguments.sample:
        print(table(found))
        return
    everything = [finding for findings in found.values() for finding in findings]
    drawn = random.Random(arguments.seed).sample(everything, min(arguments.sample, len(everything)))
    print("\n\n".join(f"[{number}] {shown(finding)}" for number, finding in enumerate(drawn, start=1)))


if __name__ == "__main__":
    main()
