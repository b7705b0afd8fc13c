"""Holds the emulated device against the CPU over torch's own samples of operators, forward and backward.

    python benchmarks/torch_operator_samples.py [--only PATTERN]... [--no-gradients]

The samples are those with which torch tests itself (``torch.testing._internal``, which needs expecttest), float32 or,
where an operator has none, int64. Dtypes are not refused. Each operator counts once, by its worst sample:

- equal within 1e-4;
- random: the call draws numbers, or leaves memory as it was;
- torch_npu's own: its front end stops the call or means something else, for the reason in ``FRONT_END``;
- no kernel: torch_npu asks for one that the emulated device has not;
- fails, or differs.

All but the equal and random ones are named. Exit status 1 where one fails or differs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from itertools import islice
from typing import Any

from npuport.device.choice import child_environment, choose_device

EQUAL, RANDOM, FRONT_ENDS, NO_KERNEL, WRONG = "equal", "random", "torch_npu's own", "no kernel", "wrong"
OUTCOMES = (EQUAL, RANDOM, FRONT_ENDS, NO_KERNEL, WRONG)  # from best to worst

# What torch_npu 2.13.0 does before, or instead of, calling a kernel, by its messages and op-plugin's sources.
DOUBLES = "float64 becomes float32 on the device"
FORMATS = "casts keep the memory format, another one is refused"
CONVERSIONS = (
    "bfloat16",
    "bool",
    "byte",
    "char",
    "float",
    "half",
    "int",
    "long",
    "short",
    "cdouble",
    "cfloat",
    "chalf",
)
FRONT_END = {
    **dict.fromkeys(CONVERSIONS, FORMATS),
    "double": DOUBLES,
    "float_power": DOUBLES,
    "to": f"{FORMATS}; {DOUBLES}",
    "matmul": "the gradient of an empty product is reshaped with an unknown size",
    "__rmatmul__": "the gradient of an empty product is reshaped with an unknown size",
    "native_batch_norm": "statistics are given in evaluation too",
    "_native_batch_norm_legit": "statistics are given in evaluation too",
    "native_dropout_backward": "the mask is one bit an element",
    "nn.functional.binary_cross_entropy_with_logits": "there is no gradient for the target",
    "nn.functional.gelu": "the approximation is left out",
    "nn.functional.max_pool1d": "places are a mask of its own",
    "nn.functional.max_pool2d": "places are a mask of its own",
    "nn.functional.max_pool3d": "places are int32",
    "nn.functional.max_unpool2d.grad": "only the contiguous memory format",
    "sparse.mm.reduce": "no sparse tensors",
    "sparse.sampled_addmm": "no sparse tensors",
    "stft": "the window can have no gradient",
    "tensor_split": "indices must be on the CPU, as on a GPU",
    "torch._scaled_mm": "no float8 on this device",
    "torch._scaled_mm_v2": "no float8 on this device",
}
SAMPLES = 12  # of an operator
TOLERANCE = 1e-4
# How the emulated device and torch_npu say that there is no kernel.
WITHOUT_KERNEL = ("no kernel for the aclop operator", "not in libopapi.so")


def name_of(operator: Any) -> str:
    return ".".join(filter(None, (operator.name, operator.variant_test_name)))


def on(device: str, values: Any) -> Any:
    """The same arguments with their tensors on a device, as leaves of autograd."""
    import torch
    from torch.utils._pytree import tree_map

    def moved(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.detach().clone().to(device).requires_grad_(value.requires_grad)
        return torch.device(device) if value == "cpu" or isinstance(value, torch.device) else value

    return tree_map(moved, values)


def results(operator: Any, arguments: Any) -> list[Any]:
    """What a call gives, and the gradients of a weighted sum of it where they were asked for."""
    import torch
    from torch.utils._pytree import tree_leaves

    first, others, options = arguments
    outputs: list[Any] = tree_leaves(operator(first, *others, **options))
    inputs = [value for value in tree_leaves(arguments) if isinstance(value, torch.Tensor) and value.requires_grad]
    differentiable = [value for value in outputs if isinstance(value, torch.Tensor) and value.requires_grad]
    if not inputs or not differentiable:
        return outputs
    weights = [
        (torch.arange(value.numel()) % 7 / 4 - 0.7).reshape(value.shape).to(value.dtype).to(value.device)
        for value in differentiable
    ]
    gradients = torch.autograd.grad(differentiable, inputs, weights, allow_unused=True)
    return [*outputs, *(0 if gradient is None else gradient for gradient in gradients)]


def difference(expected: list[Any], actual: list[Any]) -> str:
    """In a word, how the results differ; empty where they do not."""
    import torch

    if len(expected) != len(actual):
        return "number of results"
    for left, right in zip(expected, actual, strict=True):
        if not isinstance(left, torch.Tensor) or left.layout != torch.strided:
            continue
        if not isinstance(right, torch.Tensor):
            return "a result is no tensor"
        left, right = left.detach().resolve_conj(), right.detach().cpu().resolve_conj()
        if left.dtype != right.dtype or left.shape != right.shape:
            return f"{left.dtype} {tuple(left.shape)} on the CPU, {right.dtype} {tuple(right.shape)} on the device"
        if not torch.allclose(left, right, TOLERANCE, TOLERANCE, equal_nan=True):
            return "values"
    return ""


def outcome(operator: Any, arguments: Any) -> tuple[str, str] | None:
    """What becomes of one sample, and in short why; None for one that the CPU does not take."""
    try:
        expected = results(operator, on("cpu", arguments))
    except Exception:
        return None
    try:
        with seeds_set() as seeds:
            found = difference(expected, results(operator, on("npu", arguments)))
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        missing = [line for line in lines if any(text in line for text in WITHOUT_KERNEL)]
        return (NO_KERNEL, missing[0]) if missing else front_end_or_wrong(operator, f"{lines[0]} {lines[-1]}")
    if not found:
        return EQUAL, ""
    if seeds or "empty" in operator.name:
        return RANDOM, ""
    return front_end_or_wrong(operator, found)


def front_end_or_wrong(operator: Any, found: str) -> tuple[str, str]:
    reason = FRONT_END.get(name_of(operator))
    return (WRONG, found) if reason is None else (FRONT_ENDS, reason)


@contextmanager
def seeds_set() -> Iterator[list[int]]:
    """The seeds that are set inside: torch's samples of operators that draw set one before each call."""
    import torch

    seeds: list[int] = []
    original = torch.manual_seed

    def noted(seed: int) -> torch.Generator:
        seeds.append(seed)
        return original(seed)

    torch.manual_seed = noted
    try:
        yield seeds
    finally:
        torch.manual_seed = original


