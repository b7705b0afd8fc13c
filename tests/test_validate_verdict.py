"""Scores, statistics and verdict of ``validate``: against scipy, by their properties, and by simulation."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuport.observe.measurement import Episode
from npuport.validate.question import Question
from npuport.validate.scores import SeedRun, average_return, final_return, scores_of, solved_transition
from npuport.validate.statistics import (
    bootstrap_interval,
    fisher_one_sided,
    seeds_that_decide,
    student_t_cdf,
    student_t_quantile,
    variance,
    welch_interval,
)
from npuport.validate.tasks import task_of
from npuport.validate.verdict import Verdict, Word, judge

CARTPOLE = Question(task_of("CartPole-v1"), final_margin=25.0, average_margin=100.0)
RETURNS = st.lists(st.floats(-500, 500), min_size=2, max_size=12)


def run_of(seed: int, returns: Sequence[float], *, length: int = 100, **changes: object) -> SeedRun:
    """A run of episodes of equal length."""
    episodes = [Episode((number + 1) * length, 0, value, length) for number, value in enumerate(returns)]
    run = SeedRun(seed, episodes, length * len(returns), length * len(returns))
    return replace(run, **changes)  # type: ignore[arg-type]


def arm(levels: Sequence[float], first: int = 0) -> list[SeedRun]:
    """A run a level, each with 40 equal episodes after one that tells the runs apart."""
    return [run_of(first + number, [number, *[level] * 40]) for number, level in enumerate(levels)]


# Statistics ------------------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(st.floats(-60, 60), st.floats(0.6, 300))
def test_student_t_is_that_of_scipy(value: float, degrees: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    assert student_t_cdf(value, degrees) == pytest.approx(stats.t.cdf(value, degrees), rel=1e-9, abs=1e-13)


@settings(max_examples=100, deadline=None)
@given(st.floats(0.01, 0.99), st.floats(0.8, 300))
def test_quantile_is_that_of_scipy(probability: float, degrees: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    expected = stats.t.ppf(probability, degrees)
    assert student_t_quantile(probability, degrees) == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_no_quantile_outside_of_probabilities() -> None:
    for probability, degrees in ((0.0, 3.0), (1.0, 3.0), (0.9, 0.0)):
        with pytest.raises(ValueError):
            student_t_quantile(probability, degrees)


@settings(max_examples=100, deadline=None)
@given(RETURNS, RETURNS)
def test_welch_is_that_of_scipy(port: list[float], reference: list[float]) -> None:
    stats = pytest.importorskip("scipy.stats")
    interval = welch_interval(port, reference)
    if min(variance(port), variance(reference)) < 1e-6:
        return  # scipy divides what is left of two nearly equal numbers
    expected = stats.ttest_ind(port, reference, equal_var=False).confidence_interval(0.9)
    assert (interval.lower, interval.upper) == pytest.approx((expected.low, expected.high), rel=1e-7, abs=1e-7)


@settings(max_examples=100, deadline=None)
@given(RETURNS, RETURNS)
def test_welch_swaps_sides_with_its_arms(port: list[float], reference: list[float]) -> None:
    there, back = welch_interval(port, reference), welch_interval(reference, port)
    assert (there.lower, there.upper) == pytest.approx((-back.upper, -back.lower))


def test_arms_without_variance_give_an_interval_without_width() -> None:
    interval = welch_interval([500.0] * 10, [490.0] * 20)
    assert (interval.lower, interval.difference, interval.upper) == (10.0, 10.0, 10.0)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 12), st.integers(1, 12), st.integers(0, 20), st.integers(1, 20))
def test_fisher_is_that_of_scipy(failed_port: int, port: int, failed_reference: int, reference: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    failed_port, failed_reference = min(failed_port, port), min(failed_reference, reference)
    table = [[failed_port, port - failed_port], [failed_reference, reference - failed_reference]]
    expected = stats.fisher_exact(table, alternative="greater").pvalue
    assert fisher_one_sided(failed_port, port, failed_reference, reference) == pytest.approx(expected)


def test_seeds_that_decide() -> None:
    assert [seeds_that_decide(ratio, 1.0) for ratio in (0.25, 0.5, 1.0, 1.5)] == [3, 6, 19, 40]
    assert seeds_that_decide(0.0, 5.0) == 1
    assert seeds_that_decide(1.0, 0.0) is None


def test_bootstrap_is_repeatable_and_holds_the_difference() -> None:
    port, reference = [480.0, 500.0, 470.0, 495.0], [490.0, 500.0, 500.0, 450.0]
    low, high = bootstrap_interval(port, reference)
    assert low < welch_interval(port, reference).difference < high
    assert (low, high) == bootstrap_interval(port, reference)


# Scores ----------------------------------------------------------------------------------------------------------


def test_scores_of_a_run() -> None:
    run = run_of(1, [float(value) for value in range(0, 1000, 10)])
    scores = scores_of(run, 475.0)
    assert scores.final == pytest.approx(sum(range(800, 1000, 10)) / 20)
    curve = [sum(range(0, 10 * number + 10, 10)[-20:]) / min(number + 1, 20) for number in range(100)]
    # The first value twice: it holds before the first end, too, and the last only at the run's very end.
    assert scores.average == pytest.approx((curve[0] + sum(curve[:-1])) / 100)
    assert scores.best == pytest.approx(scores.final)
    # The mean of episodes k-19 to k is 10 k - 95: at least 475 from k = 57 on, the 58th episode.
    assert scores.solved_at == 5800


def test_average_is_an_area_and_final_takes_the_last_episode_where_none_ended_late() -> None:
    episodes = [Episode(10, 0, 10.0, 10), Episode(100, 1, 90.0, 90), Episode(100, 2, 20.0, 100)]
    assert average_return(episodes, 400) == pytest.approx((10 * 10 + 10 * 90 + 40 * 300) / 400)
    assert final_return(episodes, transitions=1000) == 20.0


def test_few_episodes_solve_nothing() -> None:
    assert math.isinf(solved_transition(run_of(1, [500.0] * 19).episodes, 475.0))
    assert solved_transition(run_of(1, [500.0] * 20).episodes, 475.0) == 2000


def test_no_episode_no_score() -> None:
    scores = scores_of(SeedRun(1, [], 1000), None)
    assert math.isnan(scores.final) and math.isnan(scores.solved_at)


# Verdict ---------------------------------------------------------------------------------------------------------


def noisy(generator: random.Random, number: int, shift: float = 0.0, first: int = 0) -> list[SeedRun]:
    """Runs whose level is spread as CleanRL's DQN on CartPole: min(500, N(489 - shift, 16))."""
    return arm([min(500.0, generator.gauss(489.0 - shift, 16.0)) for _ in range(number)], first)


