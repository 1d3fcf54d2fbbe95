"""Known causes: the tests on models whose right answers can be worked out, and all that can go wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import veridical as vd
from tests.builders.methods import linear_lime
from veridical.groundtruth.causes import Aim, Cause, ChangedInput
from veridical.groundtruth.trials import (
    Case,
    TypicalInstance,
    correlate_weights,
    greedy_order,
    model_free_orders,
    rank_parts,
)
from veridical.metrics.evaluations import name_methods
from veridical.metrics.faithfulness import mask_first
from veridical.metrics.significance import auroc, interval, mean_rate, placements
from veridical.protocols import Seed
from veridical.records import Floats
from veridical.seeds import generator

SHAPE = (4, 8)
PARTS = vd.Grid(2, 4, fill=vd.fills.WholeMean())  # eight parts of 2 × 2 pixels
U = np.random.default_rng(1).normal(size=SHAPE)
X = np.random.default_rng(0).normal(size=(12, *SHAPE))
QUICK = vd.Lime(n_samples=64)


def linear(pictures: Any) -> Floats:
    """A probability whose logit is linear."""
    return 1 / (1 + np.exp(-(np.asarray(pictures) * U).sum(axis=(1, 2))))


def one_part(pictures: Any) -> Floats:
    """A probability that only the third part counts for."""
    return 1 / (1 + np.exp(-(np.asarray(pictures) * U)[:, :2, 4:6].sum(axis=(1, 2))))


@dataclass(frozen=True)
class Push:
    """The best small change of a linear model: every value goes the same way as its slope."""

    eps: float = 1.0
    purpose: ClassVar[str] = "change"

    def __call__(self, aim: Aim, seed: Seed) -> tuple[Cause, ...]:
        signs = [1 if wanted else -1 for wanted in aim.wanted]
        found = [
            ChangedInput(x + sign * self.eps * np.sign(U), 1) for x, sign in zip(aim.inputs, signs, strict=True)
        ]
        return aim.judge(found, "Push", None)


@dataclass(frozen=True)
class Spot:
    """One part, the third unless it is drawn, gets a value that is far away."""

    value: float = 3.0
    part: int | None = 2
    purpose: ClassVar[str] = "content"

    def __call__(self, aim: Aim, seed: Seed) -> tuple[Cause, ...]:
        found = []
        for i, x in enumerate(aim.inputs):
            part = int(generator(seed, i).integers(8)) if self.part is None else self.part
            parts = np.arange(8) == part
            where = PARTS(x[0]).paint(parts.astype(float)) > 0
            sign = 1 if aim.wanted[i] else -1
            found.append(ChangedInput(np.where(where, sign * self.value * np.sign(U), x), 1, parts))
        return aim.judge(found, "Spot", None)


@dataclass(frozen=True)
class Edges:
    """A method that asks no model: it names what stands out."""

    def __call__(self, model: Any, representation: Any, targets: Any, seed: Seed) -> tuple[vd.Explanation, ...]:
        x = np.asarray(representation.keeping(np.ones((1, 8), bool), seed)[0:1])[0]
        made = vd.baselines.RandomParts()(model, representation, targets, seed)
        return tuple(replace(each, weights=np.sqrt(representation.gather(x**2))) for each in made)


@dataclass(frozen=True)
class Negated:
    """A method that confuses what speaks for a label with what speaks against it."""

    def __call__(self, model: Any, representation: Any, targets: Any, seed: Seed) -> tuple[vd.Explanation, ...]:
        made = vd.Occlusion()(model, representation, targets, seed)
        return tuple(replace(each, weights=-each.weights) for each in made)


@dataclass(frozen=True)
class Moody:
    """A method that fails on every other instance."""

    def __call__(self, model: Any, representation: Any, targets: Any, seed: Seed) -> tuple[vd.Explanation, ...]:
        if seed.spawn_key[2] % 2:
            raise RuntimeError("not today")
        return vd.Occlusion()(model, representation, targets, seed)


@dataclass(frozen=True)
class Everything:
    """A method by which every part speaks for the label, and none more than another."""

    def __call__(self, model: Any, representation: Any, targets: Any, seed: Seed) -> tuple[vd.Explanation, ...]:
        made = vd.baselines.RandomParts()(model, representation, targets, seed)
        return tuple(replace(each, weights=np.ones(8)) for each in made)


@dataclass(frozen=True)
class Witness:
    """A method that has seen the instances before they were changed, and names what differs."""

    def __call__(self, model: Any, representation: Any, targets: Any, seed: Seed) -> tuple[vd.Explanation, ...]:
        now = np.asarray(representation.keeping(np.ones((1, 8), bool), seed)[0:1])[0]
        before = X[np.argmin(np.abs(X - now).sum(axis=(1, 2)))]
        seen = representation.gather(np.abs(now - before)) + 1e-6 * np.arange(8)
        return tuple(
            replace(each, weights=seen)
            for each in vd.baselines.RandomParts()(model, representation, targets, seed)
        )


@dataclass(frozen=True)
class Candid:
    """A method that names the third part in every other case, and tells by its fidelity when it does not."""

    def __call__(self, model: Any, representation: Any, targets: Any, seed: Seed) -> tuple[vd.Explanation, ...]:
        right = seed.spawn_key[2] % 2 == 0
        weights = (np.arange(8) == (2 if right else 5)).astype(float)
        made = vd.baselines.RandomParts()(model, representation, targets, seed)
        return tuple(replace(each, weights=weights, fidelity=0.9 if right else 0.1) for each in made)


@cache
def report() -> vd.metrics.Report:
    methods = {"Lime": QUICK, "Occlusion": vd.Occlusion(), "Negated": Negated()}
    return vd.veracity(linear, PARTS, X, methods=methods, causes=[Push(), Spot(part=None)])


def case_of(predict: Any, cause: Any, i: int = 0, threshold: float | None = None) -> Case:
    from veridical.groundtruth.causes import Decision, choose_aim

    aim = choose_aim(predict, PARTS, X, decision=Decision(threshold))
    made = cause(aim, np.random.SeedSequence(0))[i]
    assert made.success
    return Case.of(made, PARTS, (aim.model, aim.decision), np.random.SeedSequence(1))


# ---- the tests themselves


def test_no_change_flips_nothing_and_all_of_it_everything() -> None:
    for curve in report().curves:
        known = curve.flips[np.isfinite(curve.flips[:, 0])]
        assert len(known)
        assert not known[:, 0].any()
        assert known[:, -1].all()
        np.testing.assert_allclose(curve.rate, known.mean(axis=0))


def test_a_change_that_does_not_lie_in_the_parts_is_refused() -> None:
    case = case_of(linear, Push())
    wrong = replace(case.cause, changed=case.cause.x)
    with pytest.raises(vd.errors.InputError, match="with all features changed"):
        Case.of(wrong, PARTS, (case.model, case.decision), case.seed)
    with pytest.raises(vd.errors.InputError, match="without any change"):
        Case.of(replace(case.cause, x=case.cause.changed), PARTS, (case.model, case.decision), case.seed)


def test_the_best_order_of_a_linear_model_is_that_of_its_effects() -> None:
    """E.6: with a change of one size everywhere, parts count by the sum of their slopes, and norm says nothing."""
    case = case_of(linear, Push())
    np.testing.assert_allclose(case.sizes, 2.0)  # √4 pixels
    effects = PARTS(case.cause.changed).gather(np.abs(U))
    assert greedy_order(case).tolist() == np.argsort(-effects).tolist()
    oracle = case.flips(mask_first(greedy_order(case)))
    for seed in range(5):
        other = np.random.default_rng(seed).permutation(8)
        assert not (case.flips(mask_first(other)) & ~oracle).any()


def test_the_guilty_part_of_a_model_that_reads_one_part_is_always_found() -> None:
    methods = {"Lime": QUICK, "Occlusion": vd.Occlusion(), "Undo": vd.methods.Undo()}
    found = vd.veracity(one_part, PARTS, X, methods=methods, causes={"spot": Spot()})
    for method in (*methods, "norm", "greedy"):
        assert found.score("hit@1 (spot)", method).mean == 1
        assert found.score("overlap (spot)", method).mean == 1
        assert found.score("necessity@1 (spot)", method).mean == 1
    assert found.score("hit@1 (spot)", "random").mean < 0.5


def test_rows_that_know_the_change_are_right_by_construction() -> None:
    r = report()
    for k in (3, 5):
        values = r.score(f"overlap@{k} (Push)", "norm").values
        assert (values[np.isfinite(values)] == 1).all()
        assert r.score(f"ratio@{k} (Push)", "norm").mean == 1
    assert r.score("hit@1 (Spot)", "norm").mean == 1
    for cause in ("Push", "Spot"):
        greedy_one, own = r.curve(cause, "greedy").rate, r.curve(cause, "Negated").rate
        assert (greedy_one[1:6] >= own[1:6]).all()


def test_weights_are_read_for_the_label_that_is_wrong_now() -> None:
    """With one output, what speaks for label 0 is its negative: both directions are found."""
    r, up = report(), linear(X) < 0.5
    hits = r.score("hit@1 (Spot)", "Occlusion").values
    for direction in (up, ~up):
        assert np.nanmean(hits[direction]) > 0.5
    assert r.score("hit@1 (Spot)", "Negated").mean < 0.2


def test_a_threshold_decides() -> None:
    case = case_of(linear, Push(), threshold=0.51)
    assert case.decision.threshold == 0.51
    found = vd.veracity(linear, PARTS, X, methods=vd.Occlusion(), causes=Push(), threshold=0.51)
    assert found.recipe["threshold"] == 0.51
    with pytest.raises(vd.errors.InputError, match="threshold"):
        vd.veracity(lambda Z: np.ones((len(Z), 3)), PARTS, X, methods=vd.Occlusion(), causes=Push(), threshold=0.5)


def test_positive_sets_are_held_against_as_many_by_norm() -> None:
    r = report()
    assert r.score("positive set (Push)", "Occlusion").mean > r.score("positive set (Push)", "Negated").mean
    assert np.isnan(r.score("positive set (Push)", "norm").mean)


def test_as_many_parts_by_norm_as_speak_for_the_label() -> None:
    found = vd.veracity(linear, PARTS, X, methods=Everything(), causes=Push())
    assert found.score("flip@3 (Push)", "norm").mean < 1
    assert found.score("positive set (Push)", "Everything").mean == 1
    assert found.score("as many by norm (Push)", "Everything").mean == 1


def test_what_is_kept_of_a_change_is_explained_anew() -> None:
    """The whole change is the same everywhere: only of what is kept can be told which parts have it."""
    found = vd.veracity(linear, PARTS, X, methods=Witness(), causes=Push())
    known = found.score("overlap@3 (Push)", "Witness")
    assert known.n > 3
    assert known.mean == 1


def test_ratios_are_drawn_in_pairs() -> None:
    own, flips = report().score("ratio@3 (Push)", "norm"), report().score("flip@3 (Push)", "norm")
    assert 0 < flips.mean < 1
    assert (own.low, own.mean, own.high) == (1, 1, 1)


def test_signals_are_high_where_the_heaviest_part_is_guilty() -> None:
    found = vd.veracity(one_part, PARTS, X, methods=Candid(), causes={"spot": Spot()})
    assert 0 < found.score("hit@1 (spot)", "Candid").mean < 1
    assert found.score("fidelity AUROC (spot)", "Candid").mean == 1
    assert found.score("believability AUROC (spot)", "Candid").mean == 1


def test_ties_are_broken_by_the_seed() -> None:
    orders = {tuple(rank_parts(np.zeros(8), np.random.SeedSequence(s)).tolist()) for s in range(5)}
    assert len(orders) == 5
    assert rank_parts(np.array([1.0, 3.0, 2.0]), np.random.SeedSequence(0)).tolist() == [1, 2, 0]


def test_firsts_grow_by_one_part_at_a_time() -> None:
    masks = mask_first(np.array([2, 0, 1]))
    assert masks.tolist() == [[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1]]


def test_placements_average_to_the_area() -> None:
    rng = np.random.default_rng(0)
    scores, wrong = rng.integers(0, 5, 40).astype(float), rng.random(40) < 0.4
    found = placements(scores, wrong)
    for some in (found, found[wrong], found[~wrong]):
        np.testing.assert_allclose(some.mean(), auroc(scores, wrong)[0])


def test_shares_that_are_all_alike_are_not_sure() -> None:
    mean, low, high = mean_rate(np.array([1.0, 1.0, 1.0, np.nan]))
    assert (mean, high) == (1.0, 1.0)
    np.testing.assert_allclose(low, 3 / (3 + 1.959964**2), rtol=1e-5)  # Wilson, of three of three
    assert mean_rate(np.array([0.2, 0.4])) == interval(np.array([0.2, 0.4]))
    assert np.isnan(mean_rate(np.array([1.0]))[1])


def test_the_area_of_a_signal_is_that_of_right_against_wrong() -> None:
    r = report()
    told, right = r.score("fidelity (Spot)", "Lime").values, r.score("hit@1 (Spot)", "Lime").values
    both = np.isfinite(told) & np.isfinite(right)
    area = r.score("fidelity AUROC (Spot)", "Lime")
    np.testing.assert_allclose(area.mean, auroc(told[both], right[both] == 1)[0])


def test_controls_tell_who_ignores_the_change_and_who_depends_on_the_seed() -> None:
    found = vd.veracity(
        linear, PARTS, X[:6], methods=[vd.baselines.RandomParts(), vd.Occlusion()], causes=Spot(part=None)
    )
    assert found.score("clean control (Spot)", "RandomParts").mean == 1
    assert found.score("clean control (Spot)", "Occlusion").mean < 1
    same = found.score("seed control (Spot)", "Occlusion")
    assert same.mean == same.low == 1, "a correlation is no share"
    assert abs(found.score("seed control (Spot)", "RandomParts").mean) < 0.7
    assert "hardly changes without the change" in found.findings[0]


def test_explanations_of_other_parts_cannot_be_compared() -> None:
    a = vd.explain(linear, PARTS, X[0], method=vd.Occlusion())
    b = vd.explain(linear, vd.Grid(2, 2), X[0], method=vd.Occlusion())
    assert np.isnan(correlate_weights(a, b))
    assert correlate_weights(a, a) == pytest.approx(1)


def test_the_same_seed_gives_the_same_report() -> None:
    again = vd.veracity(linear, PARTS, X[:5], methods=QUICK, causes=[Push(), Spot(part=None)])
    once = vd.veracity(linear, PARTS, X[:5], methods=QUICK, causes=[Push(), Spot(part=None)])
    for a, b in zip(again.scores, once.scores, strict=True):
        np.testing.assert_array_equal(a.values, b.values)
    assert again.findings == once.findings


def test_other_causes_do_not_change_what_one_gives() -> None:
    alone = vd.veracity(linear, PARTS, X[:5], methods=vd.Occlusion(), causes=Push())
    both = vd.veracity(linear, PARTS, X[:5], methods=vd.Occlusion(), causes=[Push(), Spot()])
    np.testing.assert_array_equal(
        alone.score("mean flip (Push)", "Occlusion").values, both.score("mean flip (Push)", "Occlusion").values
    )


def test_causes_by_default_fit_the_instances() -> None:
    found = vd.veracity(linear, PARTS, X[:4], methods=vd.Occlusion())
    assert list(found.recipe["causes"]) == ["Square", "NoisyParts", "DrawnShape", "SwappedParts"]
    assert {curve.cause for curve in found.curves} <= set(found.recipe["causes"])


# ---- rows that ask no model


def test_contrast_and_residual_are_told_without_a_model() -> None:
    case = case_of(one_part, Spot(9.0), i=int(np.flatnonzero(one_part(X) < 0.5)[0]))
    found = model_free_orders(case, TypicalInstance.of(X))
    assert found["contrast"][0] == 2
    assert set(found) == {"random", "contrast", "residual"}


def test_a_value_far_from_the_usual_stands_out_in_a_table() -> None:
    table = pd.DataFrame({"a": np.arange(9.0), "b": np.arange(9.0), "c": list("xxxxxxxxy")})
    row = TypicalInstance.of(table).row
    assert (row["a"], row["c"]) == (4.0, "x")


def test_the_usual_value_is_one_that_its_column_can_have() -> None:
    """The mean of the two whole numbers in the middle may be none."""
    table = pd.DataFrame({"a": [0, 1, 4, 9], "b": [True, False, True, True], "c": [0.5, np.nan, 2.0, 1.0]})
    assert TypicalInstance.of(table).row.tolist() == [1, True, 1.0]
    assert TypicalInstance.of(table[["a"]].to_numpy()).row.tolist() == [1]
    np.testing.assert_equal(TypicalInstance.of(np.array([[1.0, np.nan], [2.0, np.nan]])).row, [1.0, np.nan])
    assert TypicalInstance.of(np.array([[True, False], [True, False]])).row.tolist() == [True, False]

    def predict(rows: pd.DataFrame) -> Floats:
        return 1 / (1 + np.exp(2.0 - rows["a"].to_numpy(float)))

    found = vd.veracity(
        predict, vd.Rows(table), table, methods=[vd.Occlusion()], causes=[vd.edits.EditedColumns()]
    )
    assert np.isfinite(found.score("hit@1 (EditedColumns)", "contrast").mean)


def test_a_rare_word_stands_out_in_a_text() -> None:
    counts = TypicalInstance.of(["A good film", "a bad film."]).counts
    assert counts is not None
    assert counts["film"] == counts["a"] == 2 > counts["good"]


# ---- tables, texts, and pictures that are cut by what they show


def test_columns_of_tables() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd"))
    y = (table["a"] + 0.3 * table["b"] > 0).astype(int)
    model = LogisticRegression().fit(table, y)
    found = vd.veracity(model.predict_proba, vd.Rows(table), table.iloc[:8], methods=[vd.Occlusion()], y=y[:8])
    assert found.nulls == ("random", "contrast")
    assert found.score("hit@1 (EditedColumns)", "Occlusion").mean > 0.6
    assert found.examples[0].parts


def test_slopes_count_by_how_far_their_numbers_are() -> None:
    """A column of large slope whose value is the usual one did nothing."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(200, 3))

    def predict(rows: Any) -> Floats:
        return 1 / (1 + np.exp(-(np.asarray(rows) @ [2.0, 1.0, 0.0])))

    x, changed = np.array([[-0.5, 0.0, 0.0]]), np.array([[-0.5, 4.0, 0.0]])
    cause = Cause(x[0], changed[0], 0, 1, 0.95, True, np.array([False, True, False]))
    case = case_of(linear, Push())
    own = Case.of(
        cause,
        vd.Rows(table, discretize=vd.bins.Continuous()),
        (replace(case.model, predict=predict), case.decision),
        case.seed,
    )
    why = linear_lime()(own.model, own.representation, (own.target,), own.seed)[0]
    assert why.weights.argmax() == 0
    assert own.effects(why).argmax() == 1


