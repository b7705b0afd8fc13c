"""Three scores a seed, from the episodes of its training run: final return, time-averaged return, first solved step.

All returns are undiscounted and as the environment gave them, before the script's own wrappers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from npuport.observe.measurement import Episode

# Episodes of the running mean that has to reach the threshold, and of which the best is taken.
WINDOW = 20
# Share of a run's transitions, at its end, whose episodes make the final return.
FINAL_SHARE = 0.2


@dataclass(frozen=True)
class SeedRun:
    """One training run of one seed.

    Attributes:
        seed: what the script was given.
        episodes: in the order in which they ended.
        transitions: live transitions that were counted.
        asked: how many steps the run was to have, None where unknown.
        steps: of the environments, those included that only reset one: many scripts count these, too.
        evaluation: mean return of a greedy evaluation after training, where there was one.
        faults: what makes the run itself unsound, in words: a crash, a loss that was not finite.
        seconds: wall time; `updates` optimiser steps.
        losses: the first values, in the order of ``backward``.
    """

    seed: int
    episodes: Sequence[Episode]
    transitions: int
    asked: int | None = None
    steps: int = 0
    evaluation: float | None = None
    faults: tuple[str, ...] = ()
    seconds: float = 0.0
    updates: int = 0
    losses: Sequence[float | None] = field(default=())

    def same_trajectory(self, other: SeedRun) -> bool:
        """Whether both runs ended episodes at the same transitions with the same returns."""
        ours = [(episode.transition, episode.episodic_return) for episode in self.episodes]
        return ours == [(episode.transition, episode.episodic_return) for episode in other.episodes]


@dataclass(frozen=True)
class Scores:
    """What one run is judged by.

    Attributes:
        final: mean return of the episodes that ended in the last 20 % of the transitions (F).
        average: area under the learning curve, divided by the transitions (A).
        best: largest mean of 20 consecutive episodes.
        solved_at: first transition at which the last 20 episodes have a mean of at least the threshold (S); infinite
            where they never had, NaN without a threshold.
        evaluation: of the run, None where it has none.
    """

    final: float
    average: float
    best: float
    solved_at: float
    evaluation: float | None = None


def scores_of(run: SeedRun, threshold: float | None) -> Scores:
    """The scores of a run; all NaN but `solved_at` where no episode ended.

    Args:
        threshold: the return from which on the task counts as solved; None where the task has none.
    """
    solved_at = math.nan if threshold is None else solved_transition(run.episodes, threshold)
    if not run.episodes:
        return Scores(math.nan, math.nan, math.nan, solved_at, run.evaluation)
    return Scores(
        final=final_return(run.episodes, run.transitions),
        average=average_return(run.episodes, run.transitions),
        best=max(mean for _, mean in _full_windows(run.episodes)),
        solved_at=solved_at,
        evaluation=run.evaluation,
    )


def final_return(episodes: Sequence[Episode], transitions: int) -> float:
    """Mean return of the episodes that ended in the last fifth of a run; of the very last one where none did."""
    start = (1.0 - FINAL_SHARE) * transitions
    last = [episode.episodic_return for episode in episodes if episode.transition > start]
    return math.fsum(last) / len(last) if last else episodes[-1].episodic_return


def average_return(episodes: Sequence[Episode], transitions: int) -> float:
    """Area under the learning curve divided by the transitions; before its first point it has that point's value."""
    curve = learning_curve(episodes)
    ends = [at for at, _ in curve[1:]] + [max(transitions, curve[-1][0])]
    area = curve[0][0] * curve[0][1]
    area += math.fsum(value * (end - start) for (start, value), end in zip(curve, ends, strict=True))
    return area / ends[-1] if ends[-1] else curve[-1][1]


def learning_curve(episodes: Sequence[Episode]) -> list[tuple[int, float]]:
    """(transition, mean return of the last 20 episodes) at the end of each episode; of as many as there are at first.

    One mean over all environments: stored runs keep no lengths, and vector environments end several episodes at once.
    """
    sums = [0.0, *accumulate(episode.episodic_return for episode in episodes)]
    return [
        (episode.transition, (sums[end] - sums[max(0, end - WINDOW)]) / min(end, WINDOW))
        for end, episode in enumerate(episodes, start=1)
    ]


def _full_windows(episodes: Sequence[Episode]) -> list[tuple[int, float]]:
    """The learning curve from its twentieth episode on; its last point where there are fewer."""
    return learning_curve(episodes)[min(WINDOW, len(episodes)) - 1 :]


def solved_transition(episodes: Sequence[Episode], threshold: float) -> float:
    """First transition at which the mean of the last 20 episodes is at least the threshold; else infinite.

    Fewer than 20 episodes solve nothing: one lucky episode would.
    """
    if len(episodes) < WINDOW:
        return math.inf
    return next((float(at) for at, mean in _full_windows(episodes) if mean >= threshold), math.inf)
