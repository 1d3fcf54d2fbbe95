"""Two explanations are told apart only by more than their noise, and part by part."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import stdtrit

import veridical as vd
from tests.builders import explanations as made
from tests.builders import view_cases as cases
from tests.builders.methods import linear_lime
from veridical.comparisons import differences
from veridical.records import Explanation, Explanations, Part, View

WORDS = [f"w{i}" for i in range(14)]
TEXT = " ".join(WORDS)
SLOPES = np.random.default_rng(0).normal(size=len(WORDS))
QUICK = vd.Lime(n_samples=120)
PAIRS = 120


def model(texts: Any, more: float = 0.0) -> np.ndarray:
    """Words that add up, two that count together, and one more slope."""
    there = np.array([[word in text.split() for word in WORDS] for text in texts], dtype=float)
    z = there @ SLOPES + 1.5 * there[:, 0] * there[:, 1] - there[:, 2] * there[:, 3] + more * there[:, 5]
    p = 1 / (1 + np.exp(-z / 2))
    return np.stack([1 - p, p], axis=1)


def explained(rng: int, target: int = 1, more: float = 0.0) -> Explanation:
    return vd.explain(lambda texts: model(texts, more), vd.Words(), TEXT, target=target, method=QUICK, rng=rng)


def seeded(e: Explanation, rng: int, weights: np.ndarray | None = None) -> Explanation:
    """The same explanation as if by a seed of its own, with other weights."""
    found = e.weights if weights is None else weights
    moved = e.intervals + (found - e.weights)[:, None]
    return replace(e, weights=found, intervals=moved, recipe={**e.recipe, "rng": rng})


def test_equal_models_are_told_apart_no_more_often_than_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any part at all in 1 of 20 comparisons at most: the intervals hold for all parts together."""
    pairs = [(explained(2 * i), explained(2 * i + 1)) for i in range(PAIRS)]
    alarms = 0
    for a, b in pairs:
        found = vd.compare(a, b)
        assert found.larger.tolist() == (found.intervals.prod(axis=1) > 0).tolist(), "the interval decides"
        alarms += bool(found.larger.any())
    assert alarms / PAIRS < 0.05 + 2 * np.sqrt(0.05 * 0.95 / PAIRS)
    monkeypatch.setattr(differences, "joint_level", lambda reach, degrees: 1.0)  # the saboteur: each by itself
    naive = np.mean([(vd.compare(a, b).intervals.prod(axis=1) > 0).any() for a, b in pairs])
    assert naive > 0.2


def wide_alarms() -> int:
    """In how many of 60 comparisons of equal models of 30 columns that interact, anything is called larger."""
    rng = np.random.default_rng(2)
    X, alarms = rng.normal(size=(200, 30)), 0
    rows = vd.Rows(X)
    for i in range(60):
        slopes, at = rng.normal(size=30) * (rng.random(30) < 0.4), rng.integers(0, 30, (2, 4))

        def predict(Z: np.ndarray, slopes: np.ndarray = slopes, at: np.ndarray = at) -> np.ndarray:
            return 1 / (1 + np.exp(-Z @ slopes - 1.5 * (Z[:, at[0]] * Z[:, at[1]]).sum(axis=1)))

        asked = {"method": linear_lime(n_samples=512)}
        alarms += bool(
            vd.compare(*(vd.explain(predict, rows, X[i], rng=2 * i + k, **asked) for k in (0, 1))).larger.any()
        )
    return alarms


