"""What every grouping method promises, on every one that is registered, and what some of them must find."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import veridical as vd
from veridical.summaries.groupings import GROUPINGS
from veridical.summaries.groupings.alternatives import spread_pick
from veridical.summaries.groupings.gates import Centers, Nearest, Overlap, Size, Sphere
from veridical.summaries.groupings.tasks import GroupingResult, GroupingTask, LinearModels, Neighbors, Regressions

QUICK: dict[str, Any] = {
    "mixture": vd.groupings.Mixture(n_starts=4, rounds=4),
    "gime": vd.groupings.Gime(rounds=2, steps=(5, 20)),
    "maple": vd.groupings.Maple(n_trees=20),
}
METHODS = {name: QUICK[name] if name in QUICK else kind() for name, kind in GROUPINGS.items()}
every = pytest.mark.parametrize("name", METHODS)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
WORDS = ["good", "bad", "fine", "dull", "great", "poor", "long", "short", "new", "old"]
TEXTS = [" ".join(RNG.choice(WORDS, 6)) for _ in range(45)]


def bent(X: Any) -> Any:
    return np.where(X[:, 0] > 0, 2 * X[:, 1], X[:, 2] - 1) + 0.1 * X[:, 3]


def mood(texts: Any) -> Any:
    return np.array([t.count("good") + 2 * t.count("great") - t.count("bad") for t in texts], float) / 5


# The contract ----------------------------------------------------------------------------------------------


def keeps_the_contract(groups: Any, X: Any, k: int, n_features: int) -> None:
    """At most k finite explanations of at most n_features features, and probabilities that sum to one."""
    found, d = groups.weights.shape
    assert 1 <= found <= k
    assert d == len(groups.names)
    assert groups.intercepts.shape == (found,)
    assert np.isfinite(groups.weights).all()
    assert np.isfinite(groups.intercepts).all()
    assert (groups.weights != 0).sum(axis=1).max() <= n_features
    shares = groups.assign(X)
    assert shares.shape == (len(X), found)
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-9)
    assert np.isfinite(groups.gate.reasons(groups.space.rows(groups.space.read(X[:1])), 0)).all()


def same(one: Any, other: Any, X: Any) -> bool:
    return bool(
        np.array_equal(one.weights, other.weights)
        and np.array_equal(one.intercepts, other.intercepts)
        and np.array_equal(one.assign(X), other.assign(X))
    )


@every
def test_tables(name: str) -> None:
    groups = vd.group(bent, vd.Rows(X), X, k=3, n_features=2, method=METHODS[name])
    keeps_the_contract(groups, X, 3, 2)
    assert groups.explain(X[0]).group == groups.assign(X[:1]).argmax()


@every
def test_texts(name: str) -> None:
    groups = vd.group(mood, vd.Words(), TEXTS, k=3, n_features=3, method=METHODS[name])
    keeps_the_contract(groups, TEXTS, 3, 3)
    keeps_the_contract(groups, ["", "words that nobody knows", "good"], 3, 3)


@every
def test_the_same_seed_gives_the_same_bits(name: str) -> None:
    first, again, other = (
        vd.group(bent, vd.Rows(X), X, k=3, n_features=2, method=METHODS[name], rng=seed) for seed in (1, 1, 2)
    )
    assert same(first, again, X)
    assert not same(first, other, X)


@every
def test_any_order_of_instances(name: str) -> None:
    order = np.random.default_rng(3).permutation(len(X))
    groups = vd.group(bent, vd.Rows(X), X[order], k=3, n_features=2, method=METHODS[name])
    keeps_the_contract(groups, X, 3, 2)


HARD: dict[str, tuple[Any, int, int]] = {
    "duplicates": (np.repeat(X[:3], 20, axis=0), 6, 2),
    "a row of zeros": (np.vstack([X, -X, np.zeros((1, 4))]), 3, 2),
    "as many groups as instances": (X[:6], 6, 2),
    "two instances": (X[:2], 2, 2),
    "one feature": (X[:, :1], 3, 2),
    "more features than there are": (X[:, :3], 3, 50),
    "one group": (X, 1, 2),
}


@every
@pytest.mark.parametrize("case", HARD)
def test_hard_tables(name: str, case: str) -> None:
    rows, k, n_features = HARD[case]
    groups = vd.group(
        lambda X: np.abs(X).sum(axis=1), vd.Rows(rows), rows, k=k, n_features=n_features, method=METHODS[name]
    )
    keeps_the_contract(groups, rows, k, n_features)


@every
def test_a_model_that_always_says_the_same(name: str) -> None:
    groups = vd.group(lambda X: np.full(len(X), 3.0), vd.Rows(X), X, k=3, method=METHODS[name])
    keeps_the_contract(groups, X, 3, 5)
    np.testing.assert_allclose(groups.weights, 0, atol=1e-6)
    np.testing.assert_allclose(groups.intercepts, 3, atol=1e-5)


@dataclass(frozen=True)
class Spoiled:
    """One model for all, spoiled after the fact."""

    how: str

    def __call__(self, task: GroupingTask) -> GroupingResult:
        found = vd.groupings.GlobalLinear()(task)
        k, d = found.models.weights.shape
        if self.how == "too many features":
            return replace(found, models=replace(found.models, weights=np.ones((k, d))))
        if self.how == "not finite":
            return replace(found, models=replace(found.models, intercepts=np.full(k, np.nan)))
        if self.how == "too many groups":
            lines = LinearModels(np.repeat(found.models.weights, 4, axis=0), np.repeat(found.models.intercepts, 4))
            return GroupingResult(lines, Centers(np.zeros((4, d))))
        return replace(found, gate=Doubled(found.gate))


@dataclass(frozen=True, eq=False)
class Doubled:
    gate: Any

    def __call__(self, rows: Any) -> Any:
        return 2 * self.gate(rows)

    def reasons(self, row: Any, group: int) -> Any:
        return self.gate.reasons(row, group)


@pytest.mark.parametrize("how", ["too many features", "not finite", "too many groups", "not probabilities"])
def test_the_contract_can_fail(how: str) -> None:
    groups = vd.group(bent, vd.Rows(X), X, k=3, n_features=2, method=Spoiled(how))
    with pytest.raises(AssertionError):
        keeps_the_contract(groups, X, 3, 2)


# What methods must find ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cte", "etc", "tree", "mame"])
def test_one_group_is_one_sparse_regression(name: str) -> None:
    one, plain = (
        vd.group(bent, vd.Rows(X), X, k=1, n_features=2, method=m)
        for m in (METHODS[name], vd.groupings.GlobalLinear())
    )
    np.testing.assert_allclose(one.weights, plain.weights)
    np.testing.assert_allclose(one.intercepts, plain.intercepts)


def test_one_model_is_least_squares() -> None:
    beta = np.array([1.0, -2.0, 0.5, 3.0])
    groups = vd.group(lambda X: X @ beta + 4, vd.Rows(X), X, k=3, method=vd.groupings.GlobalLinear())
    assert groups.k == 1
    np.testing.assert_allclose(groups.weights[0], beta * X.std(axis=0), rtol=5e-3)
    np.testing.assert_allclose(groups.intercepts, 4 + X.mean(axis=0) @ beta, atol=5e-3)


def two_sides(n: int = 150) -> Any:
    """Two far apart clusters; a model that is linear in each."""
    rows = np.random.default_rng(5).normal(size=(2 * n, 3))
    rows[:, 0] = np.sign(np.arange(2 * n) - n + 0.5) * 20 + rows[:, 0]
    return rows


def sides(X: Any) -> Any:
    return np.where(X[:, 0] > 0, 2 * X[:, 1] + 1, -3 * X[:, 2])


@pytest.mark.parametrize(
    "method",
    [
        vd.groupings.ClusterThenExplain(),
        vd.groupings.ExplainThenCluster(vd.groupings.Around(reach=0.03)),
        vd.groupings.ModelTree(),
        vd.groupings.Mame(vd.groupings.Around(reach=0.03)),
    ],
)
def test_two_linear_clusters_are_found(method: Any) -> None:
    rows = two_sides()
    groups = vd.group(sides, vd.Rows(rows), rows, k=2, n_features=1, method=method, validation=rows)
    own = groups.assign(rows).argmax(axis=1)
    assert (own == (own[0] + (rows[:, 0] > 0)) % 2).all()
    sd = rows.std(axis=0)
    low, high = own[0], 1 - own[0]
    np.testing.assert_allclose(groups.weights[low], [0, 0, -3 * sd[2]], rtol=5e-3, atol=1e-12)
    np.testing.assert_allclose(groups.weights[high], [0, 2 * sd[1], 0], rtol=5e-3, atol=1e-12)
    assert groups.fidelity > 0.999


def test_a_tree_cuts_at_a_step() -> None:
    rows = np.random.default_rng(6).uniform(-1, 1, size=(300, 3))
    groups = vd.group(
        lambda X: 5.0 * (X[:, 1] > 0.2), vd.Rows(rows), rows, k=2, n_features=1, method=vd.groupings.ModelTree()
    )
    assert groups.gate.feature[0] == 1
    assert abs(float(groups.space.shown(1, groups.gate.threshold[0])) - 0.2) < 0.1
    assert groups.regions[0].features == (groups.names[1],)


def test_a_pick_is_the_explanation_of_an_instance() -> None:
    """Around each of two far apart clusters, LIME sees one linear model: the picks are those."""
    rows = two_sides()
    groups = vd.group(
        sides,
        vd.Rows(rows),
        rows,
        k=2,
        n_features=1,
        method=vd.groupings.PickLime(vd.groupings.Around(reach=0.03)),
    )
    sd = rows.std(axis=0)
    found = sorted(groups.weights.tolist())
    np.testing.assert_allclose(found, [[0, 0, -3 * sd[2]], [0, 2 * sd[1], 0]], rtol=1e-2, atol=1e-12)
    assert groups.fidelity > 0.99


def test_more_instances_than_are_explained() -> None:
    for method in (
        vd.groupings.PickLime(vd.groupings.Around(n_instances=20)),
        vd.groupings.Mame(vd.groupings.Around(n_instances=20)),
        vd.groupings.Maple(n_trees=5, n_instances=20),
    ):
        groups = vd.group(bent, vd.Rows(X), X, k=3, n_features=2, method=method)
        keeps_the_contract(groups, X, 3, 2)


@pytest.mark.parametrize("name", ["cte", "etc", "tree", "mame"])
def test_better_than_one_model(name: str) -> None:
    rows = np.random.default_rng(4).normal(size=(400, 3))
    one, many = (
        vd.group(lambda X: X[:, 0] ** 2 + X[:, 1], vd.Rows(rows), rows, k=6, n_features=2, method=method)
        for method in (vd.groupings.GlobalLinear(), METHODS[name])
    )
    assert many.error < 0.6 * one.error
    assert many.ceiling <= many.error


def test_the_weights_of_a_forest() -> None:
    """Of the known instances they add up to one for any row, and an instance counts most for itself."""

    @dataclass(frozen=True)
    class Watched:
        seen: Any

        def __call__(self, task: GroupingTask) -> GroupingResult:
            found = vd.groupings.Maple(n_trees=30, min_leaf=3)(task)
            self.seen.append((found.gate, task.neighbors(1).rows))
            return found

    seen: list[Any] = []
    vd.group(bent, vd.Rows(X), X, k=3, method=Watched(seen))
    gate, rows = seen[0]
    shares = gate.forest.shares(rows)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(gate.forest.shares(X[:5] * 3).sum(axis=1), 1)
    np.testing.assert_allclose(shares, shares.T)
    assert (shares.diagonal() >= shares.max(axis=1)).all()
    assert gate(rows[gate.chosen]).argmax(axis=1).tolist() == [0, 1, 2]
    assert sorted(gate.forest.rank_columns()) == [0, 1, 2, 3]


def test_as_many_groups_as_instances_when_some_are_held_out() -> None:
    for name in ("linear", "cte", "etc", "tree", "lime", "maple", "mame"):
        groups = vd.group(bent, vd.Rows(X[:45]), X[:45], k=45, n_features=2, method=METHODS[name])
        keeps_the_contract(groups, X[:45], 45, 2)


@pytest.mark.parametrize("bad", [{"n_neighbors": 0}, {"reach": 0.0}, {"reach": "far"}, {"n_instances": 1.5}])
def test_settings_are_checked(bad: Any) -> None:
    with pytest.raises(vd.errors.InputError, match=next(iter(bad))):
        vd.groupings.Around(**bad)


# Pieces ----------------------------------------------------------------------------------------------------


def test_greedy_covers_what_matters() -> None:
    """Card of Algorithm 2: rows {1,2},{2,3},{2,3},{2},{4,5}: the second or third, then the fifth."""
    has = np.zeros((5, 5))
    for i, columns in enumerate([(0, 1), (1, 2), (1, 2), (1,), (3, 4)]):
        has[i, list(columns)] = 1
    alike, apart = np.zeros((5, 1)), np.array([[0.0], [9], [1], [0], [0]])
    assert spread_pick(csr_matrix(has), alike, 2).tolist() == [1, 4]
    assert spread_pick(csr_matrix(has), apart, 2).tolist() == [2, 4]
    assert spread_pick(csr_matrix(has), alike, 9).tolist()[:3] == [1, 4, 0]


def test_greedy_spreads_where_nothing_is_left_to_cover() -> None:
    rows = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    assert sorted(spread_pick(csr_matrix((6, 2)), rows, 2) > 2) == [False, True]


def test_the_regions_of_gime() -> None:
    rng = np.random.default_rng(7)
    directions, rows = rng.normal(size=(3, 5)), rng.normal(size=(20, 5))
    gate = Sphere(directions, 4.0)
    p = gate(rows)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(gate(3 * rows), p)
    np.testing.assert_allclose(Sphere(2 * directions, 4.0)(rows), p)
    np.testing.assert_allclose(Sphere(directions, 0.0)(rows), 1 / 3)
    np.testing.assert_allclose(gate(np.zeros((1, 5))), 1 / 3)
    np.testing.assert_allclose(Sphere(directions[[2, 0, 1]], 4.0)(rows), p[:, [2, 0, 1]])


@pytest.mark.parametrize("kind", [Centers, Overlap, Size])
def test_gates_are_the_same_on_sparse_rows(kind: Any) -> None:
    rng = np.random.default_rng(8)
    rows = np.where(rng.random((20, 6)) < 0.5, rng.normal(size=(20, 6)), 0.0)
    table = np.where(rng.random((3, 6)) < 0.6, rng.normal(size=(3, 6)), 0.0)
    p = kind(table)(rows)
    np.testing.assert_allclose(kind(table)(csr_matrix(rows)), p)
    np.testing.assert_allclose(kind(table[[2, 0, 1]])(rows), p[:, [2, 0, 1]])
    reasons = np.stack([kind(table).reasons(csr_matrix(rows[:1]), g) for g in range(3)])
    np.testing.assert_allclose(reasons.mean(axis=0), 0, atol=1e-12)
    assert p[0, reasons.sum(axis=1).argmax()] == p[0].max()


def test_gates_in_numbers() -> None:
    rows = np.array([[3.0, 0.0], [0.0, 4.0]])
    odds = np.exp([[0.0, -5.0], [-5.0, 0.0]])
    np.testing.assert_allclose(Centers(rows)(rows), odds / odds.sum(axis=1, keepdims=True))
    odds = np.exp([[1.0, 1.0], [0.0, 1.0]])
    np.testing.assert_allclose(Overlap(np.array([[2.0, 0], [1, 1]]))(rows), odds / odds.sum(axis=1, keepdims=True))
    odds = np.exp([[6.0, 3.0], [0.0, 4.0]])
    np.testing.assert_allclose(Size(np.array([[2.0, 0], [1, 1]]))(rows), odds / odds.sum(axis=1, keepdims=True))
    near = Nearest(rows, np.array([1, 0]), 2)
    np.testing.assert_allclose(near(rows + 0.5), [[0, 1], [1, 0]])
    np.testing.assert_allclose(near.reasons(rows[:1], 1), [9, 16])


def test_a_regression_never_raises_the_error() -> None:
    """With the support fixed, the models of a theta-step are the best there are."""
    rng = np.random.default_rng(9)
    n, p, d, ridge = 30, 5, 4, 1e-3
    near = Neighbors(
        rng.normal(size=(n, d)), rng.normal(size=(n * p, d)), rng.normal(size=(n, p)), np.ones((n, p)), np.ones(n)
    )
    shares = rng.dirichlet(np.ones(3), n)

    def objective(lines: LinearModels) -> Any:
        fit = (shares * near.losses(lines)).sum(axis=0) / shares.sum(axis=0)
        return fit + ridge * np.square(lines.weights).sum(axis=1)

    best = Regressions(near, ridge).fit(shares, d)
    least = objective(best)
    for size in (1e-3, 1e-2, 1.0):
        moved = LinearModels(
            best.weights + size * rng.normal(size=(3, d)), best.intercepts + size * rng.normal(size=3)
        )
        assert (objective(moved) > least).all()
