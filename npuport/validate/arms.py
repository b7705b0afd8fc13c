"""The two arms: the port's runs, and the runs that it is held against, new ones or stored."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npuport.device.choice import Device
from npuport.observe.measurement import Episode, Measurement
from npuport.reference_agents.stored import (
    AGENTS,
    RUNS_FOLDER,
    StoredRun,
    load_stored_run,
    read_stored_run,
)
from npuport.sources.errors import UsageError
from npuport.validate.passes import is_finished
from npuport.validate.program import SEED, STEPS, Program
from npuport.validate.scores import SeedRun

PROBED = "validate"


@dataclass(frozen=True)
class Arm:
    """Runs of one program.

    Attributes:
        title: how reports call it.
        runs: one a seed.
        details: what else is known: versions, hyper-parameters, the device.
    """

    title: str
    runs: tuple[SeedRun, ...]
    details: dict[str, Any]


def seed_run(seed: int, measurement: Measurement, asked: int | None) -> SeedRun:
    """One watched run, as the verdict sees it."""
    faults = []
    if not is_finished(measurement):
        outcome = measurement.outcome
        place = f" ({Path(outcome.place.filename).name}:{outcome.place.line})" if outcome.place.filename else ""
        faults.append(f"{outcome.ending} after {measurement.transitions} transitions: {outcome.error}{place}")
    if measurement.non_finite:
        first = min(measurement.non_finite, key=lambda loss: loss.transition)
        place = f"{Path(first.place.filename).name}:{first.place.line}"
        faults.append(f"loss {first.value} at transition {first.transition} ({place})")
    probed = measurement.extra.get(PROBED, {})
    trained = probed.get("trained", measurement.transitions)
    return SeedRun(
        seed=seed,
        episodes=tuple(episode for episode in measurement.episodes if episode.transition <= trained),
        transitions=trained,
        asked=asked,
        steps=0 if "trained" in probed else measurement.vector_steps * measurement.environments,
        evaluation=probed.get("evaluation"),
        faults=tuple(faults),
        seconds=measurement.seconds,
        updates=measurement.updates,
        losses=tuple(measurement.losses),
    )


def watched_arm(title: str, measurements: list[Measurement], seeds: tuple[int, ...], asked: int | None) -> Arm:
    """The arm of a program that was run here."""
    runs = tuple(seed_run(seed, measured, asked) for seed, measured in zip(seeds, measurements, strict=True))
    first = measurements[0]
    details = {"device": first.device_name or first.device, "versions": first.versions, "script": first.script}
    return Arm(title, runs, details)


def stored_arm(reference: str, environment: str) -> Arm:
    """The arm of stored runs: of a reference agent by its name, or of a file.

    Raises:
        UsageError: there is no such agent, it has no runs on this environment, or the file is of another one.
    """
    stored = _stored(reference, environment)
    runs = tuple(
        SeedRun(
            seed=entry.seed,
            # Nobody asks for the lengths and environments of stored episodes; they are not kept.
            episodes=tuple(
                Episode(at, 0, value, 0) for at, value in zip(entry.transitions, entry.returns, strict=True)
            ),
            transitions=stored.total_steps,
            evaluation=entry.greedy_return,
            seconds=entry.seconds,
        )
        for entry in stored.seeds
    )
    details = {
        "agent": stored.agent,
        "device": stored.device,
        "versions": stored.versions,
        "hyperparameters": stored.hyperparameters,
        "steps": stored.total_steps,
    }
    return Arm(f"reference {stored.agent} on {stored.environment} (stored)", runs, details)


def check_reference(reference: str) -> None:
    """Tell of a reference that is none before anything is run.

    Raises:
        UsageError: it is neither the name of an agent nor a file of stored runs.
    """
    if reference not in AGENTS:
        _read(reference)


def _stored(reference: str, environment: str) -> StoredRun:
    if reference in AGENTS:
        return load_stored_run(reference, environment)
    stored = _read(reference)
    if environment and stored.environment != environment:
        raise UsageError(f"{reference}: runs of {stored.environment}, while the script trains on {environment}")
    return stored


def _read(reference: str) -> StoredRun:
    path = Path(reference)
    if not path.suffix:
        raise UsageError(f"--reference {reference}: expected {', '.join(AGENTS)} or a JSON file of stored runs")
    return read_stored_run(path)


def reference_program(agent: str, environment: str, device: Device) -> Program:
    """A reference agent, run on the same device: for copies, waits and throughput."""
    torch_device = "cpu" if device.kind == "cpu" else "npu:0"
    arguments = ("--env-id", environment, "--seed", SEED, "--total-steps", STEPS, "--device", torch_device)
    return Program(f"npuport.reference_agents.{agent}", arguments, device, module=True)


def is_reference_agent(script: Path, agent: str) -> bool:
    """Whether a script is the reference agent itself, which has its hyper-parameters."""
    own = RUNS_FOLDER.parent / f"{agent}.py"
    return script.exists() and own.exists() and script.resolve() == own.resolve()
