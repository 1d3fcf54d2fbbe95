"""Right answers that are known in closed form, through the public calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import truncnorm

import veridical as vd
from tests.builders.contracts import bits
from tests.builders.methods import linear_lime
from veridical import toys
from veridical.records import Sample
from veridical.sampling.masks import Sizes, coins, removals

# A set function of d parts ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Game(toys.Masks):
    """Masks of d parts under a law, which may be told not to enumerate them."""

    exact: bool = True

    def enumerate(self, kernel: Any, limit: int) -> Sample | None:
        return self.law.enumerate(kernel, limit) if self.exact else None


@dataclass(frozen=True, eq=False)
class Games:
    """The representer of a Game; the instance has all parts."""

    law: Sizes
    width: float = 0.25
    exact: bool = True

    def __call__(self, x: Any) -> Game:
        return Game(self.law, vd.kernels.Gaussian(self.width), exact=self.exact)

    def each(self, X: Any) -> Any:
        raise NotImplementedError


def all_of(p: int) -> Callable[[Any], Any]:
    return toys.all_of(*range(p))


def explain_game(
    f: Any, law: Sizes, n_samples: int, *, width: float = 0.25, exact: bool = False, rng: int = 0
) -> Any:
    return vd.explain(
        f, Games(law, width, exact), None, target=0, method=linear_lime(n_samples=n_samples), rng=rng
    )


def assert_within_intervals(why: vd.Explanation, truth: Any, *, times: float = 2.5) -> None:
    """The truth lies within ``times`` half-widths of 95 %: 2.5 of them are 4.9 standard errors."""
    half = np.ptp(why.intervals, axis=1) / 2
    off = np.abs(why.weights - truth)
    assert np.all(off <= times * half + 1e-9), (off / np.maximum(half, 1e-300)).max()


# T1 exactness ----------------------------------------------------------------------------------------------

TABLE = np.random.default_rng(0).normal(size=(400, 6)) * [1, 2, 3, 4, 5, 6] + [9, 0, 1, 0, 5, 0]
BETA = np.array([3.0, -2.0, 0.0, 1.5, 0.25, -4.0])
EDGES = np.quantile(TABLE, [0.25, 0.5, 0.75], axis=0).T


def own_bins(X: Any, x: Any) -> Any:
    """1 where a value is in the same quartile bin as the instance's."""
    return np.stack(
        [np.searchsorted(e, X[:, j]) == np.searchsorted(e, x[j]) for j, e in enumerate(EDGES)], axis=1
    ).astype(float)


KERNELS = [None, vd.kernels.Gaussian(0.2), vd.kernels.Gaussian(50.0), lambda distances: 1 / (1 + distances)]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("rng", [0, 1, 2])
@pytest.mark.parametrize("n_samples", [64, 301])
def test_t1_a_model_linear_in_the_bins_is_found_exactly(kernel: Any, rng: int, n_samples: int) -> None:
    x = TABLE[rng]
    why = vd.explain(
        lambda X: 0.5 + own_bins(X, x) @ BETA,
        vd.Rows(TABLE), x, method=linear_lime(n_samples=n_samples, kernel=kernel), rng=rng,
    )  # fmt: skip
    np.testing.assert_allclose(why.weights, BETA, atol=1e-6)
    assert why.intercept == pytest.approx(0.5, abs=1e-6)
    assert why.local_prediction == pytest.approx(why.prediction, abs=1e-6)
    assert why.fidelity == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("rng", [0, 1, 2])
def test_t1_a_linear_model_is_found_exactly_per_standard_deviation(kernel: Any, rng: int) -> None:
    x = TABLE[rng]
    rows = vd.Rows(TABLE, discretize=vd.bins.Continuous())
    why = vd.explain(lambda X: 7 + X @ BETA, rows, x, method=linear_lime(n_samples=64, kernel=kernel), rng=rng)
    np.testing.assert_allclose(why.weights, BETA * TABLE.std(axis=0), atol=1e-6)
    assert why.local_prediction == pytest.approx(why.prediction, abs=1e-5)
    assert why.fidelity == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(
    "select", [vd.selectors.highest_weights, vd.selectors.lasso_path, vd.selectors.forward_selection]
)
@pytest.mark.parametrize("discretize", [vd.bins.Quartiles(), vd.bins.Continuous()])
def test_t1_selectors_find_the_parts_that_matter_and_their_weights(select: Any, discretize: Any) -> None:
    beta = np.array([3.0, 0.0, 0.0, 0.0, 2.5, 0.0])
    x = TABLE[3]
    model = (lambda X: own_bins(X, x) @ beta) if discretize == vd.bins.Quartiles() else (lambda X: X @ beta)
    scale = 1.0 if discretize == vd.bins.Quartiles() else TABLE.std(axis=0)
    method = linear_lime(n_samples=512, n_features=2, select=select)
    why = vd.explain(model, vd.Rows(TABLE, discretize=discretize), x, method=method)
    np.testing.assert_allclose(why.weights, beta * scale, atol=1e-6)
    assert {j for j in range(6) if why.weights[j]} == {0, 4}


