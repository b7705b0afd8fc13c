"""What one watched run measured: plain data, kept as JSON.

Events are named as the emulated device names them: ``copy.host_to_device``, ``copy.device_to_host``,
``copy.device_to_device``, ``wait.stream``, ``wait.device``, ``wait.event``. A blocking copy is one copy and one wait.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Literal

UP = "copy.host_to_device"
DOWN = "copy.device_to_host"
WAITS = ("wait.stream", "wait.device", "wait.event")

DeviceKind = Literal["npu", "emulated", "cpu"]
# "steps": it was ended after --max-steps; "killed": it ended without a word, by a signal or os._exit.
Ending = Literal["finished", "steps", "exited", "crashed", "interrupted", "killed"]


@dataclass(frozen=True)
class Count:
    """How often something happened, and the bytes that it moved."""

    calls: int = 0
    bytes: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.calls + other.calls, self.bytes + other.bytes)


@dataclass(frozen=True)
class Line:
    """A line of the user's own files; `filename` is empty where no such line was on the stack."""

    filename: str
    line: int
    function: str = ""


@dataclass(frozen=True)
class LineCount:
    """What one line caused, after the first environment step unless `setup`.

    Attributes:
        event: one of the names above, or ``kernel``, ``fallback``, ``float64``, ``refused``. By line a ``kernel`` is
            an operator of torch that ran on the device; it may take several of the device's own kernels.
        detail: the kernel that was refused, with its dtype; the operator that fell back, or whose result is float64;
            else empty.
    """

    place: Line
    event: str
    count: Count
    detail: str = ""
    setup: bool = False


@dataclass(frozen=True)
class LossInput:
    """What a loss function was given: its argument dtypes, on one line."""

    place: Line
    function: str
    dtypes: tuple[str, ...]
    calls: int


@dataclass(frozen=True)
class NonFiniteLoss:
    """The first time a line's loss was NaN or infinite, and how often in all."""

    place: Line
    transition: int
    value: str
    calls: int


@dataclass(frozen=True)
class Episode:
    """One ended episode of an environment, with its undiscounted return as the environment gave it.

    Attributes:
        transition: live transitions over all environments when it ended.
        environment: number of the environment, in the order in which they were made.
        length: transitions of the episode.
        cut: the script reset the environment before the episode had ended.
    """

    transition: int
    environment: int
    episodic_return: float
    length: int
    cut: bool = False


@dataclass(frozen=True)
class Outcome:
    """How the script ended.

    Attributes:
        ending: see ``Ending``.
        exit_status: what the script itself would have given to the shell.
        error: type and text of the exception, in one line; empty where there is none.
        place: the line of the user's files where it arose.
    """

    ending: Ending
    exit_status: int = 0
    error: str = ""
    place: Line = Line("", 0)


