"""What is held against a port beside its returns: dtypes, device, copies and waits, checkpoints, repeatability."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from npuport.observe.measurement import DOWN, UP, WAITS, Line, LossInput, Measurement
from npuport.validate.arms import PROBED

# A broken check breaks gate G0; a note tells what costs time or deserves a look.
State = Literal["ok", "note", "broken"]

# Losses of real numbers: everything but a float in them is a mask or an index that went the wrong way.
_REGRESSION = ("mse", "l1", "huber")
_FLOATS = ("float32", "float16", "bfloat16", "float64")
# How many times the reference's copies or waits are worth a note.
_MUCH_MORE = 2.0
_SHOWN = 3


@dataclass(frozen=True)
class Check:
    """One check and what it found, in a sentence."""

    name: str
    state: State
    text: str


def checks_of(
    port: Measurement, repeated: Measurement, reference: Measurement | None, original: Measurement | None
) -> list[Check]:
    """All checks of a counting pass.

    Args:
        port: counted on the device; `repeated` is the same run again.
        reference: the reference agent, counted on the same device; None where there is none.
        original: the user's own original, run as far on the CPU; None where there is none.
    """
    checks = [
        _on_device(port),
        _loss_dtypes(port),
        _float64(port),
        _fallbacks(port),
        _finite(port),
        _copies(port, reference),
        _checkpoint(port),
        _repeatable(port, repeated),
    ]
    if original is not None:
        checks.append(_first_updates(port, original))
    return checks


def broken(checks: list[Check]) -> list[str]:
    """What breaks gate G0, in words."""
    return [f"{check.name}: {check.text}" for check in checks if check.state == "broken"]


def _on_device(port: Measurement) -> Check:
    name = "device"
    if port.silently_on_cpu:
        return Check(name, "broken", f"the script trains on the CPU: no parameter was ever on {port.device_name}")
    return Check(name, "ok", f"training is on {port.device_name or port.device}")


def _loss_dtypes(port: Measurement) -> Check:
    name = "dtypes in the loss"
    wrong = [entry for entry in port.loss_inputs if _is_wrong(entry, port)]
    if wrong:
        return Check(name, "broken", "; ".join(_loss(entry) for entry in wrong[:_SHOWN]))
    half = [entry for entry in port.loss_inputs if any("16" in dtype for dtype in entry.dtypes)]
    if half:
        return Check(name, "note", "half precision: " + "; ".join(_loss(entry) for entry in half[:_SHOWN]))
    seen = sorted({dtype for entry in port.loss_inputs for dtype in entry.dtypes})
    return Check(name, "ok", ", ".join(seen) if seen else "no loss function of torch was called")


def _is_wrong(entry: LossInput, port: Measurement) -> bool:
    """An integer or a bool in a loss of real numbers, or float64 where the device has none."""
    dtypes = [dtype.removeprefix("torch.") for dtype in entry.dtypes]
    if port.device != "cpu" and "float64" in dtypes:
        return True
    regression = any(word in entry.function for word in _REGRESSION)
    return regression and any(dtype not in _FLOATS for dtype in dtypes)


def _loss(entry: LossInput) -> str:
    return f"{entry.function}({', '.join(entry.dtypes)}) at {place_of(entry.place)}"


def place_of(place: Line) -> str:
    """A line, as reports call it."""
    return f"{Path(place.filename).name}:{place.line}" if place.filename else "outside of the user's files"


def _float64(port: Measurement) -> Check:
    lines = [line for line in port.lines if line.event == "float64" and not line.setup]
    if not lines:
        return Check("float64", "ok", "no float64 tensor goes to the device")
    calls = sum(line.count.calls for line in lines)
    most = "; ".join(f"{line.count.calls} at {place_of(line.place)}" for line in lines[:_SHOWN])
    return Check("float64", "note", f"{calls} tensors of float64: {most}")


def _fallbacks(port: Measurement) -> Check:
    if not port.fallbacks:
        return Check("CPU fallbacks", "ok", "none")
    most = sorted(port.fallbacks.items(), key=lambda entry: -entry[1])[:_SHOWN]
    return Check("CPU fallbacks", "note", ", ".join(f"{name} ({calls} calls)" for name, calls in most))


def _finite(port: Measurement) -> Check:
    if not port.non_finite:
        return Check("finite losses", "ok", f"all of {port.backward_calls} backward calls")
    first = min(port.non_finite, key=lambda loss: loss.transition)
    return Check(
        "finite losses", "broken", f"{first.value} at {place_of(first.place)}, first at transition {first.transition}"
    )


def _copies(port: Measurement, reference: Measurement | None) -> Check:
    name = "copies and waits"
    if port.device == "cpu":
        return Check(name, "ok", "not measured: the CPU copies nothing to itself")
    ours = per_transition(port)
    text = ", ".join(f"{value:.3g} {what}" for what, value in ours.items()) + " a transition"
    if reference is None or not reference.transitions:
        return Check(name, "ok", text)
    theirs = per_transition(reference)
    text += "; reference " + ", ".join(f"{value:.3g}" for value in theirs.values())
    more = any(ours[what] > _MUCH_MORE * theirs[what] for what in ours)
    return Check(name, "note" if more else "ok", text)


def per_transition(measurement: Measurement) -> dict[str, float]:
    """Copies up, copies down and waits, per live transition."""
    return {
        "up": measurement.per_transition(UP),
        "down": measurement.per_transition(DOWN),
        "waits": measurement.per_transition(*WAITS),
    }


def _checkpoint(port: Measurement) -> Check:
    name = "checkpoint"
    found = port.extra.get(PROBED, {}).get("checkpoint") or {}
    if not found:
        return Check(name, "ok", "not tried: the script saves nothing and has no optimiser of torch")
    what = (
        "the script's own" if found["of"] == "script" else "the optimiser's parameters and state, saved for this check"
    )
    if found["fault"]:
        return Check(name, "broken", f"{what}: does not reload on the CPU: {found['fault']}")
    if found["differing"]:
        names = ", ".join(found["differing"][:_SHOWN])
        return Check(name, "broken", f"{what}: {len(found['differing'])} of {found['tensors']} tensors differ: {names}")
    text = f"{what}: {found['tensors']} tensors reload bit-equal on the CPU"
    if found["on_device"]:
        return Check(name, "note", f"{text}; {found['on_device']} were saved from the device: save them from the CPU")
    return Check(name, "ok", text)


def _repeatable(port: Measurement, repeated: Measurement) -> Check:
    name = "repeatability"
    different = list(_differences(port, repeated))
    if different:
        return Check(name, "note", f"two runs of one seed differ in {', '.join(different)}")
    return Check(name, "ok", f"two runs of one seed are equal over {port.transitions} transitions")


def _differences(port: Measurement, repeated: Measurement) -> Iterator[str]:
    if port.episodes != repeated.episodes:
        yield "their episodes"
    if not _same_numbers(port.losses, repeated.losses):
        yield "their losses"
    if port.counts != repeated.counts or port.kernels != repeated.kernels:
        yield "their counts"


def _same_numbers(ours: list[float | None], theirs: list[float | None]) -> bool:
    return list(map(str, ours)) == list(map(str, theirs))  # NaN is what it was


def _first_updates(port: Measurement, original: Measurement) -> Check:
    """Where the losses of port and original part, and how far apart they are at the end of what was kept."""
    name = "first updates"
    pairs = [
        (ours, theirs)
        for ours, theirs in zip(port.losses, original.losses, strict=False)
        if ours is not None and theirs is not None
    ]
    if not pairs:
        return Check(name, "ok", "not compared: no loss of both could be read")
    gaps = [_relative(ours, theirs) for ours, theirs in pairs]
    parted = next((number for number, gap in enumerate(gaps) if gap > 0.0), None)
    if parted is None:
        return Check(name, "ok", f"the first {len(pairs)} losses are those of the original, bit by bit")
    text = (
        f"losses part at update {parted + 1} by {gaps[parted]:.1e} relative, and differ by {gaps[-1]:.1e} at update"
        f" {len(pairs)}"
    )
    return Check(name, "ok" if gaps[parted] < _ROUNDING else "note", text)


# What another order of summation gives in float32; a first gap above it is another computation or other chance.
_ROUNDING = 1e-4


def _relative(ours: float, theirs: float) -> float:
    if ours == theirs or (math.isnan(ours) and math.isnan(theirs)):
        return 0.0
    return abs(ours - theirs) / max(abs(ours), abs(theirs), 1e-12)
