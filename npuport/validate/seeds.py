"""Gate G1's numbers: seeds that fail, and seeds that are no seeds at all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from npuport.validate.question import FinalScore
from npuport.validate.scores import Scores, SeedRun
from npuport.validate.statistics import fisher_one_sided

# Seeds that may fail: this share of the reference's, and as much more of the port's; one in any case.
ALLOWED_SHARE = 0.1


@dataclass(frozen=True)
class FailedSeeds:
    """How many seeds of each arm failed the task.

    Attributes:
        port, port_seeds, reference, reference_seeds: failed seeds and all of them.
        allowed_port, allowed_reference: how many may fail.
        fisher: probability of so many failures in the port's arm if both arms fail alike.
    """

    port: int
    port_seeds: int
    reference: int
    reference_seeds: int
    allowed_port: int
    allowed_reference: int
    fisher: float

    def __str__(self) -> str:
        return (
            f"{self.port} of {self.port_seeds} failed, reference {self.reference} of {self.reference_seeds}"
            f" (Fisher one-sided p = {self.fisher:.2g})"
        )


def failed_seeds(
    port: Sequence[Scores], reference: Sequence[Scores], threshold: float, *, final_score: FinalScore = "final"
) -> FailedSeeds:
    """Count failed seeds: greedy return below the threshold where all have one, else never solved in training.

    Args:
        final_score: with ``best`` a greedy return decides nothing: it is of a policy that may have fallen back.
    """
    evaluated = final_score == "final" and all(scores.evaluation is not None for scores in (*port, *reference))
    failed = [sum(_failed(scores, threshold, evaluated=evaluated) for scores in arm) for arm in (port, reference)]
    share = failed[1] / len(reference) + ALLOWED_SHARE
    return FailedSeeds(
        port=failed[0],
        port_seeds=len(port),
        reference=failed[1],
        reference_seeds=len(reference),
        allowed_port=_allowed(share, len(port)),
        allowed_reference=_allowed(ALLOWED_SHARE, len(reference)),
        fisher=fisher_one_sided(failed[0], len(port), failed[1], len(reference)),
    )


def _failed(scores: Scores, threshold: float, *, evaluated: bool) -> bool:
    if evaluated and scores.evaluation is not None:
        return scores.evaluation < threshold
    return math.isinf(scores.solved_at)


def _allowed(share: float, seeds: int) -> int:
    # A share such as 0.1 + 0.2 is a hair above or below its decimal; a seed must not hang on that.
    return max(1, math.floor(share * seeds + 1e-9))


def repeated_seeds(runs: Sequence[SeedRun]) -> tuple[int, int] | None:
    """Two seeds of one arm whose runs are the same, episode by episode; None where all differ."""
    for index, run in enumerate(runs):
        for other in runs[index + 1 :]:
            if run.episodes and run.same_trajectory(other):
                return run.seed, other.seed
    return None
