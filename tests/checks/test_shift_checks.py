"""Instances of another kind, inputs prepared wrongly, and inputs that no data are near to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import veridical as vd
from tests.builders.methods import linear_lime
from veridical.checks.shift_checks import ReversedChannels, list_mistakes

X, Y = load_breast_cancer(return_X_y=True)


@cache
def model() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)


LIME = linear_lime(n_samples=256)


@dataclass(frozen=True)
class Fixed:
    """A saboteur: it says the same of every instance and every model."""

    def __call__(self, model: Any, representation: Any, targets: Any, seed: Any) -> Any:
        found = vd.Occlusion(n_draws=2)(model, representation, targets, seed)
        d = len(representation.parts)
        own = np.sin(np.arange(1.0, d + 1))
        return tuple(replace(each, weights=own, fidelity=0.5, top_probability=0.5) for each in found)


# Instances of another kind.


def test_far_instances_are_told_by_their_explanations() -> None:
    far = X + 4 * X.std(axis=0)
    found = vd.debug(model().predict_proba, vd.Rows(X), X, shifted=far, check="shift", method=LIME)
    assert found.passed
    assert found.observed > 0.9
    assert found.expected < 0.7
    assert set(found.nulls) == {"constant", "noise", "shuffled", "another"}
    assert found.nulls["constant"] == 0.5
    assert found.nulls["another"] < found.expected
    names = {m.name for m in found.measures}
    assert {"the model's own confidence, AUROC", "distance from other instances, AUROC"} <= names


def test_what_says_the_same_of_everything_shows_nothing() -> None:
    far = X + 4 * X.std(axis=0)
    found = vd.debug(model().predict_proba, vd.Rows(X), X, shifted=far, check="shift", method=Fixed())
    assert not found.passed
    assert found.observed == 0.5
    assert "look as usual" in found.sentence


def test_instances_of_the_same_kind_are_not_told_apart() -> None:
    """Of ten halves of the same data, hardly any is told from the other half."""
    told = 0
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(len(X))
        own, other = np.array_split(order, 2)
        try:
            told += vd.debug(
                model().predict_proba, vd.Rows(X), X[own], shifted=X[other], check="shift",
                method=vd.Occlusion(n_draws=4), rng=seed,
            ).passed  # fmt: skip
        except vd.errors.NotApplicable:  # told neither by the explanations nor by anything else
            continue
    assert told <= 2


def test_shift_says_what_it_misses() -> None:
    with pytest.raises(vd.errors.NotApplicable, match="there are 0: give shifted"):
        vd.debug(model().predict_proba, vd.Rows(X), X, check="shift")
    with pytest.raises(vd.errors.NotApplicable, match="there are 3: give shifted"):
        vd.debug(model().predict_proba, vd.Rows(X), X, shifted=X[:3], check="shift")


# Inputs prepared wrongly.


def test_sound_methods_show_a_wrong_preparation() -> None:
    for method in (LIME, vd.Occlusion(n_draws=8)):
        found = vd.debug(model().predict_proba, vd.Rows(X), X, check="mismatch", method=method)
        assert found.passed, found.sentence
        assert {m.name.partition(":")[0] for m in found.measures} == {"scaling", "column order"}


def test_what_ignores_the_model_shows_none() -> None:
    found = vd.debug(model().predict_proba, vd.Rows(X), X, check="mismatch", method=Fixed())
    assert not found.passed
    assert found.observed == pytest.approx(1)
    assert "hardly notice" in found.sentence


@pytest.mark.parametrize("lowercase", [True, False])
def test_texts_in_capitals(lowercase: bool) -> None:
    """A model that reads capitals like other letters is not broken by them; another one is, and it shows."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice([f"word{i}" for i in range(30)], 8, replace=False)) for _ in range(120)]
    y = np.array(["word1 " in text + " " for text in texts]).astype(int)
    vectorizer = CountVectorizer(lowercase=lowercase)
    model = make_pipeline(vectorizer, LogisticRegression()).fit(texts, y)
    if lowercase:
        with pytest.raises(vd.errors.NotApplicable, match="case: the answers go up and down as before"):
            vd.debug(model.predict_proba, vd.Words(), texts, check="mismatch", method=LIME)
    else:
        assert vd.debug(model.predict_proba, vd.Words(), texts, check="mismatch", method=LIME).passed


