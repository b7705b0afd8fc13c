"""From the paths that a user names to the Python files and notebooks that are read."""

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

SUFFIXES = (".py", ".pyw", ".ipynb")
_OTHER_ENDING = re.compile(r"\*\*?\.(?!py|ipynb)[\w-]+")


def discover(paths: Iterable[Path], exclude: tuple[str, ...], root: Path, *, force_exclude: bool = False) -> list[Path]:
    """The files to read, each once, sorted, named as the user named their folder.

    A file that is named itself is always read, whatever its ending, unless ``force_exclude`` is on (for
    pre-commit, which names every file). A folder gives its Python files and notebooks: those that git tracks or would
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
            real_folder = os.path.realpath(path)
            for name in _files_below(path, excluded):
                file = path / name
                real = os.path.realpath(file) if os.path.islink(file) else os.path.join(real_folder, name)
                if os.path.isfile(real):
                    found.setdefault(real, file)
        elif path.exists() or path.is_symlink():
            excluded = _Exclusion(exclude, root, path.parent, above_counts=True)
            if not (force_exclude and excluded.matches(path.name)):
                found.setdefault(os.path.realpath(path), path)
        else:
            raise UsageError(f"no such file or folder: {path}")
    return sorted(found.values(), key=os.fspath)


def _is_plain(pattern: str) -> bool:
    """Whether a pattern is just a name, with or without the ``/`` of a folder behind it."""
    return set("*?[!/").isdisjoint(pattern.rstrip("/"))


class _Patterns:
    """Patterns in git-ignore syntax; pathspec is imported only when one of them is more than a name."""

    def __init__(self, patterns: Iterable[str]) -> None:
        lines = [line for line in map(str.strip, patterns) if line and not line.startswith("#")]
        negated = any(line.startswith("!") for line in lines)  # then the order counts
        # Most patterns are plain names of files or folders: a set decides those.
        self._names = set() if negated else {line.rstrip("/") for line in lines if _is_plain(line)}
        self._globs = [line for line in lines if line.rstrip("/") not in self._names]
        self._spec: GitIgnoreSpec | None = None

    def match(self, name: str) -> bool:
        """Whether a path with ``/`` is matched, itself or by a folder above it; a folder's own path ends in ``/``."""
        if not self._names.isdisjoint(name.split("/")):
            return True
        if not self._globs:
            return False
        if self._spec is None:
            from pathspec import GitIgnoreSpec

            self._spec = GitIgnoreSpec.from_lines(self._globs)
        return self._spec.match_file(name)


class _Exclusion:
    """What ``exclude`` says of the files below one folder.

    Folders above the named one count with ``above_counts`` only: who names a folder wants it read.
    """

    def __init__(self, patterns: tuple[str, ...], root: Path, folder: Path, *, above_counts: bool) -> None:
        relative = os.path.relpath(os.path.realpath(folder), os.path.realpath(root)).replace(os.sep, "/")
        inside = not relative.startswith("..")
        self._above = f"{relative}/" if inside and relative != "." else ""
        plain = {pattern for pattern in patterns if _is_plain(pattern)}
        self._names = _Patterns(plain)
        self._globs = _Patterns(pattern for pattern in patterns if pattern not in plain)
        self._all = above_counts and (self._names.match(self._above) or self._globs.match(self._above))

    def matches(self, name: str) -> bool:
        """Whether the file or folder ``name``, relative to the folder and with ``/``, is left out."""
        return self._all or self._names.match(name) or self._globs.match(self._above + name)


def _files_below(folder: Path, excluded: _Exclusion) -> Iterator[str]:
    """Names of the Python files and notebooks below a folder, relative to it and with ``/``."""
    names = _git_listing(folder)
    if names is None:
        names = _walk(folder, excluded)
    return (name for name in names if name.endswith(SUFFIXES) and not excluded.matches(name))


def _walk(folder: Path, excluded: _Exclusion) -> Iterator[str]:
    """Names of the files below a folder outside git, relative to it; its ``.gitignore`` counts."""
    ignored = _gitignore_of(folder)
    for place, folders, names in os.walk(folder):
        here = os.path.relpath(place, folder).replace(os.sep, "/")
        above = "" if here == "." else f"{here}/"
        folders[:] = [f for f in folders if not excluded.matches(above + f) and not ignored.match(f"{above}{f}/")]
        yield from (above + n for n in names if n.endswith(SUFFIXES) and not ignored.match(above + n))


def _git_listing(folder: Path) -> Iterable[str] | None:
    """What git knows of below ``folder``; None where git is absent or ``folder`` is in no work tree."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "."]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    except OSError:
        return None
    # Nothing listed: an ignored or empty folder that the user named on purpose.
    return {os.fsdecode(name) for name in done.stdout.split(b"\0") if name} or None if done.returncode == 0 else None


def _gitignore_of(folder: Path) -> _Patterns:
    """What the folder's ``.gitignore`` says of the files that are read and of folders."""
    try:
        lines = (folder / ".gitignore").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    # "*.log" says nothing of what is read here; with fewer patterns the matching is much faster.
    return _Patterns(line for line in lines if not _OTHER_ENDING.fullmatch(line.strip()))
