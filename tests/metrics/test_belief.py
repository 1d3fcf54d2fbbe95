"""How far the heaviest part of an explanation can be believed: where the truth is known, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import veridical as vd
from tests.builders.methods import linear_lime
from veridical.metrics import belief
from veridical.models.outputs import Model
from veridical.models.targets import resolve

GRID = vd.Grid(4, 4, fill=vd.fills.WholeMean())


def of_one_part(pictures: np.ndarray) -> np.ndarray:
    """A model that reads the part in row 2, column 2 alone."""
    return 1 / (1 + np.exp(2 - pictures[:, 2:4, 2:4].sum(axis=(1, 2))))


def constant(pictures: np.ndarray) -> np.ndarray:
    return np.full(len(pictures), 0.7)


@pytest.fixture
def picture() -> np.ndarray:
    x = np.random.default_rng(0).normal(0, 0.3, (8, 8))
    x[2:4, 2:4] += 2.0
    return x


@pytest.mark.parametrize(
    "method", [vd.Lime(n_samples=128), vd.Occlusion(), vd.methods.Undo(), vd.methods.Either()]
)
def test_the_part_that_decides_is_believed(picture: np.ndarray, method: vd.Lime) -> None:
    why = vd.explain(of_one_part, GRID, picture, method=method)
    verdict = vd.believe(of_one_part, GRID, picture, why)
    assert verdict.passed
    assert verdict.observed > 0.9
    assert "row 2, column 2 is probably the feature that did it" in verdict.sentence
    assert verdict.method == type(method).__name__
    assert {each.name for each in verdict.measures} == set(belief.SIGNS)


def test_another_part_is_not_believed(picture: np.ndarray) -> None:
    why = vd.explain(of_one_part, GRID, picture, method=vd.Occlusion())
    wrong = replace(why, weights=np.roll(why.weights, 3))
    verdict = vd.believe(of_one_part, GRID, picture, wrong)
    assert not verdict.passed
    assert verdict.observed < 0.1
    assert "is probably not" in verdict.sentence
    assert "0 of" in verdict.sentence
    assert any("row 2, column 2" in note for note in verdict.notes)


def test_more_ways_that_agree_are_more_to_believe() -> None:
    for scale in (belief.FILLED, belief.LEFT_OUT):
        sure = dict.fromkeys(belief.SIGNS, 1.0)
        unsure = {**dict.fromkeys(belief.SIGNS, 0.0), "lead by all together": -0.5, "lead by the ways": -0.5}
        assert scale(sure) > 0.9 > 0.3 > scale(unsure)


def test_random_parts_are_rarely_believed(picture: np.ndarray) -> None:
    why = [vd.explain(of_one_part, GRID, picture, method=vd.baselines.RandomParts(), rng=i) for i in range(6)]
    right = [each.weights.argmax() == 5 for each in why]
    chances = [vd.believe(of_one_part, GRID, picture, each).observed for each in why]
    assert all((chance > 0.5) == hit for chance, hit in zip(chances, right, strict=True))


def test_nothing_to_believe(picture: np.ndarray) -> None:
    why = vd.explain(of_one_part, GRID, picture, method=vd.Occlusion())
    nobody = vd.believe(of_one_part, GRID, picture, replace(why, weights=-np.abs(why.weights)))
    assert not nobody.passed
    assert nobody.observed == 0
    assert "no feature speaks" in nobody.sentence
    flat = vd.explain(constant, GRID, picture, method=vd.Occlusion())
    nothing = vd.believe(constant, GRID, picture, replace(flat, weights=np.ones(16)))
    assert not nothing.passed
    assert "no feature changes the output" in nothing.sentence


def test_ways_that_change_nothing_do_not_vote() -> None:
    x = np.zeros((8, 8))
    x[2:4, 2:4] = 2.0  # of rank one: a copy without fine detail is the picture itself
    found = vd.believe(of_one_part, GRID, x, vd.explain(of_one_part, GRID, x, method=vd.Occlusion()))
    assert "3 of 3 ways" in found.sentence


def test_texts_and_tables() -> None:
    def of_a_word(texts: list[str]) -> np.ndarray:
        return np.array([[0.1, 0.9] if "good" in text.split() else [0.8, 0.2] for text in texts])

    text = "a good film about the sea and its people"
    told = vd.believe(of_a_word, vd.Words(), text, vd.explain(of_a_word, vd.Words(), text))
    assert told.passed
    assert told.sentence.startswith("good is probably")

    X = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 4)), columns=list("abcd"))
    X["e"] = np.where(X["a"] > 0, "yes", "no")

    def of_a_column(rows: pd.DataFrame) -> np.ndarray:
        return 1 / (1 + np.exp(-3 * rows["b"].to_numpy()))

    row, rows = X.assign(b=2.0).iloc[0], vd.Rows(X)
    for method in (vd.Occlusion(), vd.Lime(n_samples=128)):
        verdict = vd.believe(of_a_column, rows, row, vd.explain(of_a_column, rows, row, method=method))
        assert verdict.passed
        assert verdict.sentence.startswith("b")


def test_slopes_count_by_how_far_their_number_is() -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))

    def linear(rows: np.ndarray) -> np.ndarray:
        return rows @ np.array([1.0, 0.8, 0.0])

    represent, row = vd.Rows(X, discretize=vd.bins.Continuous()), np.array([0.1, 3.0, 0.0])
    why = vd.explain(linear, represent, row, method=linear_lime())
    assert why.weights.argmax() == 0  # the steeper slope, though its number is hardly any
    verdict = vd.believe(linear, represent, row, why)
    assert verdict.sentence.startswith("x1")
    assert verdict.passed


def test_the_same_seed_gives_the_same_verdict(picture: np.ndarray) -> None:
    why = vd.explain(of_one_part, GRID, picture, method=vd.Lime(n_samples=64))
    one, two = (vd.believe(of_one_part, GRID, picture, why, rng=3) for _ in range(2))
    assert one.observed == two.observed
    assert one.measures == two.measures


def test_a_target_that_is_a_function(picture: np.ndarray) -> None:
    def negated(outputs: np.ndarray) -> np.ndarray:
        return -outputs[:, 0]

    why = vd.explain(of_one_part, GRID, -picture, target=negated, method=vd.Occlusion())
    with pytest.raises(vd.errors.InputError, match="the function 'negated'"):
        vd.believe(of_one_part, GRID, -picture, why)
    assert vd.believe(of_one_part, GRID, -picture, why, target=negated).passed


def test_what_does_not_belong_together_is_refused(picture: np.ndarray) -> None:
    why = vd.explain(of_one_part, GRID, picture, method=vd.Occlusion())
    with pytest.raises(vd.errors.InputError, match="why wants an explanation"):
        vd.believe(of_one_part, GRID, picture, "why")  # type: ignore[arg-type]
    with pytest.raises(vd.errors.InputError, match="has 16 features, and this instance is cut into 4"):
        vd.believe(of_one_part, vd.Grid(2, 2), picture, why)
    with pytest.raises(vd.errors.InputError, match="the model's output"):
        vd.believe(of_one_part, GRID, np.zeros((8, 8)), why)


def test_the_panel_asks_as_often_as_it_says(picture: np.ndarray) -> None:
    asked = [0]

    def counted(pictures: np.ndarray) -> np.ndarray:
        asked[0] += len(pictures)
        return of_one_part(pictures)

    model, representation = Model(counted), GRID(picture)
    target = resolve(None, model, model(picture[None]))
    asked[0] = 0
    found = belief.query_panel(model, representation, target, np.random.SeedSequence(0))
    assert found.n_calls == asked[0]
    assert found.drops.shape == (len(found.strategies), 16)


def test_a_verdict_is_kept(picture: np.ndarray, tmp_path: Path) -> None:
    why = vd.explain(of_one_part, GRID, picture, method=vd.Occlusion())
    verdict = vd.believe(of_one_part, GRID, picture, why)
    path = tmp_path / "verdict.json"
    verdict.save(path)
    again = vd.load(path)
    assert (again.observed, again.sentence, again.notes) == (verdict.observed, verdict.sentence, verdict.notes)