def test_one_column_or_three_are_edited_by_default() -> None:
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 4)), columns=list("abcd"))
    found = vd.veracity(lambda Z: Z.gt(0).mean(axis=1), vd.Rows(table), table[:12], methods=vd.Occlusion())
    assert {curve.cause for curve in found.curves} == {"EditedColumns", "EditedColumns(k=3)"}


def test_words_of_texts() -> None:
    rng = np.random.default_rng(0)
    words = {0: ["dull", "poor", "grim"], 1: ["great", "warm", "superb"]}
    y = np.arange(40) % 2
    texts = [" ".join([*rng.choice(["film", "plot", "scene", "actor"], 3), rng.choice(words[k])]) for k in y]
    model = make_pipeline(CountVectorizer(), LogisticRegression(C=10)).fit(texts, y)
    found = vd.veracity(model.predict_proba, vd.Words(), texts[:8], methods=[vd.Occlusion()])
    assert found.score("hit@1 (SwappedWords)", "Occlusion").mean == 1
    assert found.score("hit@1 (SwappedWords)", "random").mean < 1


def test_regions_are_those_of_the_instance() -> None:
    """A picture whose copy would be cut in another way is cut as it was."""

    def halves(values: Floats) -> Any:
        return (values[..., 0] > np.median(values[..., 0])).astype(int)

    represent = vd.Superpixels(segment=halves)
    case = case_of(linear, Push())
    own = Case.of(case.cause, represent, (case.model, case.decision), case.seed)
    np.testing.assert_array_equal(
        own.representation.paint(np.arange(2.0)), represent(case.cause.x).paint(np.arange(2.0))
    )


