"""torch_npu on the emulated device: small programs, processes, refused dtypes; and the device's runtime alone."""

from __future__ import annotations

import ast
import json
import subprocess
from pathlib import Path

import pytest

from npuport.emulator.build import NATIVE
from npuport.emulator.compiler import Step, find_compiler, run_steps
from tests.conftest import Emulator

PROGRAMS = Path(__file__).parent / "device_programs.py"
DRIVER = Path(__file__).parent / "native" / "runtime_driver.cpp"
CYCLES = 1_000_000


def programs() -> list[str]:
    """Names of the programs, read without importing torch: the functions between the first one and ``raised``."""
    names = [node.name for node in ast.parse(PROGRAMS.read_text()).body if isinstance(node, ast.FunctionDef)]
    return names[names.index("the_device_is_there") : names.index("raised")]


@pytest.fixture(scope="module")
def outcomes(emulator: Emulator) -> dict[str, str]:
    """The failure of each program, empty where it held."""
    done = emulator.run("from tests.device_programs import main; main()", cwd=PROGRAMS.parent.parent)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line["name"]: line["failure"] for line in lines}


@pytest.mark.parametrize("program", programs())
def test_program(program: str, outcomes: dict[str, str]) -> None:
    assert outcomes[program] == ""


def test_every_program_is_a_test(outcomes: dict[str, str]) -> None:
    assert list(outcomes) == programs()


# ---- processes

IN_A_CHILD = """
import multiprocessing, sys
import torch

def work(queue):
    try:
        queue.put(float(torch.ones(3).npu().sum()))
    except RuntimeError as error:
        queue.put(str(error).splitlines()[0])

if __name__ == "__main__":
    torch.zeros(1).npu()
    context = multiprocessing.get_context(sys.argv[1])
    queue = context.Queue()
    child = context.Process(target=work, args=(queue,))
    child.start()
    print(queue.get(timeout=60))
    child.join()
    sys.exit(child.exitcode)
"""


@pytest.mark.parametrize(
    ("method", "answer"), [("spawn", "3.0"), ("fork", "Cannot re-initialize NPU in forked subprocess")]
)
def test_children_of_a_process_that_uses_the_device(
    emulator: Emulator, tmp_path: Path, method: str, answer: str
) -> None:
    script = tmp_path / "script.py"
    script.write_text(IN_A_CHILD)
    done = emulator.run(script, method)
    assert done.returncode == 0 and done.stdout.startswith(answer), done.stdout + done.stderr


def test_work_that_is_queued_is_done(emulator: Emulator) -> None:
    """torch_npu's own task queue, which ``npuport run`` switches off."""
    code = "import torch; x = torch.ones(9).npu()\nfor _ in range(100): x = x + 1\nprint(x.sum().item())"
    assert emulator.run(code, environment={"TASK_QUEUE_ENABLE": "1"}).stdout == "909.0\n"


# ---- dtypes that CANN refuses

REFUSED = """
import torch
from tests.device_programs import LIBRARY
bools = torch.ones(4, dtype=torch.bool).npu()
for call in (
    lambda: torch.nn.functional.mse_loss(torch.ones(4).npu(), bools),
    lambda: torch.acos(torch.zeros(4, dtype=torch.complex64).npu()),
):
    try:
        call()
        print("taken")
    except RuntimeError as error:
        print(" ".join(str(error).split()))
print(sorted(name for name in LIBRARY.counts() if name.startswith("refused.")))
"""
LOSS, OTHER = ("aclnnMseLoss", "DT_BOOL"), ("aclnnAcos", "DT_COMPLEX64")


@pytest.mark.parametrize(("checks", "refused"), [("strict", [LOSS, OTHER]), ("losses", [LOSS]), ("off", [])])
def test_refusals(emulator: Emulator, checks: str, refused: list[tuple[str, str]]) -> None:
    done = emulator.run(REFUSED, environment={"NPUPORT_EMULATOR_DTYPE_CHECKS": checks}, cwd=PROGRAMS.parent.parent)
    *answers, counted = done.stdout.splitlines()
    for (kernel, dtype), answer in zip((LOSS, OTHER), answers, strict=True):
        if (kernel, dtype) in refused:
            assert f"call {kernel} failed" in answer and "error code is 161002" in answer, answer
            assert f"not implemented for {dtype}, should be in dtype support list [" in answer, answer
        else:
            assert answer == "taken"
    # A refusal counts whether or not it is enforced.
    assert counted == str(sorted(f"refused.{kernel}.{dtype}" for kernel, dtype in (LOSS, OTHER)))


# ---- the runtime alone


@pytest.mark.parametrize("sanitizers", ["address,undefined"])
def test_the_runtime_under_sanitizers(tmp_path: Path, sanitizers: str) -> None:
    """A million blocks taken and given back leak nothing; threads, counters, streams, events and refusals hold."""
    compiler = find_compiler()
    instrumented = ("-g", f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all")
    (tmp_path / "empty.cpp").write_text("int main() {}\n")
    probe = [*compiler.command, *instrumented, str(tmp_path / "empty.cpp"), "-o", str(tmp_path / "empty")]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip(f"{compiler.version} has no -fsanitize={sanitizers}")
    options = ("-std=c++17", "-O1", *instrumented, "-I", str(NATIVE / "runtime"))
    sources = [*sorted((NATIVE / "runtime").glob("*.cpp")), DRIVER]
    objects = [str(tmp_path / f"{source.stem}.o") for source in sources]
    steps = [
        Step(source.name, (*options, "-c", str(source), "-o", result))
        for source, result in zip(sources, objects, strict=True)
    ]
    run_steps(compiler, steps, tmp_path, lambda: None)
    driver = tmp_path / "driver"
    run_steps(compiler, [Step("driver", (*instrumented, *objects, "-o", str(driver)))], tmp_path, lambda: None)
    done = subprocess.run([str(driver), str(CYCLES)], capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