def test_t1_presets_are_exact_where_their_intercept_allows() -> None:
    x = TABLE[3]
    beta = np.array([3.0, 0.0, 0.0, 0.0, 2.5, 0.0])
    for method in (vd.Lime.paper(n_features=2), linear_lime(n_samples=300)):
        why = vd.explain(lambda X: own_bins(X, x) @ beta, vd.Rows(TABLE), x, method=method)
        np.testing.assert_allclose(why.weights, beta, atol=1e-6)


@pytest.mark.parametrize("law", [coins, removals])
@pytest.mark.parametrize("exact", [False, True])
def test_t1_masks(law: Any, exact: bool) -> None:
    beta = np.arange(8) - 3.0
    why = explain_game(lambda Z: 2 + Z @ beta, law(8), 256, exact=exact)
    np.testing.assert_allclose(why.weights, beta, atol=1e-6)
    assert why.intercept == pytest.approx(2.0, abs=1e-6)


# T2 ridge --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("discretize", [vd.bins.Quartiles(), vd.bins.Continuous()])
@pytest.mark.parametrize("ridge", [1.0, 10.0])
def test_t2_ridge_shrinks_by_its_closed_form(discretize: Any, ridge: float) -> None:
    x, rows, n = TABLE[5], vd.Rows(TABLE, discretize=discretize), 200
    is_binned = discretize == vd.bins.Quartiles()
    beta = BETA if is_binned else BETA * TABLE.std(axis=0)
    model = (lambda X: 1 + own_bins(X, x) @ BETA) if is_binned else (lambda X: 1 + X @ BETA)
    method = vd.Lime(n_samples=n, surrogate=vd.surrogates.Linear(ridge=ridge))
    why = vd.explain(model, rows, x, method=method)
    row = rows(x)
    sample = row.draw(row.kernel, np.random.SeedSequence(0), 0, n)
    Z, w = sample.designs[1:], sample.weights[1:]
    Z = Z - w @ Z / w.sum()
    C = (w[:, None] * Z).T @ Z
    if is_binned:  # control variates may move a continuous fit by less than the sampling error
        np.testing.assert_allclose(why.weights, np.linalg.solve(C + ridge * np.eye(6), C @ beta), atol=1e-6)
    size = w.sum() * np.diag(C).mean() / w.sum()
    shrunk = np.linalg.norm(why.weights) / np.linalg.norm(beta)
    assert shrunk == pytest.approx(size / (size + ridge), abs=0.05)
    assert shrunk < 1


def test_t2_the_packages_ridge_costs_the_share_that_the_card_says() -> None:
    """d = 10, quartiles, 5,000 samples: a factor of about .998."""
    table = np.random.default_rng(1).normal(size=(400, 10))
    x = table[0]
    edges = np.quantile(table, [0.25, 0.5, 0.75], axis=0).T

    def model(X: Any) -> Any:
        return sum(np.searchsorted(e, X[:, j]) == np.searchsorted(e, x[j]) for j, e in enumerate(edges)) * 1.0

    method = vd.Lime(n_samples=5000, surrogate=vd.surrogates.Linear(ridge=1.0))
    why = vd.explain(model, vd.Rows(table), x, method=method)
    np.testing.assert_allclose(why.weights, 0.998, atol=0.001)


# T3 masks: the population limit ----------------------------------------------------------------------------


def psi(t: Any, width: float) -> Any:
    return np.exp(-((1 - np.sqrt(1 - t)) ** 2) / (2 * width**2))


