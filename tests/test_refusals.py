"""What CANN refuses is refused with the vendor's error; what works on an Ascend NPU is not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from npuport.emulator.refusal_table import refusal_table
from npuport.facts.refusals import Refusal, refusals
from tests.conftest import Emulator

ROOT = Path(__file__).parent.parent
REFUSED = "refused"

# Calls that a child makes, and the kernel that each leads to. `x` is what a program computes with, float32 and shaped
# (4, 3); `y` is what the environment gave, of some dtype.
LOSSES = {
    "mse_loss(x, y)": "aclnnMseLoss",
    "mse_loss(y, x)": "aclnnMseLoss",
    "smooth_l1_loss(x, y)": "aclnnSmoothL1Loss",
    "kl_div(x, y)": "aclnnKlDiv",
    "binary_cross_entropy(x.sigmoid(), y)": "aclnnBinaryCrossEntropy",
    "binary_cross_entropy_with_logits(x, y)": "aclnnBinaryCrossEntropyWithLogits",
    "soft_margin_loss(x, y)": "aclnnSoftMarginLoss",
}
OTHERS = {
    "relu(x.double())": "",  # the device makes float32 of it
    "relu(as_double)": "aclnnRelu",
    "softmax(y, -1)": "aclnnSoftmax",
    "torch.matmul(y, y.t())": "aclnnMatmul",
    "layer_norm(y, (3,), torch.ones(3, device='npu'))": "aclnnLayerNorm",
    "torch.multinomial(y + 1, 1)": "aclnnMultinomial",
}
# What programs do with flags, counts and actions.
TAKEN = (
    "l1_loss(x, y)",  # its kernel checks what the dtypes are promoted to
    "mse_loss(x, y.float())",
    "x * y",
    "1 - y.float()",
    "x + y",
    "torch.where(y.bool(), x, 0)",
    "y == 1",
    "y.sum()",
    "y.bool().any()",
    "x[y.bool()]",
    "x.masked_fill(y.bool(), 0)",
    "torch.cat([y, y])",
    "y.to(torch.float32)",
    "torch.stack([y, y]).float().mean()",
    "x.gather(1, y.long())",
    "one_hot(y.long()[:, 0], 3)",
    "embedding(y.long(), x)",
    "cross_entropy(x, y.long()[:, 0])",
    "~y.bool()",
    "y.bool() | y.bool()",
    "y.nonzero()",
    "y.clone()",
    "torch.zeros_like(y)",
    "y.cpu()",
)
CHILD = """
import json, sys
import torch
from torch.nn.functional import *
results = {}
for dtype in ("bool", "int64", "float64", "float32"):
    for call in json.loads(sys.argv[1]):
        torch.manual_seed(3)
        x = torch.rand(4, 3).to("npu")
        y = (torch.rand(4, 3) > 0.5).to(getattr(torch, dtype)).to("npu")
        as_double = torch.ones(3, dtype=torch.float64).to("npu")
        try:
            eval(call)
            torch.npu.synchronize()
            results[f"{call} {dtype}"] = ""
        except Exception as error:
            results[f"{call} {dtype}"] = str(error)
