"""What the benchmark of fidelity measures with: its laws, its exact values, and local models read off records."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import veridical as vd

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")
sys.path.insert(0, BENCHMARKS)  # for these imports alone: a folder with a coverage.py must not stay on the path
try:
    from cases import TABLES, TOY_COLUMNS, USED, cases_of, exact_values, removable, toy_cases
    from contenders import CONTENDERS, Local, local_values, own_bins
    from fidelity import against_truth, explained, gap, overlap
finally:
    sys.path.remove(BENCHMARKS)


@pytest.fixture(scope="module")
def mixed():
    """A row of a table with numbers, whole numbers, categories and missing values."""
    rng = np.random.default_rng(0)
    n = 400
    table = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "age": rng.integers(18, 80, n).astype(float),
            "city": rng.choice(["Ghent", "Porto", "Turku"], n),
            "work": np.where(rng.random(n) < 0.3, None, rng.choice(["yes", "no"], n)),
        }
    )

    def predict(rows):
        score = rows["age"] / 80 + (rows["city"] == "Porto") + rows["size"].fillna(2) + rows["work"].isna()
        return score.to_numpy(float)[:, None]

    return cases_of(table.iloc[:-6], table.iloc[-6:], predict, regression=True)


def test_weighted_sums_are_read_off_bins_and_categories(mixed):
    linear = vd.Lime(n_samples=256, surrogate=vd.surrogates.Linear())
    for case in mixed:
        why = vd.explain(case.predict, case.represent, case.instance, method=linear)
        assert own_bins(why, case.instance).all()
        assert not own_bins(why, case.background).all()
        np.testing.assert_allclose(local_values(why, case.instance), why.local_prediction)


def test_curves_and_masks_are_read_by_the_local_model(mixed):
    case = mixed[0]
    why = vd.explain(case.predict, case.represent, case.instance)
    np.testing.assert_allclose(local_values(why, case.instance), why.local_prediction)
    answers = case.predict(case.background)[:, 0]
    assert np.corrcoef(local_values(why, case.background), answers)[0, 1] > 0.9
    text = vd.explain(lambda texts: [float("a" in t.split()) for t in texts], vd.Words(), "a b c")
    np.testing.assert_allclose(local_values(text, None, np.array([[1, 1, 1], [0, 1, 1]]) > 0), [1, 0], atol=1e-6)


def test_shares_of_kept_columns_are_uniform(mixed):
    case = mixed[0]
    drawn = case.uniform_share(20_000, np.random.default_rng(0))
    unlike = [name for name in ("size", "age") if not case.background[name].isin(case.instance[name]).any()]
    whole = drawn.kept.all(axis=1).mean()
    assert whole > 1 / (len(case.names) + 1) - 0.01  # all of d are kept with probability 1 / (d + 1), or are alike
    for name in unlike:
        assert drawn.kept[:, case.names.index(name)].mean() == pytest.approx(0.5, abs=0.02)
    for name in case.names:
        assert drawn.inputs[name].isin(case.stacked[name]).all()


def test_columns_that_are_kept_have_the_rows_own_value(mixed):
    case = mixed[0]
    drawn = case.uniform_share(500, np.random.default_rng(0))
    for name, kept in zip(case.names, drawn.kept.T, strict=True):
        own, column = case.instance[name].iloc[0], drawn.inputs[name]
        np.testing.assert_array_equal(kept, column.isna() if pd.isna(own) else column == own)


def test_weights_of_limes_law_fall_with_the_bins_that_are_left(mixed):
    case = mixed[0]
    drawn = case.lime_law(500, np.random.default_rng(0))
    steps = np.exp(-np.arange(len(case.names) + 1) / len(case.names) / (2 * 0.75**2))
    assert all(np.isclose(steps, weight).any() for weight in drawn.weights)
    assert (drawn.weights[drawn.kept.all(axis=1)] == 1).all()


def test_words_are_taken_away_everywhere():
    words, realize = removable("not bad, not good")
    assert words == ("not", "bad", "good")
    assert realize(np.array([[True] * 3, [False, True, True]])) == ["not bad, not good", " bad,  good"]


def test_exact_values_of_a_sum_are_differences_to_its_mean():
    case = toy_cases("linear", 1)[0]
    levels = np.unique(case.background["x0"])

    def total(table):
        values = np.asarray(table, float)
        return np.stack([values[:, 0], 3 * values[:, USED[1]] ** 2], axis=1).sum(axis=1, keepdims=True)

    plain = SimpleNamespace(numbers=case.numbers, answer=lambda table: total(table)[:, 0])
    own, expected = case.numbers[-1], np.zeros(TOY_COLUMNS)
    expected[0] = own[0] - levels.mean()
    expected[USED[1]] = 3 * own[USED[1]] ** 2 - np.mean(3 * levels**2)
    np.testing.assert_allclose(exact_values(plain, levels), expected, atol=1e-12)


@pytest.mark.parametrize("name", ["additive", "xor", "steep"])
def test_exact_values_add_up_to_the_prediction(name):
    case = toy_cases(name, 1)[0]
    rows = np.random.default_rng(0).integers(0, len(case.background), (50_000, TOY_COLUMNS))
    gained = case.answer(case.instance)[0] - case.answer(case.inputs(rows)).mean()
    assert case.truth.sum() == pytest.approx(gained, abs=0.01)
    assert (case.truth[[j for j in range(TOY_COLUMNS) if j not in USED]] == 0).all()


def test_the_share_explained_is_weighted():
    found = explained(np.array([0.0, 2.0]), np.array([0.5, 2.0]), np.array([1.0, 3.0]))
    assert found == pytest.approx(1 - 0.25 / 3)  # around the mean of 1.5


def test_a_perfect_local_model_is_found_perfect():
    case = toy_cases("pairs", 1)[0]
    perfect = Local(lambda s: case.answer(s.inputs), dict(zip(case.names, case.truth, strict=True)), 0, 0.0)
    drawn = case.uniform_share(512, np.random.default_rng(0))
    outputs = case.answer(drawn.inputs)
    assert explained(outputs, perfect.values(drawn), drawn.weights) == 1
    assert explained(outputs, np.full(512, outputs.mean()), drawn.weights) == pytest.approx(0)
    assert gap(case, perfect) == 0
    assert overlap(perfect, perfect) == 1
    found = against_truth(case, perfect)
    assert found["error"] == found["unused"] == 0
    double = Local(perfect.values, {name: 2 * w for name, w in perfect.weights.items()}, 0, 0.0)
    found = against_truth(case, double)
    assert (found["error"], found["shape"]) == pytest.approx((1, 0))


def test_at_least_four_tables_are_chosen_and_five_reported():
    roles = [role for _, role in TABLES.values()]
    assert set(roles) == {"chosen", "reported"}
    assert roles.count("chosen") >= 4
    assert roles.count("reported") >= 5
    for role in set(roles):
        assert len({kind for kind, own in TABLES.values() if own == role}) == 3


def test_our_contenders_stay_within_their_calls():
    case = toy_cases("steps", 1)[0]
    for name in ("default", "linear"):
        assert CONTENDERS[name](case, 0).calls <= 2049