def test_windows_are_those_of_the_instance() -> None:
    series = np.concatenate([np.zeros(5), np.ones(5)])
    represent = vd.Windows(2, cut=vd.bins.ChangePoints())
    cause = Cause(series, series[::-1] * 2 + np.linspace(0, 1, 10), 0, 1, 1.0, True)

    def late(batch: Any) -> Floats:
        return (np.asarray(batch)[:, 0] > 1).astype(float)

    case = case_of(linear, Push())
    own = Case.of(cause, represent, (replace(case.model, predict=late), case.decision), case.seed)
    assert own.representation.names == represent(series).names


def test_series_of_several_lengths() -> None:
    X = [np.random.default_rng(i).normal(size=20 + 5 * (i % 2)) for i in range(8)]
    found = vd.veracity(
        lambda Z: [1 / (1 + np.exp(-4 * np.mean(z[:5]))) for z in Z],
        vd.Windows(4), X, methods=vd.Occlusion(), causes=[vd.edits.SwappedParts(), vd.attacks.Square(eps=2.0)],
    )  # fmt: skip
    assert found.score("hit@1 (SwappedParts)", "Occlusion").mean == 1


# ---- what goes wrong


def test_a_cause_that_fails_is_counted() -> None:
    found = vd.veracity(linear, PARTS, X, methods=vd.Occlusion(), causes=[Spot(0.4, part=None), Push()])
    n = found.score("hit@1 (Spot)", "Occlusion").n
    assert 0 < n < 12
    assert f"Spot: a cause was found in {n} of 12 instances" in found.notes[0]
    assert "the model still decides" in found.notes[0]
    assert "no cause of this kind was found" in found.score("hit@1 (Spot)", "Occlusion").reason


