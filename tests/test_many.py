"""Many rows: one shared sample, the same bits however the work is cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import veridical as vd
from veridical.records import Floats

TABLE = np.random.default_rng(0).normal(size=(400, 6))


def predict(X: Any) -> Floats:
    p = 1 / (1 + np.exp(-(X[:, 0] + 2 * X[:, 1] * X[:, 2])))
    return np.stack([1 - p, p], axis=1)


def same(first: vd.Explanations, second: vd.Explanations) -> bool:
    return len(first) == len(second) and all(
        a.weights.tobytes() == b.weights.tobytes()
        and a.intervals.tobytes() == b.intervals.tobytes()
        and (a.prediction, a.fidelity, a.n_calls, a.verdict, a.target)
        == (b.prediction, b.fidelity, b.n_calls, b.verdict, b.target)
        for a, b in zip(first, second, strict=True)
    )


@pytest.mark.parametrize("parts", [vd.Quartiles(), vd.Continuous()], ids=["bins", "numbers"])
def test_batch_size_and_jobs_change_no_bit(parts: Any) -> None:
    rows = vd.Rows(TABLE, discretize=parts)
    X = TABLE[:60].copy()
    X[7] += 6  # an outlier, which gets samples of its own where parts are numbers
    whole = vd.explain_many(predict, rows, X)
    for batch_size, n_jobs in ((1, 1), (7, 2), (1000, 2)):
        assert same(whole, vd.explain_many(predict, rows, X, batch_size=batch_size, n_jobs=n_jobs))


def test_all_rows_share_one_sample() -> None:
    asked: list[int] = []

    def counting(X: Any) -> Floats:
        asked.append(len(X))
        return predict(X)

    many = vd.explain_many(counting, vd.Rows(TABLE), TABLE[:100], method=vd.Lime(n_samples=1024))
    assert sum(asked) == 1024 + 100
    assert all(why.n_calls == 1025 for why in many)


def test_a_shared_explanation_is_the_one_that_explain_gives_within_its_error() -> None:
    """Intervals of both cover the same limit, and those of the shared sample are not wider."""
    rows = vd.Rows(TABLE)
    limit = [
        vd.explain(predict, rows, x, target=1, method=vd.Lime(n_samples=2**16, max_calls=2**17)) for x in TABLE[:5]
    ]
    inside, widths = [], []
    for seed in range(20):
        many = vd.explain_many(predict, rows, TABLE[:5], target=1, method=vd.Lime(n_samples=512), rng=seed)
        for i, why in enumerate(many):
            alone = vd.explain(predict, rows, TABLE[i], target=1, method=vd.Lime(n_samples=512), rng=seed)
            inside.append((why.intervals[:, 0] <= limit[i].weights) & (limit[i].weights <= why.intervals[:, 1]))
            widths.append(np.ptp(why.intervals, axis=1).mean() / np.ptp(alone.intervals, axis=1).mean())
            assert abs(why.fidelity - alone.fidelity) < 0.1
    assert 0.92 <= np.mean(inside) <= 1
    assert np.median(widths) < 1.02


def test_by_default_one_row_gets_what_it_gets_among_many() -> None:
    rows = vd.Rows(TABLE)
    many = vd.explain_many(predict, rows, TABLE[:10])
    for x, why in zip(TABLE, many, strict=False):
        alone = vd.explain(predict, rows, x)
        np.testing.assert_array_equal(why.weights, alone.weights)
        np.testing.assert_array_equal(why.intervals, alone.intervals)
        assert why.n_calls == alone.n_calls
        assert why.verdict == alone.verdict


def test_an_additive_model_is_exact_for_every_row() -> None:
    """A sum of effects of bins: one shared sample of 300 gives every row's weights to rounding."""
    rows = vd.Rows(TABLE)
    edges = np.quantile(TABLE, [0.25, 0.5, 0.75], axis=0)

    def steps(X: Any) -> Floats:
        return sum((j + 1.0) * (X[:, j] > edges[2, j]) - (X[:, j] <= edges[0, j]) for j in range(6))

    many = vd.explain_many(steps, rows, TABLE[:30], method=vd.Lime(n_samples=300))
    for x, why in zip(TABLE, many, strict=False):
        effect = np.array([[-1.0, 0, 0, j + 1] for j in range(6)])
        own = [effect[j, np.searchsorted(edges[:, j], x[j])] for j in range(6)]
        truth = [o - (e.sum() - o) / 3 for o, e in zip(own, effect, strict=True)]
        np.testing.assert_allclose(why.weights, truth, atol=1e-5)
        assert why.fidelity < 1 + 1e-12


