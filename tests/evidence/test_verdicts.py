"""The sentence a reader gets and the numbers behind it, also where a careless tool would claim too much."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtrit

import veridical as vd
from tests.builders.methods import linear_lime
from veridical.evidence.verdicts import (
    MOST_WORDS,
    VerdictContext,
    intervals,
    judge,
    label_of,
    tied_groups,
    top_probability,
    weigh,
)
from veridical.models.outputs import Model
from veridical.models.targets import resolve, sides_of
from veridical.records import Fit, Floats, Part
from veridical.toys import Game, all_of


def fit(weights: list[float], errors: list[float], fidelity: float = 0.41) -> Fit:
    w = np.array(weights)
    every = np.ones(len(w), bool)
    return Fit(w, 0.0, np.diag(np.square(errors)), 1.0, fidelity, every, every, 1000.0)


def case(d: int, **more: Any) -> VerdictContext:
    """Words of a text that speak for a class, where the local model says what the model says."""
    parts = tuple(Part(f"w{j}", f"w{j}", "word", f"w{j}") for j in range(d))
    given = {
        "parts": parts,
        "target": "yes",
        "prediction": 0.8,
        "local_prediction": 0.8,
        "reach": 1.0,
        "n_calls": 100,
    }
    sides = ("yes", 0.8), ("yes", 0.8)
    return VerdictContext(**{**given, "sides": sides, "method": "Lime", "surrogate": "Linear", **more})


def verdict(found: Fit, k: int = 5, probability: float | None = None, **more: Any) -> vd.Verdict:
    rule = vd.TopK(k)
    evidence = weigh(found, rule, top_probability(found, rule) if probability is None else probability)
    return judge(found, evidence, case(len(found.weights), **more))


def sentence(found: Fit, **more: Any) -> str:
    return verdict(found, **more).sentence


@pytest.mark.parametrize(
    ("numbers", "agrees", "label"),
    [
        ((0.75, 0.1, 0.8), True, "reliable"),
        ((0.75, -0.1, 0.8), True, "reliable"),
        ((0.74, 0.0, 1.0), True, "rough"),
        ((0.9, 0.11, 1.0), True, "rough"),
        ((0.9, 0.0, 0.79), True, "rough"),
        ((0.5, 0.5, 0.0), True, "rough"),
        ((0.49, 0.0, 1.0), True, "unreliable"),
        ((0.99, 0.0, 1.0), False, "unreliable"),
        ((float("nan"), 0.0, 1.0), True, "unchecked"),
    ],
)
def test_three_numbers_make_a_label(numbers: tuple[float, float, float], agrees: bool, label: str) -> None:
    assert label_of(*numbers, agrees) == label


@pytest.mark.parametrize(
    ("weights", "error", "more", "label", "expected"),
    [
        ([3, -2, 1, -1], 0.01, {}, "reliable", '"w0" and "w2" speak most for yes, "w1" and "w3" against.'),
        ([3, 2, 1], 0.01, {}, "reliable", '"w0" and "w1" speak most for yes.'),
        ([-3, 0.1, 0.05], 0.2, {}, "reliable", '"w0" speaks most against yes.'),
        ([3, -2], 0.01, {"target": "", "sides": None}, "reliable", '"w0" raises the output most, "w1" lowers it.'),
        ([-3, -2], 0.01, {"target": "", "sides": None}, "reliable", '"w0" and "w1" lower the output most.'),
        ([3, 2], 0.01, {"purpose": "change"}, "reliable", 'Small changes of "w0" and "w1" move the output most.'),
        ([0.1, 0.1, 0.1], 1.0, {}, "unreliable", "After 100 calls no weight can be told from zero."),
    ],
)
def test_sentences_name_what_is_clear_of_zero(
    weights: list[float], error: float, more: dict[str, Any], label: str, expected: str
) -> None:
    found = verdict(fit(weights, [error] * len(weights), 0.9), **more)
    assert (found.label, found.sentence) == (label, expected)


@pytest.mark.parametrize(
    ("fidelity", "probability", "more", "label", "words", "advice"),
    [
        (0.9, 0.99, {}, "reliable", '"w0" and "w1" speak most for yes, "w2" against.', ""),
        (0.6, 0.99, {}, "rough", ": trust directions, not sizes.", "Additive"),
        (0.9, 0.99, {"local_prediction": 0.6}, "rough", ": trust directions, not sizes.", "Additive"),
        (0.9, 0.7, {}, "rough", "; other samples may name others first.", "n_samples=400"),
        (0.12, 0.99, {}, "unreliable", "explains only 12 % of what the model does here: do not use", "Additive"),
        (-0.3, 0.99, {}, "unreliable", "explains nothing of what the model does here: do not use", "Additive"),
        (0.12, 0.99, {"surrogate": "Additive", "kind": "table"}, "unreliable", "12 %", "Contrast"),
        (0.12, 0.99, {"surrogate": "Additive", "kind": "filled"}, "unreliable", "12 %", "another replacement"),
        (float("nan"), 0.99, {"method": "Occlusion"}, "unchecked", "fits was not measured.", "vd.Lime()"),
        (
            *(0.9, 0.99, {"sides": (("no", 0.75), ("yes", 0.52))}, "unreliable"),
            "The local model says no (0.75), the model yes (0.52): do not use these weights.",
            "Additive",
        ),
        (
            *(0.9, 0.99, {"sides": None, "target": "", "local_prediction": 3.2, "reach": 4.0}, "unreliable"),
            "The local model says 3.2, the model 0.8: do not use these weights.",
            "Additive",
        ),
    ],
)
def test_what_is_not_reliable_says_why_and_what_to_try(
    fidelity: float, probability: float, more: dict[str, Any], label: str, words: str, advice: str
) -> None:
    found = verdict(fit([3, 2, -1], [0.01] * 3, fidelity), probability=probability, **more)
    assert (found.label, found.passed) == (label, label == "reliable")
    assert words in found.sentence
    assert advice in found.advice
    assert bool(advice) == bool(found.advice)
    assert (found.observed, found.expected) == (probability, 0.8)


def test_a_lead_that_may_be_zero_is_not_stable() -> None:
    found = verdict(fit([3, 2, 1], [5.0, 0.01, 0.01], 0.9), probability=0.99)
    assert found.label == "rough"
    assert found.sentence.startswith('"w1" and "w2" speak')


@pytest.mark.parametrize("name", ["word " * 30, "x" * 300, "a b c d e f", "名前" * 40])
def test_sentences_are_short_whatever_the_names(name: str) -> None:
    parts = tuple(Part(f"{name} {j}", f"{name} {j}", "region") for j in range(4))
    for fidelity in (0.9, 0.6, 0.1, float("nan")):
        for more in ({}, {"sides": ((name, 0.7), (name + "!", 0.6))}):
            found = verdict(fit([3, 2, -1, -2], [0.01] * 4, fidelity), parts=parts, target=name, **more)
            assert len(found.sentence.split()) <= MOST_WORDS


def test_columns_are_named_without_their_ranges_unless_two_are_of_one() -> None:
    parts = (
        Part("age > 50", "age", ">", 50.0),
        Part("odor = foul", "odor", "=", "foul"),
        Part("debt", "debt", "per sd"),
    )
    names = sentence(fit([3, 2, -1], [0.01] * 3, 0.9), parts=parts)
    assert names == "age and odor = foul speak most for yes, higher debt against."
    twice = (*parts[:1], Part("age ≤ 50", "age", "≤", 50.0), parts[2])
    names = sentence(fit([3, 2, -1], [0.01] * 3, 0.9), parts=twice)
    assert names == "age > 50 and age ≤ 50 speak most for yes, higher debt against."


class Forest:
    """Probabilities of three classes, of which the first column raises the first."""

    classes_ = np.array(["a", "b", "c"])

    def predict_proba(self, X: Any) -> Floats:
        p = 0.36 + 0.5 * (np.asarray(X)[:, :3] > 0.5).all(axis=1)
        return np.stack([p, (1 - p) * 0.55, (1 - p) * 0.45], axis=1)


def test_a_local_model_that_decides_otherwise_is_unreliable_in_all_classes() -> None:
    """Near the instance the model hardly moves, and the local model misses that it does at the instance itself."""
    x = np.full(8, 0.9)
    why = vd.explain(Forest(), vd.Rows(TABLE), x, method=linear_lime(n_samples=256))
    assert why.target == "a"
    assert why.local_prediction < 0.36 + 0.3
    assert why.verdict.label == "unreliable"
    assert why.verdict.advice


@pytest.mark.parametrize(
    ("outputs", "local", "wanted"),
    [
        ([0.52, 0.48], 0.25, (("no", 0.75), ("yes", 0.52))),
        ([0.52, 0.48], 0.51, (("yes", 0.51), ("yes", 0.52))),
        ([0.48, 0.52], 0.51, (("yes", 0.51), ("no", 0.52))),
        ([3.0, 1.0], 0.5, (("no", 1.0), ("yes", 3.0))),
        ([0.5, 0.5], 0.4, None),
    ],
)
def test_sides_of_two_classes(outputs: list[float], local: float, wanted: Any) -> None:
    model = Model(len, classes=("yes", "no"))
    found = sides_of(resolve("yes", model, np.array([outputs])), model, np.array(outputs), local)
    assert found == wanted


def test_sides_of_many_classes_and_of_none() -> None:
    model, row = Model(len, classes=("a", "b", "c")), np.array([0.5, 0.3, 0.2])
    target = resolve("a", model, row[None])
    assert sides_of(target, model, row, 0.37) == (("b", pytest.approx(0.378)), ("a", 0.5))
    assert sides_of(target, model, row, 0.38) == (("a", 0.38), ("a", 0.5))
    assert sides_of(resolve(None, Model(len), row[None, :1]), Model(len), row[:1], 0.1) is None
    score = Model(len, classes=("no", "yes"), scores=True)
    for target, local in (("yes", -0.2), ("no", 0.2)):
        found = sides_of(resolve(target, score, np.array([[0.4]])), score, np.array([0.4]), local)
        assert found == (("no", -0.2), ("yes", 0.4))


def test_top_probability_against_brute_force() -> None:
    """Correlated weights, 2·10⁵ draws and the definition itself; 512 draws leave an error of about 0.02."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(8, 8)) * 0.15
    found = fit([1.0, -0.9, 0.8, 0.7, -0.6, 0.5, 0.3, 0.1], [1.0] * 8)
    found = Fit(found.weights, 0.0, root @ root.T, 1.0, 0.5, found.measured, found.chosen, 1000.0)
    drawn = np.abs(found.weights + rng.normal(size=(200_000, 8)) @ root.T)
    for k, tolerance in ((2, 0.1), (3, 0.0), (5, 0.2)):
        least, rival = drawn[:, :k].min(axis=1), drawn[:, k:].max(axis=1)
        truth = np.mean(rival <= least + tolerance * drawn.max(axis=1))
        assert top_probability(found, vd.TopK(k, tolerance=tolerance)) == pytest.approx(truth, abs=0.06)


