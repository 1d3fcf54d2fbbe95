"""The sentence a reader gets, and the numbers behind it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import stdtrit

import veridical as vd
from veridical.attribute.evidence import intervals, tied_groups, top_probability, weigh
from veridical.records import Fit


def fit(weights: list[float], errors: list[float], fidelity: float = 0.41) -> Fit:
    w = np.array(weights)
    every = np.ones(len(w), bool)
    return Fit(w, 0.0, np.diag(np.square(errors)), 1.0, fidelity, every, every, 1000.0)


def sentence(found: Fit, k: int = 5) -> str:
    rule = vd.TopK(k)
    return weigh(found, rule, top_probability(found, rule), 100).verdict.sentence


def test_the_example_of_the_design() -> None:
    found = fit([0.9, -0.6, 0.301, 0.3], [0.01] * 4)
    assert sentence(found, 4) == (
        "Believe the first two; the third and fourth cannot be told apart; "
        "but the local fit explains only 41 % of what the model does here."
    )


@pytest.mark.parametrize(
    ("weights", "error", "expected"),
    [
        ([3, 2, 1], 0.01, "Believe the first three"),
        ([3, 0.1, 0.05], 0.2, "Believe the first; the second and third cannot be told from zero"),
        ([1, 1, 0.1], 0.02, "The first and second cannot be told apart"),
        ([0.1, 0.1, 0.1], 1.0, "No evidence: after 100 calls no part's weight can be told from zero."),
    ],
)
def test_sentences(weights: list[float], error: float, expected: str) -> None:
    assert sentence(fit(weights, [error] * 3)).startswith(expected)


def test_a_good_fit_that_is_settled_passes_and_others_do_not() -> None:
    rule = vd.TopK(2)
    good = weigh(fit([3, 2, 1], [0.01] * 3, 0.9), rule, 0.99, 100).verdict
    poor = weigh(fit([3, 2, 1], [0.01] * 3, 0.2), rule, 0.99, 100).verdict
    open_ = weigh(fit([3, 2, 1], [0.01] * 3, 0.9), rule, 0.7, 100).verdict
    assert (good.passed, poor.passed, open_.passed) == (True, False, False)
    assert "explains only 20 %" in poor.sentence
    assert "the top 2 is not settled after 100 calls (70 % sure)" in open_.sentence
    assert (open_.observed, open_.expected) == (0.7, 0.95)


def test_top_probability_against_brute_force() -> None:
    """Correlated weights, 2·10⁵ draws and the definition itself; 512 draws leave an error of about 0.02."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(8, 8)) * 0.15
    found = fit([1.0, -0.9, 0.8, 0.7, -0.6, 0.5, 0.3, 0.1], [1.0] * 8)
    found = Fit(found.weights, 0.0, root @ root.T, 1.0, 0.5, found.measured, found.chosen, 1000.0)
    drawn = np.abs(found.weights + rng.normal(size=(200_000, 8)) @ root.T)
    for k, tolerance in ((2, 0.1), (3, 0.0), (5, 0.2)):
        least, rival = drawn[:, :k].min(axis=1), drawn[:, k:].max(axis=1)
        truth = np.mean(rival <= least + tolerance * drawn.max(axis=1))
        assert top_probability(found, vd.TopK(k, tolerance=tolerance)) == pytest.approx(truth, abs=0.06)


def test_groups_are_compared_with_their_first_member() -> None:
    """A chain of small steps is not one tie: the last differs from the first."""
    found = fit([1.0, 0.97, 0.94, 0.91, 0.88], [0.02] * 5)
    assert tied_groups(found, 5) == [(0, 1), (2, 3), (4,)]


def test_intervals_are_wide_where_a_part_was_not_measured() -> None:
    found = fit([1.0, 0.0], [0.1, np.inf])
    bounds = intervals(found)
    np.testing.assert_allclose(bounds[0], [1 - 0.1962, 1 + 0.1962], atol=1e-3)
    assert np.isinf(bounds[1]).all()


def test_errors_of_sizes_never_turn_a_sign() -> None:
    """However large they are, a size that is not zero is not: intervals go by logarithms, and do not meet zero."""
    absolute = fit([2.0, -1.0, 0.0], [1.5, 0.7, 0.0], fidelity=float("nan"))
    relative = replace(absolute, relative=True)
    far = np.exp(stdtrit(absolute.degrees, 0.975) * np.array([1.5 / 2, 0.7]))
    wanted = [[2 / far[0], 2 * far[0]], [-far[1], -1 / far[1]], [0, 0]]
    np.testing.assert_allclose(intervals(relative), wanted)
    assert "No evidence" in sentence(absolute)
    assert "zero" not in sentence(relative)


def test_rules_that_make_no_sense_are_refused() -> None:
    for bad in ({"k": 0}, {"probability": 1.0}, {"tolerance": -0.1}):
        with pytest.raises(vd.InputError, match="TopK"):
            vd.TopK(**bad)