def moments(kind: str, d: int, width: float, p_max: int) -> Any:
    """a_p = E[proximity · p given parts are kept], card A.7."""
    from math import comb

    if kind == "image":
        return [sum(comb(d - p, s) * psi(s / d, width) for s in range(d - p + 1)) / 2**d for p in range(p_max + 1)]
    s = np.arange(1, d + 1)
    return [
        float(np.mean(psi(s / d, width) * np.prod([(d - s - k) / (d - k) for k in range(p)], axis=0)))
        for p in range(p_max + 1)
    ]


def limit(kind: str, d: int, p: int, width: float = 0.25) -> tuple[float, float, float]:
    """Intercept, weight of a member and of another part, for f = AND of p parts."""
    a = moments(kind, d, width, p + 1)
    a0, a1, a2 = a[:3]
    c = (d - 1) * a0 * a2 - d * a1**2 + a0 * a1
    s0, s1 = (d - 1) * a2 + a1, -a1
    s2 = ((d - 2) * a0 * a2 - (d - 1) * a1**2 + a0 * a1) / (a1 - a2)
    s3 = (a1**2 - a0 * a2) / (a1 - a2)
    f, member, other = a[p], a[p], a[p + 1]
    total = p * member + (d - p) * other
    return (
        (s0 * f + s1 * total) / c,
        (s1 * f + s2 * member + s3 * (total - member)) / c,
        (s1 * f + s2 * other + s3 * (total - other)) / c,
    )


CARD = {
    ("image", 20, 2): (-0.29399, 0.53898, 0.00020),
    ("image", 20, 3): (-0.31617, 0.28907, 0.00032),
    ("image", 10, 2): (-0.34229, 0.57546, 0.00129),
    ("image", 10, 3): (-0.39003, 0.32624, 0.00214),
    ("text", 20, 2): (-0.36973, 0.64630, -0.00132),
    ("text", 20, 3): (-0.49396, 0.44419, -0.00333),
    ("text", 100, 2): (-0.36879, 0.63656, 0.00010),
}
LAWS = {"image": coins, "text": removals}


@pytest.mark.parametrize(("kind", "d", "p"), CARD)
def test_t3_the_formula_gives_the_cards_values(kind: str, d: int, p: int) -> None:
    np.testing.assert_allclose(limit(kind, d, p), CARD[kind, d, p], atol=6e-6)


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("width", [0.25, 0.1, 10.0])
def test_t3_enumeration_is_the_population_limit(kind: str, p: int, width: float) -> None:
    why = explain_game(all_of(p), LAWS[kind](10), 1024, width=width, exact=True)
    intercept, member, other = limit(kind, 10, p, width)
    np.testing.assert_allclose(why.weights, [member] * p + [other] * (10 - p), atol=1e-7)
    assert why.intercept == pytest.approx(intercept, abs=1e-7)
    np.testing.assert_array_equal(np.ptp(why.intervals, axis=1), 0)
    assert why.n_calls == 1025


@pytest.mark.parametrize(("p", "r2"), [(2, 0.7262), (3, 0.5093)])
def test_t3_fidelity_of_the_population(p: int, r2: float) -> None:
    assert explain_game(all_of(p), coins(10), 1024, exact=True).fidelity == pytest.approx(r2, abs=6e-5)


@pytest.mark.parametrize(("kind", "d", "p"), CARD)
def test_t3_samples_agree_within_their_own_intervals(kind: str, d: int, p: int) -> None:
    why = explain_game(all_of(p), LAWS[kind](d), 4096, rng=p)
    _, member, other = CARD[kind, d, p]
    assert_within_intervals(why, np.array([member] * p + [other] * (d - p)))
    assert why.weights[:p].mean() == pytest.approx(member, abs=0.05)


@pytest.mark.parametrize(
    ("f", "truth"),
    [(toys.any_of(0, 1), (0.29399, 0.46102, -0.00020)), (toys.one_of(0, 1), (0.58798, -0.07796, -0.00041))],
    ids=["or", "xor"],
)
def test_t3_or_and_xor(f: Any, truth: tuple[float, float, float]) -> None:
    why = explain_game(f, coins(20), 4096)
    assert_within_intervals(why, np.array([truth[1]] * 2 + [truth[2]] * 18))
    assert why.intercept == pytest.approx(truth[0], abs=0.05)


def test_t3_a_wide_kernel_sees_half_of_and_and_nothing_of_xor() -> None:
    wide = {"width": 1e3, "exact": True}
    np.testing.assert_allclose(
        explain_game(all_of(2), coins(10), 1024, **wide).weights, [0.5] * 2 + [0] * 8, atol=1e-6
    )
    np.testing.assert_allclose(explain_game(toys.one_of(0, 1), coins(10), 1024, **wide).weights, 0, atol=1e-6)
    assert explain_game(all_of(2), coins(10), 1024, **wide).fidelity == pytest.approx(2 / 3, abs=1e-4)


