"""Which files of a run make one program, told by their imports, and when what was found in them still holds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from npuport.analysis.flow.linking import Linker, Request, connected


class Components:
    """The programs among the files of a run: files that imports connect.

    Args:
        requests: what each file imports, by path.
        hashes: a hash of each file's contents.
    """

    def __init__(self, requests: Mapping[str, Iterable[Request]], hashes: Mapping[str, str]) -> None:
        linker = Linker(requests)
        targets = {
            key: {found for request in asked if (found := linker.resolve(key, *request)) is not None}
            for key, asked in requests.items()
        }
        self._component = connected(targets)
        self._members: dict[str, list[str]] = {}
        for key, component in self._component.items():
            self._members.setdefault(component, []).append(key)
        self._hashes = hashes
        self._digests: dict[str, str] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._component

    def digest(self, key: str) -> str:
        """Changes with any file of the program that a file is part of."""
        component = self._component[key]
        if component not in self._digests:
            parts = (f"{member}\0{self._hashes.get(member, '')}" for member in sorted(self._members[component]))
            self._digests[component] = hashlib.blake2b("\n".join(parts).encode(), digest_size=12).hexdigest()
        return self._digests[component]

    def around(self, keys: Iterable[str]) -> set[str]:
        """All files of the programs that some files are part of."""
        return {member for key in keys for member in self._members.get(self._component.get(key, ""), ())}
