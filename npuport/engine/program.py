"""Many files: reads them, relates them, and checks them with cache and process pool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npuport.analysis.module import Module, ProjectFacts, key_of
from npuport.analysis.project import NO_FACTS, FileFacts, imports_foreign_library, relate, scan
from npuport.engine import file_checks
from npuport.engine.cache import FOLDER, Cache, cache_key, cached_facts, cached_findings
from npuport.engine.checking import SYNTAX_ERROR, Checker, unreadable
from npuport.engine.file_checks import FileTask
from npuport.engine.finding import Finding
from npuport.engine.per_file_ignores import PerFileIgnores
from npuport.engine.rule import Rule
from npuport.sources.configuration import is_configuration
from npuport.sources.errors import UnreadableSource
from npuport.sources.reading import code_in, read_source
from npuport.sources.settings import Settings
from npuport.sources.text import SourceText, read_bytes

if TYPE_CHECKING:
    from npuport.engine.run_flow import RunFlow

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
        self._modules: dict[str, Module | None] = {}
        self._by_key: dict[str, SourceFile] = {}
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
                file.facts = _scan(path, file.code)
                file.entry = self._cache.store(path, status, file.data, file.facts)
                return file
            file.data = read_bytes(path)
            file.facts = _scan(path, file.code)
        except UnreadableSource as error:
            file.fault = error
        except OSError as error:
            file.fault = UnreadableSource(f"cannot be read: {error.strerror or error}")
        return file

    def _asks_for_importers(self, file: SourceFile) -> bool:
        """Whether it matters who imports a file: it says nothing of torch, but something that rules look for."""
        if file.facts is None or file.facts.imports_torch or is_configuration(file.path):
            return False
        if file.data is None:
            return bool(file.entry and file.entry.get("asks"))
        if imports_foreign_library(file.code):
            return False
        if self.checker.gate:
            return bool(self.checker.rules_for(file.path, file.code))
        return self.checker.is_of_interest(file.path, file.code)

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

    def reported(self, file: SourceFile, findings: list[Finding]) -> list[Finding]:
        """The findings without the syntax error of a configuration file that a folder gave: many are templates."""
        if file.named or not is_configuration(file.path):
            return findings
        return [finding for finding in findings if finding.code != SYNTAX_ERROR]

    def facts_of(self, path: Path) -> ProjectFacts:
        """What the other files tell of this one."""
        return self.project.get(path, ProjectFacts())

    def check(self, progress: Progress = lambda done, total: None) -> list[Finding]:
        """The findings of all files, sorted."""
        findings: list[Finding] = []
        waiting: list[SourceFile] = []
        for file in self.files:
            known = self._known_findings(file)
            if known is not None:
                findings += (finding.at(str(file.path)) for finding in self.reported(file, known))
            elif file.fault is not None:
                findings += unreadable(self.checker, str(file.path), file.fault)
            else:
                waiting.append(file)
        done = len(self.files) - len(waiting)
        for file, found in self._check_files(waiting):
            done += 1
            progress(done, len(self.files))
            findings += self.reported(file, found)
            if self._cache is not None and file.entry is not None:
                asks = self._asks_for_importers(file)
                self._cache.store_findings(file.entry, self.facts_of(file.path), found, asks_for_importers=asks)
        if self._cache is not None:
            self._cache.save()
        return sorted(findings, key=lambda finding: finding.sort_key)

    def _known_findings(self, file: SourceFile) -> list[Finding] | None:
        """The findings that the cache has for a file, where they still hold."""
        if self._cache is None or file.entry is None or file.fault is not None:
            return None
        known = cached_findings(file.entry, self.facts_of(file.path))
        if known is not None and self.uses_flow and not self.flow.still_holds(key_of(file.path)):
            return None
        return known

    def _check_files(self, files: Sequence[SourceFile]) -> Iterator[tuple[SourceFile, list[Finding]]]:
        tasks: list[tuple[SourceFile, FileTask]] = []
        for file in files:
            try:
                data = file.data = file.data if file.data is not None else read_bytes(file.path)
            except UnreadableSource as error:
                yield file, unreadable(self.checker, str(file.path), error)
                continue
            rules = self.checker.rules_for(file.path, file.code)
            if not self.uses_flow:
                rules = names_only(rules)
            if rules or file.named:
                facts, ignored = self.facts_of(file.path), self.ignored(file.path)
                tasks.append((file, FileTask(file.path, data, facts, ignored, file.named, rules)))
            else:
                if self.uses_flow:
                    self.flow.remember(key_of(file.path), asks_flow=False)
                yield file, []
        if self.uses_flow:
            yield from self._check_programs(tasks)
        elif len(tasks) > 1 and file_checks.pool_pays(sum(len(task.data) for _, task in tasks)):
            results = file_checks.check_in_pool(self.checker, [task for _, task in tasks])
            yield from zip((file for file, _ in tasks), results, strict=True)
        else:
            yield from ((file, file_checks.check_bytes(self.checker, task)) for file, task in tasks)

    def _check_programs(
        self, tasks: Iterable[tuple[SourceFile, FileTask]]
    ) -> Iterator[tuple[SourceFile, list[Finding]]]:
        """Check files program by program: of each only what is needed is kept in memory."""
        by_component: dict[str, list[tuple[SourceFile, FileTask]]] = {}
        for file, task in tasks:
            by_component.setdefault(self.flow.component(key_of(file.path)), []).append((file, task))
        for component, members in by_component.items():
            for file, task in members:
                key = key_of(file.path)
                program = self.flow.program_of(key) if self.checker.asks_flow(task.rules) else None
                if program is None:
                    task = replace(task, rules=names_only(task.rules or ()))
                module = self._parse(key)
                yield file, file_checks.check_bytes(self.checker, task, module, program)
                self.flow.remember(key, asks_flow=program is not None)
                if module is not None:
                    module.forget()
            for key in self.flow.release(component):
                self._modules.pop(key, None)

    @cached_property
    def uses_flow(self) -> bool:
        """Whether a rule asks what flows through the program, and some file imports torch."""
        return self.checker.uses_flow and any(file.facts and file.facts.imports_torch for file in self.files)

    @cached_property
    def flow(self) -> RunFlow:
        """The programs among the files, for rules that ask what flows through them."""
        from npuport.engine.run_flow import RunFlow

        self._by_key = {
            key_of(file.path): file for file in self.files if file.fault is None and not is_configuration(file.path)
        }
        store = None
        if self._cache is not None:
            store = self._cache.flows
            self._cache.touch()
        entries = {key: file.entry for key, file in self._by_key.items()}
        torch = frozenset(key for key, file in self._by_key.items() if file.facts and file.facts.imports_torch)
        return RunFlow(entries, torch, self._parse, store, self.checker.target)

    def _parse(self, key: str) -> Module | None:
        """A file's syntax, parsed once; None where it is not valid Python."""
        if key not in self._modules:
            file = self._by_key.get(key)
            try:
                self._modules[key] = (
                    Module(self.source(file), self.checker.target, self.facts_of(file.path)) if file else None
                )
            except UnreadableSource:
                self._modules[key] = None
        return self._modules[key]


def names_only(rules: Sequence[Rule]) -> list[Rule]:
    """The rules that do not ask what flows through a program."""
    return [rule for rule in rules if not rule.uses_flow]


def _scan(path: Path, data: bytes) -> FileFacts:
    return NO_FACTS if is_configuration(path) else scan(data)
