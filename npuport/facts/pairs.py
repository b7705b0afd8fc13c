"""Which releases go together: torch, torch_npu and CANN, as the vendor's table has them."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"


def torch_release(version: str) -> str:
    """X.Y.Z, which torch and torch_npu must share: without local part, post-release and candidate."""
    return ".".join(re.findall(r"\d+", version)[:3])


def newest_torch_npu(torch: str) -> str:
    """The newest torch_npu for a version of torch; empty where the table has none."""
    release = torch_release(torch)
    rows = [*_table()["unreleased"], *_table()["table"]]
    # The table has the newest release line first.
    return next((str(row["torch_npu"]) for row in rows if row["torch"] == release), "")


def cann_of(torch_npu: str) -> str:
    """The CANN that the vendor names for a version of torch_npu; empty where the table has none."""
    names = (torch_npu, torch_release(torch_npu))
    found = [row["cann"] for name in names for row in _table()["table"] if row["torch_npu"] == name]
    return str(found[0]) if found else ""


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads((DATA / "torch_npu_compat.json").read_bytes())
    return table