def test_a_constant_model_has_no_cause() -> None:
    with pytest.raises(vd.errors.NotApplicable, match="no wrong decision could be caused"):
        vd.veracity(lambda Z: np.full(len(Z), 0.2), PARTS, X, methods=vd.Occlusion(), causes=[Push(), Spot()])


def test_instances_that_are_at_the_wanted_label_already_are_told() -> None:
    found = vd.veracity(linear, PARTS, X, methods=vd.Occlusion(), causes=Push(), wanted=1)
    assert "already" in found.notes[0]
    assert found.score("flip@1 (Push)", "Occlusion").n == int((linear(X) < 0.5).sum())


def test_instances_that_are_decided_wrongly_are_left_out() -> None:
    y = (linear(X) >= 0.5).astype(int)
    y[:3] = 1 - y[:3]
    found = vd.veracity(linear, PARTS, X, methods=vd.Occlusion(), causes=Push(), y=y)
    assert found.n_instances == 9
    assert any("Left out: 3 instances" in note for note in found.notes)
    with pytest.raises(vd.errors.NotApplicable, match="every instance wrongly"):
        vd.veracity(linear, PARTS, X, methods=vd.Occlusion(), causes=Push(), y=1 - (linear(X) >= 0.5))
    with pytest.raises(vd.errors.InputError, match="no label of the model"):
        vd.veracity(linear, PARTS, X, methods=vd.Occlusion(), causes=Push(), y=np.full(12, 7))
    with pytest.raises(vd.errors.InputError, match="one answer per instance"):
        vd.veracity(linear, PARTS, X, methods=vd.Occlusion(), causes=Push(), y=[1])


