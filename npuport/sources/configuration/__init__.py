"""Configuration files: values with their keys and places, from YAML, TOML, JSON and shell scripts.

- ``entries``     what a file gives: ``Entry``, ``Scalar``, ``Reading``
- ``tree``        follows mappings and lists, for all formats that have them
- ``yaml_format``, ``toml_format``, ``json_format``, ``shell``  one reader a format

Readers say where values stand and under which keys; they know nothing of devices. A text that is spelled otherwise
than it reads, with escapes or over several lines, is no entry: every entry can be replaced in its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from npuport.sources.configuration.entries import BrokenConfiguration, Entry, Reading, Scalar, Use
from npuport.sources.errors import UnreadableSource
from npuport.sources.text import SourceText

SUFFIXES = (".yaml", ".yml", ".toml", ".json", ".sh")

# Larger files are data; JSON, which data is mostly written in, sooner than the others.
_MOST_BYTES = {".json": 100_000}
_MOST_BYTES_ELSE = 1_000_000
# Files of tools that describe packages, versions and builds.
_OF_TOOLS = re.compile(
    r"pyproject\.toml|cargo\.toml|package\.json|[tj]sconfig[\w.-]*\.json|composer\.json|mkdocs\.ya?ml|"
    r".*[.-]lock\.\w+|.*[.-]lock|.*\.schema\.json",
    re.IGNORECASE,
)


def is_configuration(path: Path) -> bool:
    """Whether a file is read as configuration, by its ending."""
    return path.suffix.lower() in SUFFIXES


def is_read_in_folders(name: str) -> bool:
    """Whether a configuration file is read where a folder above it is named; ``name`` is relative to that, with ``/``.

    Hidden files and folders hold the settings of tools, ``.github`` among them.
    """
    if not name.endswith(SUFFIXES):
        return False
    path = PurePosixPath(name)
    return not any(part.startswith(".") for part in path.parts) and not _OF_TOOLS.fullmatch(path.name)


def is_small(path: Path) -> bool:
    """Whether a configuration file is small enough to be written by people."""
    return path.stat().st_size <= _MOST_BYTES.get(path.suffix.lower(), _MOST_BYTES_ELSE)


def read_configuration(source: SourceText) -> Reading:
    """The entries of a configuration file.

    Raises:
        UnreadableSource: it is not valid.
    """
    try:
        return _reader(source.path.suffix.lower())(source.text)
    except BrokenConfiguration as error:
        raise UnreadableSource(error.fault, *source.position(error.offset)) from None


def _reader(suffix: str) -> Callable[[str], Reading]:
    # Imported here: most runs read no file of most formats.
    if suffix == ".json":
        from npuport.sources.configuration.json_format import read_json

        return read_json
    if suffix == ".toml":
        from npuport.sources.configuration.toml_format import read_toml

        return read_toml
    if suffix == ".sh":
        from npuport.sources.configuration.shell import read_shell

        return read_shell
    from npuport.sources.configuration.yaml_format import read_yaml

    return read_yaml


__all__ = [
    "SUFFIXES", "Entry", "Reading", "Scalar", "Use", "is_configuration", "is_read_in_folders", "is_small",
    "read_configuration",
]  # fmt: skip
