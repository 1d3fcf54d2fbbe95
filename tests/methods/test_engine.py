"""Rows explained at once: the bits that each gets alone, and the numbers of a slow reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import veridical as vd
from tests.builders.methods import linear_lime
from veridical.evidence.verdicts import top_probabilities, top_probability
from veridical.methods.engine import SharedSample
from veridical.methods.many import Own, RowWork, sample_for
from veridical.models.outputs import Model
from veridical.models.targets import resolve
from veridical.protocols import Shareable
from veridical.records import Fit, Floats, Neighborhood
from veridical.representations.tables.rows import Row
from veridical.sampling.kernels import Gaussian
from veridical.surrogates.known_terms import KnownSum
from veridical.surrogates.least_squares import BLOCKS, on_grid
from veridical.surrogates.linear import Linear, fit_beside

RNG = np.random.default_rng(0)
N = 300
NUMBERS = RNG.normal(size=(N, 6))
MIXED = pd.DataFrame(
    {
        "a": RNG.normal(size=N),
        "b": RNG.choice(["x", "y", "z"], N),
        "c": RNG.integers(0, 9, N),
        "d": np.where(RNG.random(N) < 0.2, np.nan, RNG.exponential(size=N)),
        "e": pd.to_datetime("2024-01-01") + pd.to_timedelta(RNG.integers(0, 365, N), unit="D"),
    }
)


def steep(X: Any) -> Floats:
    p = 1 / (1 + np.exp(-(X[:, 0] + 2 * X[:, 1] * X[:, -1])))
    return np.stack([1 - p, p], axis=1)


def of_mixed(X: pd.DataFrame) -> Floats:
    a, d = X["a"].to_numpy(), np.nan_to_num(X["d"].to_numpy())
    return np.asarray(a * (X["b"] == "x").to_numpy() + 0.1 * X["c"].to_numpy() * d, np.float64)


CASES: dict[str, tuple[Callable[[Any], Floats], vd.Rows, Any]] = {
    "bins": (steep, vd.Rows(NUMBERS), NUMBERS),
    "numbers": (steep, vd.Rows(NUMBERS, discretize=vd.bins.Continuous()), NUMBERS),
    "mixed": (of_mixed, vd.Rows(MIXED), MIXED),
    "one part": (lambda X: steep(np.repeat(X, 2, axis=1)), vd.Rows(NUMBERS[:, :1]), NUMBERS[:, :1]),
    "two parts": (steep, vd.Rows(NUMBERS[:, :2], discretize=vd.bins.Deciles()), NUMBERS[:, :2]),
    "still": (lambda X: np.where(np.asarray(X)[:, 0] > 1e9, 1.0, 0.0), vd.Rows(NUMBERS), NUMBERS),
    "huge": (lambda X: 1e150 * steep(X), vd.Rows(NUMBERS), NUMBERS),
}


def bits(why: vd.Explanation) -> tuple[Any, ...]:
    numbers = (why.intercept, why.local_prediction, why.fidelity, why.effective_size, why.top_probability)
    words = (why.prediction, why.n_calls, why.target, why.verdict, why.unsettled, why.notes, why.names)
    return why.weights.tobytes(), why.intervals.tobytes(), np.array(numbers).tobytes(), words


@pytest.mark.parametrize("case", CASES)
def test_no_bit_depends_on_the_other_rows(case: str) -> None:
    """All at once, a few at a time, in another order, by a recipe, and by the code for one row."""
    predict, rows, X = CASES[case]
    X = X[:40]
    whole = [bits(why) for why in vd.explain_many(predict, rows, X, method=linear_lime())]
    few = vd.explain_many(predict, rows, X, batch_size=7, method=linear_lime())
    assert [bits(why) for why in few] == whole
    turned = vd.explain_many(predict, rows, X[::-1].copy(), method=linear_lime())
    if few[0].recipe["shared"]:
        assert [bits(why) for why in turned][::-1] == whole
    for i in (0, 13, 39):
        x = X.iloc[[i]] if isinstance(X, pd.DataFrame) else X[i]
        assert bits(vd.rerun(predict, rows, x, few[i].recipe)) == whole[i]
    model, instances = Model(predict), rows.each(X)
    batch = instances.batch(0, 40)
    seed = np.random.SeedSequence(0)
    sample = SharedSample(model, cast(Shareable, batch[0]).common, seed)
    work = RowWork(linear_lime(), model, None, seed, Own(model, instances, range(len(instances))), sample)
    assert [bits(work(batch[i], i)) for i in range(40)] == whole
    together = work.together(batch, range(40))
    assert [bits(cast(vd.Explanation, together[i])) for i in range(40)] == whole


def test_no_bit_depends_on_the_threads_of_linear_algebra() -> None:
    wide = np.random.default_rng(1).normal(size=(N, 30))
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, "blas"):
            found.append(
                [bits(why) for why in vd.explain_many(steep, vd.Rows(wide), wide[:20], method=linear_lime())]
            )
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "method",
    [
        linear_lime(n_features=3),
        linear_lime(n_samples=200, n_features=2, select=vd.selectors.lasso_path),
        linear_lime(kernel=lambda d: 1 / (1 + d)),
        vd.Lime(surrogate=vd.surrogates.Linear(ridge=0.1)),
        vd.Lime(n_samples=200, surrogate=vd.surrogates.Tree()),
        vd.Lime.paper(2),
    ],
)
def test_no_bit_depends_on_the_other_rows_whatever_the_settings(method: vd.Lime) -> None:
    for case in ("bins", "numbers"):
        predict, rows, X = CASES[case]
        whole = [bits(why) for why in vd.explain_many(predict, rows, X[:9], method=method)]
        few = vd.explain_many(predict, rows, X[:9], method=method, batch_size=2)
        assert [bits(why) for why in few] == whole


def test_rows_that_cannot_share_have_samples_of_their_own() -> None:
    predict, rows, X = CASES["numbers"]
    X = X[:5].copy()
    X[3] += 6
    model, instances = Model(predict), rows.each(X)
    batch, seed = instances.batch(0, 5), np.random.SeedSequence(0)
    own, sample = Own(model, instances, range(5)), SharedSample(model, cast(Shareable, batch[0]).common, seed)
    assert set(RowWork(linear_lime(), model, None, seed, own, sample).together(batch, range(5))) == {0, 1, 2, 4}
    assert sample_for(vd.KernelShap(), model, batch[0], seed) is None


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 300), st.floats(-200, 200))
def test_sums_on_a_grid_are_exact_in_any_order(seed: int, n: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    terms = 10.0**scale * rng.standard_t(2, size=(3, n))
    rounded = on_grid(terms.copy())
    np.testing.assert_allclose(rounded, terms, atol=1e-11 * np.abs(terms).max(axis=1).max())
    order = rng.permutation(n)
    assert all(np.cumsum(row)[-1] == np.cumsum(row[order])[-1] == row.sum() for row in rounded)


def test_without_the_grid_sums_depend_on_their_order() -> None:
    terms = np.random.default_rng(0).normal(size=1000)
    assert len({np.cumsum(np.random.default_rng(i).permutation(terms))[-1] for i in range(9)}) > 1


def seen_alone(rows: vd.Rows, X: Any, predict: Any, n: int) -> tuple[Neighborhood, Floats, KnownSum | None]:
    """Rows among n samples that they share, the first output, and what is known of it by a sum of effects."""
    each = [cast(Row, rows(x)) for x in X]
    sample = SharedSample(Model(predict), each[0].background, np.random.SeedSequence(3))
    values, outputs = sample.grow(0, n)
    target = resolve(0, Model(predict), outputs)
    effects = sample.effects(n, target)
    near = each[0].background.together(each, [values], Gaussian(0.75))
    return near, target.read(outputs), None if effects is None else effects.at(each, 1.0)


def slowly_alone(near: Neighborhood, y: Floats) -> tuple[Floats, Floats, float, float]:
    """Weighted least squares of one row of a net, with HC3 errors, one sample at a time."""
    Z, w = near.designs[0], near.weights[0]
    n, d = Z.shape
    center, root = np.average(Z, axis=0, weights=w), np.sqrt(w)
    A, t = (Z - center) * root[:, None], (y - np.average(y, weights=w)) * root
    weights, *_ = np.linalg.lstsq(A, t, rcond=None)
    inverse = np.linalg.pinv(A.T @ A)
    own = np.array([a @ inverse @ a if n < 16 * d else np.sum(a**2 / (A**2).sum(axis=0)) for a in A])
    pull = w / w.sum() + own
    score = np.array([inverse @ a for a in A]) * ((t - A @ weights) / (1 - pull))[:, None]
    covariance = score.T @ score
    length = -(-n // BLOCKS)
    blocks = np.array([score[a : a + length].sum(axis=0) for a in range(0, n, length)])
    between = blocks.var(axis=0, ddof=1).sum() * BLOCKS
    steady = min(1.0, (1 + np.sqrt(2 / (BLOCKS - 1) / d)) * between / np.trace(covariance))
    left = (t - A @ weights) * (1 + steady * (1 / (1 - pull) - 1))
    intercept = np.average(y, weights=w) - center @ weights
    return weights, covariance * steady, intercept, 1 - left @ left / (t @ t)


@pytest.mark.parametrize("n", [64, 200])
@pytest.mark.parametrize("discretize", [vd.bins.Quartiles(), vd.bins.Continuous()])
def test_least_squares_of_many_are_those_of_a_slow_reference_and_of_each_alone(n: int, discretize: Any) -> None:
    near, y, _ = seen_alone(vd.Rows(NUMBERS, discretize=discretize), NUMBERS[5:9], steep, n)
    found = Linear()(near, y)
    for i in range(4):
        alone = Linear()(near.row(i), y)[0]
        weights, covariance, intercept, fidelity = slowly_alone(near.row(i), y)
        assert (found.weights[i] == alone.weights).all()
        assert (found.covariance[i] == alone.covariance).all()
        np.testing.assert_allclose(alone.weights, weights, rtol=1e-7, atol=1e-11)
        np.testing.assert_allclose(alone.covariance, covariance, rtol=1e-6, atol=1e-13)
        assert alone.intercept == pytest.approx(intercept, abs=1e-9)
        assert alone.fidelity == pytest.approx(fidelity, abs=1e-8)
        assert alone.measured.all()


def slowly_beside(near: Neighborhood, y: Floats, known: KnownSum) -> tuple[Floats, Floats, float, float]:
    """What ``fit_beside`` says it does, one row and one part at a time."""
    Z, w, n = near.designs[0], near.weights[0], len(y)
    d = Z.shape[1]
    rest = y - known.values
    rest = rest - np.average(rest, weights=w)
    share = np.array([np.average(Z[:, j], weights=w) for j in range(d)])
    spread = w.sum() * share * (1 - share)
    slope = np.array([np.sum(w * rest * (Z[:, j] - share[j])) for j in range(d)]) / spread
    weights = known.weights[0] + slope
    intercept = known.intercepts[0] + np.average(y - known.values, weights=w) - share @ slope
    score = ((Z - share) / spread) * (w * (rest - (Z - share) @ slope) / (1 - known.n_effects / n))[:, None]
    covariance = score.T @ score
    top = np.argsort(-np.abs(weights))[:12]
    heavy = np.isin(np.arange(d), top)
    covariance[~(heavy[:, None] & heavy) & ~np.eye(d, dtype=bool)] = 0.0
    blocks = np.array([score[b * n // BLOCKS : (b + 1) * n // BLOCKS].sum(axis=0) for b in range(BLOCKS)])
    between = blocks.var(axis=0, ddof=1).sum() * BLOCKS
    steady = min(1.0, (1 + np.sqrt(2 / (BLOCKS - 1) / d)) * between / np.trace(covariance))
    left = y - Z @ weights - intercept
    left = left * (1 + steady * (d + 1) / (n - d - 1))
    fidelity = 1 - (w @ left**2) / (w @ (y - np.average(y, weights=w)) ** 2)
    return weights, covariance * steady, float(intercept), float(fidelity)


def test_fits_beside_an_additive_model_are_those_of_a_slow_reference() -> None:
    wide = np.random.default_rng(1).normal(size=(N, 16))
    for x in wide[:3]:
        near, y, known = seen_alone(vd.Rows(wide), x[None], steep, 512)
        assert known is not None
        found = fit_beside(near, y, known)[0]
        weights, covariance, intercept, fidelity = slowly_beside(near, y, known)
        np.testing.assert_allclose(found.weights, weights, atol=1e-11)
        np.testing.assert_allclose(found.covariance, covariance, rtol=1e-7, atol=1e-16)
        assert found.intercept == pytest.approx(intercept, abs=1e-11)
        assert found.fidelity == pytest.approx(fidelity, abs=1e-11)


def random_fit(rng: np.random.Generator, d: int, singular: bool) -> Fit:
    root = rng.normal(size=(d, 2 if singular else d)) * 0.1
    live = rng.random(d) < 0.9
    covariance = np.where(live[:, None] & live, root @ root.T, 0.0) + np.diag(np.where(live, 0.0, np.inf))
    weights = np.where(live, rng.normal(size=d) * 0.3, 0.0)
    return Fit(weights, 0.0, covariance, 0.0, 0.5, live, live, 100.0)


@pytest.mark.parametrize("d", [1, 2, 7, 30, 120])
def test_tops_of_many_are_as_sure_as_those_of_one(d: int) -> None:
    rng, rule = np.random.default_rng(d), vd.TopK()
    fits = [random_fit(rng, d, singular) for singular in (False, True) for _ in range(20)]
    fits.append(Fit(np.zeros(d), 0.0, np.zeros((d, d)), 0.0, 0.5, np.ones(d, bool), np.ones(d, bool), 1.0))
    stacks = (np.stack([getattr(fit, name) for fit in fits]) for name in ("weights", "covariance", "measured"))
    together = top_probabilities(*stacks, rule)
    assert together.tolist() == [top_probability(fit, rule) for fit in fits]
    assert together[-1] == 0.0