def test_groups_are_compared_with_their_first_member() -> None:
    """A chain of small steps is not one tie: the last differs from the first."""
    found = fit([1.0, 0.97, 0.94, 0.91, 0.88], [0.02] * 5)
    assert tied_groups(found, 5) == [(0, 1), (2, 3), (4,)]


def test_intervals_are_wide_where_a_part_was_not_measured() -> None:
    found = fit([1.0, 0.0], [0.1, np.inf])
    bounds = intervals(found)
    np.testing.assert_allclose(bounds[0], [1 - 0.1962, 1 + 0.1962], atol=1e-3)
    assert np.isinf(bounds[1]).all()


def test_errors_of_sizes_never_turn_a_sign() -> None:
    """However large they are, a size that is not zero is not: intervals go by logarithms, and do not meet zero."""
    absolute = fit([2.0, -1.0, 0.0], [1.5, 0.7, 0.0], fidelity=float("nan"))
    relative = replace(absolute, relative=True)
    far = np.exp(stdtrit(absolute.degrees, 0.975) * np.array([1.5 / 2, 0.7]))
    wanted = [[2 / far[0], 2 * far[0]], [-far[1], -1 / far[1]], [0, 0]]
    np.testing.assert_allclose(intervals(relative), wanted)
    assert "can be told from zero" in sentence(absolute)
    assert "zero" not in sentence(relative)


