"""Releases of torch_npu and the release lines that its documents speak of."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

DATA = Path(__file__).parent / "data"


@cache
def _rows() -> list[tuple[str, str]]:
    data = json.loads((DATA / "torch_npu_compat.json").read_bytes())
    return [(row["torch_npu"], row["release_line"]) for row in data["table"]]


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version; a release candidate, 6.0.rc3, comes before 6.0.0."""
    return tuple(
        int(number) - (1000 if candidate else 0)
        for candidate, number in re.findall(r"(rc)?(\d+)", version, re.IGNORECASE)
    )


@cache
def release_line(version: str) -> tuple[int, ...]:
    """The release line (such as 7.3.0) of a torch_npu version (such as 2.7.1.post2), comparable.

    A version without post-release means the first line that carried it. A version newer than the table
    belongs to no line yet and compares above all; a release line itself is passed through.
    """
    for torch_npu, line in reversed(_rows()):
        if torch_npu == version or torch_npu.startswith(version + ".post"):
            return _numbers(line)
    number = _numbers(version)
    if number and number[0] >= 5:
        return number
    newest = max(_numbers(torch_npu)[:3] for torch_npu, _ in _rows())
    return (9999,) if number[:3] > newest else (0,)


def is_release(version: str) -> bool:
    """Whether ``version`` has the form of a torch_npu release."""
    return bool(re.fullmatch(r"\d+\.\d+(\.\d+)?(\.post\d+)?", version))