import ctypes
library = ctypes.CDLL("libascendcl.so")
text = ctypes.create_string_buffer(1 << 20)
library.npuport_read_counts(text, ctypes.c_int64(len(text)))
counts = [line.split()[0] for line in text.value.decode().splitlines() if line.startswith("refused.")]
print(json.dumps({"results": results, "counts": counts}))
"""


def outcomes(emulator: Emulator, calls: list[str], checks: str) -> tuple[dict[str, str], list[str]]:
    """The error of each call with each dtype, empty where there was none, and what was counted as refused."""
    changes = {"NPUPORT_EMULATOR_DTYPE_CHECKS": checks}
    done = emulator.run(CHILD, json.dumps(calls), environment=changes)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found["results"], found["counts"]


def refused(error: str, kernel: str) -> bool:
    """Whether an error is torch_npu's for a dtype that a kernel refuses, with the vendor's reason."""
    return f"call {kernel} failed, error code is 161002" in error and "EZ1001: Tensor " in error


@pytest.fixture(scope="module")
def strict(emulator: Emulator) -> tuple[dict[str, str], list[str]]:
    return outcomes(emulator, [*LOSSES, *OTHERS, *TAKEN], "strict")


@pytest.mark.parametrize(("call", "kernel"), LOSSES.items())
@pytest.mark.parametrize("dtype", ["bool", "int64", "float64"])
def test_losses_refuse(call: str, kernel: str, dtype: str, strict: tuple[dict[str, str], list[str]]) -> None:
    error = strict[0][f"{call} {dtype}"]
    assert refused(error, kernel), error
    assert strict[0][f"{call} float32"] == ""


def test_the_message_is_the_vendors(strict: tuple[dict[str, str], list[str]]) -> None:
    error = strict[0]["mse_loss(x, y) bool"]
    assert "call aclnnMseLoss failed, error code is 161002" in error
    listed = "should be in dtype support list [DT_FLOAT,DT_FLOAT16,DT_BFLOAT16,]."
    assert f"EZ1001: Tensor target not implemented for DT_BOOL, {listed}" in error


def test_kernels_that_compute_no_loss_refuse_too(strict: tuple[dict[str, str], list[str]]) -> None:
    results, _ = strict
    assert refused(results["relu(as_double) float32"], "aclnnRelu")
    assert results["relu(x.double()) float32"] == ""
    for call in ("softmax(y, -1)", "layer_norm(y, (3,), torch.ones(3, device='npu'))", "torch.multinomial(y + 1, 1)"):
        assert refused(results[f"{call} int64"], OTHERS[call]), call
        assert results[f"{call} float32"] == ""


@pytest.mark.parametrize("call", TAKEN)
def test_what_works_is_not_refused(call: str, strict: tuple[dict[str, str], list[str]]) -> None:
    for dtype in ("bool", "int64", "float32"):
        assert strict[0][f"{call} {dtype}"] == ""


def test_only_losses(emulator: Emulator) -> None:
    results, counted = outcomes(emulator, ["mse_loss(x, y)", "relu(as_double)"], "losses")
    assert refused(results["mse_loss(x, y) bool"], "aclnnMseLoss")
    assert results["relu(as_double) bool"] == ""
    assert counted == ["refused.aclnnMseLoss.DT_BOOL", "refused.aclnnMseLoss.DT_DOUBLE",
                       "refused.aclnnMseLoss.DT_INT64", "refused.aclnnRelu.DT_DOUBLE"]  # fmt: skip


def test_no_refusal_but_counted(emulator: Emulator) -> None:
    results, counted = outcomes(emulator, ["mse_loss(x, y)", "relu(as_double)"], "off")
    assert set(results.values()) == {""}
    assert {"refused.aclnnMseLoss.DT_BOOL", "refused.aclnnRelu.DT_DOUBLE"} <= set(counted)


def test_reading_and_writing_takes_every_common_dtype(emulator: Emulator) -> None:
    """The rows of the sweep that copy, cast, compare and index, with the refusals of a real device."""
    wanted = ["creation", "comparison", "indexing", "index_writing", "lookup", "shaping", "sorting"]
    command = [sys.executable, "-m", "tests.operator_sweep", "--dtype-checks", "strict", *wanted]
    done = subprocess.run(
        command, cwd=ROOT, env=emulator.environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"end"')]
    assert len(lines) > 250
    common = ("bool", "int64", "int32", "float32", "float16", "bfloat16")
    failures = [f"{line['end']}: {each}" for line in lines for each in line["failures"]]
    assert [each for each in failures if each.split(": ")[1].startswith(common)] == []


def by_argument() -> dict[tuple[str, str], Refusal]:
    return {(refusal.kernel, refusal.argument): refusal for refusal in refusals()}


def test_facts_of_losses() -> None:
    found = by_argument()
    for kernel in ("aclnnMseLoss", "aclnnSmoothL1Loss", "aclnnKlDiv", "aclnnBinaryCrossEntropy"):
        assert {"DT_BOOL", "DT_INT64", "DT_DOUBLE"} <= set(found[kernel, "target"].refused)
        assert found[kernel, "target"].in_loss
    assert not found["aclnnRelu", "self"].in_loss


def test_a_source_outweighs_a_page() -> None:
    """Pages of kernels that are behind their sources, and a kernel that checks promoted dtypes only."""
    found = by_argument()
    assert ("aclnnL1Loss", "target") not in found
    for kernel, argument in (("aclnnErfc", "self"), ("aclnnFloorDivides", "self")):
        refusal = found.get((kernel, argument))
        assert refusal is None or "DT_BFLOAT16" not in refusal.refused


def test_table_for_the_device() -> None:
    """Six columns; no dtype is both refused and supported."""
    for line in refusal_table().splitlines():
        kernel, kind, position, _, not_taken, taken = line.split(" ")
        assert kernel.startswith("aclnn") and kind in ("loss", "other") and position.isdigit()
        assert not set(not_taken.split(",")) & set(taken.split(","))
