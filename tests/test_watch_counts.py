"""What a run counts: by hand, by the device, by torch's dispatch, and over and over again."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from npuport.device.choice import choose_device
from npuport.observe.measurement import DOWN, UP, Count, Line, LossInput, Measurement
from npuport.observe.run import RunOptions, watch
from tests.conftest import Emulator

ROOT = Path(__file__).parent.parent
SCRIPTS = ROOT / "fixtures" / "watched"
HOOK = "tests.dispatched_counts"
WAIT, DEVICE_WAIT = "wait.stream", "wait.device"
STEPS, UPDATES = 40, 10


@pytest.fixture(scope="module", autouse=True)
def _built(emulator: Emulator) -> None:
    """Nothing here runs without the emulated device."""


@cache
def emulated(script: str, extra_hook: str = "") -> Measurement:
    return measured_now(script, extra_hook)


def measured_now(script: str, extra_hook: str = "") -> Measurement:
    return watch(
        RunOptions(
            str(SCRIPTS / script),
            device=choose_device("emulated"),
            capture_output=True,
            extra_hook=extra_hook,
            deterministic_threads=1,
            environment={"PYTHONPATH": str(ROOT)},
        )
    )


def test_counts_taken_by_hand() -> None:
    measured = emulated("counted.py")
    assert measured.outcome.ending == "finished", measured.output
    # The first action is chosen before the first step.
    acts = STEPS - 1
    assert measured.setup == {UP: Count(3, 32 + 8 + 16), DOWN: Count(1, 8), WAIT: Count(4, 0)}
    assert measured.counts == {
        UP: Count(acts + 2 * UPDATES, 16 * acts + 64 * UPDATES),
        DOWN: Count(acts + UPDATES, 8 * acts + 4 * UPDATES),
        WAIT: Count(2 * acts + 3 * UPDATES, 0),
        DEVICE_WAIT: Count(UPDATES, 0),
    }
    assert (measured.transitions, measured.vector_steps, measured.environments) == (STEPS, STEPS, 1)
    assert (measured.updates, measured.backward_calls, len(measured.losses)) == (UPDATES, UPDATES, UPDATES)
    assert measured.device_parameters and measured.device_tensors and not measured.silently_on_cpu
    assert measured.kernels["aclnnMseLoss"] == UPDATES
    assert measured.losses == [pytest.approx(float(line)) for line in measured.output.split()[-UPDATES:]]
    assert [(entry.function, entry.dtypes, entry.calls) for entry in measured.loss_inputs] == [
        ("mse_loss", ("float32", "float32"), UPDATES)
    ]
    assert by_line(measured) == expected_lines()


def by_line(measured: Measurement) -> dict[tuple[int, str], tuple[int, str]]:
    """Copies and waits after the first step: calls and function by line and event."""
    return {
        (line.place.line, line.event): (line.count.calls, line.place.function)
        for line in measured.lines
        if not line.setup and line.event.startswith(("copy.", "wait."))
    }


def expected_lines() -> dict[tuple[int, str], tuple[int, str]]:
    """From the remarks in the script itself."""
    expected: dict[tuple[int, str], tuple[int, str]] = {}
    function = "<module>"
    for number, line in enumerate((SCRIPTS / "counted.py").read_text().splitlines(), 1):
        if line.startswith("def "):
            function = line.removeprefix("def ").partition("(")[0]
        calls = STEPS - 1 if "# a step:" in line else UPDATES
        if "# a step:" not in line and "# an update:" not in line:
            continue
        for word, event in (("copy up", UP), ("copy down", DOWN), ("1 wait for the device", DEVICE_WAIT)):
            if word in line:
                expected[number, event] = (calls, function)
        if line.endswith("1 wait"):
            expected[number, WAIT] = (calls, function)
    return expected


@pytest.mark.parametrize("script", ["dqn.py", "ppo.py"])
def test_dispatch_and_device_agree(script: str) -> None:
    measured = emulated(script, HOOK)
    assert measured.outcome.ending == "finished", measured.output
    assert measured.extra["setup"] == plain(measured.setup)
    assert measured.extra["counts"] == plain(measured.counts)
    by_device = sorted(
        [line.place.filename, line.place.line, line.event, line.setup, line.count.calls, line.count.bytes]
        for line in measured.lines
        if line.event.startswith(("copy.", "wait."))
    )
    assert measured.extra["lines"] == by_device
    assert all(line.place.filename for line in measured.lines)
    assert measured.updates > 20


def test_dispatch_rules_of_many_operators(emulator: Emulator) -> None:
    done = emulator.run(ROOT / "tests" / "dispatched_operators.py", environment={"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["differences"] == []
    assert told["lines"] > 100


def plain(counts: dict[str, Count]) -> dict[str, list[int]]:
    return {event: [count.calls, count.bytes] for event, count in counts.items()}


def test_three_runs_count_the_same() -> None:
    first = emulated("dqn.py", HOOK)
    for _ in range(2):
        other = measured_now("dqn.py", HOOK)
        for name in ("transitions", "setup", "counts", "kernels", "lines", "losses", "episodes", "loss_inputs"):
            assert getattr(other, name) == getattr(first, name), name


FAULTS = """\
import gymnasium
import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

