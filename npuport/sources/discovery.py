"""From the paths that a user names to the Python files that are read."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from npuport.sources.errors import UsageError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

SUFFIXES = (".py", ".pyw")
_OTHER_ENDING = re.compile(r"\*\*?\.(?!py)[\w-]+")


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
    found: dict[str, Path] = {}
    for path in paths:
        if path.is_dir():
            excluded = _Exclusion(exclude, root, path, above_counts=force_exclude)
            files: Iterable[Path] = _files_below(path, excluded)
        elif path.exists() or path.is_symlink():
            excluded = _Exclusion(exclude, root, path.parent, above_counts=True)
            files = () if force_exclude and excluded.matches(path.name) else (path,)
        else:
            raise UsageError(f"no such file or folder: {path}")
        for file in files:
            found.setdefault(os.path.realpath(file), file)
    return sorted(found.values())


class _Exclusion:
    """The patterns of ``exclude`` for files below one folder; pathspec is imported only when it is needed.

    Folders above the named one count with ``above_counts`` only: who names a folder wants it read.
    """

    def __init__(self, patterns: tuple[str, ...], root: Path, folder: Path, *, above_counts: bool) -> None:
        relative = os.path.relpath(os.path.realpath(folder), os.path.realpath(root)).replace(os.sep, "/")
        inside = not relative.startswith("..")
        self._above = f"{relative}/" if inside and relative != "." else ""
        # Most of the patterns are plain folder names: a set decides those without pathspec.
        self._names = {p.rstrip("/") for p in patterns if not any(c in p.rstrip("/") for c in "*?[!/")}
        self._globs = [p for p in patterns if p.rstrip("/") not in self._names]
        self._above_excluded = above_counts and not self._names.isdisjoint(self._above.split("/"))
        self._spec: GitIgnoreSpec | None = None

    def matches(self, name: str) -> bool:
        """Whether the file or folder ``name``, relative to the folder and with ``/``, is left out."""
        if self._above_excluded or not self._names.isdisjoint(name.split("/")):
            return True
        if not self._globs:
            return False
        if self._spec is None:
            from pathspec import GitIgnoreSpec

            self._spec = GitIgnoreSpec.from_lines(self._globs)
        return self._spec.match_file(self._above + name)


def _files_below(folder: Path, excluded: _Exclusion) -> Iterator[Path]:
    names = _git_listing(folder)
    if names is None:
        names = _walk(folder, excluded)
    for name in names:
        if name.endswith(SUFFIXES) and not excluded.matches(name) and os.path.isfile(path := folder / name):
            yield path


def _walk(folder: Path, excluded: _Exclusion) -> Iterator[str]:
    """Names of the files below a folder outside git, relative to it; its ``.gitignore`` counts."""
    ignored = _gitignore_of(folder)
    for place, folders, names in os.walk(folder):
        here = os.path.relpath(place, folder).replace(os.sep, "/")
        above = "" if here == "." else f"{here}/"
        folders[:] = [
            name
            for name in folders
            if not excluded.matches(above + name) and not (ignored and ignored.match_file(f"{above}{name}/"))
        ]
        for name in names:
            if name.endswith(SUFFIXES) and not (ignored and ignored.match_file(above + name)):
                yield above + name


def _git_listing(folder: Path) -> Iterable[str] | None:
    """What git knows of below ``folder``; None where git is absent or ``folder`` is in no work tree."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "."]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    except OSError:
        return None
    # Nothing listed: an ignored or empty folder that the user named on purpose.
    return {os.fsdecode(name) for name in done.stdout.split(b"\0") if name} or None if done.returncode == 0 else None


def _gitignore_of(folder: Path) -> GitIgnoreSpec | None:
    """What the folder's ``.gitignore`` says of Python files and of folders."""
    try:
        lines = (folder / ".gitignore").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    # "*.log" says nothing of what is read here; with fewer patterns the matching is much faster.
    lines = [
        line
        for line in lines
        if line.strip() and not line.startswith("#") and not _OTHER_ENDING.fullmatch(line.strip())
    ]
    if not lines:
        return None
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(lines)