def test_rules_that_make_no_sense_are_refused() -> None:
    for bad in ({"k": 0}, {"probability": 1.0}, {"tolerance": -0.1}):
        with pytest.raises(vd.errors.InputError, match="TopK"):
            vd.TopK(**bad)


# Cases in which a careless tool would claim more than it knows.


TABLE = np.random.default_rng(0).normal(size=(500, 8))


def corner(X: Any) -> Floats:
    """1 if four conditions hold at once: a leaf of a tree, which few samples ever see."""
    return (np.asarray(X)[:, :4] > 0.6745).all(axis=1) * 1.0


@pytest.mark.parametrize("seed", range(5))
def test_samples_on_which_the_model_does_not_move_settle_nothing(seed: int) -> None:
    why = vd.explain(corner, vd.Rows(TABLE), np.ones(8), method=linear_lime(), rng=seed)
    assert why.prediction == 1
    assert why.n_calls > 1000
    assert not why.verdict.passed
    assert np.isnan(why.fidelity) or why.fidelity < 0.3


def test_a_cause_that_no_sample_shows_is_said() -> None:
    why = vd.explain(corner, vd.Rows(TABLE), np.ones(8), method=linear_lime(n_samples=12))
    assert why.top() == []
    assert "answers 1 here, but 0 to all 12 variations" in why.verdict.sentence
    assert why.verdict.label == "none"
    assert np.isnan(why.fidelity)


