"""A configuration file as rules see it: its settings, what they are called, and whether an NPU is named beside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from npuport.analysis.vocabulary import TEXT_KEYWORDS, is_device_name, words_of
from npuport.sources.configuration import Entry, Scalar, Use, read_configuration
from npuport.sources.text import SourceText

# Keys that only wrap the value of the key above: "device: {value: cuda}", "device: {choices: [cuda, cpu]}".
_WRAPPERS = frozenset({"value", "values", "default", "choices", "options", "const", "type", "name"})
# Words that make of a device's key one about builds and packages.
_OF_BUILDS = frozenset({"arch", "architecture", "image", "build", "toolkit", "driver", "capability", "wheel", "label"})
# What stands in for a value that is not given: ${oc.env:NAME,x}, ${oc.select:key,x} and ${resolve_default:x,...} of
# OmegaConf's users, ${NAME:-x} of shells and compose files.
_DEFAULT = re.compile(
    r"\$\{(?:(?:(?:oc\.env|oc\.select|env):\s*(?P<key>[\w.]+)\s*,|resolve_default:)\s*(?P<quote>[\"']?)(?P<value>[^\"'{},]+)"
    r"(?P=quote)\s*[,}]|(?P<variable>\w+):?[-=](?P<fallback>[^{}]+)\})"
)


class Configuration:
    """One configuration file.

    Args:
        source: its text.

    Raises:
        UnreadableSource: it is not valid.
    """

    def __init__(self, source: SourceText) -> None:
        self.source = source
        reading = read_configuration(source)
        self.entries = tuple(entry for entry in reading.entries if not _picks_a_file(entry))
        self.comments = tuple(reading.comments)

    def settings(self) -> Iterator[tuple[Entry, Scalar]]:
        """Each entry that sets something or is compared, with its value or the default inside its value."""
        for entry in self.entries:
            if entry.use is not Use.READ:
                default = _DEFAULT.fullmatch(entry.value.text)
                group = "value" if default and default["value"] else "fallback"
                yield entry, entry.value.part(default, group) if default else entry.value

    def names_beside(self, entry: Entry, npu: str) -> bool:
        """Whether the file knows the NPU's value too: in the same list, or elsewhere for the same key."""
        return any(text.startswith(npu) for text in entry.beside) or npu in self._values.get(name_of(entry), "")

    @cached_property
    def _values(self) -> dict[str, str]:
        """The values of each key, in one text."""
        values: dict[str, str] = {}
        for entry in self.entries:
            if entry.use is Use.SET:
                values[name_of(entry)] = f"{values.get(name_of(entry), '')}\n{entry.value.text}"
        return values


@dataclass(frozen=True)
class Variable:
    """One use of what may be an environment variable.

    Attributes:
        name: where its name stands.
        value: what it is set to; None where that is not known.
        is_read: it is read, not set.
    """

    name: Scalar
    value: str | None
    is_read: bool = False


def variable_of(entry: Entry) -> Variable | None:
    """The variable that an entry sets or reads: its key, or the value of ``name`` in a list of them."""
    if entry.use is Use.READ:
        return Variable(entry.value, None, is_read=True)
    if entry.key is None or entry.use is not Use.SET:
        return None
    if entry.keys[-1] == "name":
        return Variable(entry.value, None)
    return Variable(entry.key, None if "$" in entry.value.text else entry.value.text)


def name_of(entry: Entry) -> str:
    """The key that says what a value is; empty where there is none."""
    names = [key for key in entry.keys if key]
    while len(names) > 1 and names[-1].lower() in _WRAPPERS:
        names.pop()
    return names[-1] if names else ""


def holds_device(entry: Entry) -> bool:
    """Whether the key of an entry is one for a device."""
    name = name_of(entry)
    return is_device_name(name) and _OF_BUILDS.isdisjoint(words_of(name))


def holds_text(entry: Entry) -> bool:
    """Whether the key of an entry is one for a text that people read, or a name that they chose."""
    return not TEXT_KEYWORDS.isdisjoint(words_of(name_of(entry))[-1:])


def is_true(value: Scalar) -> bool:
    """Whether a value switches something on."""
    return value.text.lower() in ("true", "yes", "on", "1")


def _picks_a_file(entry: Entry) -> bool:
    """Whether an entry of Hydra's list of defaults names another file: ``defaults: [{device: cuda}]``."""
    return entry.keys[:1] == ("defaults",) and ":" not in entry.value.text


__all__ = [
    "Configuration", "Entry", "Scalar", "Use", "Variable", "holds_device", "holds_text", "is_true", "name_of",
    "variable_of",
]  # fmt: skip
