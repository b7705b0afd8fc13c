"""Lays a script out in a folder of its own: only its files, notebooks as scripts, long phases made short."""

from __future__ import annotations

import ast
import json
import textwrap
from pathlib import Path

from benchmarks.public_scripts.catalogue import Script

OWN_SCRIPTS = Path(__file__).parent.parent / "own_scripts"


class LayoutError(Exception):
    """A script is not there, or a text that is to be shortened does not stand in it."""


def lay_out(script: Script, repositories: Path, target: Path) -> Path:
    """Copy a script's files; gives the file to run.

    Args:
        repositories: the folder that holds ``OWNER/NAME``.
        target: a new folder.

    Raises:
        LayoutError: see there.
    """
    source = (repositories / script.repository if script.repository else OWN_SCRIPTS) / script.folder
    found = [path for pattern in script.files or (script.entry,) for path in sorted(source.glob(pattern))]
    if not (source / script.entry).is_file():
        raise LayoutError(f"{script.name}: {source / script.entry} is not there")
    for path in found:
        copy = target / path.relative_to(source).with_suffix(".py")
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = _as_script(script, path) if path.name == script.entry else path.read_text(encoding="utf-8")
        for long, short in script.shortened.items():
            text = text.replace(long, short)
        copy.write_text(text, encoding="utf-8")
    entry = target / Path(script.entry).with_suffix(".py")
    return entry if entry.name.isascii() else entry.rename(entry.with_name("notebook.py"))


def _as_script(script: Script, path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if script.form == "notebook":
        return notebook_as_script(text)
    return marimo_as_script(text) if script.form == "marimo" else text


def notebook_as_script(text: str) -> str:
    """The code cells of a Jupyter notebook, one after the other; commands of IPython become comments."""
    cells = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    lines = "\n\n".join(cells).splitlines()
    return "\n".join(f"# {line}" if line.startswith(("%", "!")) else line for line in lines) + "\n"


def marimo_as_script(text: str) -> str:
    """The bodies of a marimo application's cells at module level, without what a cell returns to the others.

    Cells that only show text are left out.
    """
    parts: list[str] = []
    for cell in ast.parse(text).body:
        if not (isinstance(cell, ast.FunctionDef) and cell.decorator_list):
            continue
        body = [statement for statement in cell.body if not isinstance(statement, ast.Return)]
        if body and [argument.arg for argument in cell.args.args] != ["mo"]:
            end = body[-1].end_lineno
            parts.append(textwrap.dedent("\n".join(text.splitlines()[body[0].lineno - 1 : end])))
    return "\n\n\n".join(parts) + "\n"
