"""The bytes of a file as the text that is checked, whatever kind of file it is."""

from __future__ import annotations

from pathlib import Path

from npuport.sources.errors import UnreadableSource
from npuport.sources.text import SourceText, decode

NOTEBOOK = ".ipynb"


def read_source(path: Path, data: bytes) -> SourceText:
    """The text of a Python file or notebook; the ending of its name tells which.

    Raises:
        UnreadableSource: it cannot be decoded.
    """
    if path.suffix != NOTEBOOK:
        return decode(path, data)
    # Imported here: most runs meet no notebook.
    from npuport.sources.notebooks import decode_notebook

    return decode_notebook(path, data)


def code_in(path: Path, data: bytes) -> bytes:
    """The Python in a file, for what searches bytes; all of a notebook that cannot be read."""
    if path.suffix != NOTEBOOK:
        return data
    try:
        return read_source(path, data).text.encode("utf-8", "surrogatepass")
    except UnreadableSource:
        return data
