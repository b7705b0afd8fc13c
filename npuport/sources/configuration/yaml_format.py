"""Reads YAML with PyYAML, whose events say where every scalar stands; nothing is constructed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml  # type: ignore[import-untyped]

from npuport.sources.configuration.entries import BrokenConfiguration, Reading, Scalar
from npuport.sources.configuration.tree import Tree

_COMMENT = re.compile(r"(?:^|(?<=[ \t\r\n]))#[^\r\n]*\bnpuport:[^\r\n]*", re.MULTILINE)
# A tag and an anchor stand before the scalar that they belong to.
_PROPERTIES = re.compile(r"(?:[!&]\S*[ \t]+){1,2}")
_QUOTES = ("'", '"')


def read_yaml(text: str) -> Reading:
    """The entries of a YAML text, of all its documents.

    Raises:
        BrokenConfiguration: it is not valid, or filled by a template engine first.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # without libyaml the slow one has to do
    reading = Reading()
    tree = Tree(text, reading)
    occupied: list[tuple[int, int]] = []
    try:
        for event in yaml.parse(text, Loader=loader):
            if isinstance(event, yaml.ScalarEvent):
                end = event.end_mark.index
                properties = _PROPERTIES.match(text, event.start_mark.index, end)
                start = properties.end() if properties else event.start_mark.index
                occupied.append((start, end))
                _scalar(text, tree, event.value, event.style, start, end)
            elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                tree.begin(is_list=isinstance(event, yaml.SequenceStartEvent))
            elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                tree.end()
            elif isinstance(event, yaml.AliasEvent):
                tree.scalar(None)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise BrokenConfiguration(f"not valid YAML: {error.problem}", mark.index if mark else 0) from None
    except (yaml.YAMLError, UnicodeError, ValueError) as error:
        raise BrokenConfiguration(f"not valid YAML: {str(error).splitlines()[0]}", 0) from None
    for start, end in _comments(text, occupied):
        reading.comment(text, start, end)
    return reading


def _scalar(text: str, tree: Tree, value: str, style: str | None, start: int, end: int) -> None:
    if style == "|":  # the commands begin below the line with the indicator
        first = text.find("\n", start, end) + 1
        tree.scalar(None, command=Scalar(first, end, text[first:end]) if first else None)
        return
    if style in _QUOTES:
        start, end = start + 1, end - 1
    found = Scalar(start, end, text[start:end])
    same = found if found.text == value else None
    tree.scalar(same, command=same)


def _comments(text: str, occupied: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The comments for npuport; what looks like one inside a scalar is none."""
    for found in _COMMENT.finditer(text) if "npuport:" in text else ():
        if not any(start <= found.start() < end for start, end in occupied):
            yield found.span()
