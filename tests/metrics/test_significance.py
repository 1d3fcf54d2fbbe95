"""Differences that are called so are hardly ever chance: the paired test, its adjustment, and ranks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from veridical.metrics.reports import Metric, Report, Score
from veridical.metrics.significance import adjust_holm, compare_rows, interval, min_instances, sign_flip_test

SEED = np.random.SeedSequence(0)


def brute(d: np.ndarray) -> float:
    """The sign-flip test as it is told: every choice of signs, one at a time."""
    sums = [abs(sum(s * v for s, v in zip(signs, d, strict=True))) for signs in product((1, -1), repeat=len(d))]
    return sum(total >= abs(d.sum()) - 1e-12 for total in sums) / len(sums)


def test_few_instances_are_tested_exactly() -> None:
    assert sign_flip_test(np.array([[1.0, 2.0, 3.0]]), SEED)[0] == 0.25
    assert sign_flip_test(np.zeros((1, 6)), SEED)[0] == 1.0
    some = np.random.default_rng(1).normal(0.4, 1, size=(5, 9))
    np.testing.assert_allclose(sign_flip_test(some, SEED), [brute(d) for d in some])


def test_what_is_missing_is_left_out() -> None:
    some = np.random.default_rng(2).normal(0.5, 1, size=8)
    holes = np.insert(some, [0, 4], np.nan)
    assert sign_flip_test(holes[None], SEED)[0] == pytest.approx(brute(some))


def test_many_instances_are_tested_by_drawing() -> None:
    """As exact as the draws allow: the normal law is near for 40 instances."""
    d = np.random.default_rng(3).normal(0.3, 1, 40)
    z = abs(d.sum()) / np.sqrt((d**2).sum())
    from scipy.stats import norm

    assert sign_flip_test(d[None], SEED)[0] == pytest.approx(2 * norm.sf(z), abs=4 * np.sqrt(0.05 / 20_000) + 0.01)
    assert sign_flip_test(np.full((1, 40), 2.0), SEED)[0] == pytest.approx(1 / 20_000)  # never zero


@pytest.mark.parametrize("n", [6, 12, 25])
def test_alike_methods_are_told_apart_no_more_often_than_said(n: int) -> None:
    """Scores with heavy tails and of different spread: 2,000 pairs of methods that are alike."""
    rng = np.random.default_rng(4)
    scores = rng.standard_t(2, (2, 2000, n)) * rng.lognormal(0, 1, (2000, n))
    p = sign_flip_test(scores[0] - scores[1], SEED)
    assert (p < 0.05).mean() < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 2000)
    assert (p < 0.05).mean() > 0.015  # and it is a test: it does claim something now and then


def test_no_claim_among_many_is_false_more_often_than_said() -> None:
    """Four methods that are alike, with their null rows: any claim at all in 1 of 20 reports, at most."""
    rng, names = np.random.default_rng(5), list("abcdefgh")
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    claims = 0
    for _ in range(300):
        values = dict(zip(names, rng.normal(size=(8, 12)) + rng.normal(size=12), strict=True))
        claims += any(c.p < 0.05 for c in compare_rows("m", values, pairs, SEED))
    assert claims / 300 < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 300)


def test_a_real_difference_is_found() -> None:
    rng = np.random.default_rng(6)
    found = sign_flip_test(rng.normal(1, 1, (400, 20)), SEED)
    assert (found < 0.05).mean() > 0.95


def test_pairing_helps() -> None:
    """What instances have in common cancels: methods that differ by little on very different instances."""
    rng = np.random.default_rng(7)
    common = 100 * rng.normal(size=20)
    values = {"a": common + rng.normal(1, 0.5, 20), "b": common}
    assert compare_rows("m", values, [("a", "b")], SEED)[0].p < 0.001


def test_holm() -> None:
    np.testing.assert_allclose(adjust_holm(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(adjust_holm(np.array([0.9, 0.8])), [1.0, 1.0])
    np.testing.assert_allclose(adjust_holm(np.array([0.2])), [0.2])


def test_intervals_cover_the_mean() -> None:
    draws = np.random.default_rng(8).normal(3, 2, (3000, 8))
    found = np.array([interval(d) for d in draws])
    inside = ((found[:, 1] < 3) & (found[:, 2] > 3)).mean()
    assert abs(inside - 0.95) < 4 * np.sqrt(0.05 * 0.95 / 3000)
    assert interval(np.array([np.nan, 2.0]))[0] == 2.0
    assert np.isnan(interval(np.array([np.nan, 2.0]))[1:]).all()
    assert np.isnan(interval(np.array([np.nan]))).all()


def test_rounding_is_no_difference() -> None:
    """Two methods that are both exact, one of them always wrong in the last digit."""
    exact, rounded, chance = np.ones(16), np.full(16, 1 - 2**-52), np.linspace(0, 1, 16)
    values = {"a": exact, "b": rounded, "random": chance}
    told, beaten = compare_rows("m", values, [("a", "b"), ("b", "random")], SEED)
    assert (told.difference, told.p) == (0.0, 1.0)
    assert beaten.p < 0.05
    tiny = {name: 1e-300 * each for name, each in values.items()}
    assert compare_rows("m", tiny, [("b", "random")], SEED)[0].p < 0.05  # however small the unit is


def test_one_instance_compares_nothing() -> None:
    (found,) = compare_rows("m", {"a": np.array([1.0]), "b": np.array([0.0])}, [("a", "b")], SEED)
    assert np.isnan(found.p)
    assert np.isnan(found.low)


@pytest.mark.parametrize("pairs", [1, 3, 12, 75])
def test_fewest_instances(pairs: int) -> None:
    """With so many instances that all agree a claim is possible, with one less it is not."""
    n = min_instances(pairs)
    assert 2 * pairs * 0.5**n < 0.05 + 1e-12
    assert 2 * pairs * 0.5 ** (n - 1) >= 0.05 - 1e-12


def report(values: dict[str, np.ndarray], better: str) -> Report:
    metric = Metric("m", lambda trial, rng: 0.0, better, "own", "made up")
    names = tuple(values)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    scores = tuple(Score("m", name, v, *interval(v), len(v)) for name, v in values.items())
    return Report("t", (metric,), names, (), scores, tuple(compare_rows("m", values, pairs, SEED)), 16, 0)


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_ranks(better: str) -> None:
    """Two that are alike share the first rank; the third is behind both."""
    rng = np.random.default_rng(9)
    sign = 1 if better == "higher" else -1
    worse, good = rng.normal(0, 1, 16), sign * 3 + rng.normal(0, 1, 16)
    values = {"worse": worse, "good": good, "alike": good + rng.normal(0, 0.01, 16)}
    found = report(values, better).ranking("m")
    assert sorted(found) == [(1, "alike"), (1, "good"), (3, "worse")]
    assert found[-1][1] == "worse"
    assert report(values, better).beats("m", "good", "worse")
    assert not report(values, better).beats("m", "worse", "good")
    assert not report(values, better).beats("m", "good", "alike")


def test_who_was_not_measured_has_no_rank() -> None:
    found = report({"a": np.ones(16), "b": np.full(16, np.nan)}, "higher")
    assert found.ranking("m") == [(1, "a")]