env = gymnasium.make("CartPole-v1")
env.reset(seed=0)
weight = torch.ones(4, device="npu", requires_grad=True)
for step in range(3):
    row = np.asarray(env.step(0)[0], dtype=np.float64)
    double = torch.as_tensor(row).to("npu")
    loss = F.huber_loss(weight, weight.detach() * step)
    loss.backward()
    scaled = (weight.sum() / step if step == 2 else (weight / 0.0).sum())
    scaled.backward()
try:
    F.mse_loss(weight > 0, weight > 1)
except RuntimeError as error:
    print(error)
"""


def test_faults_by_line(tmp_path: Path) -> None:
    path = tmp_path / "faults.py"
    path.write_text(FAULTS)
    measured = watch(RunOptions(str(path), device=choose_device("emulated"), capture_output=True))
    assert measured.outcome.ending == "finished", measured.output
    found = {(line.place.line, line.event, line.detail): line.count.calls for line in measured.lines}
    assert found[12, "float64", "aten::_to_copy"] == 3
    assert found[13, "fallback", "aten::huber_loss"] == 3
    assert measured.fallbacks["aten::huber_loss"] == 3
    refused = [key for key in found if key[1] == "refused"]
    assert refused and refused[0][0] == 18 and refused[0][2].startswith("aclnnMseLoss.DT_")
    assert [(entry.place.line, entry.value, entry.transition, entry.calls) for entry in measured.non_finite] == [
        (16, "inf", 1, 2)
    ]
    place = Line(str(path), 18, "<module>")
    assert LossInput(place, "mse_loss", ("bool", "bool"), 1) in measured.loss_inputs


PLACES = """\
import threading
import gymnasium
import torch
import torch.nn.functional as F
import torch_npu


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return (gradient.cpu() * 2).to("npu")


@torch.jit.script
def loss_of(a, b):
    return torch.nn.functional.mse_loss(a, b)


def work():
    print(torch.ones(3, device="npu").sum().item())


if __name__ == "__main__":
    weight = torch.ones(3, device="npu", requires_grad=True)
    host = torch.ones(3, requires_grad=True)
    env = gymnasium.make_vec("CartPole-v1", 2, vectorization_mode="async")
    env.reset(seed=0)
    env.step([0, 1])
    Doubled.apply(weight).sum().backward()
    loss_of(host.to("npu"), weight).backward()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    env.close()
    print({}["missing"], weight.cpu())
"""


def test_lines_of_other_threads_and_of_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "places.py"
    path.write_text(PLACES)
    measured = watch(RunOptions(str(path), device=choose_device("emulated"), capture_output=True))
    assert measured.outcome.error == "KeyError: 'missing'", measured.output
    assert (measured.transitions, measured.outcome.place.line) == (2, line_of('{}["missing"]'))
    function_of_the_users, backward, thread = line_of("gradient.cpu()"), line_of("loss_of(host"), line_of(".item()")
    assert by_line(measured) == {
        # autograd runs a function of the user's in a thread of its own
        (function_of_the_users, DOWN): (1, "backward"),
        (function_of_the_users, UP): (1, "backward"),
        (function_of_the_users, WAIT): (2, "backward"),
        # and its own nodes as well: here the gradient's way back to the host, for which the caller's line is known
        (backward, UP): (1, "<module>"),
        (backward, DOWN): (1, "<module>"),
        (backward, WAIT): (2, "<module>"),
        (thread, DOWN): (1, "work"),
        (thread, WAIT): (1, "work"),
    }


def line_of(text: str) -> int:
    """The line of ``PLACES`` with this text."""
    return next(number for number, line in enumerate(PLACES.splitlines(), 1) if text in line)


def test_watching_changes_no_result(emulator: Emulator) -> None:
    plain = emulator.run(SCRIPTS / "counted.py")
    learning = watch(
        RunOptions(
            str(SCRIPTS / "counted.py"),
            device=choose_device("emulated"),
            capture_output=True,
            counting=False,
            losses=UPDATES // 2,
            deterministic_threads=1,
        )
    )
    assert lines_of_losses(plain.stdout) == lines_of_losses(learning.output)
    assert lines_of_losses(plain.stdout) == lines_of_losses(emulated("counted.py").output)
    assert learning.losses == emulated("counted.py").losses[: UPDATES // 2]
    assert learning.updates == UPDATES and learning.device_parameters
    assert not learning.counts and not learning.lines


def lines_of_losses(output: str) -> list[str]:
    return output.split()[-UPDATES:]


def test_a_silent_run_on_the_cpu_is_told(tmp_path: Path) -> None:
    path = tmp_path / "silent.py"
    text = (SCRIPTS / "counted.py").read_text()
    path.write_text(text.replace('"npu"', '"cuda" if torch.cuda.is_available() else "cpu"').replace("torch.npu.", "# "))
    measured = watch(RunOptions(str(path), device=choose_device("emulated"), capture_output=True))
    assert measured.outcome.ending == "finished", measured.output
    assert measured.silently_on_cpu and not measured.device_tensors
    assert measured.updates == UPDATES and not measured.counts and not measured.kernels