def test_mistakes_of_pictures_and_frames() -> None:
    pictures = np.random.default_rng(0).random((12, 8, 8, 3))
    subject = vd.Subject(lambda x: np.asarray(x).mean(axis=(1, 2, 3)), vd.Grid(2, 2), pictures)
    ways = dict(list_mistakes(subject))
    assert list(ways) == ["scaling", "channel order"]
    np.testing.assert_allclose(ways["scaling"](pictures), 255 * pictures)
    np.testing.assert_allclose(ways["channel order"](pictures)[0, 0, 0], pictures[0, 0, 0, ::-1])
    np.testing.assert_allclose(ReversedChannels(2)([pictures[0]])[0], pictures[0, :, :, ::-1])
    table = pd.DataFrame({"a": np.arange(12.0), "b": np.arange(12) * 10, "c": list("abcdefghijkl")})
    ways = dict(list_mistakes(vd.Subject(lambda t: t["a"], vd.Rows(table), table)))
    moved = ways["column order"](table)
    assert moved["b"].tolist() == table["a"].tolist()
    assert moved["c"].tolist() == table["c"].tolist()
    assert table["b"].iloc[1] == 10
    assert ways["scaling"](table)["a"].mean() == pytest.approx(0)
    words = vd.Subject(lambda t: t["c"].str.len(), vd.Rows(table[["c"]]), table[["c"]])
    with pytest.raises(vd.errors.NotApplicable, match="no mistake"):
        vd.debug(words.model, words.representer, words.X, check="mismatch")


def test_networks_are_prepared_wrongly_without_being_changed() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(13, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3)).eval()
    wine = load_wine().data
    table = (wine - wine.mean(axis=0)) / wine.std(axis=0) * 3 + 5
    found = vd.debug(module, vd.Rows(table), table, check="mismatch", method=vd.gradients.InputXGradient())
    assert {m.name.partition(":")[0] for m in found.measures} == {"scaling", "column order"}


# Inputs that no data are near to.


@dataclass(frozen=True)
class Asking:
    """A method that asks about the instance, and about inputs that someone else made."""

    made: Any

    def __call__(self, model: Any, representation: Any, targets: Any, seed: Any) -> Any:
        model(self.made)
        return vd.Occlusion(n_draws=2)(model, representation, targets, seed)


def test_inputs_that_could_be_real_pass_and_others_do_not() -> None:
    rng = np.random.default_rng(0)
    near = vd.debug(model().predict_proba, vd.Rows(X), X, check="sampling", method=Asking(X[::4]))
    assert near.passed
    assert near.observed < 0.15
    assert near.nulls["another"] < 0.15
    noise = X.mean(axis=0) + 5 * X.std(axis=0) * rng.normal(size=(100, X.shape[1]))
    far = vd.debug(model().predict_proba, vd.Rows(X), X, check="sampling", method=Asking(noise))
    assert not far.passed
    assert far.observed > 0.9
    assert far.interval[0] > far.expected
    assert "unlike any real instance" in far.sentence


def test_the_same_data_are_not_judged_by_the_draw() -> None:
    """How far apart real instances are is known from a few: the interval knows that it is an estimate."""
    rows, answers = load_wine(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, answers)
    some = rows[np.random.default_rng(0).permutation(len(rows))[:100]]
    found = [
        vd.debug(model.predict_proba, vd.Rows(rows), some, check="sampling", method=LIME, rng=rng)
        for rng in range(6)
    ]
    assert len({each.passed for each in found}) == 1
    assert all(0 <= each.interval[0] <= each.observed <= each.interval[1] <= 1 for each in found)
    with pytest.raises(vd.errors.NotApplicable, match="at least 40 real instances, and X has 30"):
        vd.debug(model.predict_proba, vd.Rows(rows), rows[:30], check="sampling", method=LIME)


def test_independent_columns_hide_no_manifold() -> None:
    """Where columns are independent, exchanging them makes rows that could be real; where not, it does not."""
    rng = np.random.default_rng(0)
    free = rng.normal(size=(600, 8))
    bound = free[:, :1] + 0.1 * free
    method = vd.KernelShap(n_samples=256)
    one, other = (
        vd.debug(lambda x: x.sum(axis=1), vd.Rows(Z), Z, check="sampling", method=method) for Z in (free, bound)
    )
    assert one.passed
    assert one.observed < 0.15
    assert not other.passed
    assert other.observed > 0.7


def test_texts_and_pictures_are_compared_in_plain_features() -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice([f"w{i}" for i in range(60)], 12)) for _ in range(60)]
    found = vd.debug(lambda t: [float(len(x)) for x in t], vd.Words(), texts, check="sampling", method=LIME)
    assert 0 <= found.observed <= 1
    pictures = rng.random((40, 8, 8, 1))
    gray = vd.debug(
        lambda x: np.asarray(x).mean(axis=(1, 2, 3)),
        vd.Grid(2, 2),
        pictures,
        check="sampling",
        method=vd.Occlusion(),
    )
    assert set(gray.nulls) == {"constant", "noise", "shuffled", "another"}