# T4 tables in bins -----------------------------------------------------------------------------------------


def in_bin_means(column: Any, f: Callable[[Any], Any]) -> Any:
    """Mean of f in each quartile bin, by brute force: a truncated normal with the bin's own mean and spread."""
    edges = np.quantile(column, [0.25, 0.5, 0.75])
    bins = np.searchsorted(edges, column)
    ends = [column.min(), *edges, column.max()]
    middles = (np.arange(20_000) + 0.5) / 20_000
    means = []
    for b in range(4):
        mean, sd = column[bins == b].mean(), column[bins == b].std()
        law = truncnorm((ends[b] - mean) / sd, (ends[b + 1] - mean) / sd, mean, sd)
        means.append(f(law.ppf(middles)).mean())
    return np.array(means)


ADDITIVE: Sequence[Callable[[Any], Any]] = (
    lambda v: 2 * v,
    lambda v: np.sin(v),
    lambda v: v**2 / 4,
    lambda v: 0 * v,
    lambda v: np.where(v > 3, 1.0, 0.0),
    lambda v: np.abs(v) / 3,
)


@pytest.mark.parametrize("width", [1.0, 0.3, 100.0])
@pytest.mark.parametrize("i", [0, 1, 2])
def test_t4_additive_models_whatever_the_kernel(width: float, i: int) -> None:
    x = TABLE[i]
    means = np.stack([in_bin_means(TABLE[:, j], f) for j, f in enumerate(ADDITIVE)])
    own = np.array([np.searchsorted(e, x[j]) for j, e in enumerate(EDGES)])
    other = (means.sum(axis=1) - means[np.arange(6), own]) / 3
    truth = means[np.arange(6), own] - other
    why = vd.explain(
        lambda X: 0.3 + sum(f(X[:, j]) for j, f in enumerate(ADDITIVE)),
        vd.Rows(TABLE), x, method=linear_lime(n_samples=8192, width=width), rng=i,
    )  # fmt: skip
    assert_within_intervals(why, truth)
    np.testing.assert_allclose(why.weights, truth, atol=0.15)
    assert why.intercept == pytest.approx(0.3 + other.sum(), abs=0.3)


def test_t4_the_effective_size_is_the_one_of_the_product_law() -> None:
    """One row's weight factorises: its mean is (1/4 + 3/4 exp(-1/2w²))^d, and likewise for its square."""
    w2 = 0.75**2 * 6
    first, second = (0.25 + 0.75 * np.exp(-k / (2 * w2)) for k in (1, 2))
    why = vd.explain(lambda X: X[:, 0], vd.Rows(TABLE), TABLE[0], method=linear_lime(n_samples=4096))
    assert why.effective_size / 4096 == pytest.approx((first**2 / second) ** 6, rel=0.02)


# T5 numbers without bins -----------------------------------------------------------------------------------


def standardized(d: int) -> Any:
    X = np.random.default_rng(d).normal(size=(500, d))
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize(("d", "card"), [(1, 1.92), (5, 0.787), (10, 0.453)])
@pytest.mark.parametrize("x0", [1.5, -0.5, 3.0])
def test_t5_the_weight_of_a_square_is_steins(d: int, card: float, x0: float) -> None:
    truth = 2 * x0 / (1 + 0.75**2 * d)
    if x0 == 1.5:
        assert truth == pytest.approx(card, abs=0.005)
    x = np.r_[x0, np.zeros(d - 1)]
    rows = vd.Rows(standardized(d), discretize=vd.bins.Continuous())
    why = vd.explain(lambda X: X[:, 0] ** 2, rows, x, method=linear_lime(n_samples=4096))
    assert_within_intervals(why, np.r_[truth, np.zeros(d - 1)])
    # spread of the local law √(w²/(1+w²)) < 1, so the error of 4,096 independent samples is under √2/64
    np.testing.assert_allclose(why.weights, np.r_[truth, np.zeros(d - 1)], atol=4 * np.sqrt(2) / 64)


