"""Holds `fix` against real code, in a copy of it: every fixed file parses and keeps its comments, a second run changes
nothing, and the bytes gate hides nothing.

    python benchmarks/fix_corpora.py FOLDER...

A folder is one run: what flows between its files counts, as for the command. Prints one line a folder, style and
kind of fixes, and every fault. Exit status 1 where there is a fault.
"""

from __future__ import annotations

import ast
import gc
import shutil
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from npuport.engine.checking import Checker
from npuport.engine.porting import Outcome, port
from npuport.engine.program import Program
from npuport.engine.registry import all_rules
from npuport.sources.discovery import discover
from npuport.sources.reading import read_source
from npuport.sources.settings import DEFAULT_EXCLUDE, STYLES, Settings


def examine(folder: Path, style: str) -> Iterator[str]:
    """Check and fix all files of a folder and describe what is wrong."""
    rules = all_rules()
    checker = Checker(rules, frozenset(rule.code for rule in rules), style, with_edits=True)
    findings = _program(folder, checker).check()
    hidden = set(_program(folder, replace(checker, gate=False)).check()) ^ set(findings)
    yield from (f"{finding.filename}: the gate changes {finding.code}" for finding in hidden)
    for unsafe in (False, True):
        gc.collect()
        with TemporaryDirectory() as temporary:
            copy = Path(temporary) / folder.name
            _copy(folder, copy)
            started = time.perf_counter()
            outcome = _port(copy, checker, unsafe=unsafe, write=True)
            seconds = time.perf_counter() - started
            print(
                f"{folder.name} {style}{' unsafe' if unsafe else ''}: {len(findings)} findings, "
                f"{len(outcome.changed)} files changed, {len(outcome.remaining)} left, {seconds:.1f} s",
                flush=True,
            )
            yield from outcome.faults
            for changed in outcome.changed:
                path = Path(changed.path).resolve()
                yield from _lost(folder / path.relative_to(copy.resolve()), path)
            again = _port(copy, checker, unsafe=unsafe, write=False)
            yield from (f"{changed.path}: a second run changes it again" for changed in again.changed)


def _copy(folder: Path, copy: Path) -> None:
    """Copy what a run on a folder reads."""
    for file in discover([folder], DEFAULT_EXCLUDE, folder):
        target = copy / file.resolve().relative_to(folder.resolve())
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)


def _program(folder: Path, checker: Checker) -> Program:
    return Program(discover([folder], DEFAULT_EXCLUDE, folder), Settings(root=folder), checker, use_cache=False)


def _port(folder: Path, checker: Checker, *, unsafe: bool, write: bool) -> Outcome:
    return port(_program(folder, checker), unsafe=unsafe, write=write, progress=lambda done, total: None)


def _lost(before: Path, after: Path) -> Iterator[str]:
    """What a fixed file lost: its syntax or a comment line."""
    text = read_source(after, after.read_bytes()).text
    if after.suffix in (".py", ".ipynb"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(text)
        except SyntaxError as error:
            yield f"{before}: does not parse: {error}"
    if before.exists():
        lines = read_source(before, before.read_bytes()).text.split("\n")
        if not {line for line in lines if line.lstrip().startswith("#")} <= set(text.split("\n")):
            yield f"{before}: a comment line is gone"


def main() -> int:
    """Examine all folders in both styles, with safe fixes and with all."""
    gc.disable()  # as the command does; between the runs it is done by hand
    faults = [fault for folder in map(Path, sys.argv[1:]) for style in STYLES for fault in examine(folder, style)]
    print("\n".join(faults) or "no fault")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
