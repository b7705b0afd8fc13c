"""Finds rule packs through the entry-point group ``npuport.rules`` and selects rules."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import re
from collections.abc import Iterable
from functools import cache
from importlib.metadata import entry_points
from types import ModuleType

from npuport.engine.rule import Rule
from npuport.facts.releases import release_line
from npuport.sources.errors import UsageError
from npuport.sources.settings import Settings

GROUP = "npuport.rules"

_CODE = re.compile(r"[A-Z]{2,8}\d{3,4}")
_EXACTLY = 100  # how exact a word is that means one rule


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule of every installed pack, by code.

    Raises:
        UsageError: a pack cannot be imported, a code is malformed, or two rules share one.
    """
    rules: dict[str, Rule] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda e: (e.name != "npuport", e.name)):
        try:
            kinds = list(_rule_classes(entry.load()))
        except Exception as error:
            raise UsageError(f"rule pack {entry.name!r} ({entry.value}) cannot be loaded: {error}") from None
        for kind in kinds:
            if not _CODE.fullmatch(kind.code):
                raise UsageError(f"rule pack {entry.name!r}: {kind.__name__} has the malformed code {kind.code!r}")
            if kind.code in rules and type(rules[kind.code]) is not kind:
                raise UsageError(
                    f"rule pack {entry.name!r}: the code {kind.code} is taken by {type(rules[kind.code]).__module__}"
                )
            rules[kind.code] = kind()
    return tuple(rules[code] for code in sorted(rules))


def _rule_classes(package: ModuleType) -> Iterable[type[Rule]]:
    modules = [package]
    if hasattr(package, "__path__"):
        modules += [
            importlib.import_module(info.name)
            for info in pkgutil.walk_packages(package.__path__, package.__name__ + ".")
        ]
    for module in modules:
        for kind in vars(module).values():
            if (
                isinstance(kind, type)
                and issubclass(kind, Rule)
                and kind.__module__ == module.__name__
                and "code" in vars(kind)
            ):
                yield kind


def rule_named(word: str) -> Rule:
    """The rule with this code or name.

    Raises:
        UsageError: there is none; the message names the nearest.
    """
    for rule in all_rules():
        if word.upper() == rule.code or word.lower() == rule.name:
            return rule
    if any(rule.code.startswith(word.upper()) or rule.topic == word.lower() for rule in all_rules()):
        raise UsageError(f"{word} means several rules; `npuport rules {word}` lists them")
    raise UsageError(f"no rule {word!r}{_suggestion(word)}")


def rules_matching(word: str) -> frozenset[str]:
    """Codes of the rules that a selector means: a code, a prefix of codes, a name, a topic, or ``ALL``.

    Raises:
        UsageError: nothing matches.
    """
    upper, lower = word.upper(), word.lower()
    found = frozenset(
        rule.code
        for rule in all_rules()
        if upper == "ALL" or rule.code.startswith(upper) or lower in (rule.name, rule.topic)
    )
    if not found:
        raise UsageError(f"no rule, family or topic {word!r}{_suggestion(word)}")
    return found


def _suggestion(word: str) -> str:
    known = {r.code for r in all_rules()} | {r.name for r in all_rules()} | {r.topic for r in all_rules()}
    codes = [code for code in known if len(code) == len(word) and code.isupper()]
    near = sorted((c for c in codes if _differences(c, word.upper()) == 1), key=lambda c: (c[-1] != word[-1], c))
    # A code with two other digits is another code; a digit too many is a typing error.
    near = (
        near
        or difflib.get_close_matches(word.upper(), known, 1, cutoff=0.85)
        or difflib.get_close_matches(word.lower(), known, 1)
    )
    return f"; did you mean {near[0]}?" if near else "; `npuport rules` lists them"


def _differences(one: str, other: str) -> int:
    return sum(a != b for a, b in zip(one, other, strict=True))


def selected_codes(settings: Settings, *, improving: bool = False) -> frozenset[str]:
    """Codes of the rules to report, from select, extend-select and ignore; the more exact word wins.

    ``--select NPU1 --ignore NPU101`` leaves 101 out; ``--ignore NPU1 --extend-select NPU101`` keeps it.

    Args:
        improving: select rules that find no fault like all others; else they must be named exactly.
    """
    enabled: dict[str, tuple[int, bool]] = {rule.code: (0, not settings.select) for rule in all_rules()}
    for words, on in ((settings.select, True), (settings.extend_select, True), (settings.ignore, False)):
        for word in words:
            for code in rules_matching(word):
                exactness = _exactness(word)
                if exactness >= enabled[code][0]:
                    enabled[code] = (exactness, on)
    exact = {rule.code for rule in all_rules() if not rule.improves or improving or enabled[rule.code][0] == _EXACTLY}
    return frozenset(code for code, (_, on) in enabled.items() if on and code in exact)


def _exactness(word: str) -> int:
    if any(rule.code == word.upper() or rule.name == word.lower() for rule in all_rules()):
        return _EXACTLY
    return 1 if word.upper() == "ALL" else len(word)


def holds_for(rule: Rule, target: str) -> bool:
    """Whether a rule is about the torch_npu release ``target``."""
    line = release_line(target)
    if rule.since and line < release_line(rule.since):
        return False
    return not (rule.until and line >= release_line(rule.until))


def rules_for(target: str) -> tuple[Rule, ...]:
    """The rules that hold for the torch_npu release ``target``."""
    return tuple(rule for rule in all_rules() if holds_for(rule, target))
