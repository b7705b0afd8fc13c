"""The bytes of one file to its findings, in this process or another."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from npuport.analysis.module import Module, ProjectFacts
from npuport.engine.cells import in_cells
from npuport.engine.checking import Checked, Checker, check_module, check_source, unreadable
from npuport.engine.finding import Finding
from npuport.engine.rule import Rule
from npuport.sources.errors import UnreadableSource
from npuport.sources.reading import code_in, read_source

if TYPE_CHECKING:
    from npuport.engine.whole_program import WholeProgram

# Starting a second process costs about as much as checking half a megabyte; see benchmarks/check_speed.py.
POOL_THRESHOLD = 2_000_000


@dataclass(frozen=True)
class FileTask:
    """One file to check, in this process or another."""

    path: Path
    data: bytes
    project: ProjectFacts = field(default_factory=ProjectFacts)
    ignored: frozenset[str] = frozenset()
    named: bool = True
    rules: Sequence[Rule] | None = None


def check_in_pool(checker: Checker, tasks: list[FileTask]) -> Iterator[list[Finding]]:
    """The findings of many files, in order, from several processes."""
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor() as pool:
        try:
            yield from pool.map(partial(check_bytes, checker), tasks, chunksize=16)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def check_bytes(
    checker: Checker, task: FileTask, module: Module | None = None, program: WholeProgram | None = None
) -> list[Finding]:
    """The findings of one file's bytes.

    A file that is broken and of no interest to any rule is reported only where it was named itself.

    Args:
        checker: rules and options.
        task: the file.
        module: its syntax, where it was parsed before.
        program: the program that it is part of, where rules ask for it.
    """
    try:
        source = module.source if module is not None else read_source(task.path, task.data)
        if module is None:
            checked = check_source(checker, source, task.project, task.ignored, task.rules)
        else:
            if program is not None:
                program.attach(module)
            checked = check_module(checker, module, checker.rules if task.rules is None else task.rules, task.ignored)
        checked.findings = in_cells(source, checked.findings)
    except UnreadableSource as error:
        checked = Checked(unreadable(checker, str(task.path), error))
    if (
        checked.module is None
        and not task.named
        and not checker.is_of_interest(task.path, code_in(task.path, task.data))
    ):
        return []
    return checked.findings


def pool_pays(size: int) -> bool:
    """Whether ``size`` bytes are worth a pool; pre-commit runs several processes itself."""
    # A container or a pinned process may have fewer cores than the machine.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return size >= POOL_THRESHOLD and cores > 1 and "PRE_COMMIT" not in os.environ