@pytest.mark.parametrize("kind", [float, bool, np.int8, str])
def test_right_answers_are_labels_of_any_type(kind: type) -> None:
    y = (linear(X) >= 0.5).astype(int)
    y[:3] = 1 - y[:3]
    found = vd.veracity(linear, PARTS, X, methods=vd.Occlusion(), causes=Push(), y=y.astype(kind))
    assert found.n_instances == 9


def test_right_answers_are_names_or_numbers_of_labels() -> None:
    def both(pictures: Any) -> Floats:
        return np.stack([1 - linear(pictures), linear(pictures)], axis=1)

    y, given = (linear(X) >= 0.5).astype(int), {"methods": vd.Occlusion(), "causes": Push()}
    for own in (y, np.array(["no", "yes"])[y]):
        assert vd.veracity(both, PARTS, X, **given, y=own, classes=["no", "yes"]).n_instances == 12
    with pytest.raises(vd.errors.InputError, match="it has 3, 7; name them by classes"):
        vd.veracity(both, PARTS, X, **given, y=y, classes=[3, 7])
    model = LogisticRegression().fit(X.reshape(12, -1), np.array(["yes", "no"])[y])  # its order is its own
    with pytest.raises(vd.errors.InputError, match="it has no, yes"):
        vd.veracity(
            model.predict_proba, vd.Rows(X.reshape(12, -1)), X.reshape(12, -1), methods=vd.Occlusion(), y=y
        )


