"""Gate G2's numbers: F and A of both arms, their interval against the margin, and how many seeds would decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from npuport.validate.question import Question
from npuport.validate.scores import Scores
from npuport.validate.statistics import Interval, bootstrap_interval, seeds_that_decide, welch_interval


@dataclass(frozen=True)
class Comparison:
    """One score of both arms.

    Attributes:
        letter: ``F`` or ``A``, as in the report; `title` in words.
        port, reference: the score of every seed.
        margin: in units of the return.
        counts: whether the verdict rests on it; it only informs otherwise.
        saturated: no seed of either arm differs from another.
        seeds: how many an arm would decide, from the spread seen here; None where no number would.
    """

    letter: str
    title: str
    port: tuple[float, ...]
    reference: tuple[float, ...]
    interval: Interval
    margin: float
    counts: bool
    saturated: bool
    seeds: int | None

    def bootstrap(self) -> tuple[float, float]:
        """The percentile bootstrap interval, for the eye only."""
        return bootstrap_interval(self.port, self.reference)


def compared(port: Sequence[Scores], reference: Sequence[Scores], question: Question) -> tuple[Comparison, ...]:
    """F, then A."""
    title, final = _final_score(port, reference, question)
    return (
        _comparison("F", title, final, port, reference, question.final_margin, counts=True),
        _comparison(
            "A",
            "time-averaged return",
            lambda scores: scores.average,
            port,
            reference,
            question.average_margin,
            counts=question.same_settings,
        ),
    )


def _final_score(
    port: Sequence[Scores], reference: Sequence[Scores], question: Question
) -> tuple[str, Callable[[Scores], float]]:
    """What F is: the best 20 episodes where asked for, a greedy evaluation where all have one, else the last fifth."""
    if question.final_score == "best":
        return "best mean of 20 episodes", lambda scores: scores.best
    if all(scores.evaluation is not None for scores in (*port, *reference)):
        return "greedy return after training", lambda scores: scores.evaluation or 0.0
    return "mean return of the last 20 % of steps", lambda scores: scores.final


def _comparison(
    letter: str,
    title: str,
    score: Callable[[Scores], float],
    port: Sequence[Scores],
    reference: Sequence[Scores],
    margin: float,
    *,
    counts: bool,
) -> Comparison:
    ours, theirs = tuple(map(score, port)), tuple(map(score, reference))
    interval = welch_interval(ours, theirs)
    return Comparison(
        letter=letter,
        title=title,
        port=ours,
        reference=theirs,
        interval=interval,
        margin=margin,
        counts=counts,
        saturated=interval.deviation == 0.0,
        seeds=_seeds(interval, margin, min(len(ours), len(theirs))),
    )


def _seeds(interval: Interval, margin: float, number: int) -> int | None:
    """Seeds for a port without any loss; where those were run already, for the difference that was seen."""
    seeds = seeds_that_decide(interval.deviation, margin)
    if seeds is None or seeds > number:
        return seeds
    return seeds_that_decide(interval.deviation, abs(margin + interval.difference))