LOW_THRESHOLD = replace(CARTPOLE, task=replace(CARTPOLE.task, threshold=400.0))


def share_that_pass(number: int, shift: float, question: Question, repetitions: int = 200) -> float:
    """Share of repetitions in which F and A are found non-inferior, or equivalent."""
    generator = random.Random(1)
    passed = 0
    for _ in range(repetitions):
        verdict = judge(noisy(generator, number, shift), noisy(generator, number, first=100), question)
        passed += all(gate.holds for gate in verdict.gates if gate.name.startswith("G2"))
    return passed / repetitions


@pytest.mark.parametrize(
    ("number", "shift", "equivalence", "expected"),
    [
        # Rows of the simulation with 4000 repetitions that the rules were chosen by.
        (3, 0, False, 0.58),
        (5, 0, True, 0.75),
        (5, 0, False, 0.87),
        (10, 0, False, 0.995),
        (10, 10, False, 0.83),
        (10, 25, False, 0.09),
        (10, 25, True, 0.09),
        (5, 40, False, 0.0),
    ],
)
def test_operating_characteristics(number: int, shift: float, equivalence: bool, expected: float) -> None:
    question = replace(LOW_THRESHOLD, equivalence=equivalence, same_settings=False)
    found = share_that_pass(number, shift, question)
    # Three standard errors of 200 repetitions.
    assert found == pytest.approx(expected, abs=3 * math.sqrt(max(expected * (1 - expected), 0.01) / 200))


