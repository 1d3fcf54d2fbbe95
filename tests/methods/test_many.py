"""Many instances: the same bits however the work is cut, whatever they are and whichever of them fail."""

from __future__ import annotations

import tracemalloc
import warnings
import weakref
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd
import pytest

import veridical as vd
from tests.builders.contracts import bits
from tests.builders.methods import linear_lime
from veridical.errors import RowsFailedWarning
from veridical.records import Floats
from veridical.representations.masking import InstanceList

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


@pytest.mark.parametrize("parts", [vd.bins.Quartiles(), vd.bins.Continuous()], ids=["bins", "numbers"])
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

    many = vd.explain_many(counting, vd.Rows(TABLE), TABLE[:100], method=linear_lime(n_samples=1024))
    assert sum(asked) == 1024 + 100
    assert all(why.n_calls == 1025 for why in many)


def test_a_shared_explanation_is_the_one_that_explain_gives_within_its_error() -> None:
    """Intervals of both cover the same limit, and those of the shared sample are not wider."""
    rows = vd.Rows(TABLE)
    limit = [
        vd.explain(predict, rows, x, target=1, method=linear_lime(n_samples=2**16, max_calls=2**17))
        for x in TABLE[:5]
    ]
    inside, widths = [], []
    for seed in range(20):
        many = vd.explain_many(predict, rows, TABLE[:5], target=1, method=linear_lime(n_samples=512), rng=seed)
        for i, why in enumerate(many):
            alone = vd.explain(predict, rows, TABLE[i], target=1, method=linear_lime(n_samples=512), rng=seed)
            inside.append((why.intervals[:, 0] <= limit[i].weights) & (limit[i].weights <= why.intervals[:, 1]))
            widths.append(np.ptp(why.intervals, axis=1).mean() / np.ptp(alone.intervals, axis=1).mean())
            assert abs(why.fidelity - alone.fidelity) < 0.1
    assert 0.92 <= np.mean(inside) <= 1
    assert np.median(widths) < 1.02


SPARSE = {
    "many": {"n_features": 10, "select": vd.selectors.as_package},
    "lasso": {"n_features": 10, "select": vd.selectors.lasso_path},
    "shrunk": {"surrogate": vd.surrogates.Linear(ridge=40.0)},
    "few": {"n_features": 3, "select": vd.selectors.forward_selection},
}


