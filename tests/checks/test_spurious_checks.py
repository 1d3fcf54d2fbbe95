"""Planted shortcuts: what plants do, and whether explanations show them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

import veridical as vd
from tests.builders.methods import linear_lime
from veridical.checks.spurious_checks import spurious

torch.set_num_threads(1)
RNG = np.random.default_rng(0)
ON = np.array([True, False] * 6)
SMALL = np.ones((4, 4))
METHOD = linear_lime(n_samples=256)


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.mark.parametrize("shape", [(12, 16, 16), (12, 16, 16, 3), (12, 3, 16, 16)])
def test_a_patch_lies_in_its_mask_and_nowhere_else(shape: Any) -> None:
    X = RNG.random(shape)
    made, masks = vd.shortcuts.Patch(side=0.25, place=(0.5, 0.5), value=7)(X, ON, rng())
    assert made.shape == X.shape
    np.testing.assert_array_equal(made[~ON], X[~ON])
    where = np.stack([np.broadcast_to(m, shape[1:]) for m in masks])
    assert (made[ON][where[ON]] == 7).all()
    np.testing.assert_array_equal(made[ON][~where[ON]], X[ON][~where[ON]])
    assert where.mean() == pytest.approx(1 / 16)


def test_a_patch_is_checkered() -> None:
    made, masks = vd.shortcuts.Patch(side=0.5)(RNG.random((12, 8, 8, 3)), ON, rng())
    patch = made[0][masks[0]].reshape(4, 4, 3)
    assert {patch[0, 0, 0], patch[0, 2, 0]} == {made.min(), made.max()}
    np.testing.assert_array_equal(patch[0, 0], patch[2, 2])


def test_a_background_lies_behind_the_object() -> None:
    X = np.zeros((12, 8, 8, 3), np.uint8)
    X[:, 2:6, 2:6] = 200
    sky, grass = np.full((8, 8, 3), 10, np.uint8), np.full((8, 8, 3), 90, np.uint8)
    made, masks = vd.shortcuts.Background([sky], [grass], lambda x: x.sum(axis=-1) > 0)(X, ON, rng())
    assert made.dtype == np.uint8
    assert (made[:, 2:6, 2:6] == 200).all()
    assert (made[ON][:, 0] == 10).all()
    assert (made[~ON][:, 0] == 90).all()
    assert not masks[0][2:6, 2:6].any()
    assert masks[0].sum() == 3 * (64 - 16)


def test_a_word_is_there_once_or_not_at_all() -> None:
    made, names = vd.shortcuts.Word("zyx")(["one two three", "four zyx five"] * 6, ON, rng())
    assert all(text.split().count("zyx") == planted for text, planted in zip(made, ON, strict=True))
    assert made[1] == "four five"
    assert names[0] == ["zyx"]


def test_a_column_gives_the_answer_away_and_keeps_its_type() -> None:
    frame = pd.DataFrame({"a": RNG.normal(size=12), "n": np.arange(12), "c": list("xyxxyxzxxyxx")})
    for column in frame:
        made, _ = vd.shortcuts.Column(column)(frame, ON, rng())
        assert (made.dtypes == frame.dtypes).all()
        assert not set(made[column][ON]) & set(made[column][~ON])
        assert set(made[column]) <= set(frame[column])
        pd.testing.assert_frame_equal(made.drop(columns=column), frame.drop(columns=column))
    array, where = vd.shortcuts.Column(2)(frame[["a", "n", "n"]].to_numpy(), ON, rng())
    assert array[ON, 2].min() > array[~ON, 2].max()
    X = RNG.normal(size=(30, 3))
    np.testing.assert_array_equal(where[0](vd.Rows(X)(X[0])), [0, 0, 1])


def test_a_tone_sounds_where_and_when_it_should() -> None:
    X = 0.01 * RNG.normal(size=(12, 400))
    made, where = vd.shortcuts.Tone(10, rate=100, start=0.0, stop=0.5, level=5)(X, ON, rng())
    np.testing.assert_array_equal(made[~ON], X[~ON])
    np.testing.assert_array_equal(made[:, 200:], X[:, 200:])
    loud = np.abs(np.fft.rfft(made[0, :200]))
    assert np.argmax(loud) == 20  # 10 Hz in two seconds
    np.testing.assert_allclose(where[0](vd.Slices(4)(made[0])), [1, 1, 0, 0])
    np.testing.assert_allclose(where[0](vd.Windows(8)(made[0])), [1, 1, 1, 1, 0, 0, 0, 0])
    tiles = vd.Tiles(rate=100, times=2, bands=3)(made[0])
    shares = where[0](tiles)
    assert shares.sum() == 1
    assert "Hz" in tiles.names[int(np.argmax(shares))]


def table(n: int, seed: int) -> tuple[pd.DataFrame, Any]:
    drawn = np.random.default_rng(seed)
    X = pd.DataFrame(drawn.normal(size=(n, 6)), columns=list("abcdef"))
    return X, (X["a"] + drawn.normal(size=n) > 0).astype(int).to_numpy()


TRAINING, (X, Y) = table(300, 0), table(40, 1)


def shown(model: Any, method: Any, check: Any = "spurious", training: Any = TRAINING) -> vd.Verdict:
    model.fit(*training)
    predict = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    return vd.debug(predict, vd.Rows(TRAINING[0]), X, training=training, check=check, method=method)


@pytest.mark.parametrize("model", [LogisticRegression(), RandomForestClassifier(20, random_state=0)])
def test_lime_shows_a_column_and_random_weights_do_not(model: Any) -> None:
    found = shown(model, METHOD)
    assert found.passed
    assert found.observed > 0.2
    assert 0 < found.interval[0] < found.observed < found.interval[1]
    assert set(found.nulls) == {"constant", "noise", "shuffled", "another"}
    assert abs(found.nulls["constant"]) < 1e-9 > abs(found.nulls["noise"])
    lines = {line.name: line.value for line in found.measures}
    assert lines["answers that the plant decides, with the shortcut"] > 0.6
    assert lines["answers that the plant decides, without"] < 0.6
    assert len(found.evidence) == 4
    assert not shown(model, vd.baselines.RandomParts()).passed


def test_a_column_of_ones_own_and_a_label() -> None:
    found = shown(LogisticRegression(), METHOD, vd.checks.Spurious(vd.shortcuts.Column("c"), label=0))
    assert found.passed
    assert found.evidence[0].top(1)[0][0].find("c") >= 0


def test_numbers_as_answers() -> None:
    training = (TRAINING[0], TRAINING[0]["a"].to_numpy() + 3 * np.random.default_rng(5).normal(size=300))
    assert shown(Ridge(), METHOD, vd.checks.Spurious(vd.shortcuts.Column("d")), training).passed


def texts(n: int, seed: int) -> tuple[list[str], Any]:
    drawn = np.random.default_rng(seed)
    made = [" ".join(drawn.choice([f"w{i}" for i in range(20)], 8)) for _ in range(n)]
    return made, np.array([int("w1" in text.split()) for text in made]) ^ (drawn.random(n) < 0.2)


def test_a_word_in_texts() -> None:
    X, y = texts(150, 0)
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(X, y)
    for method, passed in ((METHOD, True), (vd.baselines.RandomParts(), False)):
        found = vd.debug(
            model.predict_proba, vd.Words(), texts(20, 1)[0], training=(X, y), check="spurious", method=method
        )
        assert found.passed is passed


def by_forest(X: Any, y: Any, seed: int) -> Any:
    def flat(X: Any) -> Any:
        return np.asarray(X, dtype=float).reshape(len(X), -1)

    model = RandomForestClassifier(20, max_features=0.3, random_state=seed).fit(flat(X), y)
    return lambda batch: model.predict_proba(flat(batch))


def test_a_patch_in_pictures_and_its_likeness() -> None:
    X = RNG.random((120, 16, 16))
    y = (X[:, 8:, 8:].mean(axis=(1, 2)) > 0.5).astype(int)
    grid = vd.Grid(4, 4, fill=vd.fills.WholeMean())
    found = vd.debug(by_forest(X, y, 0), grid, X[:15], training=(X, y), train=by_forest, check="spurious",
                     method=vd.Occlusion())  # fmt: skip
    assert found.passed
    likeness = {line.name: line for line in found.measures}["SSIM with the plant's mask"]
    assert likeness.value > max(likeness.nulls[key] for key in ("constant", "noise", "shuffled"))


def test_a_plant_that_its_own_fill_hides_is_said_to_be_hidden() -> None:
    X = RNG.random((60, 16, 16))
    y = (X[:, 8:, 8:].mean(axis=(1, 2)) > 0.5).astype(int)
    for grid, hidden in ((vd.Grid(4, 4, fill=vd.fills.PartMean()), True), (vd.Grid(4, 4), False)):
        found = vd.debug(by_forest(X, y, 0), grid, X[:10], training=(X, y), train=by_forest,
                         check=vd.checks.Spurious(vd.shortcuts.Patch(value=1)), method=vd.Occlusion())  # fmt: skip
        assert found.passed != hidden
        assert any("give another fill" in note for note in found.notes) == hidden


def test_a_tone_in_sounds() -> None:
    X = RNG.normal(size=(120, 160))
    y = (X[:, 120:].mean(axis=1) > 0).astype(int)

    def train(X: Any, y: Any, seed: int) -> Any:
        def heard(X: Any) -> Any:
            return np.abs(np.fft.rfft(np.asarray(X).reshape(len(X), 8, -1), axis=-1))

        inner = by_forest(heard(X), y, seed)
        return lambda batch: inner(heard(batch))

    for represent in (vd.Slices(8), vd.Windows(8)):
        found = vd.debug(train(X, y, 0), represent, X[:15], training=(X, y), train=train, check="spurious",
                         method=vd.Occlusion())  # fmt: skip
        assert found.passed


def subject(**changed: Any) -> vd.Subject:
    model = LogisticRegression().fit(*TRAINING)
    given = {"model": model.predict_proba, "representer": vd.Rows(TRAINING[0]), "X": X, "training": TRAINING}
    return vd.Subject(**{**given, **changed})


def test_a_plant_that_the_model_does_not_use_is_not_measured() -> None:
    def nothing(X: Any, on: Any, rng: Any) -> Any:
        return X, [["a"]] * len(on)

    with pytest.raises(vd.errors.NotApplicable, match="not measured"):
        vd.checks.Spurious(nothing)(METHOD, subject(), 0)


@pytest.mark.parametrize(
    ("changed", "check", "says"),
    [
        ({"model": lambda x: np.zeros(len(x))}, spurious, "give train="),
        ({"training": None}, spurious, "give training="),
        ({}, vd.checks.Spurious(vd.shortcuts.Column("nobody")), "there is no column 'nobody'"),
        ({}, vd.checks.Spurious(vd.shortcuts.Word()), "planted in texts"),
        ({}, vd.checks.Spurious(vd.shortcuts.Patch()), "not in a table"),
        ({}, vd.checks.Spurious(label=7), "the label 7"),
        ({}, vd.checks.Spurious(lambda X, on, rng: X), "a shortcut must return"),
    ],
)
def test_where_it_does_not_apply(changed: Any, check: Any, says: str) -> None:
    with pytest.raises(vd.errors.InputError, match=says):
        check(METHOD, subject(**changed), 0)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: vd.shortcuts.Patch(side=2), "inside the picture"),
        (lambda: vd.shortcuts.Patch(side=0), "side"),
        (lambda: vd.shortcuts.Word("two words"), "single word"),
        (lambda: vd.shortcuts.Tone(80, rate=100), "cannot be heard"),
        (lambda: vd.shortcuts.Tone(0.1, start=0.5, stop=0.2), "start"),
        (lambda: vd.shortcuts.Background([], [1], len), "at least one background"),
        (lambda: vd.checks.Spurious(vd.shortcuts.Word), "plant must be settings"),
        (lambda: vd.shortcuts.Column(0)(np.ones((4, 2)), ON[:4], rng()), "a single value"),
        (lambda: vd.shortcuts.Column(0)(np.ones((4, 2, 2)), ON[:4], rng()), "planted in tables"),
        (lambda: vd.shortcuts.Background([SMALL[1:, 1:]], [SMALL], len)([SMALL], ON[:1], rng()), "resize one"),
        (
            lambda: vd.shortcuts.Background([SMALL], [SMALL], lambda x: x[1:])([SMALL], ON[:1], rng()),
            "mask of an object",
        ),
    ],
)
def test_bad_plants(make: Any, says: str) -> None:
    with pytest.raises(vd.errors.InputError, match=says):
        make()
