"""The limits that benchmarks compare with, against closed forms (Garreau & von Luxburg; Mardaoui & Garreau)."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")
sys.path.insert(0, BENCHMARKS)  # for these imports alone: a folder with a coverage.py must not stay on the path
try:
    from laws import coins, every_mask, masks, probabilities, removals
    from limits import mask_limits
finally:
    sys.path.remove(BENCHMARKS)

# law, parts, members of the AND, weight of a member and of another part
CLOSED = [
    (coins, 10, 2, 0.57546, 0.00129),
    (coins, 10, 3, 0.32624, 0.00214),
    (coins, 20, 2, 0.53898, 0.00020),
    (coins, 20, 3, 0.28907, 0.00032),
    (removals, 20, 2, 0.64630, -0.00132),
    (removals, 20, 3, 0.44419, -0.00333),
    (removals, 100, 2, 0.63656, 0.00010),
]


def conjunction(law, d, p):
    """A model that answers 1 where the first p of d parts are there."""
    return SimpleNamespace(
        law=law,
        n_parts=lambda i: d,
        target=lambda i: 0,
        inputs=lambda i, kept: kept,
        predict=lambda kept: kept[:, :p].all(axis=1, keepdims=True).astype(float),
    )


@pytest.mark.parametrize(("law", "d", "p", "member", "other"), CLOSED)
def test_limits_of_a_conjunction(law, d, p, member, other):
    found = mask_limits(conjunction(law, d, p), 1, samples=2**13)
    weights, errors = found.weights[0], found.errors[0]
    assert (errors == 0).all() == (d <= 16)
    expected = np.where(np.arange(d) < p, member, other)
    np.testing.assert_allclose(weights, expected, atol=1e-5 + 6 * errors.max())


def test_errors_of_limits_are_those_seen():
    """The spread of independent limits is the error that each of them states."""
    problem = conjunction(removals, 20, 2)
    found = mask_limits(problem, 1, samples=2**10)
    gap = found.weights[0][:2] - 0.64630
    assert 0.2 < np.linalg.norm(gap) / np.linalg.norm(found.errors[0][:2]) < 4


@pytest.mark.parametrize("law", [coins, removals])
def test_masks_follow_the_law_of_sizes(law):
    d, n = 12, 2**15
    drawn = masks(law(d), n, np.random.default_rng(0))
    sizes = np.bincount(drawn.sum(axis=1).astype(int), minlength=d + 1) / n
    np.testing.assert_allclose(sizes, law(d), atol=1.5 / n)  # stratified: within one sample
    np.testing.assert_allclose(drawn.mean(axis=0), drawn.mean(), atol=5 * 0.5 / np.sqrt(n))
    exact = np.bincount(every_mask(d).sum(axis=1).astype(int), probabilities(law(d)))
    np.testing.assert_allclose(exact, law(d), atol=1e-12)
