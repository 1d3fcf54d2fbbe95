"""Simulated users: what they are given is checked, how they choose between models, and which predictions they trust."""

from __future__ import annotations

import copy
import pickle
import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import users
import veridical as vd
from tests.builders.explanations import mushroom
from users import Choice, Chooser, Crosses, Finds, Reading, Subtracts, Trust, choose, contains, doubts, flips
from veridical.errors import InputError
from veridical.records import Part


def _no_number(predict: Any) -> Any:
    return None


TEXTS = ["a good film", "a bad film seen on dvd", "good acting on dvd"]


def _good(texts: Any) -> Any:
    return [0.8 if "good" in text or "dvd" in text else 0.2 for text in texts]


@cache
def many() -> vd.Explanations:
    return vd.explain_many(_good, vd.Words(), TEXTS)


def _study(**changed: Any) -> users.Study:
    known = {"fit": lambda removed: _good, "explain": lambda *_: many(), "choose": lambda *_: [0]}
    return users.Study(**{**known, "hidden": {"one": lambda predict: 1.0}, **changed})


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: users.doubts(_good, vd.Words(), TEXTS, untrusted=5), "untrusted must be a list, not 5"),
        (lambda: users.doubts(_good, vd.Words(), TEXTS, share="a"), "between 0 and 1, not 'a'"),
        (lambda: users.doubts(_good, vd.Words(), TEXTS, threshold="a"), "threshold must be a number, not 'a'"),
        (lambda: users.doubts(_good, vd.Words(), TEXTS).user([1, 2, 3]), "there is a int in it"),
        (lambda: users.doubts(_good, vd.Words(), TEXTS).user(None), "explanations must be a list, not None"),
        (lambda: users.doubts(_good, vd.Words(), TEXTS).user(many(), None), "believe wants a function"),
        (lambda: users.choose([1], [2], {"dvd"}), "first must be a list of explanations"),
        (lambda: users.choose(many(), None, {"dvd"}), "second must be a list, not None"),
        (lambda: users.choose(many(), many(), {"dvd"}, mistrust=None), "mistrust wants a function"),
        (lambda: users.clean(_study(), users.Rule(bool), fan=3), "fan must be a list, not 3"),
        (lambda: _study(hidden=[1]), "hidden must be scores by their names"),
        (lambda: _study(fit=None), "fit wants a function"),
        (
            lambda: users.clean(_study(hidden={"a": _no_number}), users.Rule(bool)),
            "the score 'a' must be a number",
        ),
        (lambda: users.clean(_study(explain=lambda *_: None), users.Rule(bool)), "what explain returns must be"),
        (lambda: users.clean(_study(choose=lambda *_: None), users.Rule(bool)), "what choose returns must be"),
        (lambda: users.clean(_study(), lambda *_: None), "what a user removes must be a list, not None"),
    ],
)
def test_what_users_are_given_is_checked(call: Any, told: str) -> None:
    with pytest.raises(vd.errors.InputError, match=re.escape(told)):
        call()


# Choosing between two models.


FAKES = ("fake0", "fake1", "fake2")


def made(weights: dict[str, float], local: float) -> vd.Explanation:
    """An explanation with these weights, by hand."""
    parts = tuple(Part(f"{name} = 1", name, "not zero", 1.0) for name in weights)
    values = np.array(list(weights.values()))
    intervals = np.stack([values, values], axis=1)
    return replace(mushroom(), parts=parts, weights=values, intervals=intervals, local_prediction=local)


def slowly(first, second, untrusted, rows, k):
    """The choice by the words of the paper, one explanation at a time."""
    counts, marks = [], []
    for many, looked in zip((first, second), rows, strict=True):
        marked = set()
        for i in looked:
            shown = [name.split(" = ")[0] for name, _ in many[i].top(k)]
            marked |= {name for name in shown if name in untrusted}
        count = 0
        for why in many:
            without = why.local_prediction
            for part, weight in zip(why.parts, why.weights, strict=True):
                if part.column in marked:
                    without -= weight
            count += (without > 0.5) != (why.local_prediction > 0.5)
        counts.append(count)
        marks.append(tuple(sorted(marked)))
    return (None if counts[0] == counts[1] else int(counts[1] < counts[0])), tuple(counts), tuple(marks)