@pytest.mark.parametrize("width", [0.2, 1.0, 5.0])
def test_t5_the_weight_of_a_wave_is_its_mean_slope_nearby(width: float) -> None:
    d, x0 = 4, 0.8
    s = (0.75 * width) ** 2 * d
    center, variance = x0 / (1 + s), s / (1 + s)
    truth = np.cos(center) * np.exp(-variance / 2)  # E cos of a normal
    rows = vd.Rows(standardized(d), discretize=vd.bins.Continuous())
    method = linear_lime(n_samples=4096, width=width)
    why = vd.explain(lambda X: np.sin(X[:, 0]), rows, [x0, 0, 0, 0], method=method)
    assert_within_intervals(why, np.array([truth, 0, 0, 0]))
    assert why.weights[0] == pytest.approx(truth, abs=0.03)


# T6 axioms -------------------------------------------------------------------------------------------------


def interacting(X: Any) -> Any:
    X = np.asarray(X)
    return np.tanh(X[:, 0] * X[:, 1] / 9 + X[:, 1] - X[:, 3] / 4)


@pytest.mark.parametrize("discretize", [vd.bins.Quartiles(), vd.bins.Continuous()])
def test_t6_a_dummy_weighs_nothing(discretize: Any) -> None:
    why = vd.explain(
        interacting, vd.Rows(TABLE, discretize=discretize), TABLE[0], method=linear_lime(n_samples=2048)
    )
    half = np.ptp(why.intervals, axis=1) / 2
    assert np.all(np.abs(why.weights[[2, 4, 5]]) <= 2.04 * half[[2, 4, 5]]), "4 standard deviations"
    assert np.abs(why.weights[[0, 1, 3]]).max() > 10 * np.abs(why.weights[[2, 4, 5]]).max()


@pytest.mark.parametrize("discretize", [vd.bins.Quartiles(), vd.bins.Continuous()])
def test_t6_equal_parts_weigh_the_same(discretize: Any) -> None:
    column = np.random.default_rng(0).normal(size=(400, 1))
    table = np.concatenate([column, np.random.default_rng(1).permutation(column), column[::-1]], axis=1)
    why = vd.explain(
        lambda X: np.tanh(X[:, 0] + X[:, 1]) + X[:, 0] * X[:, 1], vd.Rows(table, discretize=discretize),
        [0.7, 0.7, 0.1], method=linear_lime(n_samples=4096),
    )  # fmt: skip
    half = np.ptp(why.intervals, axis=1) / 2
    assert abs(why.weights[0] - why.weights[1]) <= 2.04 * (half[0] + half[1])
    assert why.weights[0] == pytest.approx(why.weights[1], abs=0.1)


@pytest.mark.parametrize("discretize", [vd.bins.Quartiles(), vd.bins.Continuous()])
@pytest.mark.parametrize(
    "method", [linear_lime(), linear_lime(n_samples=333), linear_lime(n_samples=333, n_features=3)]
)
def test_t6_two_classes_are_complements(discretize: Any, method: Any) -> None:
    def predict(X: Any) -> Any:
        p = (1 + interacting(X)) / 2
        return np.stack([1 - p, p], axis=1)

    no, yes = vd.explain(predict, vd.Rows(TABLE, discretize=discretize), TABLE[0], target=[0, 1], method=method)
    np.testing.assert_allclose(no.weights, -yes.weights, atol=1e-12)
    np.testing.assert_allclose(no.intervals, -yes.intervals[:, ::-1], atol=1e-12)
    assert no.intercept + yes.intercept == pytest.approx(1, abs=1e-12)
    assert no.n_calls == yes.n_calls


@pytest.mark.parametrize("discretize", [vd.bins.Quartiles(), vd.bins.Continuous()])
def test_t6_permuted_columns_have_permuted_weights(discretize: Any) -> None:
    order = np.array([3, 0, 5, 1, 4, 2])
    method = linear_lime(n_samples=4096)
    straight = vd.explain(interacting, vd.Rows(TABLE, discretize=discretize), TABLE[0], method=method)
    turned = vd.explain(
        lambda X: interacting(X[:, np.argsort(order)]),
        vd.Rows(TABLE[:, order], discretize=discretize), TABLE[0, order], method=method,
    )  # fmt: skip
    half = np.ptp(straight.intervals, axis=1)[order] / 2 + np.ptp(turned.intervals, axis=1) / 2
    assert np.all(np.abs(straight.weights[order] - turned.weights) <= 2.04 * half)


