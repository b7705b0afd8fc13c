"""Which files of a run make one program, told by their imports."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from npuport.analysis.flow.linking import Linker, Request, connected


class Components:
    """The programs among the files of a run: files that imports connect.

    Attributes:
        linker: says what imports mean.

    Args:
        requests: what each file imports, by path.
        hashes: a hash of each file's contents.
    """

    def __init__(self, requests: Mapping[str, Iterable[Request]], hashes: Mapping[str, str]) -> None:
        self.linker = Linker(requests)
        self._targets = {
            key: {found for request in asked if (found := self.linker.resolve(key, *request)) is not None}
            for key, asked in requests.items()
        }
        self._component = connected(self._targets)
        self._members: dict[str, list[str]] = {}
        for key, component in self._component.items():
            self._members.setdefault(component, []).append(key)
        self._hashes = hashes
        self._digests: dict[str, str] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._component

    def of(self, key: str) -> str:
        """A name of the program that a file is part of."""
        return self._component[key]

    def members(self, component: str) -> list[str]:
        """The files of a program."""
        return self._members[component]

    def targets(self, key: str) -> set[str]:
        """The files that a file's imports mean."""
        return self._targets[key]

    def digest(self, key: str) -> str:
        """Changes with any file of the program that a file is part of."""
        component = self._component[key]
        if component not in self._digests:
            parts = (f"{member}\0{self._hashes.get(member, '')}" for member in sorted(self._members[component]))
            self._digests[component] = hashlib.blake2b("\n".join(parts).encode(), digest_size=12).hexdigest()
        return self._digests[component]
