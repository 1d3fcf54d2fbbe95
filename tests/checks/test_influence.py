"""Self-influence in closed form, beside training again without each row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import veridical as vd
from veridical.checks.influence import leave_one_out_residuals, logistic_influence, ridge_influence, self_influence

RNG = np.random.default_rng(0)
N, D = 40, 5
X = RNG.normal(size=(N, D)) * [1, 2, 0.5, 1, 1] + 1
Y = X @ RNG.normal(size=D) + RNG.normal(size=N)
LABELS = {k: np.clip(np.digitize(Y, np.quantile(Y, np.arange(1, k) / k)), 0, k - 1) for k in (2, 3)}
OTHERS = [np.delete(np.arange(N), i) for i in range(N)]


def two_gaussians(seed: int, share: float = 0.1, n: int = 500, d: int = 10) -> tuple[Any, Any, Any]:
    """Rows, labels of which a share is wrong, and which those are."""
    rng = np.random.default_rng(seed)
    right = np.arange(n) % 2
    rows = rng.normal(size=(n, d)) + 3.0 * np.outer(2 * right - 1, np.r_[1, np.zeros(d - 1)])
    wrong = np.zeros(n, bool)
    wrong[rng.permutation(n)[: int(share * n)]] = True
    return rows, np.where(wrong, 1 - right, right), wrong


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.1, 30.0])
def test_ridge_is_training_again_exactly(ridge: float, intercept: bool) -> None:
    left = [
        Y[i] - Ridge(ridge, fit_intercept=intercept).fit(X[o], Y[o]).predict(X[i : i + 1])[0]
        for i, o in enumerate(OTHERS)
    ]
    np.testing.assert_allclose(leave_one_out_residuals(X, Y, ridge, intercept)[:, 0], left, rtol=1e-5, atol=1e-7)
    kept = Y - Ridge(ridge, fit_intercept=intercept).fit(X, Y).predict(X)
    grown = (np.square(left) - kept**2) / 2
    np.testing.assert_allclose(ridge_influence(X, Y, ridge, intercept), grown, rtol=1e-4, atol=1e-6)


def test_ridge_with_more_columns_than_rows() -> None:
    wide = RNG.normal(size=(20, 200))
    left = [
        Y[i] - Ridge(3.0).fit(np.delete(wide, i, 0), np.delete(Y[:20], i)).predict(wide[i : i + 1])[0]
        for i in range(20)
    ]
    np.testing.assert_allclose(leave_one_out_residuals(wide, Y[:20], 3.0)[:, 0], left, rtol=1e-6)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("C", [0.1, 1.0])
def test_logistic_is_nearly_training_again(k: int, C: float) -> None:
    y = LABELS[k]

    def loss(model: Any, at: Any) -> Any:
        return -np.log(model.predict_proba(X[at])[np.arange(len(at)), y[at]])

    fresh = lambda: LogisticRegression(C=C, tol=1e-7, max_iter=5000)  # noqa: E731
    model = fresh().fit(X, y)
    grown = [loss(fresh().fit(X[o], y[o]), np.array([i]))[0] for i, o in enumerate(OTHERS)] - loss(
        model, np.arange(N)
    )
    found = self_influence(model.predict_proba, X, y)
    assert np.corrcoef(found, grown)[0, 1] > 0.99
    np.testing.assert_allclose(found, grown, atol=0.15 * grown.max())


def test_pipelines_and_sparse_rows_have_the_same_influence() -> None:
    y = LABELS[2]
    model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8)).fit(X, y)
    inside = model[0].transform(X)
    found = self_influence(model.predict_proba, X, y)
    np.testing.assert_allclose(found, self_influence(model[-1].predict_proba, inside, y))
    wide = np.hstack([X, np.zeros((N, 100))])
    plain = LogisticRegression(tol=1e-8).fit(wide, y)
    sparse = self_influence(plain.predict_proba, csr_matrix(wide), y)
    np.testing.assert_allclose(sparse, self_influence(plain.predict_proba, wide, y), rtol=1e-6)
    narrow = LogisticRegression(tol=1e-8).fit(X, y)
    np.testing.assert_allclose(sparse, self_influence(narrow.predict_proba, X, y), rtol=1e-3, atol=1e-6)


def test_ridge_classifier_regresses_signs() -> None:
    model = RidgeClassifier(2.0).fit(X, LABELS[2])
    wanted = ridge_influence(X, 2.0 * LABELS[2] - 1, 2.0)
    np.testing.assert_allclose(self_influence(model.decision_function, X, LABELS[2]), wanted)


def test_wrong_labels_have_the_most_influence() -> None:
    precision, by_loss = [], []
    for seed in range(5):
        rows, labels, wrong = two_gaussians(seed)
        model = LogisticRegression().fit(rows, labels)
        loss = -np.log(model.predict_proba(rows)[np.arange(len(rows)), labels])
        for scores, found in ((self_influence(model.predict_proba, rows, labels), precision), (loss, by_loss)):
            found.append(wrong[np.argsort(-scores)[:50]].mean())
    assert np.mean(precision) > 0.9
    assert np.mean(by_loss) > 0.95


def test_what_has_no_closed_form_is_refused() -> None:
    y = LABELS[2]
    with pytest.raises(vd.errors.NotApplicable, match="not of NoneType"):
        self_influence(lambda rows: rows, X, y)
    with pytest.raises(vd.errors.NotApplicable, match="classes are weighted"):
        self_influence(LogisticRegression(class_weight="balanced").fit(X, y).predict_proba, X, y)
    with pytest.raises(vd.errors.NotApplicable, match="l1 penalty"):
        self_influence(LogisticRegression(l1_ratio=1.0, solver="liblinear").fit(X, y).predict_proba, X, y)
    with pytest.raises(vd.errors.NotApplicable, match="trained on others"):
        self_influence(LogisticRegression().fit(X, y).predict_proba, X, 0 * y)
    wide = RNG.normal(size=(10, 5000))
    short = LogisticRegression().fit(wide, y[:10])
    with pytest.raises(vd.errors.NotApplicable, match="unknowns at once"):
        self_influence(short.predict_proba, wide, y[:10])


def test_a_row_far_from_all_others_keeps_its_influence_finite() -> None:
    rows, labels, _ = two_gaussians(0)
    rows[0] = 1e6
    margins = LogisticRegression(max_iter=2000).fit(rows, labels).decision_function(rows)[:, None]
    assert np.isfinite(logistic_influence(rows, labels, margins, ridge=1.0)).all()