def test_t6_the_function_of_outputs_is_what_is_explained() -> None:
    def gap(outputs: Any) -> Any:
        return outputs[:, 0] - outputs[:, 1]

    def predict(X: Any) -> Any:
        return np.stack([X[:, 0], X[:, 1] ** 2, 0 * X[:, 2]], axis=1)

    rows, method = vd.Rows(TABLE), linear_lime(n_samples=300)
    a, b, both = vd.explain(predict, rows, TABLE[0], target=[0, 1, gap], method=method)
    assert both.target == "gap"
    np.testing.assert_allclose(both.weights, a.weights - b.weights, atol=1e-9)


# T7 determinism --------------------------------------------------------------------------------------------


def model_of_frames(X: Any) -> Any:
    score = np.tanh(X["a"] * X["b"] + (X["c"].astype(str) > "u") - X["d"])
    return np.stack([1 - score, 1 + score], axis=1) / 2


def frame(words: bool) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    numbers = pd.DataFrame(rng.normal(size=(90, 4)), columns=["a", "b", "c", "d"])
    return numbers.assign(c=rng.choice(["u", "v", "w"], 90)) if words else numbers


CASES = {
    "numbers in bins": (frame(words=False), {}),
    "numbers": (frame(words=False), {"discretize": vd.bins.Continuous()}),
    "words and numbers in bins": (frame(words=True), {}),
    "words and numbers": (frame(words=True), {"discretize": vd.bins.Continuous()}),
}
METHODS = [
    linear_lime(),
    linear_lime(n_samples=200),
    linear_lime(n_samples=200, width=0.05),
    linear_lime(n_samples=200, n_features=2),
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", METHODS)
def test_t7_the_same_call_gives_the_same_bytes_whatever_was_called_before(case: str, method: Any) -> None:
    table, settings = CASES[case]
    rows = vd.Rows(table, **settings)
    once = vd.explain(model_of_frames, rows, table.iloc[0], method=method, rng=5)
    vd.explain(model_of_frames, rows, table.iloc[1], method=method, rng=6)
    vd.explain_many(model_of_frames, rows, table[:3], method=method)
    np.random.default_rng().random(3)
    again = vd.explain(model_of_frames, vd.Rows(table, **settings), table.iloc[0], method=method, rng=5)
    assert bits(once) == bits(again)
    other = vd.explain(model_of_frames, rows, table.iloc[0], method=method, rng=6)
    assert bits(once) != bits(other)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", METHODS)
def test_t7_many_rows_do_not_depend_on_how_they_are_cut(case: str, method: Any) -> None:
    table, settings = CASES[case]
    rows = vd.Rows(table, **settings)
    whole = [bits(why) for why in vd.explain_many(model_of_frames, rows, table[:12], method=method, rng=3)]
    for cut in ({"batch_size": 5}, {"n_jobs": 2, "batch_size": 7}):
        found = vd.explain_many(model_of_frames, rows, table[:12], method=method, rng=3, **cut)
        assert [bits(why) for why in found] == whole, cut
    first = vd.explain_many(model_of_frames, rows, table[:4], method=method, rng=3)
    assert [bits(why) for why in first] == whole[:4], "a row does not depend on those after it"


def test_t7_a_generator_is_its_state() -> None:
    table = frame(words=True)
    rows = vd.Rows(table)

    def explain(rng: Any) -> Any:
        return bits(vd.explain(model_of_frames, rows, table.iloc[0], method=linear_lime(n_samples=200), rng=rng))

    a, b = np.random.default_rng(9), np.random.default_rng(9)
    assert explain(a) == explain(b)
    assert explain(a) == explain(b), "both advanced alike"
    assert explain(np.random.default_rng(9)) != explain(a)
    assert explain(np.int64(4)) == explain(4)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", METHODS)
def test_t7_a_recipe_makes_the_explanation_again(case: str, method: Any) -> None:
    table, settings = CASES[case]
    rows = vd.Rows(table, **settings)
    why = vd.explain(model_of_frames, rows, table.iloc[2], method=method, rng=8)
    assert bits(vd.rerun(model_of_frames, rows, table.iloc[2], why.recipe)) == bits(why)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", METHODS)
def test_t7_a_recipe_makes_one_of_many_again(case: str, method: Any) -> None:
    table, settings = CASES[case]
    rows = vd.Rows(table, **settings)
    many = vd.explain_many(model_of_frames, rows, table[:3], method=method, rng=8)
    assert bits(vd.rerun(model_of_frames, rows, table.iloc[2], many[2].recipe)) == bits(many[2])


def test_t7_a_recipe_remembers_the_classes() -> None:
    table = frame(words=True)
    rows, method = vd.Rows(table), linear_lime(n_samples=200)
    why = vd.explain(model_of_frames, rows, table.iloc[2], method=method, classes=["no", "yes"])
    assert bits(vd.rerun(model_of_frames, rows, table.iloc[2], why.recipe)) == bits(why)


@pytest.mark.parametrize("case", CASES)
def test_shared_samples_agree_with_private_ones(case: str) -> None:
    """explain_many estimates the same as explain, for every row."""
    table, settings = CASES[case]
    rows, method = vd.Rows(table, **settings), linear_lime(n_samples=2048)
    many = vd.explain_many(model_of_frames, rows, table[:8], target=1, method=method)
    for i, why in enumerate(many):
        alone = vd.explain(model_of_frames, rows, table.iloc[i], target=1, method=method, rng=i + 1)
        assert why.names == alone.names
        half = np.ptp(why.intervals, axis=1) / 2 + np.ptp(alone.intervals, axis=1) / 2
        assert np.all(np.abs(why.weights - alone.weights) <= 2.5 * half)


# T8 coverage -----------------------------------------------------------------------------------------------

SEEDS = 50


def coverage(explain: Callable[[int], vd.Explanation], truth: Any) -> float:
    found = [explain(rng) for rng in range(SEEDS)]
    inside = [(why.intervals[:, 0] <= truth) & (truth <= why.intervals[:, 1]) for why in found]
    return float(np.mean(inside))


def rough(Z: Any) -> Any:
    """A model that a linear fit leaves much of: a parity, a conjunction and a saturated sum."""
    Z = np.asarray(Z, float)
    return np.tanh(Z @ np.linspace(-1, 2, Z.shape[1])) + Z[:, :3].prod(axis=1) + (Z[:, 3:7].sum(axis=1) % 2) / 2


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("f", [all_of(2), rough], ids=["and", "rough"])
@pytest.mark.parametrize("n_samples", [200, 1000])
def test_t8_intervals_of_masks_cover_the_enumerated_answer(kind: str, f: Any, n_samples: int) -> None:
    law = LAWS[kind](10)
    truth = explain_game(f, law, 1024, exact=True).weights
    share = coverage(lambda rng: explain_game(f, law, n_samples, rng=rng), truth)
    assert 0.90 <= share <= 1.0, share


@pytest.mark.parametrize("n_samples", [150, 600])
@pytest.mark.parametrize("width", [1.0, 0.3])
def test_t8_intervals_of_tables_cover_the_enumerated_answer(n_samples: int, width: float) -> None:
    table = (np.random.default_rng(0).random((300, 10)) < np.linspace(0.2, 0.8, 10)).astype(float)
    rows, x = vd.Rows(table), table[0]

    def explain(n: int, rng: int = 0) -> vd.Explanation:
        return vd.explain(rough, rows, x, method=linear_lime(n_samples=n, width=width), rng=rng)

    exact = explain(1024)
    np.testing.assert_array_equal(np.ptp(exact.intervals, axis=1), 0)
    share = coverage(lambda rng: explain(n_samples, rng), exact.weights)
    assert 0.90 <= share <= 1.0, share


@pytest.mark.parametrize("d", [3, 8])
def test_t8_intervals_of_numbers_cover_steins_answer(d: int) -> None:
    x = np.linspace(-1, 1.5, d)
    s = 0.75**2 * d
    center, variance = x / (1 + s), s / (1 + s)
    truth = np.cos(center) * np.exp(-variance / 2) + 0.5 * np.roll(center, 1) + 0.5 * np.roll(center, -1)
    rows = vd.Rows(standardized(d), discretize=vd.bins.Continuous())

    def model(X: Any) -> Any:
        return np.sin(X).sum(axis=1) + 0.5 * (X * np.roll(X, 1, axis=1)).sum(axis=1)

    share = coverage(lambda rng: vd.explain(model, rows, x, method=linear_lime(n_samples=300), rng=rng), truth)
    assert 0.90 <= share <= 1.0, share


def test_t8_intervals_shrink_as_the_sample_grows() -> None:
    few, lots = (explain_game(rough, coins(10), n) for n in (256, 4096))
    assert np.median(np.ptp(few.intervals, axis=1)) > 3 * np.median(np.ptp(lots.intervals, axis=1))
