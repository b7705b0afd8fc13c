"""Which codes the settings take away in which files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from npuport.sources.settings import Settings

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


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