@pytest.mark.parametrize("preset", [vd.Lime.paper(8), vd.Lime.experiments(8), vd.Lime.package(8), linear_lime()])
def test_fidelity_is_about_the_mean_whatever_the_intercept(preset: vd.Lime) -> None:
    def noise(X: Any) -> Floats:
        return 0.5 + 0.05 * np.sin(1e5 * np.asarray(X).sum(axis=1))

    why = vd.explain(noise, vd.Rows(TABLE), TABLE[0], method=preset)
    assert why.fidelity < 0.05
    assert not why.verdict.passed


@pytest.mark.parametrize("d", [2, 3, 5, 10])
def test_fidelity_of_numbers_is_what_fresh_samples_show(d: int) -> None:
    """A skewed model, whose tails a careless leave-one-out would blow up."""
    X = np.random.default_rng(1).normal(size=(2000, d))
    rows, x = vd.Rows(X, discretize=vd.bins.Continuous()), np.full(d, 0.3)

    def skewed(X: Any) -> Floats:
        return np.exp(0.5 * np.asarray(X).sum(axis=1))

    row = rows(x)
    fresh = row.draw(row.kernel, np.random.SeedSequence(99), 0, 2**15)
    y = skewed(row.realize(fresh))[1:]
    for seed in range(5):
        why = vd.explain(skewed, rows, x, method=linear_lime(n_samples=1024), rng=seed)
        guess = why.intercept + fresh.designs[1:] @ why.weights
        assert abs(why.fidelity - (1 - np.sum((y - guess) ** 2) / np.sum((y - y.mean()) ** 2))) < 0.15


def test_intervals_of_a_skewed_model_cover() -> None:
    X = np.random.default_rng(1).normal(size=(2000, 5))
    rows, x = vd.Rows(X, discretize=vd.bins.Continuous()), np.full(5, 0.3)

    def skewed(X: Any) -> Floats:
        return np.exp(0.5 * np.asarray(X).sum(axis=1))

    limit = vd.explain(skewed, rows, x, method=linear_lime(n_samples=2**17, max_calls=2**18)).weights
    inside = []
    for seed in range(40):
        why = vd.explain(skewed, rows, x, method=linear_lime(), rng=seed)
        inside.append((why.intervals[:, 0] <= limit) & (limit <= why.intervals[:, 1]))
    assert np.mean(inside) > 0.92