@pytest.mark.parametrize("kind", SPARSE)
def test_a_sparse_shared_explanation_is_the_one_of_the_row_alone(kind: str) -> None:
    """Local models that keep few parts, or shrink them, are the same from a shared sample, within their error."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 14))
    slopes = np.r_[3.0, -2.5, 2.0, 1.8, 1.5, -1.2, 1.0, 0.9, 0.8, 0.7, 0.05, -0.05, 0.02, 0.0]

    def model(Z: Any) -> Any:
        return Z @ slopes + 0.3 * Z[:, 0] * Z[:, 1]

    rows, settings = vd.Rows(X), {"surrogate": vd.surrogates.Linear(ridge=1.0), **SPARSE[kind]}
    method = vd.Lime(n_samples=4096, **settings)
    many = vd.explain_many(model, rows, X[:12], method=method)
    for x, why in zip(X, many, strict=False):
        alone = vd.explain(model, rows, x, method=method, rng=1)
        assert why.chosen == alone.chosen
        error = (np.ptp(why.intervals, axis=1) + np.ptp(alone.intervals, axis=1)) / 2
        assert (np.abs(why.weights - alone.weights) <= 1.5 * error + 1e-9).all()
        for name in ("intercept", "local_prediction"):
            assert getattr(why, name) == pytest.approx(getattr(alone, name), abs=0.5)
        assert why.fidelity == pytest.approx(alone.fidelity, abs=0.05)


def test_by_default_one_row_gets_what_it_gets_among_many() -> None:
    rows = vd.Rows(TABLE)
    many = vd.explain_many(predict, rows, TABLE[:10], method=linear_lime())
    for x, why in zip(TABLE, many, strict=False):
        alone = vd.explain(predict, rows, x, method=linear_lime())
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

    many = vd.explain_many(steps, rows, TABLE[:30], method=linear_lime(n_samples=300))
    for x, why in zip(TABLE, many, strict=False):
        effect = np.array([[-1.0, 0, 0, j + 1] for j in range(6)])
        own = [effect[j, np.searchsorted(edges[:, j], x[j])] for j in range(6)]
        truth = [o - (e.sum() - o) / 3 for o, e in zip(own, effect, strict=True)]
        np.testing.assert_allclose(why.weights, truth, atol=1e-5)
        assert why.fidelity < 1 + 1e-12


def test_a_row_far_out_gets_samples_of_its_own_and_is_right() -> None:
    rows = vd.Rows(TABLE, discretize=vd.bins.Continuous())
    X = TABLE[:3].copy()
    X[1] += 6
    assert rows(X[1]).efficiency(rows(X[1]).kernel) < 0.3 < rows(X[0]).efficiency(rows(X[0]).kernel)
    many = vd.explain_many(predict, rows, X, target=1, method=linear_lime(n_samples=4096))
    limit = vd.explain(predict, rows, X[1], target=1, method=linear_lime(n_samples=2**16, max_calls=2**17))
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
    many = vd.explain_many(
        lambda X: np.asarray(X.sum(axis=1)).ravel(), vd.Rows(matrix), matrix, method=linear_lime()
    )
    for i, why in enumerate(many):
        np.testing.assert_allclose(why.weights, matrix[i].data, atol=1e-9)


def test_track_sees_every_row() -> None:
    seen = []

    def track(work: Any, total: int) -> Iterator[Any]:
        for n, why in enumerate(work, 1):
            seen.append((n, total))
            yield why

    vd.explain_many(predict, vd.Rows(TABLE), TABLE[:12], progress=track)
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
    rows, method = vd.Rows(TABLE), linear_lime(n_samples=512)
    near = vd.explain_many(lambda X: predict(X)[:, 1], rows, TABLE[:3], method=method)
    far = vd.explain_many(lambda X: predict(X)[:, 1] + 1e6, rows, TABLE[:3], method=method)
    for a, b in zip(near, far, strict=True):
        np.testing.assert_allclose(a.weights, b.weights, atol=1e-8)
        assert a.fidelity == pytest.approx(b.fidelity, abs=1e-6)


# Bad rows: the others are explained, and what failed is told at the end.


RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
FRAME = pd.DataFrame(X, columns=list("abc"), index=[f"id{i}" for i in range(60)])
METHOD = vd.Lime(n_samples=32)
METHODS = [METHOD, vd.Occlusion(), vd.Lime(n_samples=32, kernel=lambda d: np.exp(-d))]


def refuse_large(X: Any) -> Any:
    values = np.asarray(X, dtype=float)
    if (values[:, 0] > 50).any():
        raise ValueError("too large")
    return values @ [1.0, 2.0, 0.0]


def broken(row: int, value: float) -> pd.DataFrame:
    found = FRAME.copy()
    found.iloc[row, 0] = value
    return found


@pytest.mark.parametrize("method", METHODS, ids=["shared", "removal", "own kernel"])
@pytest.mark.parametrize("settings", [{}, {"n_jobs": 2}, {"batch_size": 7}], ids=str)
@pytest.mark.parametrize("value", [100.0, np.nan], ids=["model", "row"])
def test_the_others_are_explained(method: Any, settings: dict[str, Any], value: float) -> None:
    rows = vd.Rows(FRAME)
    with pytest.warns(RowsFailedWarning, match=r"1 of 60 rows .* row id7: .*(too large|missing).*failed"):
        found = vd.explain_many(refuse_large, rows, broken(7, value), method=method, **settings)
    right = vd.explain_many(refuse_large, rows, FRAME, method=method)
    assert [e.row for e in found] == [name for name in FRAME.index if name != "id7"]
    assert found.failed[["row", "number"]].values.tolist() == [["id7", 7]]
    for e in found:
        np.testing.assert_array_equal(e.weights, right[int(e.row[2:])].weights)


def test_the_first_row_may_be_bad() -> None:
    with pytest.warns(RowsFailedWarning, match="row id0"):
        found = vd.explain_many(refuse_large, vd.Rows(FRAME), broken(0, 100.0), method=METHOD)
    assert found[0].row == "id1"


def test_without_names_rows_have_numbers() -> None:
    with pytest.warns(RowsFailedWarning):
        found = vd.explain_many(refuse_large, vd.Rows(X), broken(7, 100.0).to_numpy(), method=METHOD)
    assert [e.row for e in found] == [i for i in range(60) if i != 7]
    assert found.failed["row"].tolist() == [7]


def test_texts() -> None:
    def count(texts: Any) -> Any:
        return [len(text) for text in texts]

    with pytest.warns(RowsFailedWarning, match="2 of 4"):
        found = vd.explain_many(count, vd.Words(), ["good film", None, "bad film", " "])
    assert [e.row for e in found] == [0, 2]
    assert found.failed["row"].tolist() == [1, 3]


def test_where_all_fail_the_first_error_is_raised_and_few_are_tried() -> None:
    calls: list[int] = []

    def never(X: Any) -> Any:
        calls.append(len(X))
        raise ValueError("down")

    with pytest.raises(vd.errors.ModelError, match="down"):
        vd.explain_many(never, vd.Rows(FRAME), FRAME, method=METHOD)
    with pytest.raises(vd.errors.ModelError, match="down"):
        vd.explain_many(never, vd.Rows(FRAME), FRAME, method=vd.Occlusion())
    assert len(calls) < 40


@pytest.mark.parametrize("method", METHODS[:2], ids=["shared", "removal"])
def test_what_is_wrong_as_a_whole_is_raised_at_once(method: Any) -> None:
    rows, asked = vd.Rows(FRAME), list[int]()

    def counted(X: Any) -> Any:
        asked.append(len(X))
        return refuse_large(X)

    with pytest.raises(vd.errors.InputError, match="target"):
        vd.explain_many(counted, rows, FRAME, method=method, target="cow")
    assert len(asked) < 40
    asked.clear()
    for wrong in (FRAME.rename(columns={"a": "z"}), FRAME[:0], X[:, :2], X[0], "abc", None, {"a": [1, 2]}):
        with pytest.raises(vd.errors.InputError):
            vd.explain_many(counted, rows, wrong, method=method)
    assert not asked


def test_files_keep_what_failed(tmp_path: Path) -> None:
    with pytest.warns(RowsFailedWarning):
        found = vd.explain_many(refuse_large, vd.Rows(FRAME), broken(7, np.nan), method=METHOD)
    for name in ("f.json", "f.parquet"):
        found.save(tmp_path / name)
        loaded = vd.load(tmp_path / name)
        assert isinstance(loaded, vd.Explanations)
        pd.testing.assert_frame_equal(loaded.failed, found.failed)
    text = (tmp_path / "f.json").read_text()
    (tmp_path / "f.json").write_text(text.replace('"failed": [["id7"', '"failed": [["id8"'))
    with pytest.raises(vd.errors.InputError, match="checksum"):
        vd.load(tmp_path / "f.json")


def test_nothing_is_said_where_nothing_failed() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = vd.explain_many(refuse_large, vd.Rows(FRAME), FRAME[:5], method=METHOD)
    assert found.failed.empty
    assert list(found.failed) == ["row", "number", "error"]


# Lists of texts, pictures, sounds, series and records.


DRAWS = np.random.default_rng(0)
PICTURES = [DRAWS.random((8, 8 + i, 3)) for i in range(4)]
STACK = DRAWS.integers(0, 256, (4, 6, 6), dtype=np.uint8)
PRICES = pd.DataFrame({"price": DRAWS.gamma(2, 5, 60)})
RECORDS = [
    {"review": f"good bad w{i} end", "price": float(i + 1), "photo": photo} for i, photo in enumerate(PICTURES)
]
FRAME_OF_RECORDS = pd.DataFrame(
    [{"review": f"good bad w{i} end", "price": float(i + 1)} for i in range(4)], index=list("dcba")
)

LISTS: dict[str, tuple[Any, Any]] = {
    "texts": (vd.Words(), ["good bad end", "a fine, fine cast", "日本語 is good", "so so dull"]),
    "series of texts": (vd.Words(), pd.Series(["good bad end", "a fine cast"] * 2, index=list("dcba"))),
    "array of texts": (vd.Words(positions=True), np.array(["good bad end", "a fine, fine cast"] * 2)),
    "sentences": (vd.Sentences(), ["Good. Bad. Dull.", "Yes! No?", "One. Two. Three. Four.", "A. B."]),
    "pictures": (vd.Grid(2, 2), PICTURES),
    "stack of pictures": (vd.Grid(2, 3), STACK),
    "recordings": (vd.Slices(4), [DRAWS.normal(size=100 + i) for i in range(4)]),
    "spectrograms": (vd.Tiles(3, 2), DRAWS.normal(size=(4, 6, 9))),
    "filtered": (vd.Tiles(2, 2, rate=8000), [DRAWS.normal(size=400 + i) for i in range(4)]),
    "series": (vd.Windows(5), DRAWS.normal(size=(4, 30, 2))),
    "records": (
        vd.Fields({"review": vd.Words(), "price": vd.Rows(PRICES), "photo": vd.Grid(2, 2)}),
        RECORDS,
    ),
    "frame of records": (vd.Fields({"review": vd.Words(), "price": vd.Rows(PRICES)}), FRAME_OF_RECORDS),
}


def size_of(one: Any) -> float:
    if isinstance(one, dict):
        return sum(size_of(value) for value in one.values())
    if isinstance(one, str):
        return sum(ord(c) % 7 for c in one) / 40
    return float(np.mean(one))


def waves(X: Any) -> Any:
    X = X.to_dict("records") if isinstance(X, pd.DataFrame) else X
    score = np.array([np.sin(3 * size_of(one)) for one in X])
    return np.stack([(1 - score) / 2, (1 + score) / 2], axis=1)


def items(X: Any) -> list[Any]:
    return [X.iloc[[i]] for i in range(len(X))] if isinstance(X, pd.DataFrame) else list(X)


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("method", [vd.Lime(n_samples=100), vd.Lime(max_calls=600)], ids=["fixed", "default"])
def test_batch_size_and_jobs_change_no_bit_of_lists(name: str, method: Any) -> None:
    represent, X = LISTS[name]
    whole = vd.explain_many(waves, represent, X, method=method, rng=4)
    assert len(whole) == 4
    for batch_size, n_jobs in ((1, 1), (3, 2), (1000, 4)):
        other = vd.explain_many(waves, represent, X, method=method, rng=4, batch_size=batch_size, n_jobs=n_jobs)
        assert [bits(why) for why in other] == [bits(why) for why in whole]


@pytest.mark.parametrize("name", LISTS)
def test_the_order_is_kept_and_each_is_the_one_of_its_number(name: str) -> None:
    """What comes out for an instance depends on it and its number, not on the others."""
    represent, X = LISTS[name]
    method = vd.Lime(n_samples=100)
    many = vd.explain_many(waves, represent, X, method=method, target=1)
    for i, one in enumerate(items(X)):
        assert many[i].names == represent(one).names
        assert many[i].prediction == waves(one if isinstance(one, pd.DataFrame) else [one])[0, 1]
        assert bits(vd.rerun(waves, represent, one, many[i].recipe)) == bits(many[i])
    same = vd.explain_many(
        waves, represent, items(X)[:2] if not isinstance(X, pd.DataFrame) else X[:2], method=method, target=1
    )
    assert [bits(why) for why in same] == [bits(why) for why in many[:2]]


@pytest.mark.parametrize("name", ["texts", "pictures", "recordings", "records"])
def test_a_generator_is_as_good_as_a_list(name: str) -> None:
    represent, X = LISTS[name]
    method = vd.Lime(n_samples=60)
    lazy = vd.explain_many(waves, represent, (x for x in X), method=method)
    for other in (X, tuple(X), dict(enumerate(X)).values()):
        assert [bits(w) for w in lazy] == [
            bits(w) for w in vd.explain_many(waves, represent, other, method=method)
        ]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_one_bad_item_says_its_number(n_jobs: int) -> None:
    bad = [*PICTURES[:2], np.full((8, 8), np.nan), *PICTURES[2:]]
    with pytest.warns(vd.errors.RowsFailedWarning, match=r"row 2: .*NaN"):
        many = vd.explain_many(waves, vd.Grid(2, 2), bad, method=vd.Lime(n_samples=40), n_jobs=n_jobs)
    assert many.failed["row"].tolist() == [2]


@pytest.mark.parametrize("X", [np.float64(3), np.array("text"), 5.0, None])
def test_what_is_no_list(X: Any) -> None:
    with pytest.raises(vd.errors.InputError, match="list of texts"):
        vd.explain_many(waves, vd.Words(), X)


class Watched:
    """A representer that counts the representations that are alive."""

    def __init__(self, honest: Any) -> None:
        self.honest, self.alive, self.most, self.made, self.lock = honest, 0, 0, 0, Lock()

    def __call__(self, x: Any) -> Any:
        made = self.honest(x)
        with self.lock:
            self.made += 1
            self.alive += 1
            self.most = max(self.most, self.alive)
        weakref.finalize(made.compose, self.forget)
        return made

    def forget(self) -> None:
        with self.lock:
            self.alive -= 1


@pytest.mark.parametrize(("batch_size", "n_jobs"), [(1000, 1), (2, 1), (1000, 2)])
def test_only_a_few_are_represented_at_a_time(batch_size: int, n_jobs: int) -> None:
    watched = Watched(vd.Grid(2, 2))
    listed = InstanceList.of(watched, [PICTURES[0]] * 30, "pictures")
    represent = type("Represent", (), {"__call__": lambda self, x: watched(x), "each": lambda self, X: listed})()
    many = vd.explain_many(waves, represent, listed.items, batch_size=batch_size, n_jobs=n_jobs)
    assert len(many) == 30
    assert watched.made <= 31, "the first is looked at before the work starts"
    assert watched.most <= 2 + 2 * n_jobs


def test_memory_is_bounded_by_a_batch_not_by_the_samples() -> None:
    """1,000 samples of a picture of 512 × 512 would be 6 GB of floats."""
    x = DRAWS.random((512, 512, 3))
    largest: list[int] = []

    def mean(X: Any) -> Any:
        largest.append(X.nbytes)
        return X[:, ::64, ::64, 0].mean(axis=(1, 2))

    tracemalloc.start()
    vd.explain(mean, vd.Grid(8, 8), x, method=vd.Lime(n_samples=1000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert max(largest) <= 2**25
    assert peak < 250e6


def test_progress_counts_the_items() -> None:
    seen: list[int] = []

    def track(work: Iterator[Any], total: int) -> Iterator[Any]:
        for one in work:
            seen.append(total)
            yield one

    vd.explain_many(waves, vd.Words(), iter(["a b c", "d e f"]), method=vd.Lime(n_samples=20), progress=track)
    assert seen == [2, 2]


def test_lists_of_unequal_shapes_are_fine_and_unequal_rows_are_not() -> None:
    many = vd.explain_many(waves, vd.Grid(2, 2), [np.ones((4, 4)), np.eye(9)], method=vd.Lime(n_samples=20))
    assert len(many) == 2
    with pytest.warns(vd.errors.RowsFailedWarning, match=r"row 1: .*unequal length"):
        vd.explain_many(waves, vd.Grid(2, 2), [np.ones((4, 4)), [[1, 2], [3]]], method=vd.Lime(n_samples=20))
