"""A simulated user who chooses between two models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import veridical as vd
from explanations import mushroom
from veridical.errors import InputError
from veridical.evaluate.users import Choice, Chooser, Crosses, Reading, choose, contains, flips
from veridical.records import Part

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
    side = vd.pick_for_two(first, second, 3)
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
