"""Many files: reads them, relates them, and checks them with cache and process pool."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npuport.analysis.flow.linking import Request, requests_of
from npuport.analysis.module import Module, ProjectFacts
from npuport.analysis.project import FileFacts, imports_foreign_library, relate, scan
from npuport.engine.cache import (
    FOLDER,
    Cache,
    cache_key,
    cached_facts,
    cached_findings,
    cached_requests,
    circumstances_of,
)
from npuport.engine.cells import in_cells
from npuport.engine.checking import Checked, Checker, check_source, unreadable
from npuport.engine.finding import Finding
from npuport.engine.rule import Rule
from npuport.sources.errors import UnreadableSource
from npuport.sources.reading import code_in, read_source
from npuport.sources.settings import Settings
from npuport.sources.text import SourceText, read_bytes

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    from npuport.engine.components import Components
    from npuport.engine.whole_program import WholeProgram

# Starting a second process costs about as much as checking half a megabyte; see benchmarks/check_speed.py.
POOL_THRESHOLD = 2_000_000

Progress = Callable[[int, int], None]


@dataclass
class SourceFile:
    """One file of the run.

    Attributes:
        path: as the user named it.
        data: its bytes, read when needed.
        facts: what it tells the others.
        named: the user named the file itself, not a folder around it.
        fault: why it cannot be read.
        entry: its place in the cache.
    """

    path: Path
    data: bytes | None = None
    facts: FileFacts | None = None
    named: bool = False
    fault: UnreadableSource | None = None
    entry: dict[str, Any] | None = field(default=None, repr=False)

    @cached_property
    def code(self) -> bytes:
        """The Python in it; its bytes must have been read."""
        assert self.data is not None
        return code_in(self.path, self.data)


@dataclass(frozen=True)
class FileTask:
    """One file to check, in this process or another."""

    path: Path
    data: bytes
    project: ProjectFacts = field(default_factory=ProjectFacts)
    ignored: frozenset[str] = frozenset()
    named: bool = True
    rules: Sequence[Rule] | None = None


class Program:
    """The files of one run and what they know of each other."""

    def __init__(
        self,
        files: Iterable[Path],
        settings: Settings,
        checker: Checker,
        *,
        use_cache: bool,
        named: Iterable[Path] = (),
    ) -> None:
        self.settings = settings
        self.checker = checker
        self._ignores = PerFileIgnores(settings)
        self._cache = (
            Cache(settings.root / FOLDER, cache_key(checker, dict(settings.per_file_ignores))) if use_cache else None
        )
        self._named = frozenset(named)
        self._modules: dict[Path, Module | None] = {}
        self.files = [self._load(path) for path in files]
        if any(self._asks_for_importers(file) for file in self.files):
            self._scan_imports()
        self.project = relate({file.path: file.facts for file in self.files if file.facts is not None})

    def _load(self, path: Path) -> SourceFile:
        file = SourceFile(path, named=path in self._named)
        try:
            if self._cache is not None:
                status = path.stat()
                file.entry = self._cache.entry(path, status)
                if file.entry is None:
                    file.data = read_bytes(path)
                    file.entry = self._cache.entry_by_content(path, status, file.data)
                if file.entry is not None:
                    file.facts = cached_facts(file.entry)
                    return file
                assert file.data is not None
                file.facts = scan(file.code)
                file.entry = self._cache.store(path, status, file.data, file.facts)
                return file
            file.data = read_bytes(path)
            file.facts = scan(file.code)
        except UnreadableSource as error:
            file.fault = error
        except OSError as error:
            file.fault = UnreadableSource(f"cannot be read: {error.strerror or error}")
        return file

    def _asks_for_importers(self, file: SourceFile) -> bool:
        """Whether it matters who imports a file: it says nothing of torch, but something that rules look for."""
        if file.facts is None or file.facts.imports_torch:
            return False
        if file.data is None:
            return bool(file.entry and file.entry.get("asks"))
        if imports_foreign_library(file.code):
            return False
        return bool(self.checker.rules_for(file.code)) if self.checker.gate else self.checker.is_of_interest(file.code)

    def _scan_imports(self) -> None:
        for file in self.files:
            if file.facts is None or file.facts.imported is not None:
                continue
            if not file.facts.imports_torch:
                file.facts = replace(file.facts, imported=frozenset())
                continue
            try:
                file.data = read_bytes(file.path) if file.data is None else file.data
            except UnreadableSource:
                continue
            file.facts = scan(file.code, imports=True)
            if self._cache is not None and file.entry is not None:
                self._cache.store_facts(file.entry, file.facts)

    def source(self, file: SourceFile) -> SourceText:
        """The decoded text of a file.

        Raises:
            UnreadableSource: it cannot be read or decoded.
        """
        if file.fault is not None:
            raise file.fault
        if file.data is None:
            file.data = read_bytes(file.path)
        return read_source(file.path, file.data)

    def ignored(self, path: Path) -> frozenset[str]:
        """Codes that ``per-file-ignores`` takes away in a file."""
        return self._ignores.codes(path)

    def facts_of(self, path: Path) -> ProjectFacts:
        """What the other files tell of this one."""
        return self.project.get(path, ProjectFacts())

    def check(self, progress: Progress = lambda done, total: None) -> list[Finding]:
        """The findings of all files, sorted."""
        findings: list[Finding] = []
        waiting: list[SourceFile] = []
        for file in self.files:
            known = (
                cached_findings(file.entry, self._circumstances(file))
                if file.entry is not None and file.fault is None
                else None
            )
            if known is not None:
                findings += (finding.at(str(file.path)) for finding in known)
            elif file.fault is not None:
                findings += unreadable(self.checker, str(file.path), file.fault)
            else:
                waiting.append(file)
        done = len(self.files) - len(waiting)
        for file, found in self._check_files(waiting):
            done += 1
            progress(done, len(self.files))
            findings += found
            if self._cache is not None and file.entry is not None:
                asks = self._asks_for_importers(file)
                self._cache.store_findings(file.entry, self._circumstances(file), found, asks_for_importers=asks)
        if self._cache is not None:
            self._cache.save()
        return sorted(findings, key=lambda finding: finding.sort_key)

    def _circumstances(self, file: SourceFile) -> str:
        """What the findings of a file depend on beside its own text."""
        program = ""
        if self.checker.uses_flow and str(file.path) in self._components:
            program = self._components.digest(str(file.path))
        return circumstances_of(self.facts_of(file.path), program)

    def _check_files(self, files: Sequence[SourceFile]) -> Iterator[tuple[SourceFile, list[Finding]]]:
        tasks: list[FileTask] = []
        waiting: list[SourceFile] = []
        for file in files:
            try:
                data = file.data = file.data if file.data is not None else read_bytes(file.path)
            except UnreadableSource as error:
                yield file, unreadable(self.checker, str(file.path), error)
                continue
            rules = self.checker.rules_for(file.code)
            if rules or file.named:
                tasks.append(
                    FileTask(file.path, data, self.facts_of(file.path), self.ignored(file.path), file.named, rules)
                )
                waiting.append(file)
            else:
                yield file, []
        results: Iterator[list[Finding]]
        asking = [file for file, task in zip(waiting, tasks, strict=True) if self.checker.asks_flow(task.rules)]
        if asking:
            whole = self.whole(asking)
            results = (check_bytes(self.checker, task, whole) for task in tasks)
        elif len(tasks) > 1 and _pool_pays(sum(len(task.data) for task in tasks)):
            results = _check_in_pool(self.checker, tasks)
        else:
            results = (check_bytes(self.checker, task) for task in tasks)
        yield from zip(waiting, results, strict=True)

    def whole(self, files: Iterable[SourceFile]) -> WholeProgram:
        """The programs that some files are part of, for rules that ask what flows through them."""
        from npuport.engine.whole_program import WholeProgram

        members = self._components.around(str(file.path) for file in files)
        modules = (self._module(file) for file in self.files if str(file.path) in members)
        return WholeProgram(self.checker.target, [module for module in modules if module is not None])

    @cached_property
    def everything(self) -> WholeProgram:
        """All files of the run and what flows through them."""
        return self.whole(self.files)

    @cached_property
    def _components(self) -> Components:
        from npuport.engine.components import Components

        requests = {str(file.path): asked for file in self.files if (asked := self._requests(file)) is not None}
        hashes = {str(file.path): file.entry["hash"] for file in self.files if file.entry is not None}
        return Components(requests, hashes)

    def _requests(self, file: SourceFile) -> Iterable[Request] | None:
        """What a file imports, from the cache or from its text; None where it cannot be parsed."""
        known = cached_requests(file.entry) if file.entry is not None else None
        if known is not None:
            return known
        module = self._module(file)
        if module is None:
            return None
        requests = requests_of(module.tree)
        if self._cache is not None and file.entry is not None:
            self._cache.store_requests(file.entry, requests)
        return requests

    def _module(self, file: SourceFile) -> Module | None:
        """A file's syntax, parsed once."""
        if file.path not in self._modules:
            try:
                self._modules[file.path] = Module(self.source(file), self.checker.target, self.facts_of(file.path))
            except UnreadableSource:
                self._modules[file.path] = None
        return self._modules[file.path]


