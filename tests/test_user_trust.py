"""The simulated user who trusts or mistrusts predictions: closed forms, null users, bad input."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import veridical as vd
from veridical.evaluate.users import Finds, Subtracts, Trust, doubts

WORDS = [f"w{j:03d}" for j in range(200)]


def texts(n: int, size: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(sorted(rng.choice(WORDS, size, replace=False))) for _ in range(n)]


def logistic(seed: int = 0, scale: float = 1.0):
    """A model that is linear in the words, on the logit scale, and its logits."""
    weights = dict(zip(WORDS, scale * np.random.default_rng(seed).normal(size=len(WORDS)), strict=True))

    def logit(some):
        return np.array([sum(weights[word] for word in text.split()) for text in some])

    def predict(some):
        positive = 1 / (1 + np.exp(-logit(some)))
        return np.column_stack([1 - positive, positive])

    return predict, logit


def log_odds(outputs):
    return np.log(outputs[:, 1] / outputs[:, 0])


def f1(t: float, r: float) -> float:
    """Of who trusts a share r of all predictions without knowing which, where a share t is trustworthy."""
    return 2 * t * r / (t + r)


def test_who_trusts_everything_scores_by_the_share_alone():
    predict, _ = logistic()
    asked = doubts(predict, vd.Words(), texts(60, 20), n_draws=30)
    found = asked.everything()
    t = asked.stays.mean(axis=1)
    assert 0.5 < found.share < 0.99
    np.testing.assert_allclose(found.share, t.mean())
    np.testing.assert_allclose(found.f1, np.mean(2 * t / (1 + t)))
    assert found.mistrust_f1 == 0
    assert found.balanced_accuracy == 0.5


def test_random_parts_score_as_their_closed_form_says():
    n, size, m = 400, 50, 100
    predict, _ = logistic()
    asked = doubts(predict, vd.Words(), texts(n, size), n_draws=m)
    found = asked.at_random(10)
    t = asked.stays.mean()
    distinct = 50 * (1 - (1 - 1 / 50) ** 10)  # of ten words drawn with replacement
    assert abs(distinct - 9.15) < 0.01
    r = np.mean(
        0.75 ** np.array([len(set(draw)) for draw in np.random.default_rng(1).integers(50, size=(4000, 10))])
    )
    spread = np.sqrt(r * (1 - r) / n)  # of a share of n, if all draws went together
    np.testing.assert_allclose(found.trusted.mean(), r, atol=4 * spread)
    np.testing.assert_allclose(found.f1, f1(t, r), atol=8 * spread)


def test_random_explanations_without_replacement_score_less():
    """About .106 where nine of ten predictions are trustworthy (card C2)."""
    predict, _ = logistic(scale=0.1)
    some = texts(200, 50)
    asked = doubts(predict, vd.Words(), some, n_draws=100)
    rng = np.random.default_rng(2)
    whys = vd.explain_many(predict, vd.Words(), some, target=1, method=vd.Lime(n_samples=256))
    random = [replace(why, weights=rng.normal(size=len(why.parts))) for why in whys]
    found = asked.user(random, Finds(10))
    r = np.prod((0.75 * 200 - np.arange(10)) / (200 - np.arange(10)))
    np.testing.assert_allclose(found.f1, f1(asked.stays.mean(), r), atol=0.03)


def test_a_linear_model_explained_on_its_own_scale_is_known_wholly():
    predict, logit = logistic()
    some = texts(40, 20)
    asked = doubts(predict, vd.Words(), some, n_draws=50)
    by_odds = vd.explain_many(predict, vd.Words(), some, target=log_odds, method=vd.Lime(n_samples=256))
    found = asked.user(by_odds, Subtracts(0))
    assert (found.f1, found.mistrust_f1, found.balanced_accuracy) == (1, 1, 1)
    by_value = vd.explain_many(logit, vd.Words(), some, method=vd.Lime(n_samples=256))
    alone = doubts(logit, vd.Words(), some, n_draws=50, threshold=0)
    np.testing.assert_array_equal(alone.stays, asked.stays)
    assert alone.user(by_value, Subtracts(0)).f1 == 1
    few = [replace(why, weights=np.where(np.arange(20) < 3, why.weights, 0)) for why in by_odds]
    assert asked.user(few, Subtracts(0)).mistrust_f1 < 0.9


def test_the_oracle_is_the_model_without_the_words():
    predict, _ = logistic(3)
    some = texts(30, 15, 4)
    asked = doubts(predict, vd.Words(), some, share=0.4, n_draws=20, rng=5)
    assert (asked.drawn.sum(axis=1) == int(0.4 * len(asked.columns))).all()
    for row, stays in zip(asked.drawn, asked.stays, strict=True):
        bad = {column for column, mark in zip(asked.columns, row, strict=True) if mark}
        without = [" ".join(word for word in text.split() if word not in bad) for text in some]
        np.testing.assert_array_equal(stays, predict(some).argmax(1) == predict(without).argmax(1))
    again = doubts(predict, vd.Words(), some, share=0.4, n_draws=20, rng=5)
    np.testing.assert_array_equal(asked.drawn, again.drawn)
    assert not np.array_equal(asked.drawn, doubts(predict, vd.Words(), some, share=0.4, n_draws=20, rng=6).drawn)


def test_scores_are_those_of_scikit_learn():
    from sklearn.metrics import balanced_accuracy_score, f1_score

    rng = np.random.default_rng(0)
    stays, trusted = rng.random((5, 80)) < 0.8, rng.random((5, 80)) < 0.7
    found = Trust(stays, trusted)
    pairs = list(zip(stays, trusted, strict=True))
    np.testing.assert_allclose(found.f1, np.mean([f1_score(a, b) for a, b in pairs]))
    np.testing.assert_allclose(found.mistrust_f1, np.mean([f1_score(~a, ~b) for a, b in pairs]))
    np.testing.assert_allclose(found.balanced_accuracy, np.mean([balanced_accuracy_score(a, b) for a, b in pairs]))


def test_the_interval_is_that_of_the_closed_form():
    """Trusting everything, F1 = 2t / (1 + t): its standard error follows from that of t."""
    rng = np.random.default_rng(1)
    n, t = 500, 0.85
    found = Trust(rng.random((1, n)) < t, np.ones((1, n), bool))
    low, high = found.interval("f1")
    own = found.share
    error = 2 / (1 + own) ** 2 * np.sqrt(own * (1 - own) / n)
    np.testing.assert_allclose((high - low) / 2, 1.965 * error, rtol=0.02)
    np.testing.assert_allclose((high + low) / 2, found.f1)
    assert found.interval("mistrust_f1") == (0, 0)


def test_tables_too_where_the_background_fills_in():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) + np.array([3, 0, 0, 0])

    def predict(X):
        return 1 / (1 + np.exp(-(X[:, 0] + 0.01 * X[:, 1])))

    rows = vd.Rows(X, names=["a", "b", "c", "d"])
    asked = doubts(predict, rows, X[:10], untrusted=[{"b", "c"}, {"a"}, {"d", "unknown"}])
    assert asked.stays.all(axis=1).tolist() == [True, True, True]  # without a, another a from the same background
    shifted = vd.Rows(np.vstack([X - [6, 0, 0, 0]] * 2), names=["a", "b", "c", "d"])
    asked = doubts(predict, shifted, X[:10], untrusted=[{"b", "c"}, {"a"}])
    assert asked.stays.all(axis=1).tolist() == [True, False]
    found = asked.user(vd.explain_many(predict, rows, X[:10], method=vd.Lime(n_samples=256)))
    assert found.stays.shape == found.trusted.shape == (2, 10)


def test_explanations_that_cannot_be_read_are_left_out():
    predict, _ = logistic()
    some = texts(6, 12)
    asked = doubts(predict, vd.Words(), some, n_draws=20)
    whys = list(vd.explain_many(predict, vd.Words(), some, target=1, method=vd.Lime(n_samples=128)))
    whys[2] = replace(whys[2], weights=np.full(12, np.nan))
    found = asked.user(whys)
    assert found.unread == 1
    assert found.stays.shape == (20, 5)
    empty = [replace(why, weights=np.zeros(12)) for why in whys]
    assert asked.user(empty, Finds()).trusted.all()


def test_one_class_gives_no_mistrust_to_find():
    asked = doubts(lambda some: np.tile([0.9, 0.1], (len(some), 1)), vd.Words(), texts(5, 8), n_draws=4)
    found = asked.everything()
    assert (found.share, found.f1) == (1, 1)
    assert np.isnan(found.mistrust_f1)
    assert np.isnan(found.balanced_accuracy)
    assert np.isnan(found.interval("mistrust_f1")).all()


def test_one_instance_has_no_interval():
    predict, _ = logistic()
    asked = doubts(predict, vd.Words(), texts(1, 8), n_draws=4)
    assert np.isnan(asked.everything().interval("f1")).all()


def test_records_stay_as_they_are():
    predict, _ = logistic()
    asked = doubts(predict, vd.Words(), texts(3, 8), n_draws=4)
    with pytest.raises(ValueError, match="read-only"):
        asked.stays[0, 0] = True
    same = pickle.loads(pickle.dumps(copy.copy(asked.everything())))
    np.testing.assert_array_equal(same.stays, asked.stays)
    assert str(same) == asked.everything().sentence


class Rigid:
    """A representer whose parts cannot be taken away."""

    def __init__(self) -> None:
        self.words = vd.Words()

    def __call__(self, x):
        return self.each([x]).batch(0, 1)[0]

    def each(self, X):
        inner = self.words.each(X)

        class Each:
            def __len__(self):
                return len(inner)

            def batch(self, start, stop):
                return [type("Stiff", (), {"parts": each.parts})() for each in inner.batch(start, stop)]

        return Each()


def test_errors_teach():
    predict, _ = logistic()
    some = texts(3, 8)
    asked = doubts(predict, vd.Words(), some, n_draws=4)
    whys = vd.explain_many(predict, vd.Words(), some, target=1, method=vd.Lime(n_samples=128))
    with pytest.raises(vd.InputError, match="3 instances, but 2 explanations"):
        asked.user(whys[:2])
    other = vd.explain_many(predict, vd.Words(), texts(3, 9), target=1, method=vd.Lime(n_samples=128))
    with pytest.raises(vd.InputError, match="same representation"):
        asked.user(other)
    with pytest.raises(vd.InputError, match="between 0 and 1"):
        doubts(predict, vd.Words(), some, share=25)
    with pytest.raises(vd.InputError, match="n_draws"):
        doubts(predict, vd.Words(), some, n_draws=0)
    with pytest.raises(vd.InputError, match="one a draw"):
        doubts(predict, vd.Words(), some, untrusted=["w001"])
    with pytest.raises(vd.InputError, match="there are w"):
        doubts(predict, vd.Words(), some, untrusted=[{"other"}])
    with pytest.raises(vd.InputError, match="Removable"):
        doubts(predict, Rigid(), some)
    with pytest.raises(vd.InputError, match="mistrust_f1"):
        asked.everything().interval("accuracy")
    with pytest.raises(vd.InputError, match="call the class"):
        doubts(predict, vd.Words, some)
    with pytest.raises(vd.InputError, match="a model is a function"):
        doubts(3, vd.Words(), some)
    for rng in (None, -1, 1.5):  # None would be another draw each time
        with pytest.raises(vd.InputError, match="rng must be"):
            doubts(predict, vd.Words(), some, rng=rng)
    for rule in (lambda why, gone: [True], lambda why, gone: np.full(len(gone), 0.5)):
        with pytest.raises(vd.InputError, match="each of 4 draws; it gave"):
            asked.user(whys, rule)


def test_a_generator_is_a_seed_too():
    predict, _ = logistic()
    one, two = (doubts(predict, vd.Words(), texts(3, 8), rng=np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(one.drawn, two.drawn)
    again = [one.at_random(3, np.random.default_rng(5)).trusted for _ in range(2)]
    np.testing.assert_array_equal(*again)


def test_who_can_read_nothing_has_no_score():
    predict, _ = logistic()
    some = texts(2, 8)
    whys = vd.explain_many(predict, vd.Words(), some, target=1, method=vd.Occlusion())
    lost = [replace(why, weights=np.full(len(why.weights), np.nan)) for why in whys]
    found = doubts(predict, vd.Words(), some, n_draws=4).user(lost)
    assert np.isnan([found.share, found.f1]).all()
    assert str(found).endswith("; 2 without explanations that can be read are left out")
