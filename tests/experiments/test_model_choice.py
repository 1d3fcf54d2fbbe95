"""Which of two forests is better: the experiment's own functions, on reviews made here."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import veridical as vd

EXPERIMENTS = str(Path(__file__).parents[2] / "experiments")
sys.path.insert(0, EXPERIMENTS)  # for these imports alone
try:
    import cells
    import forests
    import model_choice
    import reviews
    import sections.model_choice
finally:
    sys.path.remove(EXPERIMENTS)


def made_reviews(n: int = 80) -> reviews.Reviews:
    """Reviews of made-up words, of which ten tell the label."""
    rng = np.random.default_rng(0)

    def texts(y):
        found = []
        for label in y:
            told = rng.choice(10, 3, replace=False) + 10 * int(label if rng.random() < 0.7 else 1 - label)
            found.append(" ".join(sorted({f"w{j:02d}" for j in [*told, *rng.choice(np.arange(20, 60), 6)]})))
        return found

    y = np.arange(n) % 2
    return reviews.reviews_of("books", 0, (texts(y), y), (texts(y), y))


def test_fake_words_are_in_exactly_their_shares():
    y = np.repeat([0, 1], [50, 30])
    there = forests.sprinkled(y, (0.1, 0.2), np.random.default_rng(0)).toarray()
    np.testing.assert_array_equal(there[y == 0].sum(axis=0), [5] * 10)
    np.testing.assert_array_equal(there[y == 1].sum(axis=0), [6] * 10)
    assert len({tuple(column) for column in there.T}) == 10


def test_a_round_has_the_fake_words_in_rows_and_texts_alike():
    problem = forests.problem_of(made_reviews(), np.random.default_rng(1))
    assert problem.train.shape[0] == 64
    assert problem.valid.shape[0] == len(problem.texts) == len(problem.y_valid) == 16
    for row, text in zip(problem.valid, problem.texts, strict=True):
        assert {problem.words[j] for j in row.indices} == set(text.split())
    assert any("FAKE" in text for text in problem.texts)


def test_leaves_answer_as_the_forests_do():
    rng = np.random.default_rng(2)
    problem = forests.problem_of(made_reviews(), rng)
    grown = [forests.grown(problem, rng)[0] for _ in range(2)]
    leaves = forests.Leaves.of(grown, problem.words)
    wanted = np.stack([forest.predict_proba(problem.valid)[:, 1] for forest in grown], axis=1)
    np.testing.assert_allclose(leaves(problem.texts), wanted)
    np.testing.assert_allclose(forests.alone(leaves, 1)(problem.texts)[:, 0], 1 - wanted[:, 1])
    review = problem.texts[0]
    words = review.split()
    masks = rng.random((20, len(words))) < 0.5
    shorter = [" ".join(w if kept else "" for w, kept in zip(words, mask, strict=True)) for mask in masks]
    np.testing.assert_allclose(leaves.near(review)(shorter), leaves(shorter))
    np.testing.assert_allclose(leaves.near(review)(problem.texts), wanted)  # others are answered too
    swapped = [" ".join([words[1] + "x", *words[1:]])]
    np.testing.assert_allclose(leaves.near(review)(swapped), leaves(swapped))


def test_a_forest_that_never_saw_a_fake_word_does_not_use_it():
    rng = np.random.default_rng(3)
    problem = forests.problem_of(made_reviews(), rng)
    seen, unseen = (forests.Leaves.of([forests.grown(problem, rng, k)[0]], problem.words) for k in (0, 10))
    assert any(word.startswith("FAKE") for word in seen.at)
    assert not any(word.startswith("FAKE") for word in unseen.at)


def test_pairs_are_equal_in_validation_and_apart_on_the_test(monkeypatch):
    told = {"clean": [(5, 30), (7, 32)], "seen": [(6, 30), (6, 33), (6, 37), (7, 20)]}
    left = {name: iter(values) for name, values in told.items()}

    def grown(problem, rng, without=0):
        valid, test = next(left["clean" if without else "seen"])
        return f"{valid} {test}", valid, test

    monkeypatch.setattr(forests, "grown", grown)
    problem = SimpleNamespace(test=np.zeros((100, 1)))
    found = forests.found(problem, np.random.default_rng(0))
    assert sorted(found.test) == [30, 37]
    assert found.valid == (6, 6)
    assert found.test[found.better] == 37
    assert found.tried == 3
    left["seen"] = iter([(6, 30), (7, 33)])
    planted = forests.planted(problem, np.random.default_rng(0))
    assert planted.forests[planted.better] == "7 32"
    assert planted.tried == 4
    monkeypatch.setattr(forests, "TRIES", 2)
    left["seen"] = iter(told["seen"])
    assert forests.found(problem, np.random.default_rng(0)) is None


@pytest.fixture(scope="module")
def choices() -> list[cells.Cell]:
    """Rounds of made-up reviews, found and planted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reviews, "load", lambda domain, split, data: made_reviews(160))
        patch.setattr(model_choice, "SAMPLES", 128)
        patch.setattr(model_choice, "REPEATS", 2)
        patch.setattr(forests, "TREES", 10)
        books = model_choice.plan({"found": 2}, ["books"])
        wanted = [*books, *model_choice.plan({"found": 1, "planted": 1}, ["dvd"], 1)]
        return [{**cell, **model_choice.measure(cell, Path())} for cell in wanted]