def test_the_name_of_an_only_output_is_that_of_label_1() -> None:
    y = np.where(linear(X) >= 0.5, "cat", "not cat")
    given = {"methods": vd.Occlusion(), "causes": Push(), "classes": ["cat"]}
    found = vd.veracity(linear, PARTS, X, **given, y=y, wanted="cat")
    assert found.n_instances == 12
    assert (found.examples[0].label, found.examples[0].wanted) == ("not cat", "cat")
    assert found.score("flip@1 (Push)", "Occlusion").n == (y == "not cat").sum()


def test_records_of_several_fields_are_not_changed() -> None:
    prices = pd.DataFrame({"price": [1.0, 2.0, 3.0, 4.0]})
    records = prices.assign(text=["a good one", "a bad one", "bad", "good"])
    fields = vd.Fields({"text": vd.Words(), "price": vd.Rows(prices)})
    with pytest.raises(vd.errors.NotApplicable, match="one field"):
        vd.veracity(lambda Z: Z["price"] / 5, fields, records, methods=vd.Occlusion())


def test_names_of_causes_have_what_differs_and_no_defaults() -> None:
    many = [
        vd.attacks.Pgd(domain=vd.attacks.Waveform()),
        vd.attacks.Pgd(),
        vd.attacks.Pgd(domain=vd.attacks.Waveform(vd.sounds.Mel(hop=100))),
    ]
    assert list(name_methods(many)) == [
        "Pgd(domain=Waveform())",
        "Pgd",
        "Pgd(domain=Waveform(front=Mel(hop=100)))",
    ]


