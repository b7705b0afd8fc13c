"""Notebooks for tests, as Jupyter writes them."""

from __future__ import annotations

import json
from typing import Any

METADATA = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}


def code_cell(code: str | list[str], **changes: Any) -> dict[str, Any]:
    """A code cell; its source as it is given."""
    return {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": code, **changes}


def text_cell(text: str) -> dict[str, Any]:
    """A cell of Markdown."""
    return {"cell_type": "markdown", "metadata": {}, "source": in_lines(text)}


def in_lines(code: str) -> list[str]:
    """A source as Jupyter writes it: a list of lines."""
    return code.splitlines(keepends=True)


def document(cells: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    """A whole notebook."""
    return {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5, **changes}


def notebook(*cells: str | dict[str, Any]) -> str:
    """The text of a notebook as Jupyter writes it; a string is the code of a cell."""
    made = [cell if isinstance(cell, dict) else code_cell(in_lines(cell)) for cell in cells]
    return json.dumps(document(made), indent=1, ensure_ascii=False) + "\n"


def sources(text: str) -> list[str]:
    """The source of each cell of a notebook's text."""
    return ["".join(cell["source"]) for cell in json.loads(text)["cells"]]
