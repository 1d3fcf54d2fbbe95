"""Importance by column: sums over rows, intervals that cover, the same from memory and from stores."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import veridical as vd
from tests.builders import explanations as made
from veridical.records import Explanations, FeaturePair

N = 60
X = np.random.default_rng(0).normal(size=(400, 5))
NAMES = ("a", "b", "c", "d", "e")
TOYS = {  # what is explained; the last column is used by none
    "additive": lambda X: 3 * X[:, 0] + np.abs(X[:, 1]) - X[:, 2] + 0.3 * X[:, 3],
    "steps": lambda X: 2.0 * (X[:, 0] > 0) + (X[:, 1] > 1) + 0.5 * (X[:, 2] > -1) + 0.1 * (X[:, 3] > 0),
    "pairs": lambda X: 2 * X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * X[:, 3],
}


def exact_importance(model: Any, rows: Any) -> Any:
    """The mean size of exact Shapley values against the whole background, by going through all coalitions."""
    d, found = X.shape[1], np.zeros((len(rows), X.shape[1]))
    for i, x in enumerate(rows):
        value = {}
        for size in range(d + 1):
            for kept in combinations(range(d), size):
                background = X.copy()
                background[:, kept] = x[list(kept)]
                value[kept] = model(background).mean()
        for j in range(d):
            for size in range(d):
                for kept in combinations([k for k in range(d) if k != j], size):
                    gain = value[tuple(sorted((*kept, j)))] - value[kept]
                    found[i, j] += gain / (d * comb(d - 1, size))
    return np.abs(found).mean(axis=0)


def explained(model: Any, rows: Any, rng: int = 0) -> vd.Explanations:
    method = vd.Lime(surrogate=vd.surrogates.Additive(), n_samples=1024)
    return vd.explain_many(model, vd.Rows(X, names=NAMES), rows, method=method, rng=rng)


@pytest.mark.parametrize("name", TOYS)
def test_it_agrees_with_exact_shapley_importance(name: str) -> None:
    found = explained(TOYS[name], X[:40]).importance()
    own = dict(zip(found.columns, found.importance, strict=True))
    exact = exact_importance(TOYS[name], X[:40])
    assert spearmanr([own[each] for each in NAMES], exact).statistic >= 0.95
    np.testing.assert_allclose([own[each] for each in NAMES], exact, rtol=0.2, atol=0.05)


def test_intervals_cover_what_all_rows_have() -> None:
    model, covered = TOYS["additive"], []
    truth = np.abs(np.stack([3 * X[:, 0], X[:, 1], -X[:, 2], 0.3 * X[:, 3], 0 * X[:, 4]]))
    truth[1] = np.abs(np.abs(X[:, 1]) - np.abs(X[:, 1]).mean())
    wanted = dict(zip(NAMES, truth.mean(axis=1), strict=True))
    for seed in range(12):
        some = np.random.default_rng(seed).choice(400, 50, replace=False)
        found = explained(model, X[some], seed).importance()
        covered += [
            low <= wanted[name] <= high for name, (low, high) in zip(found.columns, found.intervals, strict=True)
        ]
    assert np.mean(covered) >= 0.9


def test_sums_are_those_of_the_rows() -> None:
    many = made.many(20)
    found, weights = many.importance(), np.stack([e.weights for e in many])
    order = np.argsort(-np.abs(weights).mean(axis=0), kind="stable")
    assert found.columns == tuple(many[0].parts[j].column for j in order[: len(found.columns)])
    np.testing.assert_allclose(found.importance, np.abs(weights).mean(axis=0)[order])
    np.testing.assert_allclose(found.means, weights.mean(axis=0)[order])
    assert found.raising.tolist() == (weights > 0).sum(axis=0)[order].tolist()
    assert found.n_rows == 20
    assert dict(found.labels) == {"reliable": 16, "unreliable": 4}
    assert [count for _, count in found.targets] == [16, 4]
    assert found.notes, "signs are of several targets"
    assert found.sample.weights.shape == (20, 7)


def test_what_was_not_tested_does_not_count_and_pairs_are_shared() -> None:
    e = made.mushroom()
    weights = e.weights.copy()
    weights[0] = np.nan
    found = Explanations((e, replace(e, weights=weights))).importance()
    assert found.top(1) == [("odor", pytest.approx(0.261))]
    paired = replace(e, pairs=(FeaturePair((0, 1), -0.2, (-0.3, -0.1), np.zeros((2, 2))),))
    own = dict(Explanations((paired, paired)).importance().top(7))
    assert own["odor"] == pytest.approx(0.161)
    assert own["gill-size"] == pytest.approx(0.004)


def test_parts_of_one_column_are_one() -> None:
    e = made.mushroom()
    parts = (replace(e.parts[0], column="odor"), replace(e.parts[1], column="odor"), *e.parts[2:])
    found = Explanations((replace(e, parts=parts),)).importance()
    assert found.columns[0] == "odor"
    assert found.importance[0] == pytest.approx(0.365)
    assert np.isinf(found.intervals[:, 1]).all(), "one row says nothing of others"


def test_a_store_has_the_same(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    table = pd.DataFrame(X, columns=list(NAMES)).assign(home=np.where(X[:, 0] > 0, "own", "rent"))
    model, rows = (lambda t: np.asarray(t["a"]) * (t["home"] == "own") + np.asarray(t["b"])), vd.Rows(table)
    method = vd.Lime(n_samples=256)
    many = vd.explain_many(model, rows, table.head(N), method=method)
    store = vd.explain_many(model, rows, table.head(N), method=method, store=tmp_path / "store", batch_size=16)
    own, stored = many.importance(), store.importance()
    assert stored.columns == own.columns
    for name in ("importance", "intervals", "means", "counts", "raising"):
        np.testing.assert_allclose(getattr(stored, name), getattr(own, name), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(stored.sample.values, own.sample.values)
    np.testing.assert_allclose(stored.sample.weights, own.sample.weights)
    assert stored.sample.levels == own.sample.levels
    assert stored.labels == own.labels


def test_of_many_rows_some_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veridical.summaries.importances.SAMPLED", 50)
    found = made.many(400).importance()
    assert 25 < len(found.sample.numbers) < 100
    assert (np.diff(found.sample.numbers) > 0).all()
    assert found.n_rows == 400


def test_nothing_is_nothing() -> None:
    found = Explanations(()).importance()
    assert found.columns == ()
    assert found.n_rows == 0
    assert "No feature has any weight" in str(found)
    assert Explanations((made.empty(),)).importance().columns == ()