def test_nothing_is_said_of_a_few_causes() -> None:
    found = vd.veracity(linear, PARTS, X[:3], methods=vd.Occlusion(), causes=[Spot(part=None), Push()])
    assert found.findings == (
        "Occlusion: too few causes were found to say more, at most 3 of a kind; 5 are needed.",
    )


def test_why_a_number_is_missing_is_told() -> None:
    found = vd.veracity(linear, PARTS, X, methods=[vd.Occlusion(), QUICK], causes=Spot(part=None))
    assert "it says no such thing" in found.score("fidelity AUROC (Spot)", "Occlusion").reason
    few = vd.veracity(linear, PARTS, X, methods={"Moody": Moody(), "Occlusion": vd.Occlusion()}, causes=Push(0.4))
    assert "not today" in few.score("ratio@5 (Push)", "Moody").reason


def test_a_method_that_fails_is_reported() -> None:
    found = vd.veracity(linear, PARTS, X, methods={"Moody": Moody(), "Occlusion": vd.Occlusion()}, causes=Push())
    score = found.score("mean flip (Push)", "Moody")
    assert 0 < score.n < 12
    assert "RuntimeError: not today" in score.reason
    assert found.score("mean flip (Push)", "Occlusion").n == 12


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"causes": []}, "causes is empty"),
        ({"causes": Push}, "settings"),
        ({"causes": [None]}, "None is no cause"),
        ({"causes": "pgd"}, "not 'pgd'"),
        ({"causes": vd.Lime()}, "Lime is a method"),
        ({"methods": vd.attacks.Pgd()}, "Pgd is for another purpose"),
        ({"methods": vd.gradients.Gradient()}, "no method explains these instances: Gradient: .*gradients"),
        ({"methods": {"norm": vd.Occlusion()}}, "name of another row"),
        ({"methods": []}, "methods is empty"),
        ({"wanted": 9}, "wanted is a label"),
        ({"wanted": [0, 1]}, "not 2 of them"),
        ({"threshold": "high"}, "threshold"),
        ({"threshold": np.inf}, "finite"),
        ({"threshold": 2}, "all 12 instances are decided as 0, by the threshold 2"),
    ],
    ids=lambda given: given if isinstance(given, str) else ", ".join(given),
)
def test_what_is_wrong_is_told(wrong: dict[str, Any], match: str) -> None:
    given = {"methods": vd.Occlusion(), "causes": Push(), **wrong}
    with pytest.raises(vd.errors.InputError, match=match):
        vd.veracity(linear, PARTS, X, **given)


