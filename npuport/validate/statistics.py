"""Welch's interval, Student's t, Fisher's test and the number of seeds that would decide; standard library only.

Student's t is computed here so that a validation needs no scipy; the tests hold every function against scipy.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

# One-sided level of every test: the ends of a two-sided 90 % interval.
LEVEL = 0.05
# Probability with which a run of the proposed size finds a port without any loss non-inferior.
POWER = 0.9
# The continued fraction of the incomplete beta function converges in far fewer terms for any number of seeds.
_TERMS, _PRECISION, _TINY = 500, 1e-14, 1e-300


@dataclass(frozen=True)
class Interval:
    """A two-sided interval of a difference of means, port minus reference.

    Attributes:
        lower, difference, upper: in units of the return.
        degrees_of_freedom: Welch-Satterthwaite; infinite where neither arm varies, and the interval has no width.
        deviation: pooled standard deviation of one seed, the root of the mean of both variances.
    """

    lower: float
    difference: float
    upper: float
    degrees_of_freedom: float
    deviation: float


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean, exactly rounded: a mean of equal values is that value."""
    return math.fsum(values) / len(values)


def variance(values: Sequence[float]) -> float:
    """Unbiased sample variance; exactly 0 where all values are equal."""
    centre = mean(values)
    if all(value == values[0] for value in values):
        return 0.0
    return math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1)


def welch_interval(port: Sequence[float], reference: Sequence[float]) -> Interval:
    """The 90 % Welch interval of mean(port) - mean(reference); the arms are not paired.

    Arms without any variance give an interval without width instead of a division by zero.

    Raises:
        ValueError: an arm has fewer than two values.
    """
    if min(len(port), len(reference)) < 2:
        raise ValueError("Welch's interval needs at least two values an arm")
    port_part, reference_part = variance(port) / len(port), variance(reference) / len(reference)
    difference = mean(port) - mean(reference)
    deviation = math.sqrt((variance(port) + variance(reference)) / 2)
    squared_error = port_part + reference_part
    if squared_error == 0.0:
        return Interval(difference, difference, difference, math.inf, 0.0)
    # Shares of the error instead of its square, which underflows for returns that hardly vary.
    shares = (port_part / squared_error) ** 2 / (len(port) - 1)
    shares += (reference_part / squared_error) ** 2 / (len(reference) - 1)
    degrees = 1.0 / shares
    half_width = student_t_quantile(1.0 - LEVEL, degrees) * math.sqrt(squared_error)
    return Interval(difference - half_width, difference, difference + half_width, degrees, deviation)


def student_t_cdf(value: float, degrees: float) -> float:
    """Probability that Student's t with ``degrees`` degrees of freedom is at most ``value``."""
    if math.isinf(degrees):
        return NormalDist().cdf(value)
    square = value * value
    tail = 0.5 * _incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + square), square / (degrees + square))
    return tail if value < 0 else 1.0 - tail


@lru_cache(maxsize=4096)
def student_t_quantile(probability: float, degrees: float) -> float:
    """The value below which Student's t with ``degrees`` degrees of freedom lies with ``probability``.

    Raises:
        ValueError: the probability is not inside (0, 1), or the degrees of freedom are not positive.
    """
    if not 0.0 < probability < 1.0 or not degrees > 0.0:
        raise ValueError(f"no quantile {probability} of Student's t with {degrees} degrees of freedom")
    if probability < 0.5:
        return -student_t_quantile(1.0 - probability, degrees)
    if math.isinf(degrees):
        return NormalDist().inv_cdf(probability)
    low, high = 0.0, 1.0
    while student_t_cdf(high, degrees) < probability:
        low, high = high, high * 2.0
    while high - low > 1e-12 * max(1.0, high):
        middle = (low + high) / 2.0
        low, high = (middle, high) if student_t_cdf(middle, degrees) < probability else (low, middle)
    return (low + high) / 2.0


def _incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """The regularised incomplete beta function I_x(a, b) (DLMF 8.17, continued fraction 8.17.22).

    Args:
        rest: 1 - x, which the caller knows to more digits where x is near 1.
    """
    if x <= 0.0 or rest <= 0.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _incomplete_beta(b, a, rest, x)
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest)
    return math.exp(logarithm) / (a * _beta_fraction(a, b, x))


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction 1 + d1/(1 + d2/(1 + ...)) of I_x(a, b), by the modified Lentz method."""
    fraction, numerator, denominator = 1.0, 1.0, 0.0
    for term in range(1, _TERMS):
        half = term // 2
        if term % 2:
            coefficient = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            coefficient = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        denominator = 1.0 / (1.0 + coefficient * denominator or _TINY)
        numerator = 1.0 + coefficient / numerator or _TINY
        fraction *= numerator * denominator
        if abs(numerator * denominator - 1.0) < _PRECISION:
            break
    return fraction


def fisher_one_sided(failed_port: int, port: int, failed_reference: int, reference: int) -> float:
    """Probability of at least ``failed_port`` failures in the port's arm if both arms fail alike (Fisher's exact test).

    Args:
        failed_port, port: failed seeds of the port, and all of them.
        failed_reference, reference: the same of the reference.
    """
    failed, total = failed_port + failed_reference, port + reference
    ways = sum(
        math.comb(port, number) * math.comb(reference, failed - number)
        for number in range(failed_port, min(port, failed) + 1)
    )
    return ways / math.comb(total, failed)


def seeds_that_decide(deviation: float, distance: float) -> int | None:
    """Seeds an arm with which non-inferiority is found with probability ``POWER``; None where no number is enough.

    n = 2 (z_0.95 + z_0.9)^2 (deviation / distance)^2 + 1, the normal approximation of a two-sample test.

    Args:
        deviation: standard deviation of one seed's score.
        distance: from the true difference to the margin; the margin itself for a port without any loss.
    """
    if distance <= 0.0:
        return None
    normal = NormalDist()
    factor = 2.0 * (normal.inv_cdf(1.0 - LEVEL) + normal.inv_cdf(POWER)) ** 2
    return math.ceil(factor * (deviation / distance) ** 2 + 1.0)


def bootstrap_interval(
    port: Sequence[float],
    reference: Sequence[float],
    statistic: Callable[[Sequence[float]], float] = mean,
    repetitions: int = 2000,
) -> tuple[float, float]:
    """The 90 % percentile bootstrap interval of statistic(port) - statistic(reference); the same at every call.

    For the eye only: with 5 seeds it errs three times as often as it says, so that no verdict rests on it.
    """
    generator = random.Random(0)
    differences = sorted(
        statistic(generator.choices(port, k=len(port))) - statistic(generator.choices(reference, k=len(reference)))
        for _ in range(repetitions)
    )
    return differences[int(LEVEL * repetitions)], differences[math.ceil((1.0 - LEVEL) * repetitions) - 1]
