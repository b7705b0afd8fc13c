"""Makes ``npuport/facts/data/aclnn_dtypes.json``: which dtypes CANN's kernels take, argument by argument.

    python -m docs.kernel_facts CALLS.json OPS_MATH OPS_NN

``CALLS.json`` holds the torch functions that torch_npu routes to each kernel (``kernels``: name, functions). The
folders are checkouts of CANN's operator libraries, https://gitcode.com/cann/ops-math and
https://gitcode.com/cann/ops-nn, which describe each kernel on a page ``docs/aclnnName.md``: its C function and a table
of its arguments with their dtypes. The tables name what any processor takes; what the Atlas A2 (Ascend 910B) does not
take besides is not told apart. What the sources of the kernels take beyond their pages is added
(``kernel_sources.py``), so the lists are rather too long than too short. Only names and dtypes are kept, of kernels
that a torch operator of the vendor's tables leads to.
"""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.kernel_sources import KernelSource, kernel_sources
from npuport.facts.operators import operator
from npuport.facts.refusals import PROMOTED

# Their checks are in matmul/common/op_host/op_api (matmul_util.cpp, batch_matmul_util.cpp, cube_util.cpp), whose lists
# are those of the pages.
CHECKED_ELSEWHERE = ("Mm", "Mv", "Baddbmm", "InplaceBaddbmm", "InplaceAddmm", "InplaceAddbmm", "Convolution")
OUTPUT = Path(__file__).resolve().parent.parent / "npuport" / "facts" / "data" / "aclnn_dtypes.json"

# As the pages write dtypes, and as CANN's messages do.
DTYPES = {
    "FLOAT": "DT_FLOAT", "FLOAT32": "DT_FLOAT", "FLOAT16": "DT_FLOAT16", "BFLOAT16": "DT_BFLOAT16",
    "BF16": "DT_BFLOAT16", "DOUBLE": "DT_DOUBLE", "FLOAT64": "DT_DOUBLE", "INT8": "DT_INT8", "INT16": "DT_INT16",
    "INT32": "DT_INT32", "INT64": "DT_INT64", "UINT8": "DT_UINT8", "BOOL": "DT_BOOL", "COMPLEX64": "DT_COMPLEX64",
    "COMPLEX128": "DT_COMPLEX128",
}  # fmt: skip

# Kernels whose names do not say which torch operators lead to them.
BEHIND = {
    "BatchMatMul": ["bmm"], "ReduceSum": ["sum"], "Convolution": ["conv1d", "conv2d", "conv3d"],
    "VarCorrection": ["var"], "ArgMax": ["argmax"], "ArgMin": ["argmin"], "NLLLoss": ["nll_loss"], "SWhere": ["where"],
    "MaxPool2dWithIndices": ["max_pool2d"], "LogSigmoidForward": ["logsigmoid"], "GeluV2": ["gelu"],
}  # fmt: skip
_FORMS = ("Tensor", "Tensors", "Scalar", "TensorTensor", "TensorScalar", "ScalarTensor", "Dim", "V2", "Out", "s")


def main() -> None:
    """Read the pages, write one kernel a line."""
    functions = json.loads(Path(sys.argv[1]).read_bytes())["kernels"]
    folders = [Path(folder) for folder in sys.argv[2:]]
    sources = kernel_sources(folders)
    kernels = {}
    for kernel, page in sorted(_pages(folders)):
        operators = sorted(_operators(kernel, functions.get(kernel, {}).get("functions", [])))
        inputs = _inputs(kernel, page, sources.get(kernel)) if operators else {}
        if inputs:
            kernels[kernel] = {"operators": operators, "inputs": inputs}
    rows = ",\n".join(f"{json.dumps(kernel)}: {json.dumps(facts)}" for kernel, facts in kernels.items())
    source = (
        "pages and sources of the kernels in https://gitcode.com/cann/ops-math and https://gitcode.com/cann/ops-nn, "
        "master, 2026-08; inputs: position in the C function, dtypes in the order of the page, dtypes that the source "
        "takes besides"
    )
    OUTPUT.write_text(f'{{\n"source": {json.dumps(source)},\n"kernels": {{\n{rows}\n}}\n}}\n', encoding="utf-8")
    print(f"{OUTPUT.name}: {len(kernels)} kernels, {OUTPUT.stat().st_size} bytes")