@dataclass
class Measurement:
    """One run.

    Attributes:
        script: the path, or ``-m module``; `arguments` are its own.
        device: what the run was started on; `device_name` as torch_npu calls it.
        dtype_checks: of the emulated device; empty elsewhere.
        versions: of python, torch, torch_npu, gymnasium and, where it is there, stable_baselines3.
        user_files: the files of the user's own that ran.
        seconds: wall time of the script, with the hooks in it, without start-up.
        start_seconds: wall time from the start of the process to the script's first line.
        transitions: live transitions: resets of a vector environment are none.
        vector_steps: calls of ``step`` on the outermost environment.
        environments: how many environments lived side by side, at most.
        updates: optimiser steps; `backward_calls`: calls of ``backward`` or ``autograd.grad``.
        device_tensors: whether any tensor ever lived on the device; `device_parameters` whether an optimiser's did.
        setup: counts before the first environment step; `counts` after it. By event.
        kernels: calls by kernel after the first step: aclnn names, or torch operators where no emulated device ran.
        fallbacks: operators that torch_npu ran on the CPU, with the number of calls.
        lines: the same, by line, largest first.
        losses: the first loss values in the order of ``backward``; None where reading it was not possible.
        transition_at: seconds since the script's first line, at every thousandth transition.
        not_measured: what could not be seen in this run, in words.
        extra: what a hook of another's added, by name.
        output: the end of what the script wrote, where that was kept from the terminal.
    """

    script: str
    arguments: list[str]
    device: DeviceKind
    device_name: str = ""
    dtype_checks: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    user_files: list[str] = field(default_factory=list)
    seconds: float = 0.0
    start_seconds: float = 0.0
    outcome: Outcome = Outcome("killed")
    transitions: int = 0
    vector_steps: int = 0
    environments: int = 0
    updates: int = 0
    backward_calls: int = 0
    device_tensors: bool = False
    device_parameters: bool = False
    setup: dict[str, Count] = field(default_factory=dict)
    counts: dict[str, Count] = field(default_factory=dict)
    kernels: dict[str, int] = field(default_factory=dict)
    fallbacks: dict[str, int] = field(default_factory=dict)
    lines: list[LineCount] = field(default_factory=list)
    loss_inputs: list[LossInput] = field(default_factory=list)
    non_finite: list[NonFiniteLoss] = field(default_factory=list)
    losses: list[float | None] = field(default_factory=list)
    episodes: list[Episode] = field(default_factory=list)
    transition_at: list[float] = field(default_factory=list)
    not_measured: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    output: str = ""

    def per_transition(self, *events: str) -> float:
        """Calls of these events after the first environment step, per live transition; 0 without transitions."""
        calls = sum(self.counts.get(event, Count()).calls for event in events)
        return calls / self.transitions if self.transitions else 0.0

    def bytes_per_transition(self, *events: str) -> float:
        """Bytes of these events after the first environment step, per live transition."""
        moved = sum(self.counts.get(event, Count()).bytes for event in events)
        return moved / self.transitions if self.transitions else 0.0

    @property
    def silently_on_cpu(self) -> bool:
        """A device was asked for and training was not on it."""
        return self.device != "cpu" and not (self.device_parameters or (self.device_tensors and not self.updates))

    def to_json(self) -> dict[str, object]:
        """Plain dictionaries and lists, as ``measurement_from_json`` reads them."""
        return dataclasses.asdict(self)


def measurement_from_json(data: dict[str, object]) -> Measurement:
    """The measurement of ``Measurement.to_json``.

    Raises:
        TypeError, KeyError: it is of another shape.
    """
    known = {entry.name for entry in dataclasses.fields(Measurement)}
    values: dict[str, Any] = {name: value for name, value in data.items() if name in known}
    values["outcome"] = _outcome(values["outcome"])
    for name in ("setup", "counts"):
        values[name] = {event: Count(**count) for event, count in _mapping(values[name]).items()}
    values["lines"] = [
        LineCount(**{**entry, "place": Line(**entry["place"]), "count": Count(**entry["count"])})
        for entry in _rows(values["lines"])
    ]
    values["loss_inputs"] = [
        LossInput(**{**entry, "place": Line(**entry["place"]), "dtypes": tuple(entry["dtypes"])})
        for entry in _rows(values["loss_inputs"])
    ]
    values["non_finite"] = [
        NonFiniteLoss(**{**entry, "place": Line(**entry["place"])}) for entry in _rows(values["non_finite"])
    ]
    values["episodes"] = [Episode(**entry) for entry in _rows(values["episodes"])]
    return Measurement(**values)


def _outcome(data: object) -> Outcome:
    entry = _mapping(data)
    return Outcome(**{**entry, "place": Line(**_mapping(entry["place"]))})


def _mapping(data: object) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise TypeError(f"expected an object, not {type(data).__name__}")
    return data


def _rows(data: object) -> list[dict[str, Any]]:
    if not isinstance(data, list):
        raise TypeError(f"expected a list, not {type(data).__name__}")
    return data
