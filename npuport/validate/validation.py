"""One validation from the request to the verdict: counting pass, throughput, learning pass, judgement."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

from npuport.device.choice import Device
from npuport.observe.measurement import Measurement
from npuport.reference_agents.stored import AGENTS
from npuport.sources.errors import UsageError
from npuport.validate.arms import PROBED, Arm, check_reference, reference_program, stored_arm, watched_arm
from npuport.validate.checks import Check, broken, checks_of
from npuport.validate.passes import Runner
from npuport.validate.program import Program
from npuport.validate.question import AVERAGE_MARGIN, FINAL_MARGIN, FinalScore, Question
from npuport.validate.tasks import Task, task_of
from npuport.validate.throughput import TURNS, Throughput, throughput_of
from npuport.validate.verdict import Verdict, judge

# Transitions of the counting pass; it is made longer until the script has learnt a few times.
COUNTED = (2_000, 12_000, 50_000)
_ENOUGH_UPDATES = 10
_TIMED_TRANSITIONS = 5_000
_NO_GYM = "No module named 'gym'"


@dataclass(frozen=True)
class Request:
    """What the user asks for.

    Attributes:
        program: the port. `against` is the user's own original, on the CPU; `reference` the name of a reference agent
            or a file of stored runs: exactly one of both.
        seeds: of the port, and of the original.
        steps: of every learning run; the script's own where None.
        environment: the id that the task goes by; the first that the script makes where empty.
        threshold, return_range, final_margin, average_margin: replace those of the task, in units of the return.
        final_score: which F; by the reference where None. `same_settings` likewise.
        throughput: whether port and reference agent are timed in turns.
    """

    program: Program
    seeds: tuple[int, ...]
    steps: int | None = None
    reference: str = ""
    against: Program | None = None
    environment: str = ""
    threshold: float | None = None
    return_range: tuple[float, float] | None = None
    final_margin: float | None = None
    average_margin: float | None = None
    final_score: FinalScore | None = None
    same_settings: bool | None = None
    equivalence: bool = False
    throughput: bool = True


@dataclass(frozen=True)
class Counted:
    """The counting pass.

    Attributes:
        port: and the same again, `repeated`.
        reference: the reference agent on the same device, `original` the user's original on the CPU, as far.
    """

    port: Measurement
    repeated: Measurement
    reference: Measurement | None
    original: Measurement | None


@dataclass(frozen=True)
class Validation:
    """Everything that reports tell.

    Attributes:
        resumed: how many runs had been finished by an earlier validation.
        seconds: wall time by pass.
    """

    request: Request
    device: Device
    question: Question
    verdict: Verdict
    checks: list[Check]
    throughput: Throughput | None
    counted: Counted
    port: Arm
    reference: Arm
    resumed: int
    jobs: int
    seconds: dict[str, float]


def validate(request: Request, runner: Runner) -> Validation:
    """Run everything that is needed and judge it.

    Raises:
        UsageError: the script never steps an environment, the task's range is unknown, there is no such reference.
        Interrupted: Ctrl-C; finished runs are kept.
    """
    if request.reference:
        check_reference(request.reference)
    begin = time.monotonic()
    port, repeated, original = _count(request, runner)
    task = _task(request, port)
    stored = stored_arm(request.reference, task.environment) if request.reference else None
    question = _question(request, task)
    agent = stored.details["agent"] if stored is not None and stored.details["agent"] in AGENTS else ""
    reference = _count_reference(request, runner, agent, task, port) if agent else None
    counted = time.monotonic()
    throughput = _throughput(request, runner, agent, task, port) if agent and request.throughput else None
    timed = time.monotonic()
    ours, theirs = _learn(request, runner, stored)
    checks = checks_of(port, repeated, reference, original)
    verdict = judge(ours.runs, theirs.runs, question, broken(checks))
    seconds = {"counting": counted - begin, "throughput": timed - counted, "learning": time.monotonic() - timed}
    return Validation(
        request=request,
        device=request.program.device,
        question=question,
        verdict=verdict,
        checks=checks,
        throughput=throughput,
        counted=Counted(port, repeated, reference, original),
        port=ours,
        reference=theirs,
        resumed=runner.resumed,
        jobs=runner.jobs,
        seconds=seconds,
    )


def _count(request: Request, runner: Runner) -> tuple[Measurement, Measurement, Measurement | None]:
    """Port, port again, original; as long as it takes the port to learn a few times."""
    seed = request.seeds[0]
    for transitions in COUNTED:
        run = runner.counting_run(request.program, seed, transitions, steps=request.steps)
        # The same run under another name, lest the store gives it back.
        runs = [run, replace(run, environment={**run.environment, "NPUPORT_REPETITION": "2"})]
        if request.against is not None:
            runs.append(runner.short_run(request.against, seed, transitions, steps=request.steps))
        measured = runner.all("counting", runs)
        port = measured[0]
        for program, measurement in zip((request.program, request.against), (port, *measured[2:]), strict=False):
            if program is not None and not measurement.transitions:
                raise UsageError(_no_step(program, measurement))
        if port.updates >= _ENOUGH_UPDATES or port.transitions < transitions:
            break
    return port, measured[1], measured[2] if request.against is not None else None


def _no_step(program: Program, port: Measurement) -> str:
    said = next((line.strip() for line in reversed(port.output.splitlines()) if line.strip()), "")
    why = port.outcome.error or said or f"exit status {port.outcome.exit_status}"
    hint = f"; {port.not_measured[0]}" if port.not_measured else ""
    if _NO_GYM in why:
        hint = "; --gym-alias gives it gymnasium instead"
    return f"{program.script} ended before its first environment step ({port.outcome.ending}): {why}{hint}"


def _task(request: Request, port: Measurement) -> Task:
    """The task of the environment that was named, or the first that the script made."""
    made: dict[str, dict[str, Any]] = port.extra.get(PROBED, {}).get("environments", {})
    environment = request.environment or next(iter(made), "")
    reward_threshold = made.get(environment, {}).get("threshold")
    return task_of(environment, reward_threshold, threshold=request.threshold, return_range=request.return_range)


def _question(request: Request, task: Task) -> Question:
    final, average = request.final_margin, request.average_margin
    if math.isnan(task.span) and (final is None or average is None):
        raise UsageError(
            f"the range of returns of {task.environment or 'this environment'} is not known:"
            " give --return-range LOW HIGH, or --final-margin and --average-margin"
        )
    return Question(
        task=task,
        final_margin=FINAL_MARGIN * task.span if final is None else final,
        average_margin=AVERAGE_MARGIN * task.span if average is None else average,
        final_score=request.final_score or ("best" if request.reference == "dqn" else "final"),
        same_settings=(not request.reference) if request.same_settings is None else request.same_settings,
        equivalence=request.equivalence,
    )


def _count_reference(request: Request, runner: Runner, agent: str, task: Task, port: Measurement) -> Measurement:
    program = reference_program(agent, task.environment, request.program.device)
    run = runner.counting_run(program, request.seeds[0], min(port.transitions, COUNTED[0]), steps=COUNTED[-1])
    return runner.all("counting the reference", [run])[0]


def _throughput(request: Request, runner: Runner, agent: str, task: Task, port: Measurement) -> Throughput | None:
    """Port and reference agent in turns, past the point where the port began to learn."""
    transitions = max(_TIMED_TRANSITIONS, 2 * port.transitions)
    seed = request.seeds[0]
    reference = reference_program(agent, task.environment, request.program.device)
    ours = runner.short_run(request.program, seed, transitions, steps=request.steps)
    theirs = runner.short_run(reference, seed, _TIMED_TRANSITIONS, steps=COUNTED[-1])
    return throughput_of(runner.fresh("timing", [ours, theirs] * TURNS))


def _learn(request: Request, runner: Runner, stored: Arm | None) -> tuple[Arm, Arm]:
    runs = [runner.learning_run(request.program, seed, steps=request.steps) for seed in request.seeds]
    if request.against is not None:
        runs += [runner.learning_run(request.against, seed, steps=request.steps) for seed in request.seeds]
    measured = runner.all("learning", runs)
    number = len(request.seeds)
    ours = watched_arm("port", measured[:number], request.seeds, request.steps)
    if stored is not None:
        return ours, stored
    return ours, watched_arm("original", measured[number:], request.seeds, request.steps)