def verdict_of(port: Sequence[SeedRun], reference: Sequence[SeedRun], question: Question = CARTPOLE) -> Verdict:
    return judge(port, reference, question)


def good(number: int, first: int = 0) -> list[SeedRun]:
    return arm([490.0 + number % 5 for number in range(number)], first)


def test_an_equal_port_passes_at_ten_seeds_and_not_below() -> None:
    reference = good(20, first=100)
    assert verdict_of(good(10), reference).word is Word.PASS
    smoke = verdict_of(good(9), reference)
    assert (smoke.word, smoke.seeds) == (Word.INCONCLUSIVE, 10)
    assert any("smoke" in note for note in smoke.notes)


def test_a_bad_port_fails_at_five_seeds_and_gets_no_verdict_at_three() -> None:
    reference = good(20, first=100)
    bad = arm([100.0, 110.0, 90.0, 120.0, 80.0])
    assert verdict_of(bad, reference).word is Word.FAIL
    refused = verdict_of(bad[:3], reference)
    assert refused.word is Word.INCONCLUSIVE
    assert any("no verdict" in note for note in refused.notes)


def test_failed_seeds_fail_a_port_whose_interval_is_undecided() -> None:
    port = arm([500.0] * 6 + [293.0, 417.0])
    verdict = verdict_of(port, good(20, first=100))
    assert verdict.word is Word.FAIL
    assert verdict.failed is not None and (verdict.failed.port, verdict.failed.allowed_port) == (2, 1)
    assert fisher_one_sided(3, 10, 0, 20) == pytest.approx(0.03, abs=0.001)


def test_one_failed_seed_is_named_as_what_leaves_the_returns_open() -> None:
    verdict = verdict_of(arm([500.0] * 9 + [140.0]), good(20, first=100))
    assert verdict.word is Word.INCONCLUSIVE
    assert "F varies so much because seeds failed: 1 of the port's, 0 of the reference's" in verdict.notes
    assert not any("because seeds failed" in note for note in verdict_of(good(10), good(20, first=100)).notes)


def test_a_reference_that_fails_decides_nothing() -> None:
    verdict = verdict_of(good(10), arm([490.0] * 8 + [200.0] * 2, first=100))
    assert verdict.word is Word.INCONCLUSIVE
    assert any(gate.holds is None and "--threshold" in gate.reason for gate in verdict.gates)


def test_saturation_is_said_and_decided_by_the_rest() -> None:
    def saturated(first: int) -> list[SeedRun]:
        return [run_of(first + number, [number, *[500.0] * 100]) for number in range(10)]

    verdict = verdict_of(saturated(0), saturated(100))
    assert verdict.word is Word.PASS
    assert "saturated: F has no power, verdict rests on A and S" in verdict.notes
    slow = [run_of(number, [number, *[20.0] * 60, *[500.0] * 40]) for number in range(10)]
    verdict = verdict_of(slow, saturated(100))
    assert verdict.word is Word.FAIL, "a port that learns late has a lower A"


def test_identical_trajectories_need_no_interval() -> None:
    wide = arm([480.0, 300.0] * 5)
    question = replace(CARTPOLE, task=task_of("CartPole-v1", threshold=100.0))
    assert verdict_of(wide, arm([480.0, 300.0] * 5, first=100), question).word is Word.INCONCLUSIVE
    verdict = verdict_of(wide, wide, question)
    assert (verdict.word, verdict.identical) == (Word.PASS, tuple(range(10)))
    assert "identical trajectories in 10 of 10 seeds" in verdict.notes