def test_a_round_of_choices(choices):
    assert len(choices) == 4
    for cell in choices:
        assert cell["sp"].startswith("50 ")  # who sees nothing cannot tell
        assert cell["rp"].startswith("50 ")
        assert len(cell["sp"].split()) == 31
        assert ("greedy_sp" in cell) == (cell["round"] == 0)
        assert model_choice.show(cell)
        if cell["pair"] == "found":
            assert cell["gap"] >= 0.05
            assert cell["sp"].split()[-1] == cell["all"]
        else:
            assert cell["flips"][0] == 0
            assert cell["sp"].split()[10] == "100"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reviews, "load", lambda domain, split, data: made_reviews(160))
        patch.setitem(model_choice.PAIRS, "found", lambda problem, rng: None)
        nothing = model_choice.measure(choices[0], Path())
    assert nothing["skipped"]
    assert "skipped" in model_choice.show(nothing)


def test_choices_are_told_with_their_errors(choices, tmp_path):
    shown = sections.model_choice
    lost = {"domain": "dvd", "pair": "found", "round": 9, "error": "no"}
    skipped = {"domain": "dvd", "pair": "found", "round": 8, "skipped": True, "tried": 300, "seconds": {}}
    text = shown.tables([*choices, lost, skipped])
    assert "* dvd, found 9: no" in text
    assert "| SP-LIME " in text
    assert "| found, DVDs | 1 | 1 | " in " ".join(text.split())
    values = shown.curve(choices, "sp")
    assert values.shape == (4, 31)
    mean, error = shown.mean_error(np.array([[0.0], [100.0]]))
    assert (mean[0], error[0]) == (50, 50)
    made = [{"sp": "50 0 0 100 100 70", "rp": "50 0 0 40 50 60"}] * 2
    np.testing.assert_allclose(shown.early(made), 40)
    shown.figures([*choices, skipped], tmp_path)
    assert (tmp_path / "model_choice.svg").exists()


def test_a_run_that_is_stopped_has_some_of_each():
    told = model_choice.plan({"found": 4, "planted": 2}, ["books", "dvd"], 10)
    assert len({tuple(cell.values()) for cell in told}) == len(told) == 12
    assert [(cell["pair"], cell["round"]) for cell in told[::2]] == [
        ("found", 10), ("planted", 10), ("found", 11), ("found", 12), ("planted", 11), ("found", 13),
    ]  # fmt: skip


def test_only_words_that_are_certain_are_shown():
    text = " ".join(f"w{j:02d}" for j in range(20))
    rng = np.random.default_rng(0)
    noise = {}

    def predict(texts):
        return [0.5 * ("w03" in t) + 0.1 * noise.setdefault(t, rng.normal()) for t in texts]

    why = vd.explain(predict, reviews.WORDS, text, method=vd.Lime(n_samples=256))
    shown = model_choice.certain(why)
    assert shown.top(1)[0][0] == "w03"
    assert np.count_nonzero(shown.weights) < 5 < 20 == np.count_nonzero(why.weights)
    kept = shown.weights != 0
    np.testing.assert_array_equal(shown.weights[kept], why.weights[kept])
    exact = vd.explain(lambda texts: [t.count("w") for t in texts], reviews.WORDS, "w1 w2 w3")
    np.testing.assert_allclose(model_choice.certain(exact).weights, 1)


def test_model_choice_says_what_is_missing(tmp_path):
    with pytest.raises(SystemExit, match="model_choice: missing: "):
        model_choice.main(model_choice.arguments().parse_args(["--data", str(tmp_path)]))