def run_samples(wanted: Callable[[str], bool], gradients: bool) -> None:
    """In the child: one line of JSON an operator."""
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    torch.set_num_threads(1)
    for operator in op_db:
        if not wanted(name_of(operator)):
            continue
        dtype = torch.float32 if torch.float32 in operator.dtypes else torch.int64
        backward = gradients and operator.supports_autograd and dtype == torch.float32
        found: list[tuple[str, str]] = []
        samples = operator.sample_inputs("cpu", dtype, requires_grad=backward)
        for sample in islice(samples, SAMPLES):
            each = outcome(operator, (sample.input, sample.args, sample.kwargs))
            found += [] if each is None else [each]
        worst = max(found, key=lambda each: OUTCOMES.index(each[0]), default=None)
        print(json.dumps({"operator": name_of(operator), "worst": worst, "samples": len(found)}), flush=True)


def rows(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What a child on the emulated device writes."""
    environment = child_environment(choose_device("emulated"), os.environ, "off")
    command = [sys.executable, "-W", "ignore", __file__, "--child", *sys.argv[1:]]
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True) as child,
    ):
        assert child.stdout is not None
        yield from (json.loads(line) for line in child.stdout if line.startswith("{"))
        if child.wait():
            errors.seek(0)
            raise SystemExit(f"the child ended with {child.returncode}:\n{errors.read()[-2000:]}")


def main() -> int:
    """Run, and print what is not equal and how many of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], help="operators by name, with * and ?")
    parser.add_argument("--no-gradients", action="store_true")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        patterns = options.only or ["*"]
        run_samples(lambda name: any(fnmatch(name, pattern) for pattern in patterns), not options.no_gradients)
        return 0
    counts = dict.fromkeys(OUTCOMES, 0)
    samples = 0
    for row in rows(options):
        if row["worst"] is None:
            continue
        worst, reason = row["worst"]
        counts[worst] += 1
        samples += row["samples"]
        if worst not in (EQUAL, RANDOM):
            print(f"{row['operator']}: {worst}{': ' if reason else ''}{reason[:150]}")
    print(
        f"{sum(counts.values())} operators, {samples} samples: "
        + ", ".join(f"{n} {what}" for what, n in counts.items())
    )
    return int(counts[WRONG] > 0)


if __name__ == "__main__":
    sys.exit(main())