def test_equal_models_of_wide_tables_are_not_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A net takes an interaction for a part now and then, far beyond its interval."""
    assert wide_alarms() <= 4
    monkeypatch.setattr(
        differences, "NET_DEGREES", ((10**9, 1000.0),)
    )  # the saboteur: noise with the tails of a normal law
    assert wide_alarms() > 4


def test_wide_tables_are_said_to_need_more() -> None:
    for d, n_notes in ((12, 0), (13, 1)):
        e = cases.explained(None, d)
        assert sum("several seeds" in note for note in vd.compare(e, e).notes) == n_notes


def test_a_real_difference_is_found_and_named() -> None:
    found = [vd.compare(explained(2 * i), explained(2 * i + 1, more=2.0)) for i in range(20)]
    hits = [each.larger[each.names.index("w5")] for each in found]
    assert np.mean(hits) > 0.9
    assert not found[0].verdict.passed
    assert found[0].verdict.label == "different"
    assert re.search(r"most w5: second has 0\.\d+ more than first", found[0].verdict.sentence)


def test_two_classes_of_one_sample_are_not_as_sure_as_two_samples() -> None:
    """Their errors go against each other: the plain sum of the noise holds where the root of squares does not."""
    truth = 2 * vd.explain(model, vd.Words(), TEXT, target=1, method=vd.Lime(n_samples=40_000)).on_outputs[0]
    sure, naive = [], []
    for i in range(60):
        a, b = explained(i, 0), explained(i, 1)
        found = vd.compare(a, b, names=("no", "yes"))
        sure.append(np.mean((found.intervals[:, 0] <= truth) & (truth <= found.intervals[:, 1])))
        half = np.hypot(*(e.on_outputs[1][:, 1] - e.on_outputs[0] for e in (a, b)))
        naive.append(np.mean(np.abs(found.difference - truth) <= half))
    assert np.mean(naive) < 0.92  # the saboteur
    assert np.mean(sure) > 0.94
    assert any("same samples" in note for note in found.notes)
    assert not vd.compare(explained(1), explained(2)).notes


def test_noise_adds_up_like_the_sides_of_a_right_angle() -> None:
    e = made.mushroom()
    apart = vd.compare(seeded(e, 1), seeded(e, 2, e.weights + 0.5))
    np.testing.assert_allclose(apart.difference, 0.5)
    degrees = e.effective_size / 2 - 7 - 1
    longer = stdtrit(degrees, 1 - 0.025 / 7) / stdtrit(degrees, 0.975)  # for seven features together
    half = longer * (e.intervals[:, 1] - e.weights)
    np.testing.assert_allclose(apart.intervals[:, 1] - 0.5, np.sqrt(2) * half)
    assert apart.larger.all()
    together = vd.compare(seeded(e, 1), seeded(e, 1, e.weights + 0.5))
    np.testing.assert_allclose(together.intervals[:, 1] - 0.5, 2 * half)


def test_what_was_not_measured_is_never_larger() -> None:
    e = made.unmeasured()
    found = vd.compare(seeded(e, 1), seeded(e, 2, e.weights + 100))
    assert found.larger.tolist() == [True, False, True, True, True, True, False]
    assert np.isnan(found.p[[1, 6]]).all()
    assert np.isinf(found.intervals[[1, 6]]).all()
    assert "2 features were not measured" in found.verdict.sentence
    nothing = replace(e, intervals=np.tile([-np.inf, np.inf], (7, 1)))
    silent = vd.compare(nothing, nothing)
    assert not silent.verdict.passed
    assert "no feature was measured" in silent.verdict.sentence


def test_nothing_but_rounding_is_no_difference() -> None:
    e = replace(made.mushroom(), intervals=np.repeat(made.mushroom().weights[:, None], 2, axis=1))
    assert not vd.compare(seeded(e, 1), seeded(e, 2, e.weights * (1 + 1e-12))).larger.any()
    assert vd.compare(seeded(e, 1), seeded(e, 2, e.weights + 1e-3)).larger.all()


def test_parts_that_a_selector_left_out_are_not_measured() -> None:
    """Equal models whose sparse explanations keep different words must not be told apart by that."""
    sparse = replace(QUICK, n_features=3)
    found = [
        vd.compare(*(vd.explain(model, vd.Words(), TEXT, target=1, method=sparse, rng=2 * i + k) for k in (0, 1)))
        for i in range(20)
    ]
    assert sum(each.larger.any() for each in found) <= 2
    assert any("left out" in note for each in found for note in each.notes)


def test_columns_are_compared_whatever_their_values() -> None:
    e = made.mushroom()
    parts = (Part("odor = none", "odor", "=", "none"), *e.parts[1:-1], Part("lot", "lot", "=", 1))
    found = vd.compare(seeded(e, 1), replace(seeded(e, 2), parts=parts))
    assert found.names[0] == "odor = foul | odor = none"
    assert found.parts[0].column == "odor"
    assert found.names[-2:] == ("cap-width is missing", "lot")
    assert np.isnan(found.weights[-2:]).tolist() == [[False, True], [True, False]]


def test_words_are_compared_by_what_they_are() -> None:
    texts = ("a good film with a bad end", "a bad film with a happy end")
    a, b = (
        vd.explain(lambda T: [0.1 + 0.3 * ("bad" in t) + 0.2 * ("good" in t) for t in T], vd.Words(), t, rng=i)
        for i, t in enumerate(texts)
    )
    found = vd.compare(a, b)
    assert found.top(1) == [("good", pytest.approx(-0.2))]
    assert [found.names[j] for j in np.flatnonzero(found.larger)] == ["good"]
    assert np.isnan(found.weights[found.names.index("happy"), 0])
    assert found.difference[found.names.index("bad")] == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize("case", [cases.picture, cases.spectrogram, cases.sound, cases.series, cases.fields])
def test_parts_with_places_are_compared_only_at_the_same_places(case: Any) -> None:
    e = case()
    assert vd.compare(e, e).names == e.names
    with pytest.raises(vd.errors.InputError, match=r"at the same places.*cut both the same way"):
        vd.compare(e, replace(e, view=_moved(e.view)))


def _moved(view: View) -> View:
    """The same view with parts elsewhere."""
    if view.kind == "fields":
        first, count, inner = view.data["fields"]["photo"]
        return View("fields", {"fields": {**view.data["fields"], "photo": (first, count, _moved(inner))}})
    key = "bounds" if view.kind == "sound" else "labels"
    return View(view.kind, {**view.data, key: np.roll(np.asarray(view.data[key]), 1, axis=-1)})


def test_a_picture_is_not_compared_with_a_text() -> None:
    with pytest.raises(vd.errors.InputError, match="the first explanation is of a picture, the second of a text"):
        vd.compare(cases.picture(), cases.text())


def test_unlike_weights_are_said_to_be() -> None:
    e = replace(made.mushroom(), recipe={"rng": 1, "method": {"name": "Lime", "width": 1.0, "n_samples": 10}})
    notes = vd.compare(
        e,
        replace(
            e,
            purpose="change",
            prediction=4.2,
            recipe={"rng": 2, "method": {"name": "KernelShap"}},
            parts=(replace(e.parts[0], relation="per sd"), *e.parts[1:]),
        ),
    ).notes
    for words in (
        "Lime and KernelShap do not mean",
        "different questions",
        "between 0 and 1",
        "standard dev",
    ):
        assert sum(words in note for note in notes) == 1, words
    wider = replace(e, recipe={"rng": 2, "method": {"name": "Lime", "width": 2.0, "n_samples": 99}})
    assert vd.compare(e, wider).notes == ("The settings of Lime differ in width.",)


def table(n: int = 80) -> np.ndarray:
    return np.random.default_rng(3).normal(size=(n, 4))


def scores(X: Any, sign: float = 1.0) -> np.ndarray:
    return np.asarray(X)[:, 0] + sign * 2 * np.asarray(X)[:, 2]


@pytest.fixture(scope="module")
def many() -> list[Explanations]:
    X = table()
    rows = vd.Rows(X, names=["age", "height", "debt", "luck"])
    asked = ((1.0, 0), (1.0, 1), (-1.0, 2))
    return [vd.explain_many(lambda X, s=s: scores(X, s), rows, X, rng=rng) for s, rng in asked]


def test_models_are_compared_over_rows_bin_by_bin(many: list[Explanations]) -> None:
    same, other = vd.compare(many[0], many[1]), vd.compare(many[0], many[2], names=("old", "new"))
    assert not same.larger.any()
    assert same.verdict.passed
    assert {other.parts[j].column for j in np.flatnonzero(other.larger)} == {"debt"}
    assert other.difference[[name.startswith("debt >") for name in other.names]] < -3
    assert other.counts.sum() == 4 * 80
    worst = other.rows[0]
    assert other.changes[worst] == other.changes.max()
    np.testing.assert_allclose(other.changes[5], vd.compare(many[0][5], many[2][5]).changes[0])


def test_noise_that_rows_share_does_not_average_out(many: list[Explanations]) -> None:
    """Rows explained from one sample are off together: without adding that noise, nothing would seem sure."""
    e = made.mushroom()
    shift = np.where(np.arange(7) == 0, 0.02, 0.0)  # within the noise of each row, the same in all rows
    shared = [seeded(e, 1)] * 50, [seeded(e, 2, e.weights + shift)] * 50
    assert not vd.compare(*shared).larger.any()
    own = [seeded(e, i) for i in range(50)], [seeded(e, 100 + i, e.weights + shift) for i in range(50)]
    assert vd.compare(*own).larger.tolist() == [True] + [False] * 6


def test_a_column_whose_values_hardly_come_again_is_one_part() -> None:
    e = made.mushroom()
    sides = []
    for k in (0, 1):
        named = [replace(e.parts[0], name=f"odor = {i}", value=f"{i}") for i in range(40)]
        rows = [replace(seeded(e, 100 * k + i), parts=(part, *e.parts[1:])) for i, part in enumerate(named)]
        sides.append(rows)
    found = vd.compare(*sides)
    assert found.names[0] == "odor"
    assert found.counts.tolist() == [40] * 7


def test_files_are_compared_as_what_they_hold(many: list[Explanations], tmp_path: Path) -> None:
    few = [each[:10] for each in many]
    few[0].save(tmp_path / "a.parquet")
    few[2].save(tmp_path / "b.json")
    found, held = vd.compare(tmp_path / "a.parquet", str(tmp_path / "b.json")), vd.compare(few[0], few[2])
    np.testing.assert_array_equal(found.weights, held.weights)
    vd.compare(few[0], few[2]).save(tmp_path / "c.json")
    with pytest.raises(vd.errors.InputError, match="holds one Difference"):
        vd.compare(tmp_path / "c.json", few[0])


@pytest.mark.parametrize(
    ("first", "second", "names", "match"),
    [
        (made.mushroom(), made.many(3), ("a", "b"), "not one Explanation and 3 of them"),
        (made.many(2), made.many(3), ("a", "b"), "2 explanations and 3"),
        (made.many(0), made.many(0), ("a", "b"), "no explanations"),
        (made.mushroom(), 5, ("a", "b"), "must be a list"),
        (made.mushroom(), made.mushroom(), ("a", "a"), "two different texts"),
        (made.mushroom(), made.mushroom(), "ab", "two different texts"),
        (made.mushroom(), made.mushroom(), ("a", " "), "two different texts"),
    ],
)
def test_what_cannot_be_compared_is_refused(first: Any, second: Any, names: Any, match: str) -> None:
    with pytest.raises(vd.errors.InputError, match=match):
        vd.compare(first, second, names=names)


def test_awkward_explanations_can_be_compared() -> None:
    for case in (made.constant, made.empty, made.extreme, made.hostile, made.unmeasured):
        found = vd.compare(case(), case())
        assert not found.larger.any()
        assert found.verdict.sentence
        assert repr(found)
