"""What all reports of a watched run say: its verdict in words, its figures a step. No layout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from npuport.observe.measurement import DOWN, UP, WAITS, Count, Measurement
from npuport.reports.measured_lines import place, total
from npuport.reports.report import counted

CLAIM = "runs under torch_npu's front end on an emulated device"
COPIES_ON_DEVICE = "copy.device_to_device"

Tone = Literal["bad", "fair", "good"]


@dataclass(frozen=True)
class Sentence:
    """One sentence of the verdict.

    Attributes:
        kind: a word for programs; it does not change with the wording.
    """

    kind: str
    tone: Tone
    text: str


@dataclass(frozen=True)
class Figure:
    """Something that was counted after the first environment step.

    Attributes:
        moves: whether bytes go with it.
        before: the same before the first step; None where that was not counted.
    """

    name: str
    label: str
    count: Count
    moves: bool
    before: Count | None


def verdict(run: Measurement) -> list[Sentence]:
    """The verdict: where it ran comes first, then how it ended, then what that does and does not mean."""
    sentences = [_where(run), *_ending(run), *_not_finite(run)]
    if run.device == "emulated" and sentences[0].kind == "on_device":
        it = "up to there it" if run.outcome.ending in ("crashed", "killed", "interrupted") else "it"
        text = f"What this shows: {it} {CLAIM}. Nothing is said of Ascend hardware or its speed."
        sentences.append(Sentence("claim", "fair", text))
    return sentences


def _where(run: Measurement) -> Sentence:
    done = f"{counted(run.transitions, 'transition')}, {counted(run.updates, 'update')}"
    if run.device == "cpu":
        seen = f": {done}" if run.transitions or run.updates else "; no environment step and no update was seen"
        return Sentence("on_cpu", "fair", f"Ran on the CPU, as asked for{seen}. It says nothing of an NPU.")
    device = f"the {run.device_name}" if run.device == "npu" and run.device_name else _DEVICES[run.device]
    if not run.silently_on_cpu:
        if not run.updates:
            return Sentence("on_device", "fair", f"Ran on {device}, without an update: {done}.")
        return Sentence("on_device", "good", f"Trained on {device}: {done}.")
    if run.device_tensors:
        text = f"Trained on the CPU: {done}. Tensors came to {device}, but no parameter of an optimiser lived there."
    elif run.transitions or run.updates:
        text = f"Ran silently on the CPU: {done}. No tensor ever lived on {device}."
    else:
        return Sentence("nothing_on_device", "bad", f"Nothing lived on {device}, and no environment step was seen.")
    return Sentence("silent_cpu", "bad", f"{text} `npuport check` names the lines that choose the device.")


_DEVICES = {"npu": "the NPU", "emulated": "the emulated device"}


def nothing_seen(run: Measurement) -> bool:
    """Whether there is nothing to report but how it ended."""
    return not (run.transitions or run.updates or run.backward_calls or run.device_tensors or run.lines or run.kernels)


def _ending(run: Measurement) -> list[Sentence]:
    outcome = run.outcome
    where = f" ({place(outcome.place)})" if outcome.place.filename else ""
    if outcome.ending == "crashed":
        return [Sentence("crashed", "bad", f"It crashed{where}: {outcome.error or 'no message'}")]
    if outcome.ending == "killed":
        return [Sentence("killed", "bad", f"It was ended from outside or by os._exit: {outcome.error or 'no message'}")]
    if outcome.ending == "interrupted":
        return [Sentence("interrupted", "fair", "It was interrupted; what follows is up to then.")]
    if outcome.ending == "exited" and outcome.exit_status:
        return [Sentence("exited", "bad", f"It ended itself with exit status {outcome.exit_status}{where}.")]
    if outcome.ending == "steps":
        return [Sentence("steps", "fair", "It was ended by --max-steps.")]
    return []


def _not_finite(run: Measurement) -> list[Sentence]:
    if not run.non_finite:
        return []
    first = min(run.non_finite, key=lambda entry: entry.transition)
    when = f"after {counted(first.transition, 'transition')}"
    return [Sentence("non_finite", "bad", f"The loss was {first.value} {when}, on {place(first.place)}.")]


def figures(run: Measurement) -> list[Figure]:
    """Copies, waits and kernels; copies that stay on the device only where there are any."""
    kernels = Count(sum(run.kernels.values()))
    found = [
        Figure("copies_up", "copies to the device", run.counts.get(UP, Count()), True, run.setup.get(UP, Count())),
        Figure("copies_down", "copies to the host", run.counts.get(DOWN, Count()), True, run.setup.get(DOWN, Count())),
        Figure("waits", "waits for the device", total(run.counts, WAITS), False, total(run.setup, WAITS)),
        Figure("kernels", "kernels", kernels, False, run.setup.get("kernel")),
    ]
    on_device = run.counts.get(COPIES_ON_DEVICE, Count())
    if on_device.calls:
        before = run.setup.get(COPIES_ON_DEVICE, Count())
        found.insert(2, Figure("copies_on_device", "copies on the device", on_device, True, before))
    return found


def overheads(run: Measurement) -> str:
    """What the times contain."""
    how = "counting on" if run.lines or run.kernels else "hooks on"
    return (
        f"{run.seconds:.1f} s with {how}, {run.start_seconds:.1f} s to start; the script alone is faster, "
        "so no speed can be read off this run"
    )


def setting(run: Measurement) -> str:
    """Device, dtype checks and versions, in one line."""
    checks = f", dtype checks {run.dtype_checks}" if run.dtype_checks else ""
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    device = {"npu": run.device_name or "NPU", "emulated": "emulated device", "cpu": "CPU"}[run.device]
    return f"{device}{checks}; {versions}" if versions else f"{device}{checks}"


def per_step(run: Measurement, calls: float) -> str:
    """A number a transition, short; a dash without transitions."""
    if not run.transitions:
        return "-"
    value = calls / run.transitions
    return "0" if not value else f"{value:.2f}" if value >= 0.01 else f"{value:.1g}"


def size(number: float) -> str:
    """Bytes with a unit, in powers of 1000."""
    if 0 < number < 0.05:
        return "<0.1 B"
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000 or unit == "GB":
            return f"{number:.0f} {unit}" if unit == "B" and number == int(number) else f"{number:.1f} {unit}"
        number /= 1000
    raise AssertionError("unreachable")
