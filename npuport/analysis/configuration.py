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
    r"\$\{(?:(?:oc\.env|oc\.select|env):\s*[\w.]+\s*,\s*(?P<quote>[\"']?)(?P<value>[^\"'{},]+)(?P=quote)\s*"
    r"|resolve_default:\s*(?P<first>[^\"'{},]+),.*"
    r"|\w+:?[-=](?P<fallback>[^{}]+))\}"
)


class Configuration:
    """One configuration file.

    Attributes:
        source: its text.
        entries: what it sets, compares and reads.
        comments: those that speak to npuport.
        open_rows: rows, from 1, of lines whose command goes on below, so that no comment can stand at their ends.

    Raises:
        UnreadableSource: it is not valid.
    """

    def __init__(self, source: SourceText) -> None:
        self.source = source
        reading = read_configuration(source)
        self.entries = tuple(entry for entry in reading.entries if not _picks_a_file(entry))
        self.comments = tuple(reading.comments)
        self.open_rows = frozenset(source.position(end)[0] for end in reading.inner_line_ends)

    @property
    def is_script(self) -> bool:
        """Whether the file holds commands, not data."""
        return self.source.path.suffix.lower() == ".sh"

    def settings(self) -> Iterator[tuple[Entry, Scalar]]:
        """Each entry that sets something or is compared, with its value or the default inside its value."""
        for entry in self.entries:
            if entry.use is not Use.READ:
                default = _DEFAULT.fullmatch(entry.value.text)
                groups = [group for group in ("value", "first", "fallback") if default and default[group]]
                yield entry, entry.value.part(default, groups[0]) if default and groups else entry.value

    def names_beside(self, entry: Entry, npu: str) -> bool:
        """Whether this is the arm for CUDA of a choice whose other arm has a value that begins with ``npu``.

        Such are the items of one list, the two assignments of a variable in a script, and a key that stands in a
        table called after the GPU and in others.
        """
        if any(text.startswith(npu) for text in entry.beside):
            return True
        is_arm = (self.is_script and entry.key) or not {"cuda", "gpu"}.isdisjoint(words_of(" ".join(entry.keys[:-1])))
        return bool(is_arm) and npu in self._values.get(name_of(entry), "")

    def asked_of(self, entry: Entry) -> str:
        """Why a change of this value is unsafe: the file compares what the key holds; empty where it does not."""
        name = name_of(entry)
        return f"{name} is compared here, and the branch may be for CUDA alone" if name in self._asked else ""

    @cached_property
    def _asked(self) -> frozenset[str]:
        return frozenset(name_of(entry) for entry in self.entries if entry.use is Use.ASKED)

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
    """Whether the key of an entry is one for a device, or a member of ``devices: {learner: cuda, actor: cpu}``."""
    name = name_of(entry)
    if not _OF_BUILDS.isdisjoint(words_of(name)):
        return False
    above = entry.keys[-2] if len(entry.keys) > 1 else ""
    is_member = is_device_name(above) and words_of(above)[-1] in ("device", "devices") and not holds_text(entry)
    return is_device_name(name) or is_member


def holds_text(entry: Entry) -> bool:
    """Whether the key of an entry is one for a text that people read, or a name that they chose."""
    words = words_of(name_of(entry))[-1:] + words_of(entry.keys[-1] if entry.keys else "")[-1:]
    return not TEXT_KEYWORDS.isdisjoint(words)


def is_true(value: Scalar) -> bool:
    """Whether a value switches something on."""
    return value.text.lower() in ("true", "yes", "on", "1")


def _picks_a_file(entry: Entry) -> bool:
    """Whether an entry of Hydra's list of defaults names another file: ``defaults: [{device: cuda}]``."""
    return entry.keys[:2] == ("defaults", "")


__all__ = [
    "Configuration", "Entry", "Scalar", "Use", "Variable", "holds_device", "holds_text", "is_true", "name_of",
    "variable_of",
]  # fmt: skip
