"""What IPython takes that is no Python: magics, shell lines and help, in the code of a notebook's cell.

The forms are those of https://ipython.readthedocs.io/en/stable/interactive/reference.html.
"""

from __future__ import annotations

import re

# Cell magics whose body runs as Python among the names of the notebook.
_PYTHON_CELLS = frozenset(
    ("capture", "debug", "ipytest", "memit", "prun", "pyinstrument", "scalene", "snakeviz", "time", "timeit", "wandb")
)
# Magics that are mostly written without their percent sign.
_AUTOMAGIC = (
    "autoreload|cat|cd|conda|cp|env|load_ext|ls|mamba|matplotlib|micromamba|mkdir|mv|pip|pip3|pylab|rm|rmdir|run|time"
    "|timeit|uv"
)
_REST = r"(?:[^\\\r\n]|\\(?:\r\n|[\s\S]|\Z))*"  # a backslash carries the line on
_CELL_MAGIC = re.compile(rf"\s*(?P<part>%%(?P<name>\w*){_REST})")
_LINE = re.compile(
    rf"""
    [ \t]*
    (?:
        (?P<escaped>[%!?/,;]{_REST})
      | (?P<help>[^\s\#"'][^\#"'\r\n]*\?)[ \t]*(?=\r|\n|\Z)
      | (?P<automagic>(?:{_AUTOMAGIC})[ \t]+(?!(?:and|as|else|for|if|in|is|not|or)\b)(?:[\w.~$]|[-/]{{1,2}}\w){_REST})
      | (?:[\w.,*():\ \t]|\[[^\]\r\n]*\])+=[ \t]*(?P<assigned>[%!]{_REST})
    )
    """,
    re.VERBOSE,
)
_TOKEN = re.compile(
    r"""
    (?:\"{3}(?:\\.|[^\\])*?(?:\"{3}|\Z) | '{3}(?:\\.|[^\\])*?(?:'{3}|\Z))
  | (?:"(?:\\.|[^"\\\r\n])*"? | '(?:\\.|[^'\\\r\n])*'?)
  | \#[^\r\n]*
  | (?P<opening>[(\[{])
  | (?P<closing>[)\]}])
  | \\(?:\r\n|.)
  | (?P<line_end>\r\n|\r|\n)
    """,
    re.VERBOSE | re.DOTALL,
)


def foreign_parts(code: str) -> list[tuple[int, int]] | None:
    """Start and end of the parts of a cell that are IPython's own; None where the whole cell is no Python.

    A part reaches from its first character to the end of its line, or of the last line that a backslash joins to it.
    """
    parts: list[tuple[int, int]] = []
    place = 0
    if magic := _CELL_MAGIC.match(code):
        if magic["name"] not in _PYTHON_CELLS:
            return None
        parts.append(magic.span("part"))
        place = magic.end()
    while place < len(code):
        line = _LINE.match(code, place)
        if line is not None and line.lastgroup is not None:
            parts.append(line.span(line.lastgroup))
            place = line.end()
        place = _next_logical_line(code, place)
    return parts


def _next_logical_line(code: str, place: int) -> int:
    """Where the logical line ends that ``place`` lies in: line ends inside brackets and strings do not count."""
    depth = 0
    for token in _TOKEN.finditer(code, place):
        if token.lastgroup == "opening":
            depth += 1
        elif token.lastgroup == "closing":
            depth = max(0, depth - 1)
        elif token.lastgroup == "line_end" and depth == 0:
            return token.end()
    return len(code)
