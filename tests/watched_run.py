"""A watched run made by hand: a small DQN, and what ``check`` says of one of its lines."""

from __future__ import annotations

from pathlib import Path

from npuport.engine.finding import Finding, Location, Severity
from npuport.observe.measurement import (
    DOWN,
    UP,
    Count,
    Episode,
    Line,
    LineCount,
    LossInput,
    Measurement,
    Outcome,
)

SCRIPT = """\
import torch
for step in range(1000):
    action = q(torch.tensor(observation, device="npu")).argmax().item()
    batch = [torch.tensor(row).to(device) for row in rows]
    loss = smooth_l1_loss(value, target)
    x = "</script><b>" + '&amp;'
"""


def watched_run(folder: Path, device: str = "emulated") -> tuple[Measurement, dict[tuple[str, int], list[Finding]]]:
    """A run of 1000 transitions and what was found in its script, which is written to ``folder``."""
    script = folder / "train.py"
    script.write_text(SCRIPT, encoding="utf-8")
    name = str(script)

    def line(number: int) -> Line:
        return Line(name, number, "train")

    run = Measurement(
        script=name,
        arguments=["--seed", "1"],
        device=device,  # type: ignore[arg-type]
        device_name="Ascend910B3",
        dtype_checks="strict",
        versions={"python": "3.11.7", "torch": "2.13.0+cpu", "torch_npu": "2.13.0"},
        user_files=[name],
        seconds=4.25,
        start_seconds=2.5,
        outcome=Outcome("finished"),
        transitions=1000,
        vector_steps=1000,
        environments=1,
        updates=250,
        backward_calls=250,
        device_tensors=True,
        device_parameters=True,
        setup={UP: Count(12, 48_000), "wait.stream": Count(12)},
        counts={
            UP: Count(5250, 1_024_000),
            DOWN: Count(1010, 8_000),
            "copy.device_to_device": Count(20, 4_000),
            "wait.stream": Count(6255),
            "wait.device": Count(5),
            "float64": Count(250, 2_000),
        },
        kernels={"aclnnArgMax": 1000, "aclnnAdd": 2000},
        fallbacks={"aten::linalg_qr": 7},
        lines=[
            LineCount(line(4), UP, Count(4250, 1_000_000)),
            LineCount(line(4), "wait.stream", Count(4250)),
            LineCount(line(3), UP, Count(1000, 24_000)),
            LineCount(line(3), DOWN, Count(1000, 8_000)),
            LineCount(line(3), "wait.stream", Count(2000)),
            LineCount(line(3), "kernel", Count(3000)),
            LineCount(line(4), "float64", Count(250, 2_000)),
            LineCount(line(4), "fallback", Count(7), "aten::linalg_qr"),
            LineCount(line(5), "refused", Count(3), "aclnnSmoothL1Loss DT_INT64"),
            LineCount(line(1), UP, Count(12, 48_000), setup=True),
            LineCount(Line("", 0), DOWN, Count(4)),
        ],
        loss_inputs=[
            LossInput(line(5), "smooth_l1_loss", ("torch.float32", "torch.int64"), 250),
            LossInput(line(5), "cross_entropy", ("torch.float32", "torch.int64"), 10),
        ],
        episodes=[Episode(20 * number, 0, float(number), 20) for number in range(1, 31)],
        not_measured=["the utilisation of the device"],
    )
    return run, {
        (name, 4): [finding(name, 4, "NPU401", "copy-per-transition"), finding(name, 4, "NPU203", "float64-to-device")]
    }


def finding(filename: str, row: int, code: str, name: str) -> Finding:
    """A finding on one line."""
    return Finding(code, name, f"{name} <here>", filename, Location(row, 5), Location(row, 9), Severity.WARNING, "copy")