@pytest.mark.parametrize("width", [1.0, 0.2, 0.06, 0.03])
def test_a_narrow_kernel_shrinks_nothing(width: float) -> None:
    """Weights of bins of a linear model do not depend on the width (card A, T4), however narrow it is."""
    coefficients = np.arange(1.0, 9.0)
    truth = vd.explain(
        lambda X: X @ coefficients, vd.Rows(TABLE), TABLE[0], method=linear_lime(n_samples=2**15, max_calls=2**16)
    )
    why = vd.explain(
        lambda X: X @ coefficients, vd.Rows(TABLE), TABLE[0], method=linear_lime(width=width, n_samples=2048)
    )
    known = np.isfinite(why.intervals).all(axis=1)
    width_of = np.ptp(why.intervals, axis=1)[known]
    assert (np.abs(why.weights - truth.weights)[known] <= np.maximum(width_of, 0.1)).all()
    assert known.any() or not why.verdict.passed


def test_a_kernel_that_leaves_no_samples_is_told_so() -> None:
    narrow = linear_lime(kernel=lambda D: np.exp(-0.5 * (D / 0.05) ** 2), n_samples=1024)
    why = vd.explain(lambda X: X[:, 0], vd.Rows(TABLE, discretize=vd.bins.Continuous()), TABLE[0], method=narrow)
    assert "effective samples" in why.verdict.sentence
    assert np.isinf(why.intervals).all()
    assert why.top_probability == 0


def test_few_samples_raise_nothing_and_claim_nothing() -> None:
    X = np.random.default_rng(0).normal(size=(500, 20))
    for seed in range(20):
        why = vd.explain(
            lambda X: np.sin(9 * X).sum(axis=1), vd.Rows(X), X[0], method=linear_lime(n_samples=23), rng=seed
        )
        assert not why.verdict.passed


def test_a_sparse_choice_does_not_settle_the_top() -> None:
    noise = np.random.default_rng(1)
    why = vd.explain(
        lambda X: noise.random(len(X)), vd.Rows(TABLE), TABLE[0], method=linear_lime(n_features=3, max_calls=600)
    )
    assert why.n_calls == 600
    assert why.top_probability < 0.95


def test_a_tree_samples_until_the_top_is_settled_too() -> None:
    noise = np.random.default_rng(1)
    why = vd.explain(
        lambda X: noise.random(len(X)),
        vd.Rows(TABLE),
        TABLE[0],
        method=vd.Lime(surrogate=vd.surrogates.Tree(2), max_calls=600),
    )
    assert why.n_calls == 600


def test_many_rows_find_what_one_finds_when_a_state_is_rare() -> None:
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(2000, 5)), columns=list("abcde"))
    table["flag"] = np.where(np.arange(2000) == 7, "yes", "no")
    rows = vd.Rows(table)

    def model(X: Any) -> Any:
        return X["a"] + 50.0 * (X["flag"] == "yes")

    linear = vd.explain_many(model, rows, table[6:8], method=linear_lime())
    for why in (*linear, vd.explain_many(model, rows, table[6:8])[1], vd.explain(model, rows, table.iloc[7])):
        name, weight = why.top(1)[0]
        assert name.startswith("flag")
        assert 40 < abs(weight) < 60
    usual = vd.explain(model, rows, table.iloc[6])  # what nearly all rows have contributes nearly nothing
    assert abs(usual.weights[5]) < 0.5


def test_a_recipe_belongs_to_one_explanation() -> None:
    first = vd.explain(lambda X: X[:, 0], vd.Rows(TABLE), TABLE[0])
    first.recipe["method"]["width"] = 99
    second = vd.explain(lambda X: X[:, 0], vd.Rows(TABLE), TABLE[0])
    assert second.recipe["method"]["width"] == 1.0


@pytest.mark.parametrize(("size", "told"), [(1e-3, True), (1.0, False)])
def test_weights_of_next_to_nothing_are_told(size: float, told: bool) -> None:
    why = vd.explain(lambda X: 1 + size * (X[:, 0] > 0), vd.Rows(TABLE), TABLE[0])
    assert any(note.startswith("All parts together move the output by at most") for note in why.notes) is told


