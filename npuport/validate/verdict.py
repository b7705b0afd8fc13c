"""PASS, FAIL or INCONCLUSIVE: gates that must all hold, each with its reason.

G0 sound runs, G1 failed seeds, G2 non-inferiority (or equivalence) of the returns. All have to hold, so that no level
is divided among them (an intersection-union test: Berger, Technometrics 1982). Neither "no significant difference" nor
"the intervals overlap" is a rule here: both call a port the same the more readily the fewer seeds it has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from npuport.validate.question import Question
from npuport.validate.returns import Comparison, compared
from npuport.validate.scores import Scores, SeedRun, scores_of
from npuport.validate.seeds import FailedSeeds, failed_seeds, repeated_seeds

# A run of fewer seeds gets no verdict; one of fewer than DECIDING may only fail.
SMOKE_SEEDS, DECIDING_SEEDS = 5, 10
# Share of the transitions that were asked for below which a run was cut off.
COUNTED_SHARE = 0.99
RETURNS_GATE = "G2"


class Word(str, Enum):
    """The verdict's word; its value is what is printed."""

    PASS = "PASS"
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"


@dataclass(frozen=True)
class Gate:
    """One gate.

    Attributes:
        holds: None where it could not be decided.
        reason: one sentence, also where it holds.
    """

    name: str
    holds: bool | None
    reason: str


@dataclass(frozen=True)
class Verdict:
    """The word, and everything that it rests on.

    Attributes:
        gates: in the order in which they are asked.
        comparisons: of F and A.
        failed: failed seeds of both arms, None without a threshold.
        identical: seeds whose runs are the same in both arms, transition by transition.
        seeds: how many an arm would decide, where more seeds would.
        notes: what a reader should know beside the gates.
    """

    word: Word
    gates: tuple[Gate, ...]
    comparisons: tuple[Comparison, ...]
    failed: FailedSeeds | None
    identical: tuple[int, ...]
    seeds: int | None
    notes: tuple[str, ...]
    port: tuple[Scores, ...]
    reference: tuple[Scores, ...]


def judge(
    port: Sequence[SeedRun],
    reference: Sequence[SeedRun],
    question: Question,
    faults: Sequence[str] = (),
) -> Verdict:
    """Judge a port by its runs and the reference's.

    Args:
        faults: what checks beside the returns found broken (dtypes, checkpoint); they break G0.
    """
    threshold = question.task.threshold
    port_scores = tuple(scores_of(run, threshold) for run in port)
    reference_scores = tuple(scores_of(run, threshold) for run in reference)
    identical = identical_seeds(port, reference)
    sound = _sound(port, reference, faults)
    usable = min(len(port), len(reference)) >= 2 and all(_has_returns(run) for run in (*port, *reference))
    failed = None
    if usable and threshold is not None:
        failed = failed_seeds(port_scores, reference_scores, threshold, final_score=question.final_score)
    comparisons = compared(port_scores, reference_scores, question) if usable else ()
    same = bool(port) and len(identical) == len(port)
    gates = (
        sound,
        _seeds_differ(port, reference),
        _few_failed(failed, question, same=same),
        *(_not_worse(comparison, question, same=same) for comparison in comparisons if comparison.counts),
    )
    number = min(len(port), len(reference))
    word = _word(gates, number)
    seeds = _deciding_seeds(gates, () if same else comparisons, number) if word is Word.INCONCLUSIVE else None
    notes = (*_notes(number, comparisons, question, identical, len(port)), *_failure_note(gates, failed))
    return Verdict(word, gates, comparisons, failed, identical, seeds, notes, port_scores, reference_scores)


def _word(gates: Sequence[Gate], number: int) -> Word:
    if number < SMOKE_SEEDS:
        return Word.INCONCLUSIVE
    if any(gate.holds is False for gate in gates):
        return Word.FAIL
    if number < DECIDING_SEEDS or any(gate.holds is None for gate in gates):
        return Word.INCONCLUSIVE
    return Word.PASS


def identical_seeds(port: Sequence[SeedRun], reference: Sequence[SeedRun]) -> tuple[int, ...]:
    """Seeds that ran the same trajectory in both arms: a stronger finding than any statistic."""
    references = {run.seed: run for run in reference}
    return tuple(
        run.seed
        for run in port
        if run.episodes and run.seed in references and run.same_trajectory(references[run.seed])
    )


def _sound(port: Sequence[SeedRun], reference: Sequence[SeedRun], faults: Sequence[str]) -> Gate:
    """G0: finite, complete, and nothing broken beside the returns."""
    broken = [*faults, *(fault for run in port for fault in faults_of(run))]
    if broken:
        more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
        return Gate("G0 sound runs", False, broken[0] + more)
    unsound = [fault for run in reference for fault in faults_of(run)]
    if unsound:
        return Gate("G0 sound runs", None, f"the reference's runs are not sound: {unsound[0]}")
    return Gate("G0 sound runs", True, f"{len(port)} runs finite and complete")


