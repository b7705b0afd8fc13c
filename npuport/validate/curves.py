"""Learning curves of an arm: mean over its seeds with an interval, on a grid of transitions."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from npuport.validate.scores import SeedRun, learning_curve
from npuport.validate.statistics import LEVEL, mean, student_t_quantile, variance

GRID = 80


@dataclass(frozen=True)
class CurvePoint:
    """The mean return at a transition and its two-sided 90 % interval over seeds."""

    transition: float
    lower: float
    mean: float
    upper: float


def band(runs: Sequence[SeedRun]) -> list[CurvePoint]:
    """The curve of an arm from where every seed has ended an episode to where the shortest run ends."""
    curves = [learning_curve(run.episodes) for run in runs if run.episodes]
    if not curves:
        return []
    start = max(curve[0][0] for curve in curves)
    end = min(max(run.transitions, run.episodes[-1].transition) for run in runs if run.episodes)
    if end <= start:
        return []
    ticks = [start + (end - start) * number / (GRID - 1) for number in range(GRID)]
    return [_point(tick, [_value(curve, tick) for curve in curves]) for tick in ticks]


def _value(curve: Sequence[tuple[int, float]], transition: float) -> float:
    """The curve's value at a transition: that of the last episode that had ended."""
    return curve[max(bisect_right(curve, (transition, math.inf)) - 1, 0)][1]


def _point(transition: float, values: Sequence[float]) -> CurvePoint:
    centre = mean(values)
    if len(values) < 2:
        return CurvePoint(transition, centre, centre, centre)
    half = student_t_quantile(1.0 - LEVEL, len(values) - 1) * math.sqrt(variance(values) / len(values))
    return CurvePoint(transition, centre - half, centre, centre + half)