def _check_in_pool(checker: Checker, tasks: list[FileTask]) -> Iterator[list[Finding]]:
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor() as pool:
        try:
            yield from pool.map(partial(check_bytes, checker), tasks, chunksize=16)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def check_bytes(checker: Checker, task: FileTask, whole: WholeProgram | None = None) -> list[Finding]:
    """The findings of one file's bytes.

    A file that is broken and of no interest to any rule is reported only where it was named itself.
    """
    try:
        source = read_source(task.path, task.data)
        checked = check_source(checker, source, task.project, task.ignored, task.rules, whole)
        checked.findings = in_cells(source, checked.findings)
    except UnreadableSource as error:
        checked = Checked(unreadable(checker, str(task.path), error))
    if checked.module is None and not task.named and not checker.is_of_interest(code_in(task.path, task.data)):
        return []
    return checked.findings


def _pool_pays(size: int) -> bool:
    """Whether ``size`` bytes are worth a pool; pre-commit runs several processes itself."""
    # A container or a pinned process may have fewer cores than the machine.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return size >= POOL_THRESHOLD and cores > 1 and "PRE_COMMIT" not in os.environ


class PerFileIgnores:
    """The table ``per-file-ignores``: patterns in git-ignore syntax to codes."""

    def __init__(self, settings: Settings) -> None:
        from npuport.engine.registry import rules_matching

        self._root = settings.root
        self._codes = [
            (pattern, frozenset(code for word in words for code in rules_matching(word)))
            for pattern, words in settings.per_file_ignores.items()
        ]
        self._specs: list[tuple[GitIgnoreSpec, frozenset[str]]] | None = None

    def codes(self, path: Path) -> frozenset[str]:
        """The codes that are not reported in the file ``path``."""
        if not self._codes:
            return frozenset()
        if self._specs is None:
            from pathspec import GitIgnoreSpec

            self._specs = [(GitIgnoreSpec.from_lines([pattern]), codes) for pattern, codes in self._codes]
        relative = os.path.relpath(path, self._root).replace(os.sep, "/")
        return frozenset(code for spec, codes in self._specs if spec.match_file(relative) for code in codes)
