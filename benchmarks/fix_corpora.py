"""Holds `fix` against real code, read-only: every fixed file parses, a second run changes nothing, the bytes
gate hides nothing, and nothing outside the edits changes.

    python benchmarks/fix_corpora.py FOLDER...

Prints one line a folder and style, and every fault. Exit status 1 where there is a fault.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

from npuport.engine.checking import Checker, check_source
from npuport.engine.fixing import fix_source
from npuport.engine.program import Program
from npuport.engine.registry import all_rules
from npuport.sources.discovery import discover
from npuport.sources.errors import UnreadableSource
from npuport.sources.settings import DEFAULT_EXCLUDE, STYLES, Settings


def examine(folder: Path, style: str, *, unsafe: bool) -> list[str]:
    """Fix every file of a folder in memory and describe what is wrong."""
    rules = all_rules()
    checker = Checker(rules, frozenset(rule.code for rule in rules), style, with_edits=True)
    open_checker = replace(checker, gate=False)
    settings = Settings(root=folder)
    program = Program(discover([folder], DEFAULT_EXCLUDE, folder), settings, checker, use_cache=False)
    counts: Counter[str] = Counter()
    faults: list[str] = []
    for file in program.files:
        counts["files"] += 1
        try:
            source = program.source(file)
        except UnreadableSource:
            continue
        facts = program.facts_of(file.path)
        gated = check_source(checker, source, facts).findings
        if gated != check_source(open_checker, source, facts).findings:
            faults.append(f"{file.path}: the gate changes the findings")
        fixed = fix_source(checker, source, facts, unsafe=unsafe)
        counts["findings"] += len(gated)
        counts["left"] += len(fixed.remaining)
        if fixed.fault:
            faults.append(f"{file.path}: {fixed.fault}")
        if fixed.text == source.text:
            continue
        counts["changed"] += 1
        faults += (
            f"{file.path}: {fault}" for fault in _faults(checker, source.text, fixed.text, facts, source, unsafe)
        )
    print(
        f"{folder.name} {style}{' unsafe' if unsafe else ''}: "
        + ", ".join(f"{counts[k]} {k}" for k in ("files", "findings", "changed", "left"))
    )
    return faults


def _faults(checker: Checker, before: str, after: str, facts, source, unsafe: bool):  # type: ignore[no-untyped-def]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(after)
    except SyntaxError as error:
        yield f"does not parse: {error}"
        return
    again = fix_source(checker, replace(source, text=after), facts, unsafe=unsafe)
    if again.text != after:
        yield "a second run changes it again"
    kept = {line for line in before.split("\n") if line.lstrip().startswith("#")}
    if not kept <= set(after.split("\n")):
        yield "a comment line is gone"


def main() -> int:
    """Examine all folders in both styles, safe and unsafe."""
    faults = [
        fault
        for folder in map(Path, sys.argv[1:])
        for style in STYLES
        for unsafe in (False, True)
        for fault in examine(folder, style, unsafe=unsafe)
    ]
    print("\n".join(faults) or "no fault")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