def _pages(folders: list[Path]) -> Iterator[tuple[str, str]]:
    """Each kernel with the text of its page; kernels that work in place share one."""
    for folder in folders:
        for path in sorted(folder.rglob("aclnn*.md")):
            if "experimental" not in path.parts:
                for kernel in path.stem.split("&"):
                    yield kernel, path.read_text(encoding="utf-8")


def _operators(kernel: str, functions: list[str]) -> set[str]:
    """The torch operators that lead to a kernel and of which the vendor states dtypes."""
    name = kernel.removeprefix("aclnn").removeprefix("Inplace")
    shorter = [name.removesuffix(form) for form in _FORMS]
    guesses = {_snake(part) for part in [name, *shorter]} | {part.lower() for part in [name, *shorter]}
    declared = {re.split(r"[.(]", function)[0].strip("_") for function in functions}
    found = BEHIND.get(name) or (declared | guesses)
    return {each for each in found if (facts := operator(f"torch.{each}")) is not None and facts.dtypes}


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _inputs(kernel: str, page: str, source: KernelSource | None) -> dict[str, Any]:
    """The tensors that a kernel reads: name -> position in its C function, dtypes, and more dtypes by its source."""
    declared = re.search(rf"\b{kernel}GetWorkspaceSize\s*\((.*?)\)", page, re.DOTALL)
    if declared is None:
        return {}
    told = _told(page, kernel)
    inputs = {}
    for position, argument in enumerate(declared[1].split(",")):
        name = re.findall(r"\w+", argument)[-1]
        kind, dtypes = told.get(name, ("", []))
        if "Tensor" in argument and "List" not in argument and "输入" in kind and dtypes:
            inputs[name] = [position, ",".join(dtypes), _besides(kernel, position, dtypes, source)]
    return inputs


def _besides(kernel: str, position: int, dtypes: list[str], source: KernelSource | None) -> str:
    """The dtypes that a source takes beyond a page, or that it only checks what dtypes are promoted to."""
    if source is None or position >= len(source.arguments) or kernel.removeprefix("aclnn") in CHECKED_ELSEWHERE:
        return ""
    taken = source.taken(position)
    if not taken and source.file.promotes:
        return PROMOTED
    return ",".join(sorted(taken & set(DTYPES.values()) - set(dtypes)))


def _told(page: str, kernel: str) -> dict[str, tuple[str, list[str]]]:
    """What the table of arguments says: name -> (input or output, dtypes)."""
    section = page[max(page.find(f"## {kernel}GetWorkspaceSize"), 0) :]
    rows = list(_rows(section))
    head = next((row for row in rows if "数据类型" in row and "参数名" in row[0]), None)
    if head is None:
        return {}
    column = head.index("数据类型")
    told: dict[str, tuple[str, list[str]]] = {}
    for row in rows[rows.index(head) + 1 :]:
        name = re.match(r"\w+", row[0])
        if len(row) == len(head) and name and name[0] not in told:
            told[name[0]] = (row[1], _dtypes(row[column], told))
    return told


def _rows(section: str) -> Iterator[list[str]]:
    """The rows of the first tables, in HTML or with bars; cells without markup."""
    for row in re.findall(r"<tr.*?</tr>", section, re.DOTALL):
        yield [_plain(cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)] or [""]
    for line in section.splitlines():
        if line.lstrip().startswith("|"):
            yield [_plain(cell) for cell in line.strip().strip("|").split("|")]


def _plain(cell: str) -> str:
    return re.sub(r"<[^>]*>|`", " ", html.unescape(cell)).strip()


def _dtypes(cell: str, before: dict[str, tuple[str, list[str]]]) -> list[str]:
    """The dtypes of a cell; those of another argument where it says "the same as"."""
    named = [DTYPES[word] for word in re.findall(r"[A-Z][A-Z0-9]+", cell) if word in DTYPES]
    same_as = re.match(r"[与和同]\s*(\w+?)\s*(?:保持)?(?:一致|相同)", cell)
    if not named and same_as:
        return before.get(same_as[1], ("", []))[1]
    return list(dict.fromkeys(named))


if __name__ == "__main__":
    main()
