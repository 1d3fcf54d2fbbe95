"""What lime's explanations promise, and what ours add."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veridical.compat.lime.explainers import LimeTabularExplainer, LimeTextExplainer
from veridical.compat.lime.explanations import (
    DomainMapper,
    Explanation,
    ImageExplanation,
    IndexedCharacters,
    IndexedString,
    LabeledFloat,
    LimeError,
    LimeWarning,
    TableDomainMapper,
    TextDomainMapper,
    id_generator,
)
from veridical.errors import InputError

EVIL = "<script>alert(1)</script>\"'&"
X = np.random.default_rng(0).normal(size=(60, 3))


def predict(rows: Any) -> Any:
    p = 1 / (1 + np.exp(-rows[:, 0]))
    return np.stack([1 - p, p / 3, 2 * p / 3], axis=1)


def explained(**settings: Any) -> Explanation:
    explainer = LimeTabularExplainer(X, feature_names=["a", "b", "c"], class_names=["x", "y", "z"])
    return explainer.explain_instance(X[0], predict, num_samples=200, **settings)


def by_hand(mode: str = "classification") -> Explanation:
    exp = Explanation(TableDomainMapper([EVIL, "b"], ["1", "2"], np.ones(2), [0, 1]), mode, [EVIL, "z"])
    exp.local_exp = {1: [(0, 0.5), (1, -0.25)]}
    exp.intercept = {1: 0.1}
    if mode == "classification":
        exp.predict_proba = np.array([0.25, 0.75])
    else:
        exp.predicted_value = 3.0
    return exp


def test_the_likeliest_label_stands_in_for_the_default_with_one_warning() -> None:
    exp = explained(labels=(0, 2))
    likeliest = max((0, 2), key=lambda label: exp.predict_proba[label])
    with pytest.warns(LimeWarning, match=f"this is label {likeliest}, the likeliest"):
        found = exp.as_list()
    assert exp.as_list() == found == exp.as_list(label=likeliest), "which is not said again"
    with pytest.raises(KeyError, match=r"label 1 was not explained: there are \[0, 2\]"):
        exp.as_list(label=1)
    top = explained(top_labels=2)
    assert top.available_labels() == top.top_labels
    with pytest.raises(KeyError, match="'y'"):
        top.as_list("y")  # type: ignore[arg-type]
    with pytest.raises(KeyError, match=r"there are \[\]"):
        Explanation(DomainMapper()).as_list()


def test_scores_are_numbers_that_take_a_label() -> None:
    exp = explained(labels=(0, 2))
    assert exp.score == exp.score[2] == exp.veridical[2].fidelity
    assert exp.score[0] == exp.veridical[0].fidelity
    assert exp.local_pred[2] == exp.local_pred == exp.veridical[2].local_prediction
    assert json.loads(json.dumps({"score": exp.score})) == {"score": float(exp.score)}
    with pytest.raises(KeyError):
        exp.score[5]
    only = LabeledFloat.of({1: 0.5})
    assert only[0] == 0.5, "as the array of lime 0.2.0.1"
    assert (len(only), list(only)) == (1, [1])
    assert pickle.loads(pickle.dumps(only))[1] == 0.5


def test_that_scores_are_out_of_sample_is_said_once(notes: set[str]) -> None:
    notes.discard("score")
    exp = explained()
    with pytest.warns(LimeWarning, match="not fitted to") as heard:
        _ = exp.score, exp.score
    assert len(heard) == 1


def test_numbers_are_plain_python() -> None:
    exp = explained(labels=(0, 1))
    for label, pairs in exp.as_map().items():
        assert type(label) is int
        assert {(type(id_), type(weight)) for id_, weight in pairs} == {(int, float)}
        assert {(type(name), type(weight)) for name, weight in exp.as_list(label)} == {(str, float)}
    assert json.loads(json.dumps(exp.as_list(1))) == [list(pair) for pair in exp.as_list(1)]


def test_ours_is_beside_lime() -> None:
    exp = explained(labels=(1,))
    why = exp.veridical[1]
    assert exp.verdict is why.verdict
    assert dict(exp.local_exp[1]) == dict(enumerate(why.weights))
    assert exp.intervals[1][0] == tuple(why.intervals[0])
    assert why.target == "y"


def test_pages_are_ours_and_take_all_of_limes_arguments(tmp_path: Path) -> None:
    exp = explained(labels=(0, 1))
    page = exp.as_html(labels=[1, 0], predict_proba=False, show_predicted_value=False, show_table=True, text=False)
    assert page.startswith("<!DOCTYPE html>")
    assert page.index(">y<") < page.index(">x<")
    assert "Content-Security-Policy" in page
    exp.save_to_file(tmp_path / "page.htm", labels=[1], opacity=True, show_all=True)
    assert (tmp_path / "page.htm").read_text(encoding="utf-8") == exp.as_html(labels=[1])
    with pytest.raises(KeyError):
        exp.as_html(labels=[2])
    with pytest.warns(LimeWarning, match="'colour', which has no effect"):
        exp.as_html(colour="red")


@pytest.mark.parametrize("mode", ["classification", "regression"])
def test_pages_of_what_was_built_by_hand_are_escaped(mode: str) -> None:
    page = by_hand(mode).as_html()
    assert EVIL not in page
    assert "&lt;script&gt;" in page
    assert "-0.25" in page
    assert ("0.75" in page) == (mode == "classification")


def test_hostile_names_stay_text_on_our_pages() -> None:
    explainer = LimeTabularExplainer(X, feature_names=[EVIL, EVIL, ""], class_names=[EVIL, "y", "z"])
    exp = explainer.explain_instance(X[0], predict, num_samples=100, labels=(0, 1))
    assert EVIL in exp.as_list()[0][0] + exp.as_list()[1][0]
    assert "<script>alert" not in exp.as_html()
    text = LimeTextExplainer(split_expression=" ").explain_instance(
        f"{EVIL} is bad", lambda texts: np.array([[len(t) % 2, 1 - len(t) % 2] for t in texts])
    )
    assert "<script>alert" not in text.as_html()


def test_notebooks_get_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    display = pytest.importorskip("IPython.display")
    shown: list[str] = []
    monkeypatch.setattr(display, "display", lambda page: shown.append(page.data))
    explained(labels=(1,)).show_in_notebook(show_table=True, show_all=False)
    by_hand().show_in_notebook(text=True)
    assert 'class="vd"' in shown[0]
    assert "Prediction probabilities" in shown[1]


def test_figures_are_ours(pyplot: Any) -> None:
    exp = explained(labels=(1,))
    assert tuple(exp.as_pyplot_figure().get_size_inches()) != (4, 4)
    assert tuple(exp.as_pyplot_figure(label=1, figsize=(5, 3)).get_size_inches()) == (5, 3)
    drawn = by_hand().as_pyplot_figure(figsize=(6, 2))
    assert [label.get_text() for label in drawn.axes[0].get_yticklabels()] == ["b", EVIL]


def test_modes_and_labels_of_regression() -> None:
    with pytest.raises(LimeError, match="mode is"):
        Explanation(DomainMapper(), mode="both")
    exp = by_hand("regression")
    assert exp.as_list() == exp.as_list(label=7)
    assert (exp.dummy_label, exp.class_names) == (1, ["negative", "positive"])
    with pytest.raises(NotImplementedError):
        exp.available_labels()


def test_mappers_of_other_people_get_their_arguments() -> None:
    class Own(DomainMapper):
        def map_exp_ids(self, exp: Any, upper: bool = False, **kwargs: Any) -> Any:
            return [("A" if upper else "a", weight) for _, weight in exp]

    exp = Explanation(Own())
    exp.local_exp = {1: [(0, 0.5)]}
    assert exp.as_list(upper=True) == [("A", 0.5)]
    assert DomainMapper().map_exp_ids([(1, 2.0)]) == [(1, 2.0)]
    assert DomainMapper().visualize_instance_html([], 1, "a", "b") == ""
    with pytest.warns(LimeWarning, match="as_list was given 'positions'"):
        by_hand().as_list(positions=True)


def test_explanations_pickle_and_take_attributes() -> None:
    exp = explained(labels=(0, 1))
    exp.extra = 1  # type: ignore[attr-defined]
    again = pickle.loads(pickle.dumps(exp))
    assert again.as_list(0) == exp.as_list(0)
    assert again.as_html() == exp.as_html()
    assert (again.extra, again.score[0]) == (1, exp.score[0])


def test_a_name_is_random_unless_it_is_seeded() -> None:
    assert len(id_generator()) == 15
    seeds = np.random.RandomState(0), np.random.RandomState(0)
    assert id_generator(5, seeds[0]) == id_generator(5, seeds[1])


TEXT = "  not bad, not good-ish: bad! "


def test_words_are_found_where_they_stand() -> None:
    words = IndexedString(TEXT)
    assert words.as_list == ["  ", "not", " ", "bad", ", ", "not", " ", "good", "-", "ish", ": ", "bad", "! "]
    assert words.inverse_vocab == ["not", "bad", "good", "ish"]
    assert words.positions == [[1, 5], [3, 11], [7], [9]]
    assert words.string_position(1).tolist() == [6, 25]
    assert (words.num_words(), words.word(2), words.raw_string()) == (4, "good", TEXT)
    assert words.inverse_removing([]) == TEXT
    assert words.inverse_removing([0, 3]) == "   bad,  good-: bad! "
    assert "".join(TEXT[a:b] for a, b in words.spans[0]) == "notbadnotgoodishbad"


def test_occurrences_apart_are_masked() -> None:
    words = IndexedString(TEXT, bow=False)
    assert words.num_words() == 6
    assert words.inverse_removing([0]) == "  UNKWORDZ bad, not good-ish: bad! "
    assert IndexedString(TEXT, bow=False, mask_string="?").inverse_removing([1]).startswith("  not ?, ")
    letters = IndexedCharacters("aba", bow=False)
    assert letters.inverse_removing([0]) == "\0ba"
    assert IndexedCharacters("aba").inverse_removing([0]) == "b"
    assert IndexedCharacters("aba").positions == [[0, 2], [1]]


def test_tokens_may_come_from_a_function() -> None:
    words = IndexedString("aabbaa", lambda text: [text[i : i + 2] for i in range(0, len(text), 2)])
    assert words.inverse_vocab == ["aa", "bb"]
    assert IndexedString("a, b", lambda text: ["a", "", "b"]).as_list == ["a", ", ", "b"]
    with pytest.raises(ValueError, match="'zz', which is not in the text"):
        IndexedString("abc", lambda text: ["zz"])
    with pytest.raises(InputError, match="split_expression failed with TypeError"):
        IndexedString("abc", lambda: [])
    for bad in ("(", 5, None):
        with pytest.raises(InputError, match=r"split_expression .* is no pattern"):
            IndexedString("abc", bad)
    for empty in ("", "!?", "   "):
        assert IndexedString(empty).num_words() == 0
        assert IndexedString(empty).inverse_removing([]) == empty


def test_words_are_named_by_their_positions() -> None:
    mapper = TextDomainMapper(IndexedString(TEXT))
    assert mapper.map_exp_ids([(1, 0.5)]) == [("bad", 0.5)]
    assert mapper.map_exp_ids([(1, 0.5)], positions=True) == [("bad_6-25", 0.5)]
    apart = TextDomainMapper(IndexedString(TEXT, bow=False))
    assert apart.map_exp_ids([(5, 0.5)], positions=True) == [("bad_25", 0.5)]


def picture() -> ImageExplanation:
    segments = np.repeat([[2, 5, 9, 9]], 4, axis=0)
    exp = ImageExplanation(np.full((4, 4, 3), 0.5), segments)
    exp.local_exp = {0: [(5, -0.6), (2, 0.4), (9, 0.1)]}
    return exp


def test_masks_of_segments() -> None:
    exp = picture()
    shown, mask = exp.get_image_and_mask(0, hide_rest=True)
    assert mask[0].tolist() == [1, 0, 1, 1]
    assert shown[0, :, 0].tolist() == [0.5, 0, 0.5, 0.5]
    _, mask = exp.get_image_and_mask(0, num_features=1)
    assert mask[0].tolist() == [1, 0, 0, 0]
    _, mask = exp.get_image_and_mask(0, min_weight=0.2)
    assert mask[0].tolist() == [1, 0, 0, 0]
    _, mask = exp.get_image_and_mask(0, positive_only=False, negative_only=True)
    assert mask[0].tolist() == [0, 1, 0, 0]
    exp.image[0, 0] = 1.0
    shown, mask = exp.get_image_and_mask(0, positive_only=False, min_weight=0.2)
    assert mask[1].tolist() == [1, -1, 0, 0]
    assert shown[1].tolist() == [[0.5, 1, 0.5], [1, 0.5, 0.5], [0.5] * 3, [0.5] * 3]
    assert exp.image[1, 0].tolist() == [0.5] * 3, "which is not changed"


def test_masks_of_what_was_not_explained() -> None:
    with pytest.raises(KeyError, match=r"label 7 was not explained: there are \[0\]"):
        picture().get_image_and_mask(7)
    with pytest.raises(ValueError, match="exclude each other"):
        picture().get_image_and_mask(0, positive_only=True, negative_only=True)