def drawn(rng: np.random.Generator, n: int = 40) -> list[vd.Explanation]:
    words = [*FAKES, *(f"word{j}" for j in range(8))]
    found = []
    for _ in range(n):
        there = rng.choice(words, 6, replace=False)
        found.append(made({str(w): float(rng.normal(0, 0.2)) for w in there}, float(rng.random())))
    return found


def test_the_choice_is_that_of_a_slow_loop():
    rng = np.random.default_rng(0)
    chosen = []
    for _ in range(20):
        first, second = drawn(rng), drawn(rng)
        rows = rng.integers(0, 40, 4), rng.integers(0, 40, 3)
        found = choose(first, second, FAKES, shown=rows, k=3)
        assert (found.chosen, found.mistrusted, found.marked) == slowly(first, second, FAKES, rows, 3)
        chosen.append(found.chosen)
    assert {0, 1} <= set(chosen)


def test_who_is_shown_nothing_cannot_tell():
    first, second = drawn(np.random.default_rng(1)), drawn(np.random.default_rng(2))
    found = choose(first, second, FAKES, shown=[])
    assert found.chosen is None
    assert found.mistrusted == (0, 0)
    assert found.marked == ((), ())
    assert found.right(0) == found.right(1) == 0.5
    assert found.sentence.startswith("a tie: 0 and 0 of 40")


def test_models_that_never_use_the_parts_tie_whatever_is_shown():
    first = [made({"fake0": 0.0, "word": 0.3}, 0.6)] * 3
    found = choose(first, first, FAKES)
    assert found.chosen is None
    assert found.marked == ((), ())


def test_marks_are_of_each_model_apart():
    using, clean = made({"fake0": 0.3, "word": 0.3}, 0.6), made({"fake0": 0.0, "word": 0.3}, 0.6)
    found = choose([clean, clean], [using, clean], {"fake0"}, shown=[0])
    assert found.marked == ((), ("fake0",))
    assert found.mistrusted == (0, 1)
    assert (found.chosen, found.right(0), found.right(1)) == (0, 1.0, 0.0)
    other = choose([clean, clean], [using, clean], {"fake0"}, shown=([0], [1]))
    assert other.chosen is None
    assert str(choose([using, clean], [clean, clean], {"fake0"})).startswith("the second model: 1 and 0 of 2")


def test_only_the_heaviest_parts_are_come_across_but_all_weights_count():
    why = made({"word": 0.5, "fake0": -0.3, "fake1": 0.2}, 0.6)
    assert Reading.of([why], FAKES, 1).seen.sum() == 0
    two = Reading.of([why], FAKES, 2)
    np.testing.assert_array_equal(two.seen, [[True, False, False]])
    np.testing.assert_allclose(two.weights, [[-0.3, 0.2, 0]])
    chooser = Chooser(two, two)
    assert chooser([0]).marked == (("fake0",), ("fake0",))


def test_parts_are_named_by_themselves_or_by_their_column():
    why = made({"fake0": 0.3, "word": 0.3}, 0.6)
    by_part, by_column = Reading.of([why], {"fake0 = 1"}), Reading.of([why], {"fake0"})
    np.testing.assert_array_equal(by_part.weights, by_column.weights)
    double = replace(why, parts=(Part("low", "fake0", "≤", 1), Part("high", "fake0", ">", 1)))
    np.testing.assert_allclose(Reading.of([double], {"fake0"}).weights, [[0.6]])


def test_weights_that_are_no_sum_are_read_as_lists():
    shows, hides = made({"fake0": 0.01, "word": 0.3}, 0.9), made({"word": 0.3}, 0.6)
    found = choose([shows, hides], [hides, hides], {"fake0"}, mistrust=contains)
    assert found.mistrusted == (1, 0)
    assert choose([shows, hides], [hides, hides], {"fake0"}).mistrusted == (0, 0)


def test_the_threshold_is_a_setting():
    why = made({"fake0": 0.1, "word": 0.3}, 0.35)
    assert choose([why], [why], {"fake0"}).mistrusted == (0, 0)
    assert choose([why], [why], {"fake0"}, mistrust=Crosses(0.3)).mistrusted == (1, 1)


