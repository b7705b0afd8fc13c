"""Reads JSON: ``json`` says whether it is valid, a scan of its tokens says where everything stands."""

from __future__ import annotations

import json
import re

from npuport.sources.configuration.entries import BrokenConfiguration, Reading, Scalar
from npuport.sources.configuration.tree import Tree

_TOKEN = re.compile(
    r'"(?P<string>[^"\\]*)"|(?P<escaped>"(?:[^"\\]|\\.)*")|(?P<mark>[{}\[\]])|(?P<plain>[^\s{}\[\]":,]+)'
)


def read_json(text: str) -> Reading:
    """The entries of a JSON text.

    Raises:
        BrokenConfiguration: it is not valid.
    """
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise BrokenConfiguration(f"not valid JSON: {error.msg}", error.pos) from None
    except (RecursionError, ValueError) as error:  # nested too deeply, or a number of too many digits
        raise BrokenConfiguration(f"not readable as JSON: {error}", 0) from None
    reading = Reading()
    tree = Tree(text, reading)
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup or ""
        if kind == "escaped":
            tree.scalar(None)
        elif kind == "mark" and token["mark"] in "{[":
            tree.begin(is_list=token["mark"] == "[")
        elif kind == "mark":
            tree.end()
        else:
            value = Scalar(*token.span(kind), token[kind])
            tree.scalar(value, command=value if kind == "string" else None)
    return reading
