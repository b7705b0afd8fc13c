"""Makes ``npuport/facts/data/torch_npu_operators.json``, the operator facts that are shipped.

    python docs/operator_facts.py PARSED.json

``PARSED.json`` holds the vendor's tables of torch APIs as rows (``apis``: api, supported, dtypes, arg_dtypes, limits,
cpu_fallback) and the aten operators that the wheel registers no kernel for (``no_native_kernel``: aten). What is
shipped is the union over the forms of one operator, without rows that say nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from npuport.facts.operators import NOT_TAKEN, operator_key

OUTPUT = Path(__file__).resolve().parent.parent / "npuport" / "facts" / "data" / "torch_npu_operators.json"

Row = dict[str, Any]


def reduced(parsed: Row) -> Row:
    """The shipped form of the parsed tables."""
    forms: dict[str, list[Row]] = {}
    for row in parsed["apis"]:
        if row["api"] not in NOT_TAKEN:
            forms.setdefault(operator_key(row["api"]), []).append(row)
    united = {key: _united(rows) for key, rows in sorted(forms.items())}
    operators = {key: facts for key, facts in united.items() if facts}
    dtype_sets = sorted({tuple(facts["dtypes"]) for facts in operators.values() if "dtypes" in facts})
    place = {dtypes: number for number, dtypes in enumerate(dtype_sets)}
    for facts in operators.values():
        if "dtypes" in facts:
            facts["dtypes"] = place[tuple(facts["dtypes"])]
    return {
        "source": parsed["source"],
        "torch_npu": parsed["torch_npu"],
        "dtype_sets": [list(dtypes) for dtypes in dtype_sets],
        "without_kernel": sorted(row["aten"] for row in parsed["no_native_kernel"]),
        "operators": operators,
    }


def _united(rows: Iterable[Row]) -> Row:
    """What the forms of one operator say together; only what differs from "supported, nothing else known"."""
    rows = list(rows)
    facts: Row = {}
    if dtypes := {dtype for row in rows for dtype in row["dtypes"]}:
        facts["dtypes"] = sorted(dtypes)
    if not any(row["supported"] for row in rows):
        facts["supported"] = False
    if fallbacks := {row["cpu_fallback"] for row in rows if row.get("cpu_fallback")}:
        facts["cpu_fallback"] = max(fallbacks)  # "yes" before "maybe"
    if limits := list(dict.fromkeys(row["limits"] for row in rows if row["limits"])):
        facts["limits"] = "; ".join(limits)
    return facts


def main() -> None:
    """Read the parsed tables, write the reduced ones, one operator a line."""
    facts = reduced(json.loads(Path(sys.argv[1]).read_bytes()))
    operators = facts.pop("operators")
    head = json.dumps(facts, indent=0)[:-2]
    rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in operators.items())
    OUTPUT.write_text(f'{head},\n"operators": {{\n{rows}\n}}\n}}\n', encoding="utf-8")
    print(f"{OUTPUT.name}: {len(operators)} operators, {OUTPUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
