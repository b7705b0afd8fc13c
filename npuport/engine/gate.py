"""The bytes gate: which rules can have something to say about a file, asked before it is parsed.

Made from the rules' triggers. Each text is searched once a file, however many rules ask for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from npuport.engine.rule import Rule

# Rare texts that several triggers share: one search that fails saves those of all of them.
_ROOTS = (b"GPU", b"_gpu", b"rng", b"custom_", b"backends", b"arallel", b"nvidia", b"premul", b"autocast")
# A line of this form is a comment, or lies inside a string: it holds no code.
_NO_CODE = re.compile(rb"[ \t\f]*(?:#|:param \w+:)")


class Gate:
    """The triggers of a set of rules."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self._anywhere = _with_parts(rule for rule in rules if not rule.triggers.torch)
        self._in_torch = _with_parts(rules)
        self._patterns = {rule.code: [re.compile(p.encode()) for p in rule.triggers.patterns] for rule in rules}
        self._wanted = {rule.code: frozenset(text.encode() for text in rule.triggers.texts) for rule in rules}
        self._in_configuration = [(rule, [t.encode() for t in rule.configuration_triggers]) for rule in rules]
        self._in_comments = {text.encode() for rule in rules if rule.triggers.comments for text in rule.triggers.texts}

    def rules_for_configuration(self, data: bytes) -> list[Rule]:
        """The rules whose triggers for configuration files are in ``data``."""
        return [rule for rule, texts in self._in_configuration if any(text in data for text in texts)]

    def rules_for(self, data: bytes) -> list[Rule]:
        """The rules whose triggers are in the Python file ``data``."""
        torch = b"torch" in data
        other_line_ends = b"\r" in data
        present: set[bytes] = set()
        for text, part in self._in_torch if torch else self._anywhere:
            if (part is None or part in present) and text in data:
                if other_line_ends or text in self._in_comments or _in_code(text, data):
                    present.add(text)
        return [
            rule
            for rule in self._rules
            if (torch or not rule.triggers.torch)
            and (
                not present.isdisjoint(self._wanted[rule.code])
                or any(p.search(data) for p in self._patterns[rule.code])
            )
        ]


def _in_code(text: bytes, data: bytes) -> bool:
    """Whether ``text`` stands on a line that can be code: no comment and no ``:param name:`` of a docstring."""
    place = data.find(text)
    while place >= 0:
        line = data.rfind(b"\n", 0, place) + 1
        if not _NO_CODE.match(data, line):
            return True
        end = data.find(b"\n", place)
        place = data.find(text, end) if end >= 0 else -1
    return False


def _with_parts(rules: Iterable[Rule]) -> list[tuple[bytes, bytes | None]]:
    """The texts, short ones first, each with a shorter text inside it: where that is absent, so is the longer."""
    wanted = {text.encode() for rule in rules for text in rule.triggers.texts}
    roots = {root for root in _ROOTS if sum(root in text for text in wanted) > 1}
    texts = sorted(wanted | roots, key=lambda text: (len(text), text))
    return [(text, next((part for part in texts if part != text and part in text), None)) for text in texts]
