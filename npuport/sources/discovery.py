"""From the paths that a user names to the Python files that are read."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from npuport.sources.errors import UsageError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

SUFFIXES = (".py", ".pyw")


def discover(paths: Iterable[Path], exclude: tuple[str, ...], root: Path, *, force_exclude: bool = False) -> list[Path]:
    """The files to read, each once, sorted, named as the user named their folder.

    A file that is named itself is always read, whatever its ending, unless ``force_exclude`` is on (for
    pre-commit, which names every file). A folder gives its Python files: those that git tracks or would
    track when it lies in a git tree, else all that its ``.gitignore`` does not leave out.

    Args:
        paths: files and folders.
        exclude: patterns in git-ignore syntax, relative to ``root``.
        root: the folder of the settings.

    Raises:
        UsageError: a path does not exist.
    """
    excluded = _Exclusion(exclude, root)
    found: dict[str, Path] = {}
    for path in paths:
        if path.is_dir():
            files: Iterable[Path] = (f for f in _files_below(path, excluded) if not excluded.matches(f))
        elif path.exists() or path.is_symlink():
            files = () if force_exclude and excluded.matches(path) else (path,)
        else:
            raise UsageError(f"no such file or folder: {path}")
        for file in files:
            found.setdefault(os.path.realpath(file), file)
    return sorted(found.values())


class _Exclusion:
    """The patterns of ``exclude``; pathspec is imported only when there is a folder to match."""

    def __init__(self, patterns: tuple[str, ...], root: Path) -> None:
        self._patterns = patterns
        self._root = os.path.realpath(root)
        # Most of the patterns are plain folder names: a set decides those without pathspec.
        self._names = {p.strip("/") for p in patterns if not any(c in p.strip("/") for c in "*?[!/")}
        self._globs = [p for p in patterns if p.strip("/") not in self._names]
        self._spec: GitIgnoreSpec | None = None

    def matches(self, path: Path) -> bool:
        relative = os.path.relpath(os.path.realpath(path.parent), self._root)
        parts = [*(() if relative == "." else Path(relative).parts), path.name]
        if not self._names.isdisjoint(parts):
            return True
        if not self._globs:
            return False
        if self._spec is None:
            from pathspec import GitIgnoreSpec

            self._spec = GitIgnoreSpec.from_lines(self._globs)
        return self._spec.match_file("/".join(parts))


def _files_below(folder: Path, excluded: _Exclusion) -> Iterator[Path]:
    listed = _git_listing(folder)
    if listed is not None:
        yield from listed
        return
    ignored = _gitignore_of(folder)
    for place, folders, names in os.walk(folder):
        here = Path(place)
        folders[:] = [name for name in folders if not excluded.matches(here / name)]
        for name in names:
            file = here / name
            if name.endswith(SUFFIXES) and not (ignored and ignored.match_file(file.relative_to(folder).as_posix())):
                yield file


def _git_listing(folder: Path) -> list[Path] | None:
    """What git knows of below ``folder``; None where git is absent or ``folder`` is in no work tree."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "."]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    except OSError:
        return None
    if done.returncode:
        return None
    names = {os.fsdecode(name) for name in done.stdout.split(b"\0") if name}
    if not names:
        return None  # an ignored or empty folder that the user named on purpose
    return [folder / name for name in names if name.endswith(SUFFIXES) and (folder / name).is_file()]


def _gitignore_of(folder: Path) -> GitIgnoreSpec | None:
    try:
        lines = (folder / ".gitignore").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(lines)