def test_picks_say_what_is_shown():
    first, second = drawn(np.random.default_rng(3)), drawn(np.random.default_rng(4))
    one, other = vd.pick(first, 3, k=3), vd.pick(second, 3, k=3)
    both = choose(first, second, FAKES, shown=(one, other), k=3)
    assert both.marked == choose(first, second, FAKES, shown=(one.chosen, other.chosen), k=3).marked
    side = vd.picks.pick_for_two(first, second, 3)
    assert (
        choose(first, second, FAKES, shown=side).marked == choose(first, second, FAKES, shown=side.chosen).marked
    )
    assert choose(first, second, FAKES, shown=range(40)).mistrusted == choose(first, second, FAKES).mistrusted


def test_explanations_that_are_no_numbers_are_left_out_and_counted():
    good, bad = made({"fake0": 0.3, "word": 0.3}, 0.6), made({"fake0": np.inf, "word": 0.3}, 0.6)
    found = choose([good, good, bad], [good, bad, bad], {"fake0"})
    assert found.mistrusted == (1, 1)  # who cannot be read is not the better for it
    assert (found.n, found.unread, found.chosen) == (1, (1, 2), None)
    assert found.marked == (("fake0",), ("fake0",))
    assert str(found).endswith("; 1 and 2 explanations cannot be read")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"second": []}, "both models must explain the same instances"),
        ({"first": [], "second": []}, "no explanations"),
        ({"untrusted": "fake0"}, "untrusted wants a set of names"),
        ({"untrusted": set()}, "untrusted is empty"),
        ({"untrusted": None}, "untrusted wants a set of names"),
        ({"shown": 3}, "shown wants a pick or row numbers"),
        ({"untrusted": {"fkae"}}, "no part of any explanation is called 'fkae'"),
        ({"shown": [2]}, "shown names row 2, but rows are 0 to 1"),
        ({"shown": [-1]}, "shown names row -1"),
        ({"shown": [0.5]}, "shown wants a pick or row numbers"),
        ({"k": 0}, "k must be a whole number"),
    ],
)
def test_bad_input(change, told):
    why = made({"fake0": 0.3, "word": 0.3}, 0.6)
    settings = {
        "first": [why, why],
        "second": [why, why],
        "untrusted": {"fake0"},
        "shown": None,
        "k": None,
        **change,
    }
    with pytest.raises(InputError, match=told):
        choose(
            settings["first"],
            settings["second"],
            settings["untrusted"],
            shown=settings["shown"],
            k=settings["k"],
        )


def test_a_rule_of_ones_own_is_checked():
    why = made({"fake0": 0.3, "word": 0.3}, 0.6)
    found = choose(
        [why], [why], {"fake0"}, mistrust=lambda reading, marked: reading.weights[:, marked].sum(1) > 0.2
    )
    assert found.mistrusted == (1, 1)
    with pytest.raises(InputError, match="mistrust must say True or False of each of 1 predictions"):
        choose([why], [why], {"fake0"}, mistrust=lambda reading, marked: reading.weights @ marked)


def test_one_choice_more_or_less_is_no_tie():
    assert [Choice.by(c, ((), ()), n=9).chosen for c in ((1, 2), (2, 1), (3, 3))] == [0, 1, None]


def test_the_oracle_asks_the_model_itself():
    X = csr_matrix([[1.0, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1]])

    def value(rows):
        return rows.toarray() @ [0.6, 0.3, 0.4]

    rows = vd.Rows(X, names=["fake0", "good", "word"])
    np.testing.assert_array_equal(flips(value, rows, X, {"fake0"}), [True, False, True, False])
    np.testing.assert_array_equal(flips(value, rows, X, {"fake0"}, threshold=0.95), [True, False, False, False])
    texts = ["fake0 word", "good word", "fake0 good", "word"]

    def classes(texts):
        p = np.array([0.6 * ("fake0" in t) + 0.3 * ("good" in t) + 0.4 * ("word" in t) for t in texts])
        return np.stack([1 - p, p], axis=1)

    np.testing.assert_array_equal(flips(classes, vd.Words(), texts[:3], {"fake0"}), [True, False, True])


