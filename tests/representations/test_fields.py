"""Records of many fields: independent designs, one surrogate, records of the kind that came."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import veridical as vd
from tests.builders.contracts import assert_same
from tests.builders.methods import linear_lime
from veridical.representations.fields import _shuffle_clusters
from veridical.sampling.masks import coins, removals

RNG = np.random.default_rng(0)
SEED = np.random.SeedSequence(5)
TABLE = pd.DataFrame(
    {"n": RNG.integers(0, 9, 60), "f": RNG.normal(size=60).astype(np.float32), "c": ["x", "y"] * 30}
)
FLOATS = RNG.normal(size=(60, 2)).astype(np.float32)


def records(represent: Any, record: Any, n: int = 64) -> Any:
    made = represent(record)
    return made.realize(made.draw(made.kernel, SEED, 0, n))[0 : n + 1]


@pytest.mark.parametrize(
    ("background", "value"),
    [
        (FLOATS, FLOATS[0]),
        (FLOATS, FLOATS[:1]),
        (FLOATS.astype(float), (0.5, 2.0)),
        (FLOATS.astype(float), [0.5, 2.0]),
        (TABLE[["f", "n"]], [0.5, 2]),
        (TABLE, {"c": "x", "n": 3, "f": 0.25}),
        (TABLE, pd.Series({"n": 3, "f": 0.25, "c": "x"}, name="row")),
        (TABLE[["n"]], {"n": 3}),
        (TABLE[["n"]], 3),
    ],
    ids=["array", "one row", "tuple", "list", "list for a frame", "mapping", "series", "one column", "number"],
)
def test_a_table_field_stays_what_it_is(background: Any, value: Any) -> None:
    made = records(vd.Fields({"t": vd.Rows(background), "r": vd.Words()}), {"t": value, "r": "a b c"})
    assert type(made[5]["t"]) is type(value)
    if isinstance(value, pd.Series):
        pd.testing.assert_series_equal(made[0]["t"], value)
    else:
        assert_same(made[0]["t"], value)
    assert len({repr(one["t"]) for one in made}) > 2


def test_a_field_without_any_part_is_left_out_with_a_note() -> None:
    represent = vd.Fields({"r": vd.Words(), "n": vd.Rows(TABLE[["n"]]), "c": vd.Rows(TABLE[["c"]])})
    for empty in ("", "  \n", "!!!"):
        parts = represent({"r": empty, "n": 3, "c": "x"})
        assert len(parts.names) == 2
        assert any("'r'" in note and "nothing" in note for note in parts.notes)
        assert all(one["r"] == empty for one in records(represent, {"r": empty, "n": 3, "c": "x"}))


@pytest.mark.parametrize(("n", "cluster"), [(7, 2), (64, 2), (10, 4), (5, 1), (1, 2)])
def test_what_was_drawn_together_stays_together(n: int, cluster: int) -> None:
    """Also where the last group is not whole: it may not stand in the middle, and cut the others."""
    order = _shuffle_clusters(n, cluster, np.random.default_rng(1), with_instance=False)
    assert sorted(order) == list(range(n))
    groups = order[: n - n % cluster].reshape(-1, cluster)
    assert (groups // cluster == groups[:, :1] // cluster).all()
    np.testing.assert_array_equal(
        _shuffle_clusters(n, cluster, np.random.default_rng(1), with_instance=True), [0, *order + 1]
    )


# Independence ----------------------------------------------------------------------------------------------

SCORES = pd.DataFrame({"a": RNG.normal(size=200), "b": RNG.normal(size=200), "c": RNG.normal(size=200)})
PHOTO = RNG.random((8, 8))

TWINS: dict[str, tuple[Any, Any]] = {
    "tables": (
        vd.Fields({"first": vd.Rows(SCORES), "second": vd.Rows(SCORES)}),
        {"first": SCORES.iloc[0].to_dict(), "second": SCORES.iloc[0].to_dict()},
    ),
    "pictures": (
        vd.Fields({"front": vd.Grid(2, 2), "back": vd.Grid(2, 2)}),
        {"front": PHOTO, "back": PHOTO},
    ),
    "texts": (
        vd.Fields({"title": vd.Words(), "body": vd.Words()}),
        {"title": "one two three four", "body": "one two three four"},
    ),
    "different": (
        vd.Fields({"body": vd.Words(), "photo": vd.Grid(2, 2), "scores": vd.Rows(SCORES)}),
        {"body": "one two three four", "photo": PHOTO, "scores": SCORES.iloc[0].to_dict()},
    ),
}


@pytest.mark.parametrize("name", TWINS)
def test_fields_vary_independently(name: str) -> None:
    """No two columns of designs of different fields go together: 4.5 standard errors, masks coming in pairs."""
    represent, record = TWINS[name]
    parts = represent(record)
    for seed in range(6):  # of codes, a column may be alike in the first of all pairs
        drawn = parts.draw(parts.kernel, np.random.SeedSequence(seed), 0, 4096).designs[1:]
        by_field = np.array([part.column for part in parts.parts])
        other = by_field[:, None] != by_field
        assert np.abs(np.corrcoef(drawn.T)[other]).max() < 4.5 / np.sqrt(2048)
    sample = parts.draw(parts.kernel, SEED, 0, 4096)
    owner = np.array([part.column for part in parts.parts])
    together = np.corrcoef(sample.designs[1:].T)
    across = owner[:, None] != owner
    assert np.abs(together[across]).max() < 4.5 / np.sqrt(2048)
    pairs = sample.designs[1::2].T, sample.designs[2::2].T
    assert np.abs(np.corrcoef(*pairs)[: len(owner), len(owner) :][across]).max() < 4.5 / np.sqrt(2048)
    weights = sample.weights[1:]
    assert (weights > 0).mean() > 0.9
    assert 0.5 < weights.mean() < 2


def test_a_sum_over_fields_is_found_exactly() -> None:
    """T1: words by their count, a picture by its pixels, a table by its bins; the shares are theirs."""
    x = {"body": "good bad dull good", "photo": PHOTO, "a": float(SCORES["a"].iloc[0]), "id": 3}
    represent = vd.Fields({"body": vd.Words(), "photo": vd.Grid(2, 2), "score": vd.Rows(SCORES[["a"]])})
    u = RNG.normal(size=(8, 8))
    quartiles = np.quantile(SCORES["a"], [0.25, 0.5, 0.75])
    own = np.searchsorted(quartiles, x["a"])

    def model(X: Any) -> Any:
        assert all(one["id"] == 3 for one in X)
        words = [2.0 * one["body"].count("good") - 3.0 * one["body"].count("bad") for one in X]
        pixels = [np.sum(u * one["photo"]) for one in X]
        scores = [5.0 * (np.searchsorted(quartiles, one["a"]) == own) for one in X]
        return np.sum([words, pixels, scores], axis=0)

    why = vd.explain(model, represent, x, method=linear_lime(n_samples=200))
    found = dict(zip(why.names, why.weights, strict=True))
    change = u * (PHOTO - PHOTO.reshape(2, 4, 2, 4).mean(axis=(1, 3)).repeat(4, 0).repeat(4, 1))
    blocks = change.reshape(2, 4, 2, 4).sum(axis=(1, 3))
    wanted = {"body: good": 4.0, "body: bad": -3.0, "body: dull": 0.0}
    wanted |= {f"photo: row {r + 1}, column {c + 1}": blocks[r, c] for r in range(2) for c in range(2)}
    for name, weight in wanted.items():
        assert found[name] == pytest.approx(weight, abs=1e-6), name
    assert [w for n, w in found.items() if n not in wanted] == [pytest.approx(5.0, abs=1e-6)]
    assert why.fidelity == pytest.approx(1.0, abs=1e-9)
    total = 7 + np.abs(blocks).sum() + 5
    assert why.shares == {
        "body": pytest.approx(7 / total, abs=1e-6),
        "photo": pytest.approx(np.abs(blocks).sum() / total, abs=1e-6),
        "score": pytest.approx(5 / total, abs=1e-6),
    }
    assert why.prediction == model([x])[0]


@pytest.mark.parametrize("kind", [dict, pd.Series, pd.DataFrame])
def test_the_model_gets_records_of_the_kind_that_came(kind: Any) -> None:
    x = {"body": "good bad dull", "a": 0.3, "id": 3}
    record = pd.DataFrame([x]) if kind is pd.DataFrame else kind(x)
    represent = vd.Fields({"body": vd.Words(), "score": vd.Rows(SCORES[["a"]])})

    def model(X: Any) -> Any:
        if kind is dict:
            assert isinstance(X, list)
            X = pd.DataFrame(X)
        assert isinstance(X, pd.DataFrame)
        assert list(X.columns) == ["body", "a", "id"]
        assert (X["id"] == 3).all()
        return X["body"].str.count("good").to_numpy(float) + X["a"].to_numpy(float)

    weights = vd.explain(model, represent, record, method=vd.Lime(n_samples=100)).weights
    np.testing.assert_array_equal(
        weights, vd.explain(model, represent, record, method=vd.Lime(n_samples=100)).weights
    )
    assert weights[0] == pytest.approx(1.0, abs=0.2)


def test_intervals_of_records_cover_the_enumerated_answer() -> None:
    """Words and a picture: all 2⁸ masks of both, weighted by the product of their laws; 60 seeds."""
    x = {"body": "one two three four", "photo": PHOTO}
    represent = vd.Fields({"body": vd.Words(), "photo": vd.Grid(2, 2, fill=vd.fills.Constant(9.0))})

    def game(Z: Any) -> Any:
        return np.tanh(Z @ np.linspace(-1, 2, 8)) + Z[:, 0] * Z[:, 5] - Z[:, 3] * Z[:, 4] * Z[:, 7]

    def model(X: Any) -> Any:
        words = [[word in one["body"] for word in ("one", "two", "three", "four")] for one in X]
        blocks = [[one["photo"][r, c] != 9.0 for r in (0, 4) for c in (0, 4)] for one in X]
        return game(np.hstack([words, blocks]).astype(float))

    kernel = vd.kernels.Gaussian(0.25)
    text, image = (law(4).enumerate(kernel, 16) for law in (removals, coins))
    Z = np.hstack([text.designs[1:].repeat(16, 0), np.tile(image.designs[1:], (16, 1))])
    w = np.outer(text.weights[1:], image.weights[1:]).ravel()
    A = np.column_stack([np.ones(256), Z])
    truth = np.linalg.solve(A.T @ (A * w[:, None]), A.T @ (w * game(Z)))[1:]
    found = [vd.explain(model, represent, x, method=linear_lime(n_samples=301), rng=seed) for seed in range(60)]
    inside = [(why.intervals[:, 0] <= truth) & (truth <= why.intervals[:, 1]) for why in found]
    assert np.mean(inside) >= 0.90
    np.testing.assert_allclose(np.mean([why.weights for why in found], axis=0), truth, atol=0.035)


def test_a_category_that_the_record_does_not_know_reaches_the_model() -> None:
    """A row of its own knows its own category alone; the background's others must not become missing."""
    table = pd.DataFrame({"kind": ["a", "b", "c", "d"] * 25})
    seen = set()

    def predict(frame: Any) -> Any:
        seen.update(frame["kind"])
        return [len(text) + (kind == "a") for text, kind in zip(frame["text"], frame["kind"], strict=True)]

    row = pd.DataFrame({"text": ["good bad"], "kind": ["a"]}).astype({"kind": "category"})
    vd.explain(predict, vd.Fields({"text": vd.Words(), "kind": vd.Rows(table)}), row)
    assert seen == {"a", "b", "c", "d"}
