"""The additive surrogate: what it adds up to, what each part contributes, and what it says where samples are few."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

import veridical as vd
from tests.builders.contracts import bits
from veridical.surrogates import additive
from veridical.toys import Game, one_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 5))
ROWS = vd.Rows(X)
MIXED = pd.DataFrame(
    {
        "age": RNG.integers(18, 80, 600).astype(float),
        "city": RNG.choice(["Bern", "Oslo", "Rome"], 600, p=[0.5, 0.3, 0.2]),
        "debt": np.where(RNG.random(600) < 0.2, np.nan, RNG.exponential(10, 600)),
        "flag": RNG.random(600) < 0.3,
        "same": 1.0,
    }
)


def sum_of(why: vd.Explanation) -> float:
    """What the explanation adds up to."""
    return float(why.intercept + np.nansum(why.weights) + sum(pair.weight for pair in why.pairs))


def mixed_score(table: Any) -> Any:
    known = table["debt"].fillna(25.0)
    return 0.05 * table["age"] + 2.0 * (table["city"] == "Rome") + 0.1 * known - 1.5 * table["flag"]


def test_a_straight_model_is_explained_by_what_each_column_contributes() -> None:
    slopes, x = np.array([2.0, -1.0, 0.5, 0.0, 0.0]), np.array([1.0, 2.0, -1.0, 0.5, 3.0])
    why = vd.explain(lambda X: 7 + X @ slopes, ROWS, x)
    np.testing.assert_allclose(why.weights, slopes * (x - X.mean(axis=0)), atol=1e-4)
    assert (why.weights[3:] == 0).all()
    assert why.intercept == pytest.approx(7 + X.mean(axis=0) @ slopes, abs=1e-3)
    assert why.local_prediction == pytest.approx(why.prediction, abs=1e-4)
    assert why.fidelity > 0.999
    assert (why.scale, why.changes, why.pairs) == ("identity", None, ())
    assert why.positions == (0, 1, 2, 3, 4)


@pytest.mark.parametrize("row", range(4))
def test_parts_and_pairs_add_up_to_the_local_prediction(row: int) -> None:
    models = (
        lambda X: X[:, 0] * X[:, 1] + X[:, 2],
        lambda X: expit(2 * X[:, 0] - X[:, 1]),
        lambda X: (X[:, 0] > 0) * 1.0,
    )
    for model in models:
        why = vd.explain(model, ROWS, X[row])
        total = sum_of(why)
        assert (expit(total) if why.scale == "log-odds" else total) == pytest.approx(why.local_prediction)


def test_logistic_regression_is_explained_on_log_odds() -> None:
    slopes, x = np.array([2.0, -1.0, 0.5, 0.0, 0.0]), X[7]
    why = vd.explain(lambda X: expit(X @ slopes - 1), ROWS, x)
    assert why.scale == "log-odds"
    np.testing.assert_allclose(why.weights, slopes * (x - X.mean(axis=0)), atol=0.05)
    assert sum_of(why) == pytest.approx(logit(why.prediction), abs=0.02)
    assert why.fidelity > 0.99


def test_changes_of_the_output_mean_the_same_whatever_the_scale() -> None:
    """On log-odds an explanation knows, too, what it would have said on the scale of the outputs."""
    model = lambda X: expit(3 * X[:, 0] - 2 * X[:, 1] * (X[:, 2] > 0))  # noqa: E731
    odds, plain = (
        vd.explain(model, ROWS, X[3], method=vd.Lime(surrogate=vd.surrogates.Additive(pairs=0, link=link)))
        for link in ("log-odds", "identity")
    )
    assert plain.changes is None
    assert plain.on_outputs[0] is plain.weights
    changes, intervals = odds.on_outputs
    assert np.abs(odds.weights - changes).max() > 0.2
    np.testing.assert_allclose(changes, plain.weights, atol=0.02)
    np.testing.assert_allclose(intervals, plain.intervals, atol=0.02)
    assert ((intervals[:, 0] <= changes) & (changes <= intervals[:, 1])).all()


def test_a_pair_is_found_where_two_columns_count_together() -> None:
    model = lambda X: X[:, 0] * X[:, 1] + 0.5 * X[:, 3]  # noqa: E731
    why = vd.explain(model, ROWS, np.array([1.5, 1.5, 0.0, 1.0, 0.0]))
    assert [pair.parts for pair in why.pairs] == [(0, 1)]
    low, high = why.pairs[0].interval
    assert low <= why.pairs[0].weight <= high
    alone = vd.explain(model, ROWS, [1.5, 1.5, 0, 1, 0], method=vd.Lime(surrogate=vd.surrogates.Additive(pairs=0)))
    assert alone.pairs == ()
    assert alone.fidelity < why.fidelity - 0.3


def test_curves_say_what_other_values_would_contribute() -> None:
    why = vd.explain(lambda X: X[:, 0] ** 2 + X[:, 1], ROWS, X[0])
    curve = why.curves[0]
    assert (curve.part, curve.numeric) == (0, True)
    values = np.array(curve.values)
    truth = values**2 - np.mean(X[:, 0] ** 2)
    inner = np.abs(values) < 2
    np.testing.assert_allclose(curve.effects[inner], truth[inner], atol=0.65)
    assert np.corrcoef(curve.effects[inner], truth[inner])[0, 1] > 0.97
    assert (curve.intervals[:, 0] <= curve.effects).all()


def test_categories_and_missing_values_have_an_effect_each() -> None:
    row = MIXED[MIXED["debt"].isna() & (MIXED["city"] == "Rome")].iloc[0]
    why = vd.explain(mixed_score, vd.Rows(MIXED), row)
    assert why.names[1:3] == ("city = Rome", "debt is missing")
    assert any("same" in note for note in why.notes)
    share = (MIXED["city"] == "Rome").mean()
    assert why.weights[1] == pytest.approx(2 * (1 - share), abs=0.02)
    mean = MIXED["debt"].fillna(25.0).mean()
    assert why.weights[2] == pytest.approx(0.1 * (25 - mean), abs=0.05)
    city, debt = why.curves[1], why.curves[2]
    assert set(city.values) == {"Bern", "Oslo", "Rome"}
    assert not city.numeric
    assert debt.values[-1] is None
    assert debt.effects[-1] == pytest.approx(why.weights[2], abs=0.05)


def test_the_local_model_answers_for_other_rows() -> None:
    row = MIXED.iloc[5]
    why = vd.explain(mixed_score, vd.Rows(MIXED), row)
    assert vd.surrogates.local_values(why, MIXED.iloc[[5]])[0] == pytest.approx(why.local_prediction)
    few = MIXED[MIXED["debt"].isna() | (MIXED["debt"] < 30)].iloc[:50]
    np.testing.assert_allclose(vd.surrogates.local_values(why, few), mixed_score(few), atol=0.35)
    with pytest.raises(vd.errors.InputError, match="wants the column 'city'"):
        vd.surrogates.local_values(why, few.drop(columns="city"))
    with pytest.raises(vd.errors.InputError, match="never saw the value 'Paris'"):
        vd.surrogates.local_values(why, few.assign(city="Paris"))


def test_fidelity_is_that_of_samples_that_no_choice_has_seen() -> None:
    """What the explanation states and what fresh samples show agree; noise is explained by nobody."""
    rng = np.random.default_rng(1)
    noise = vd.explain(lambda X: rng.random(len(X)), ROWS, X[0])
    assert abs(noise.fidelity) < 0.15
    assert not noise.verdict.passed
    stated = [vd.explain(lambda X: np.sin(2 * X[:, 0]) * X[:, 1] + X[:, 2], ROWS, X[i]).fidelity for i in range(8)]
    row = ROWS(X[0]).by_shares((0.25, 0.85))
    shown = []
    for i in range(8):
        why = vd.explain(lambda X: np.sin(2 * X[:, 0]) * X[:, 1] + X[:, 2], ROWS, X[i])
        row = ROWS(X[i]).by_shares((0.25, 0.85))
        fresh = np.asarray(row.realize(row.draw(row.kernel, np.random.SeedSequence(9), 0, 4096)))[1:]
        y = np.sin(2 * fresh[:, 0]) * fresh[:, 1] + fresh[:, 2]
        rest = y - vd.surrogates.local_values(why, fresh)
        shown.append(1 - np.mean(rest**2) / np.var(y))
    assert np.mean(stated) == pytest.approx(np.mean(shown), abs=0.05)


# Bad input -------------------------------------------------------------------------------------------------


def test_a_link_for_outputs_that_are_no_probabilities_is_the_identity_and_said() -> None:
    method = vd.Lime(surrogate=vd.surrogates.Additive(link="log-odds"))
    why = vd.explain(lambda X: 5 * X[:, 0], ROWS, X[0], method=method)
    assert why.scale == "identity"
    assert any("the outputs are no probabilities" in note for note in why.notes)


@pytest.mark.parametrize("bad", [-1, True, 1.5, "3"])
def test_pairs_are_a_whole_number(bad: Any) -> None:
    with pytest.raises(vd.errors.InputError, match="pairs"):
        vd.surrogates.Additive(pairs=bad)


@pytest.mark.parametrize("bad", ["logit", None, 1])
def test_a_link_is_one_of_three(bad: Any) -> None:
    with pytest.raises(vd.errors.InputError, match='link is "auto", "identity" or "log-odds"'):
        vd.surrogates.Additive(link=bad)


def test_few_samples_make_simpler_effects_and_say_so() -> None:
    wide = np.random.default_rng(2).normal(size=(300, 30))
    why = vd.explain(lambda X: X[:, 0], vd.Rows(wide), wide[0], method=vd.Lime(n_samples=120))
    assert any("effects are simpler than curves" in note for note in why.notes)
    assert why.top(1)[0][0].startswith("x0")


def test_rare_values_share_an_effect_and_it_is_said() -> None:
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"code": rng.integers(0, 200, 800).astype(str), "x": rng.normal(size=800)})
    why = vd.explain(lambda T: T["x"], vd.Rows(table), table.iloc[0])
    assert any("rare values of 1 column share one effect" in note for note in why.notes)
    assert why.fidelity > 0.99


@pytest.mark.parametrize("d", [1, 2])
def test_one_column_and_two(d: int) -> None:
    table = X[:, :d]
    why = vd.explain(lambda X: X.sum(axis=1), vd.Rows(table), table[0])
    np.testing.assert_allclose(why.weights, table[0] - table.mean(axis=0), atol=1e-3)


def test_columns_of_two_values_and_of_one() -> None:
    table = np.column_stack([X[:, 0] > 0, np.ones(len(X)), X[:, 1]]) * 1.0
    why = vd.explain(lambda X: 2 * X[:, 0] + X[:, 2], vd.Rows(table), table[0])
    share = np.mean(table[:, 0] == table[0, 0])
    sign = 1 if table[0, 0] else -1
    assert why.names[0] == f"x0 = {table[0, 0]:g}"
    assert why.weights[0] == pytest.approx(2 * sign * (1 - share), abs=1e-3)
    assert len(why.weights) == 2


def test_heavy_tails_leave_the_others_alone() -> None:
    rng = np.random.default_rng(4)
    table = np.column_stack([rng.standard_cauchy(800) ** 3, rng.normal(size=800)])
    for x in (table[0], [1e9, 1.0]):
        why = vd.explain(lambda X: np.tanh(X[:, 0]) + X[:, 1], vd.Rows(table), x)
        assert np.isfinite(why.weights).all()
        assert why.weights[1] == pytest.approx(np.asarray(x)[1] - table[:, 1].mean(), abs=0.1)
        assert why.fidelity > 0.9


# Masks -----------------------------------------------------------------------------------------------------


def test_words_that_multiply_are_pairs() -> None:
    text = "a good film with a bad end and some fine actors in it"
    model = lambda texts: [0.2 + 0.6 * (("good" in t) and ("film" in t)) for t in texts]  # noqa: E731
    why = vd.explain(model, vd.Words(), text)
    assert [tuple(why.names[j] for j in pair.parts) for pair in why.pairs] == [("good", "film")]
    np.testing.assert_allclose(vd.surrogates.local_values(why, np.ones((1, len(why.parts)))), why.local_prediction)
    assert why.local_prediction == pytest.approx(0.8, abs=0.05)


def test_all_masks_leave_no_doubt() -> None:
    why = vd.explain(lambda masks: masks @ [3.0, 2.0, 1.0], Game(), 3)
    np.testing.assert_allclose(why.weights, [3, 2, 1], atol=1e-6)
    np.testing.assert_allclose(why.intervals[:, 0], why.intervals[:, 1])
    apart = vd.explain(one_of(0, 1), Game(), 3)
    assert [pair.parts for pair in apart.pairs] == [(0, 1)]
    assert apart.fidelity > 0.9


# Rules of the house ----------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bits() -> None:
    model = lambda X: expit(X[:, 0] - X[:, 1] * X[:, 2])  # noqa: E731
    one, two, other = (vd.explain(model, ROWS, X[1], rng=rng) for rng in (3, 3, 4))
    assert bits(one) == bits(two) != bits(other)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_the_unit_of_the_outputs_does_not_matter(size: float) -> None:
    method = vd.Lime(surrogate=vd.surrogates.Additive(link="identity"))
    one, other = (
        vd.explain(lambda X, s=s: s * (X[:, 0] * X[:, 1] + X[:, 2]), ROWS, X[2], method=method)
        for s in (1.0, size)
    )
    np.testing.assert_allclose(other.weights / size, one.weights, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(other.curves[0].effects / size, one.curves[0].effects, rtol=1e-5, atol=1e-9)
    assert other.pairs[0].weight / size == pytest.approx(one.pairs[0].weight, rel=1e-5)


def test_a_saboteur_that_counts_the_typical_value_out_does_not_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Contributions against nothing instead of against the typical value: the intercept would be no mean."""
    own = additive.finish

    def wrong(*asked: Any) -> Any:
        fit = own(*asked)
        return replace(fit, weights=2 * fit.weights)

    monkeypatch.setattr(additive, "finish", wrong)
    with pytest.raises(AssertionError):
        test_parts_and_pairs_add_up_to_the_local_prediction(0)