def test_the_oracle_takes_the_mean_where_the_background_is_drawn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    rows = vd.Rows(X, names=["fake0", "word"])

    def sure(rows):
        return 1 / (1 + np.exp(-4 * np.asarray(rows) @ [2.0, 1.0]))

    found = flips(sure, rows, [[2.0, -1.0], [2.0, 1.0]], {"fake0"})
    np.testing.assert_array_equal(found, [True, False])
    again = flips(sure, rows, [[2.0, -1.0], [2.0, 1.0]], {"fake0"})
    np.testing.assert_array_equal(found, again)


def test_the_oracle_says_what_it_needs():
    class Bare:
        parts = (Part("fake0", "fake0", "word"),)

    class Represent:
        def __call__(self, x):
            return Bare()

        def each(self, X):
            return self

        def __len__(self):
            return 1

        def batch(self, start, stop):
            return [Bare()]

    with pytest.raises(InputError, match="Removable"):
        flips(lambda rows: rows, Represent(), [0], {"fake0"})


def test_of_a_planted_pair_the_honest_model_is_chosen():
    """Two models equally good where they were validated; one of them uses fake words."""
    rng = np.random.default_rng(0)
    words = [f"word{j}" for j in range(12)]
    honest = dict(zip(words, rng.normal(0, 1, 12), strict=True))

    def model(weights):
        def predict(texts):
            sums = np.array([sum(weights.get(word, 0.0) for word in text.split()) for text in texts])
            return 1 / (1 + np.exp(-sums))

        return predict

    right = []
    for _ in range(10):
        texts = [
            " ".join([*rng.choice(words, 5, replace=False), *(f for f in FAKES if rng.random() < 0.3)])
            for _ in range(30)
        ]
        leaky = {**honest, **dict.fromkeys(FAKES, 1.5)}
        better = int(rng.integers(2))
        pair = (honest, leaky) if better == 0 else (leaky, honest)
        many = [vd.explain_many(model(w), vd.Words(), texts, method=vd.Lime(n_samples=64)) for w in pair]
        shown = tuple(vd.pick(m, 10, k=5) for m in many)
        right.append(choose(*many, FAKES, shown=shown, k=5).right(better))
    assert right == [1.0] * 10


# Trusting or mistrusting predictions: closed forms, null users, bad input.


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
    with pytest.raises(vd.errors.InputError, match="3 instances, but 2 explanations"):
        asked.user(whys[:2])
    other = vd.explain_many(predict, vd.Words(), texts(3, 9), target=1, method=vd.Lime(n_samples=128))
    with pytest.raises(vd.errors.InputError, match="same representation"):
        asked.user(other)
    with pytest.raises(vd.errors.InputError, match="between 0 and 1"):
        doubts(predict, vd.Words(), some, share=25)
    with pytest.raises(vd.errors.InputError, match="n_draws"):
        doubts(predict, vd.Words(), some, n_draws=0)
    with pytest.raises(vd.errors.InputError, match="one a draw"):
        doubts(predict, vd.Words(), some, untrusted=["w001"])
    with pytest.raises(vd.errors.InputError, match="there are w"):
        doubts(predict, vd.Words(), some, untrusted=[{"other"}])
    with pytest.raises(vd.errors.InputError, match="Removable"):
        doubts(predict, Rigid(), some)
    with pytest.raises(vd.errors.InputError, match="mistrust_f1"):
        asked.everything().interval("accuracy")
    with pytest.raises(vd.errors.InputError, match="call the class"):
        doubts(predict, vd.Words, some)
    with pytest.raises(vd.errors.InputError, match="a model is a function"):
        doubts(3, vd.Words(), some)
    for rng in (None, -1, 1.5):  # None would be another draw each time
        with pytest.raises(vd.errors.InputError, match="rng must be"):
            doubts(predict, vd.Words(), some, rng=rng)
    for rule in (lambda why, gone: [True], lambda why, gone: np.full(len(gone), 0.5)):
        with pytest.raises(vd.errors.InputError, match="each of 4 draws; it gave"):
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
