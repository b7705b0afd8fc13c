"""Findings by content: a file that has not changed is not checked again.

One JSON file in ``.npuport_cache/``. An entry holds as long as the file's bytes, what other files tell of it,
the rules' own code and the settings are the same. Time and size decide first; when they differ, the hash does.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from npuport import __version__
from npuport.analysis.module import ProjectFacts
from npuport.analysis.project import FileFacts
from npuport.engine.checking import Checker
from npuport.engine.finding import Finding
from npuport.engine.flow_store import FlowStore
from npuport.engine.rule import Rule

FOLDER = ".npuport_cache"
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache of npuport; see https://bford.info/cachedir/\n"


def digest(data: bytes) -> str:
    """Hash of a file's contents."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def make_cache_folder(folder: Path) -> None:
    """Make ``.npuport_cache``, marked so that neither git nor backups take it up.

    Raises:
        OSError: it cannot be written.
    """
    folder.mkdir(exist_ok=True)
    for name, text in (("CACHEDIR.TAG", _TAG), (".gitignore", "*\n")):
        if not (folder / name).exists():
            (folder / name).write_text(text, encoding="utf-8")


class Cache:
    """What was found before, for one combination of rules and settings."""

    def __init__(self, folder: Path, key: str) -> None:
        self._file = folder / f"{key}.json"
        self._folder = folder
        self.flows = FlowStore(folder / f"{key}-flow")
        self._entries: dict[str, dict[str, Any]] = {}
        self._changed = False
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            entries = json.loads(self._file.read_bytes())["files"]
            self._entries = {path: entry for path, entry in entries.items() if _is_whole(entry)}

    def entry(self, path: Path, status: os.stat_result) -> dict[str, Any] | None:
        """The entry of a file whose time and size are as they were."""
        found = self._entries.get(str(path.absolute()))
        return found if found and found["stat"] == [status.st_mtime_ns, status.st_size] else None

    def entry_by_content(self, path: Path, status: os.stat_result, data: bytes) -> dict[str, Any] | None:
        """The entry of a file that was touched but has the same bytes."""
        found = self._entries.get(str(path.absolute()))
        if found is None or found["hash"] != digest(data):
            return None
        found["stat"] = [status.st_mtime_ns, status.st_size]
        self._changed = True
        return found

    def store(self, path: Path, status: os.stat_result, data: bytes, facts: FileFacts) -> dict[str, Any]:
        """A new entry without findings."""
        entry = {
            "stat": [status.st_mtime_ns, status.st_size],
            "hash": digest(data),
            "facts": facts_as_data(facts),
        }
        self._entries[str(path.absolute())] = entry
        self._changed = True
        return entry

    def store_facts(self, entry: dict[str, Any], facts: FileFacts) -> None:
        """Remember more of what a file tells the others."""
        entry["facts"] = facts_as_data(facts)
        self._changed = True

    def store_findings(
        self, entry: dict[str, Any], project: ProjectFacts, findings: list[Finding], *, asks_for_importers: bool
    ) -> None:
        """Remember what was found in a file."""
        entry["project"] = project_key(project)
        entry["asks"] = asks_for_importers
        entry["findings"] = [finding.as_dict() for finding in findings]
        self._changed = True

    def touch(self) -> None:
        """Note that an entry was changed from outside."""
        self._changed = True

    def save(self) -> None:
        """Write the cache; a folder that cannot be written is no fault of the check."""
        if not self._changed:
            return
        with suppress(OSError):
            make_cache_folder(self._folder)
            handle, temporary = tempfile.mkstemp(dir=self._folder)
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(json.dumps({"files": self._entries}))  # dump() itself is several times slower
            os.replace(temporary, self._file)


def _is_whole(entry: Any) -> bool:
    """Whether an entry has the parts that are read without looking; a damaged cache is no fault of the check."""
    return isinstance(entry, dict) and {"stat", "hash", "facts"} <= entry.keys() and len(entry["facts"]) == 4


def facts_as_data(facts: FileFacts) -> list[Any]:
    """The facts of a file as JSON data."""
    imported = None if facts.imported is None else sorted(facts.imported)
    return [facts.imports_torch, imported, sorted(facts.classes_with_cuda), facts.transfer_to_npu]


def cached_facts(entry: dict[str, Any]) -> FileFacts:
    """The facts that an entry keeps."""
    torch, imported, classes, transfer = entry["facts"]
    return FileFacts(torch, None if imported is None else frozenset(imported), frozenset(classes), transfer)


def cached_findings(entry: dict[str, Any], project: ProjectFacts) -> list[Finding] | None:
    """The findings that an entry keeps, if the other files still tell the same."""
    if entry.get("project") != project_key(project):
        return None
    try:
        return [Finding.from_dict(data) for data in entry["findings"]]
    except (KeyError, TypeError, ValueError):
        return None  # damaged: check again


def project_key(project: ProjectFacts) -> str:
    """What of the other files an entry depends on, as text."""
    names = [*sorted(project.classes_with_cuda), *sorted(project.own_libraries)]
    return f"{project.used_by_torch} {project.transfer_to_npu} {names}"


def cache_key(checker: Checker, per_file_ignores: object) -> str:
    """Names everything but the files that findings depend on: version, Python, rules, their code, options."""
    own = Path(__file__).parent.parent
    folders = {own, *(Path(file).parent for rule in checker.rules if (file := _file_of(rule)))}
    sources = sorted(entry for folder in folders for entry in _sources_in(folder))
    parts = (
        __version__, sys.version_info[:2], sources, sorted(checker.reported), checker.style, checker.target,
        checker.gate, checker.with_edits, per_file_ignores,
    )  # fmt: skip
    return hashlib.blake2b(repr(parts).encode(), digest_size=12).hexdigest()


def _file_of(rule: Rule) -> str | None:
    return getattr(sys.modules[type(rule).__module__], "__file__", None)


def _sources_in(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Name, time and size of the code and data below a folder: edited code makes old findings worthless."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir() and entry.name != "__pycache__":
                yield from _sources_in(Path(entry.path))
            elif entry.name.endswith((".py", ".json")):
                status = entry.stat()
                yield entry.path, status.st_mtime_ns, status.st_size