# ---- the check


@pytest.mark.parametrize("method", [QUICK, vd.Occlusion(), vd.methods.Undo()], ids=lambda m: type(m).__name__)
def test_methods_that_ask_the_model_pass_the_check(method: Any) -> None:
    found = vd.debug(linear, PARTS, X12, check="veracity", method=method)
    assert found.passed, found
    assert found.observed > 0.3 > found.nulls["noise"]


@pytest.mark.parametrize(
    "method", [vd.baselines.RandomParts(), Edges(), Negated()], ids=lambda m: type(m).__name__
)
def test_saboteurs_fail_the_check(method: Any) -> None:
    found = vd.debug(linear, PARTS, X12, check="veracity", method=method)
    assert not found.passed
    assert "does not name" in found.sentence or "It is not clear" in found.sentence


def test_methods_of_small_changes_are_held_against_small_changes() -> None:
    found = vd.debug(linear, PARTS, X12, check="veracity", method=vd.Sensitivity(n_draws=4))
    assert found.measures[0].name == "decisions flipped by the heaviest features, mean over k"
    assert "Square" in found.notes[0]


def test_the_check_needs_a_decision() -> None:
    with pytest.raises(vd.errors.NotApplicable, match="decisions are not known"):
        vd.debug(lambda Z: 9 * linear(Z), PARTS, X12, check="veracity", method=vd.Occlusion())
    with pytest.raises(vd.errors.NotApplicable, match="could be caused in 0 of"):
        vd.debug(lambda Z: 0 * linear(Z), PARTS, X12, check="veracity", method=vd.Occlusion())


def test_one_column_alone_can_only_be_named() -> None:
    table = np.random.default_rng(0).normal(size=(30, 1))

    def predict(rows: Any) -> Floats:
        return 1 / (1 + np.exp(-3 * np.asarray(rows)[:, 0]))

    found = vd.veracity(predict, vd.Rows(table), table[:6], methods=[vd.Occlusion()])
    assert found.score("hit@1 (EditedColumns)", "Occlusion").mean == 1
    assert np.isnan(found.score("margin AUROC (EditedColumns)", "Occlusion").mean)
    with pytest.raises(vd.errors.NotApplicable, match="only one feature"):
        vd.debug(predict, vd.Rows(table), table, check="veracity", method=vd.Occlusion())


def test_the_check_does_not_apply_to_parts_that_lie_over_each_other() -> None:
    bands = vd.Windows(cut=vd.Bands())
    with pytest.raises(vd.errors.NotApplicable, match=r"can be changed alone: .*vd\.Slices"):
        vd.debug(lambda Z: 1 / (1 + np.exp(-Z[:, 0])), bands, X12.reshape(30, -1), check="veracity")


X12 = np.random.default_rng(3).normal(size=(30, *SHAPE))