@pytest.mark.parametrize("z", [10.0, 1000.0])
def test_contributions_far_out_are_those_of_the_columns(z: float) -> None:
    x = TABLE[0].copy()
    x[0] = z
    why = vd.explain(lambda X: X[:, 0] - X[:, 1], vd.Rows(TABLE), x)
    truth = np.append((x - TABLE.mean(axis=0))[:2] * [1, -1], np.zeros(6))
    np.testing.assert_allclose(why.weights, truth, atol=1e-4 * z)
    assert why.verdict.passed


def test_rounding_is_no_weight() -> None:
    table = pd.DataFrame(np.random.default_rng(0).random((100, 3)) < 0.5, columns=list("abc"))
    why = vd.explain(lambda X: 0.1 * X["a"], vd.Rows(table), table.iloc[0])
    assert [name.split()[0] for name, _ in why.top()] == ["a"]
    assert why.verdict.sentence.startswith("a = ")


def test_a_tree_of_all_that_can_be_drawn_finds_an_and() -> None:
    why = vd.explain(all_of(0, 1), Game(), 3, method=vd.Lime(surrogate=vd.surrogates.Tree(2)))
    assert set(np.flatnonzero(why.weights)) == {0, 1}
    assert why.fidelity == pytest.approx(1)


@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e-12, 1.0, 1e12, 1e160, 1e300])
@pytest.mark.parametrize("many", [False, True])
def test_the_size_of_the_outputs_changes_no_verdict(size: float, many: bool) -> None:
    def model(X: Any) -> Floats:
        return np.tanh(np.asarray(X)[:, 0] + np.asarray(X)[:, 1] / 2) * size

    rows, method = vd.Rows(TABLE), linear_lime(n_samples=1024)
    why = (
        vd.explain_many(model, rows, TABLE[:1], method=method)[0]
        if many
        else vd.explain(model, rows, TABLE[0], method=method)
    )
    unit = (vd.explain_many if many else vd.explain)(
        lambda X: np.tanh(X[:, 0] + X[:, 1] / 2), rows, TABLE[:1], method=method
    )
    unit = unit[0] if many else unit
    assert why.verdict.sentence == unit.verdict.sentence
    np.testing.assert_allclose(why.weights / size, unit.weights, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(why.intervals / size, unit.intervals, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("z", [10.0, 50.0, 100.0, 1000.0])
def test_a_row_far_out_is_explained(z: float) -> None:
    x = TABLE[0].copy()
    x[0] = z
    rows = vd.Rows(TABLE, discretize=vd.bins.Continuous())
    for explain in (vd.explain, lambda *asked, **settings: vd.explain_many(*asked, **settings)[0]):
        why = explain(lambda X: X[:, 1], rows, x[None], method=linear_lime())
        np.testing.assert_allclose(why.weights[1], TABLE[:, 1].std(), rtol=1e-6)
        assert why.verdict.passed


@pytest.mark.parametrize("size", [1e-200, 1e200])
@pytest.mark.parametrize("parts", [vd.bins.Quartiles(), vd.bins.Continuous()])
def test_columns_of_impossible_sizes_are_refused(size: float, parts: Any) -> None:
    with pytest.raises(vd.errors.InputError, match="another unit"):
        vd.Rows(TABLE * size, discretize=parts)


def test_settings_that_would_be_ignored_are_refused() -> None:
    with pytest.raises(vd.errors.InputError, match="n_features"):
        linear_lime(select=vd.selectors.lasso_path)
    with pytest.raises(vd.errors.InputError, match="width"):
        linear_lime(kernel=vd.kernels.Gaussian(0.5), width=0.5)
    with pytest.raises(vd.errors.InputError, match="at most 512"):
        vd.Rows(np.random.default_rng(0).normal(size=(5000, 2)), discretize=vd.bins.Quantiles(2000))


def test_a_value_that_was_never_seen_is_explained() -> None:
    table = np.column_stack([TABLE[:, 0], np.arange(500) % 2])
    why = vd.explain(lambda X: X[:, 1], vd.Rows(table), [0.0, 2.0])
    assert why.names[1] == "x1 = 2"
    assert "never seen" in why.notes[0]