def test_seeds_without_effect_are_no_seeds() -> None:
    same = [run_of(seed, [490.0] * 40) for seed in range(10)]
    verdict = verdict_of(same, good(20, first=100))
    assert verdict.word is Word.INCONCLUSIVE
    assert any("the seed does not reach the script" in gate.reason for gate in verdict.gates)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"faults": ("loss nan at transition 300",)}, "loss nan"),
        ({"asked": 5000}, "4100 of 5000 transitions"),
        ({"episodes": []}, "no episode"),
        ({"episodes": [Episode(1, 0, math.nan, 1)]}, "not finite"),
    ],
)
def test_unsound_runs_break_the_first_gate(change: dict[str, object], words: str) -> None:
    port = good(10)
    port[4] = replace(port[4], **change)  # type: ignore[arg-type]
    verdict = verdict_of(port, good(20, first=100))
    assert verdict.word is Word.FAIL
    assert words in verdict.gates[0].reason and "seed 4" in verdict.gates[0].reason


def test_faults_beside_the_returns_break_the_first_gate() -> None:
    verdict = judge(good(10), good(20, first=100), CARTPOLE, faults=["the checkpoint does not reload"])
    assert (verdict.word, verdict.gates[0].reason) == (Word.FAIL, "the checkpoint does not reload")


def test_a_better_port_passes_and_is_not_equivalent() -> None:
    better, reference = (
        arm([450.0 + number for number in range(10)]),
        arm([300.0 + number for number in range(10)], 100),
    )
    question = replace(CARTPOLE, task=task_of("CartPole-v1", threshold=200.0))
    assert verdict_of(better, reference, question).word is Word.PASS
    assert verdict_of(better, reference, replace(question, equivalence=True)).word is Word.FAIL


def test_other_settings_leave_the_learning_speed_out() -> None:
    slow = [run_of(number, [number, *[20.0] * 60, *[490.0] * 40]) for number in range(10)]
    question = replace(CARTPOLE, same_settings=False)
    assert verdict_of(slow, good(20, first=100), question).word is Word.PASS


def test_an_evaluation_replaces_the_last_fifth_where_all_have_one() -> None:
    port = [replace(run, evaluation=100.0) for run in good(10)]
    reference = [replace(run, evaluation=500.0) for run in good(20, first=100)]
    assert verdict_of(port, reference).word is Word.FAIL
    assert verdict_of(port, good(20, first=100)).word is Word.PASS


def test_a_greedy_return_does_not_fail_an_agent_that_is_judged_by_its_best() -> None:
    port = [replace(run, evaluation=100.0) for run in good(10)]
    reference = [replace(run, evaluation=500.0) for run in good(20, first=100)]
    assert verdict_of(port, reference, replace(CARTPOLE, final_score="best")).word is Word.PASS


def test_an_undecided_port_is_told_how_many_seeds_decide() -> None:
    port, reference = arm([340.0, 460.0] * 5), arm([340.0, 460.0] * 10, first=100)
    question = replace(CARTPOLE, task=task_of("CartPole-v1", threshold=200.0))
    verdict = verdict_of(port, reference, question)
    assert verdict.word is Word.INCONCLUSIVE
    assert verdict.seeds == verdict.comparisons[0].seeds
    assert verdict.seeds is not None and verdict.seeds > 50


ORDER = {Word.FAIL: 0, Word.INCONCLUSIVE: 1, Word.PASS: 2}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 500), min_size=5, max_size=12), st.floats(0, 400), st.integers(10, 14))
def test_a_lower_port_never_gets_a_better_verdict(levels: list[float], loss: float, number: int) -> None:
    reference = good(number, first=100)
    before = verdict_of(arm(levels), reference)
    after = verdict_of(arm([level - loss for level in levels]), reference)
    assert ORDER[after.word] <= ORDER[before.word]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 500), min_size=5, max_size=12), st.floats(1, 200))
def test_a_wider_margin_never_gives_a_worse_verdict(levels: list[float], more: float) -> None:
    wider = replace(CARTPOLE, final_margin=25.0 + more, average_margin=100.0 + more)
    port, reference = arm(levels), good(12, first=100)
    assert ORDER[verdict_of(port, reference, wider).word] >= ORDER[verdict_of(port, reference).word]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 500), min_size=5, max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_seeds_does_not_matter(levels: list[float], shuffle: random.Random) -> None:
    port, reference = arm(levels), good(12, first=100)
    shuffled = list(port)
    shuffle.shuffle(shuffled)
    assert verdict_of(shuffled, reference).word is verdict_of(port, reference).word
