"""Runs rows in this process and writes what happened: one JSON object a line.

``{"begin": "table/row"}`` comes before a row, ``{"end": "table/row", "failures": [...]}`` after it, so that whoever
reads knows where a crash happened. Arguments are tables or rows (``arithmetic``, ``arithmetic/add``); none means all.
``--after table/row`` leaves out everything up to that row. The last line has the kernels that ran. Refused dtypes are
let through, since what is compared here is what the kernels compute; ``--dtype-checks strict`` refuses them
(``tests/test_refusals.py``). ``--count`` runs nothing and says how many rows each table has.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import sys
from collections import Counter

import torch

from tests.operator_sweep import counts, tables
from tests.operator_sweep.rows import RandomRow, Row


def all_rows() -> dict[str, Row | RandomRow]:
    """Every row of every table, under ``table/row``."""
    found: dict[str, Row | RandomRow] = {}
    for module in sorted(pkgutil.iter_modules(tables.__path__), key=lambda module: module.name):
        for row in importlib.import_module(f"{tables.__name__}.{module.name}").ROWS:
            name = f"{module.name}/{row.name}"
            if name in found:
                raise SystemExit(f"two rows are called {name}")
            found[name] = row
    return found


def count(rows: dict[str, Row | RandomRow]) -> dict[str, object]:
    """How many rows there are, in all and by table, and how many with each dtype of a row counted for itself."""
    by_table = Counter(name.split("/")[0] for name in rows)
    by_dtype = sum(len(row.dtypes) if isinstance(row, Row) else 1 for row in rows.values())
    return {"rows": len(rows), "rows_by_dtype": by_dtype, "tables": dict(by_table)}


def write(**entry: object) -> None:
    """One line, out of the process before anything else can happen."""
    sys.stdout.write(json.dumps(entry) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Runs what the command line names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("wanted", nargs="*")
    parser.add_argument("--after", default="")
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--dtype-checks", default="off")
    options = parser.parse_args()
    # Read by the device when its first kernel is called.
    os.environ["NPUPORT_EMULATOR_DTYPE_CHECKS"] = options.dtype_checks
    torch.set_num_threads(1)
    rows = all_rows()
    if options.count:
        write(**count(rows))
        return
    names = list(rows)
    for name in names[names.index(options.after) + 1 if options.after else 0 :]:
        if options.wanted and name not in options.wanted and name.split("/")[0] not in options.wanted:
            continue
        write(begin=name)
        write(end=name, failures=list(rows[name].failures()))
    write(kernels=counts.kernels_run())


if __name__ == "__main__":
    main()
