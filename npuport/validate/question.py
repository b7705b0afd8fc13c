"""What is asked of two arms of runs: the task, the margins, and which scores count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from npuport.validate.tasks import Task

FinalScore = Literal["final", "best"]
# Margins as shares of the task's range. A varies from seed to seed about as much as 10 % of the range of CartPole:
# that margin would leave 8 seeds of an unchanged agent undecided.
FINAL_MARGIN, AVERAGE_MARGIN = 0.05, 0.2


@dataclass(frozen=True)
class Question:
    """What is asked of two arms.

    Attributes:
        task: range and threshold of the returns.
        final_margin, average_margin: how much lower F and A of the port may be, in units of the return.
        final_score: ``best`` (largest mean of 20 episodes) for agents that explore or fall back until the end.
        same_settings: both arms have the same hyper-parameters: A counts. Otherwise it only informs.
        equivalence: the port must not be better either.
    """

    task: Task
    final_margin: float
    average_margin: float
    final_score: FinalScore = "final"
    same_settings: bool = True
    equivalence: bool = False