def test_a_row_far_out_gets_samples_of_its_own_and_is_right() -> None:
    rows = vd.Rows(TABLE, discretize=vd.Continuous())
    X = TABLE[:3].copy()
    X[1] += 6
    assert rows(X[1]).efficiency(rows(X[1]).kernel) < 0.3 < rows(X[0]).efficiency(rows(X[0]).kernel)
    many = vd.explain_many(predict, rows, X, target=1, method=vd.Lime(n_samples=4096))
    limit = vd.explain(predict, rows, X[1], target=1, method=vd.Lime(n_samples=2**16, max_calls=2**17))
    assert many[1].effective_size == pytest.approx(4096)
    inside = (many[1].intervals[:, 0] <= limit.weights) & (limit.weights <= many[1].intervals[:, 1])
    assert inside.mean() >= 5 / 6
    assert many[0].effective_size < 4096


def test_each_row_has_its_own_predicted_class() -> None:
    many = vd.explain_many(predict, vd.Rows(TABLE), TABLE[:50])
    assert [why.target for why in many] == predict(TABLE[:50]).argmax(axis=1).tolist()
    assert [why.prediction for why in many] == predict(TABLE[:50]).max(axis=1).tolist()


def test_sparse_rows_are_explained_one_by_one() -> None:
    from scipy.sparse import csr_matrix

    matrix = csr_matrix(np.where(TABLE > 1, TABLE, 0))
    matrix = matrix[np.diff(matrix.indptr) > 0][:10]
    many = vd.explain_many(lambda X: np.asarray(X.sum(axis=1)).ravel(), vd.Rows(matrix), matrix)
    for i, why in enumerate(many):
        np.testing.assert_allclose(why.weights, matrix[i].data, atol=1e-9)


def test_track_sees_every_row() -> None:
    seen = []

    def track(work: Any, total: int) -> Iterator[Any]:
        for n, why in enumerate(work, 1):
            seen.append((n, total))
            yield why

    vd.explain_many(predict, vd.Rows(TABLE), TABLE[:12], track=track)
    assert seen == [(n, 12) for n in range(1, 13)]


def test_the_model_is_never_asked_about_a_wrong_row() -> None:
    X = TABLE[:20].copy()
    X[17, 3] = np.inf

    def strict(X: Any) -> Any:
        assert np.isfinite(X).all()
        return predict(X)

    with pytest.warns(vd.errors.RowsFailedWarning, match="row 17: .*infinite"):
        many = vd.explain_many(strict, vd.Rows(TABLE), X)
    assert many.failed["row"].tolist() == [17]
    right = vd.explain_many(predict, vd.Rows(TABLE), TABLE[:20])
    np.testing.assert_array_equal(many[17].weights, right[18].weights)


def test_explanations_index_slice_iterate_and_tabulate() -> None:
    many = vd.explain_many(predict, vd.Rows(TABLE), TABLE[:5], method=vd.Lime(n_samples=256))
    assert len(many) == 5
    assert many[-1] is many.items[4]
    assert isinstance(many[1:3], vd.Explanations)
    assert [w.prediction for w in many[1:3]] == [many[1].prediction, many[2].prediction]
    table = many.to_frame()
    assert len(table) == 5 * 6
    np.testing.assert_array_equal(table[table["row"] == 3]["weight"], many[3].weights)


def test_outputs_far_from_zero_are_explained_as_well() -> None:
    rows, method = vd.Rows(TABLE), vd.Lime(n_samples=512)
    near = vd.explain_many(lambda X: predict(X)[:, 1], rows, TABLE[:3], method=method)
    far = vd.explain_many(lambda X: predict(X)[:, 1] + 1e6, rows, TABLE[:3], method=method)
    for a, b in zip(near, far, strict=True):
        np.testing.assert_allclose(a.weights, b.weights, atol=1e-8)
        assert a.fidelity == pytest.approx(b.fidelity, abs=1e-6)