def faults_of(run: SeedRun) -> list[str]:
    """What is unsound about one run, in words."""
    faults = [f"seed {run.seed}: {fault}" for fault in run.faults]
    counted = max(run.transitions, run.steps)
    if run.asked is not None and counted < COUNTED_SHARE * run.asked:
        faults.append(f"seed {run.seed}: {counted} of {run.asked} transitions counted")
    if not run.episodes:
        faults.append(f"seed {run.seed}: no episode ended")
    elif not _has_returns(run):
        faults.append(f"seed {run.seed}: a return is not finite")
    return faults


def _has_returns(run: SeedRun) -> bool:
    """At least one episode ended, and all returns are finite."""
    return bool(run.episodes) and all(math.isfinite(episode.episodic_return) for episode in run.episodes)


def _seeds_differ(port: Sequence[SeedRun], reference: Sequence[SeedRun]) -> Gate:
    """Seeds of one arm that ran the same trajectory are one observation, not two."""
    name = "independent seeds"
    for arm, runs in (("port", port), ("reference", reference)):
        repeated = repeated_seeds(runs)
        if repeated:
            seeds = " and ".join(str(seed) for seed in repeated)
            return Gate(name, None, f"the {arm}'s seeds {seeds} give the same run: the seed does not reach the script")
    return Gate(name, True, "every seed gives another run")


def _few_failed(failed: FailedSeeds | None, question: Question, *, same: bool) -> Gate:
    """G1: seeds that never solve the task."""
    name = "G1 failed seeds"
    if same:
        return Gate(name, True, "identical trajectories in every seed")
    if failed is None:
        if question.task.threshold is None:
            return Gate(name, True, "not asked: the task has no threshold (--threshold gives one)")
        return Gate(name, None, "needs runs with ended episodes in both arms")
    if failed.port > failed.allowed_port:
        return Gate(name, False, f"{failed}, at most {failed.allowed_port} allowed")
    if failed.reference > failed.allowed_reference:
        return Gate(
            name,
            None,
            f"{failed}: a reference that fails itself decides nothing; more --steps or a lower --threshold"
            f" (it is {question.task.threshold:g})",
        )
    return Gate(name, True, str(failed))


def _not_worse(comparison: Comparison, question: Question, *, same: bool) -> Gate:
    """G2: the whole interval on the right side of the margin; the whole interval beyond it fails."""
    interval, margin = comparison.interval, comparison.margin
    name = f"{RETURNS_GATE} {comparison.letter}, {'equivalence' if question.equivalence else 'non-inferiority'}"
    reason = (
        f"{comparison.title} {interval.difference:+.4g}, 90 % interval [{interval.lower:.4g}, {interval.upper:.4g}]"
    )
    reason += f", margin {margin:.4g}"
    if same:
        return Gate(name, True, f"{comparison.title}: identical trajectories in every seed")
    too_good = question.equivalence and interval.lower > margin
    if interval.upper < -margin or too_good:
        return Gate(name, False, reason)
    enough = interval.lower > -margin and (not question.equivalence or interval.upper < margin)
    return Gate(name, True if enough else None, reason)


def _deciding_seeds(gates: Sequence[Gate], comparisons: Sequence[Comparison], number: int) -> int | None:
    """The largest number that a score needs, never below what any verdict needs; None where seeds are not the lack."""
    if any(gate.holds is None and not gate.name.startswith(RETURNS_GATE) for gate in gates):
        return None
    needed = [comparison.seeds for comparison in comparisons if comparison.counts and comparison.seeds is not None]
    wanted = max([DECIDING_SEEDS, *needed])
    return wanted if wanted > number else None


def _failure_note(gates: Sequence[Gate], failed: FailedSeeds | None) -> tuple[str, ...]:
    """One seed at 140 among nine at 500 leaves F open for any number of seeds that one would run."""
    is_open = any(gate.holds is None and gate.name.startswith(RETURNS_GATE) for gate in gates)
    if not is_open or failed is None or not failed.port + failed.reference:
        return ()
    return (
        f"F varies so much because seeds failed: {failed.port} of the port's, {failed.reference} of the reference's",
    )


def _notes(
    number: int,
    comparisons: Sequence[Comparison],
    question: Question,
    identical: Sequence[int],
    runs: int,
) -> tuple[str, ...]:
    notes = []
    if number < SMOKE_SEEDS:
        notes.append(
            f"{number} seeds an arm give no verdict: {SMOKE_SEEDS} can fail a port, {DECIDING_SEEDS} can pass it"
        )
    elif number < DECIDING_SEEDS:
        notes.append(f"{number} seeds an arm are a smoke test: it can fail a port, {DECIDING_SEEDS} can pass it")
    if identical:
        notes.append(f"identical trajectories in {len(identical)} of {runs} seeds")
    if comparisons and comparisons[0].saturated:
        rest = "A and S" if question.same_settings else "S (failed seeds)"
        notes.append(f"saturated: F has no power, verdict rests on {rest}")
    if comparisons and not question.same_settings:
        notes.append("A and S only inform: the reference has hyper-parameters of its own")
    return tuple(notes)
