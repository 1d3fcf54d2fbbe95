"""Pipelines of word counts are asked without strings: the same answers, or the strings are made after all."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.svm import LinearSVC

import veridical as vd
from tests.builders.contracts import Spy, bits
from veridical.methods import engine
from veridical.representations import words

GOOD = [
    "a good, good film",
    "what a fine cast!",
    "The Best film of the year",
    "good fun, naïve café",
    "I'm so glad",
]
BAD = ["a bad film", "awful cast and a dull plot", "the worst of the year", "bad, boring café", "don't see it"]
TEXTS = [*GOOD, *BAD] * 2
Y = np.array([1] * 5 + [0] * 5 + [1] * 5 + [0] * 5)
X = (
    "The film had a good, GOOD plot and a naïve cast; I'm glad. Yet the end was bad, the cafe scene was dull "
    "and so boring that I don't remember it. Still the best of the year, what fun!"
)
METHOD = vd.Lime(n_samples=400)


def fitted(vectorizer: Any, model: Any = None, *between: Any) -> Any:
    model = LogisticRegression(C=10.0) if model is None else model
    return make_pipeline(vectorizer, *between, model).fit(TEXTS, Y)


class Asked:
    """Counts the strings that a pipeline is given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.n = 0
        whole = Pipeline.predict_proba

        for method in ("predict_proba", "predict_log_proba", "decision_function", "predict"):
            whole = getattr(Pipeline, method)
            monkeypatch.setattr(Pipeline, method, self.counting(whole))

    def counting(self, whole: Any) -> Any:
        class Counting:
            """A descriptor, as scikit-learn's own methods are."""

            def __get__(_, pipeline: Any, owner: Any = None) -> Any:  # noqa: N805 - self is the outer one
                bound = whole.__get__(pipeline, owner) if pipeline is not None else whole

                def ask(pipeline: Any, X: Any) -> Any:
                    self.n += len(X)
                    return bound(X)

                ask.__name__ = bound.__name__
                return ask.__get__(pipeline)

        return Counting()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(monkeypatch)


def both_ways(predict: Any, text: str = X, represent: Any = None, **settings: Any) -> tuple[Any, Any]:
    """The explanation as it is, and by strings: a function of one's own is not recognized."""
    settings = {"method": METHOD, "rng": 1, **settings}
    represent = vd.Words() if represent is None else represent
    return vd.explain(predict, represent, text, **settings), vd.explain(
        lambda texts: predict(texts), represent, text, **settings
    )


def assert_alike(quick: Any, plain: Any) -> None:
    scale = max(np.abs(plain.weights).max(), 1e-9)
    np.testing.assert_allclose(quick.weights, plain.weights, atol=1e-7 * scale)
    np.testing.assert_allclose(quick.intervals, plain.intervals, atol=1e-6 * scale)
    assert quick.prediction == plain.prediction, "the instance itself is asked about by its string"
    assert quick.n_calls == plain.n_calls
    assert quick.names == plain.names


TAKEN: dict[str, Any] = {
    "count": lambda: fitted(CountVectorizer()),
    "count, binary": lambda: fitted(CountVectorizer(binary=True)),
    "count, stop words": lambda: fitted(CountVectorizer(stop_words="english")),
    "count, own stop words": lambda: fitted(CountVectorizer(stop_words=["film", "the"])),
    "count, min_df": lambda: fitted(CountVectorizer(min_df=3)),
    "count, max_features": lambda: fitted(CountVectorizer(max_features=6)),
    "count, as written": lambda: fitted(CountVectorizer(lowercase=False)),
    "count, no accents": lambda: fitted(CountVectorizer(strip_accents="unicode")),
    "count, ascii": lambda: fitted(CountVectorizer(strip_accents="ascii")),
    "count, one letter": lambda: fitted(CountVectorizer(token_pattern=r"(?u)\b\w+\b")),
    "count, long words": lambda: fitted(CountVectorizer(token_pattern=r"[a-zA-Z]{4,}")),
    "count, own words": lambda: fitted(CountVectorizer(vocabulary=["good", "bad", "film", "unseen"])),
    "count, float": lambda: fitted(CountVectorizer(dtype=np.float32)),
    "tfidf": lambda: fitted(TfidfVectorizer()),
    "tfidf, sublinear": lambda: fitted(TfidfVectorizer(sublinear_tf=True)),
    "tfidf, l1": lambda: fitted(TfidfVectorizer(norm="l1")),
    "tfidf, no norm": lambda: fitted(TfidfVectorizer(norm=None)),
    "tfidf, no idf": lambda: fitted(TfidfVectorizer(use_idf=False)),
    "tfidf, not smooth": lambda: fitted(TfidfVectorizer(smooth_idf=False)),
    "tfidf, binary": lambda: fitted(TfidfVectorizer(binary=True, norm="l1")),
    "count, then tfidf": lambda: fitted(CountVectorizer(), None, TfidfTransformer(sublinear_tf=True)),
    "tfidf, then tfidf": lambda: fitted(TfidfVectorizer(), None, TfidfTransformer(norm="l1")),
    "naive Bayes": lambda: fitted(CountVectorizer(), MultinomialNB()),
    "complement Bayes": lambda: fitted(TfidfVectorizer(), ComplementNB()),
    "forest": lambda: fitted(TfidfVectorizer(), RandomForestClassifier(n_estimators=5, random_state=0)),
}


@pytest.mark.parametrize("name", TAKEN)
@pytest.mark.parametrize("positions", [False, True])
def test_the_same_answers_without_strings(name: str, positions: bool, asked: Asked) -> None:
    pipeline = TAKEN[name]()
    quick = vd.explain(pipeline.predict_proba, vd.Words(positions=positions), X, method=METHOD, rng=1)
    assert asked.n == engine.CHECKED, "the first answers are checked, the rest made without strings"
    assert quick.n_calls == 401
    _, plain = both_ways(pipeline.predict_proba, represent=vd.Words(positions=positions))
    assert_alike(quick, plain)
    assert quick.prediction == pipeline.predict_proba([X])[0].max()


@pytest.mark.parametrize(
    ("method", "model"),
    [
        ("decision_function", LinearSVC(dual=True)),
        ("decision_function", LogisticRegression()),
        ("predict_log_proba", LogisticRegression()),
        ("predict", Ridge()),
    ],
)
def test_other_methods_of_a_pipeline(method: str, model: Any, asked: Asked) -> None:
    predict = getattr(fitted(TfidfVectorizer(), model), method)
    quick, plain = both_ways(predict)
    assert asked.n == engine.CHECKED + 401
    assert_alike(quick, plain)


def test_sentences_without_strings(asked: Asked) -> None:
    pipeline = fitted(CountVectorizer())
    text = " ".join(
        ["It was good.", "The film is bad!", "Dull?", "So glad.", "The best.", "I see.", "It is fine."] * 2
    )
    quick, plain = both_ways(pipeline.predict_proba, text, vd.Sentences(), method=vd.Lime(n_samples=200))
    assert asked.n == engine.CHECKED + 201
    assert_alike(quick, plain)


def test_more_samples_are_made_without_strings_too(asked: Asked) -> None:
    """Growing by itself until the top is settled: only the first answers are asked for."""
    pipeline = fitted(CountVectorizer())
    method = vd.Lime(until=vd.TopK(3, probability=0.999, tolerance=0.0), max_calls=4000)
    why = vd.explain(pipeline.predict_proba, vd.Words(), X, method=method)
    assert why.n_calls > 600
    assert asked.n == engine.CHECKED


class OwnVectorizer(CountVectorizer):
    """Might do anything."""


class OwnPipeline(Pipeline):
    pass


def counted_with(pipeline: Any) -> Any:
    pieces = [("good", 0), (" ", -1), ("film", 1)]
    return words.find_count_pipeline(pipeline.predict_proba, pieces, 2)


LEFT: dict[str, Any] = {
    "bigrams": lambda: fitted(CountVectorizer(ngram_range=(1, 2))),
    "only bigrams": lambda: fitted(TfidfVectorizer(ngram_range=(2, 2))),
    "characters": lambda: fitted(CountVectorizer(analyzer="char")),
    "characters in words": lambda: fitted(TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3))),
    "own analyzer": lambda: fitted(CountVectorizer(analyzer=str.split)),
    "own tokenizer": lambda: fitted(CountVectorizer(tokenizer=str.split, token_pattern=None)),
    "own preprocessor": lambda: fitted(CountVectorizer(preprocessor=str.upper)),
    "own class": lambda: fitted(OwnVectorizer()),
    "own pipeline": lambda: OwnPipeline([("c", CountVectorizer()), ("m", LogisticRegression())]).fit(TEXTS, Y),
    "hashes": lambda: fitted(HashingVectorizer(n_features=64)),
    "union": lambda: fitted(
        FeatureUnion([("words", CountVectorizer()), ("chars", CountVectorizer(analyzer="char"))])
    ),
    "a forest on text length": lambda: fitted(CountVectorizer(), None, "passthrough"),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_not_recognised_is_asked_by_strings(name: str, asked: Asked) -> None:
    pipeline = LEFT[name]()
    assert counted_with(pipeline) is None
    quick, plain = both_ways(pipeline.predict_proba)
    assert bits(quick) == bits(plain)
    assert asked.n == 802


def test_what_is_recognised() -> None:
    assert isinstance(counted_with(fitted(CountVectorizer())), words.CountPipeline)
    assert words.find_count_pipeline(lambda X: X, [("a", 0)], 1) is None
    assert words.find_count_pipeline(np.mean, [("a", 0)], 1) is None
    assert words.find_count_pipeline(fitted(CountVectorizer()).score, [("a", 0)], 1) is None
    assert words.find_count_pipeline(LogisticRegression().predict, [("a", 0)], 1) is None


def test_a_wrapped_model_is_asked_by_strings() -> None:
    spy = Spy(fitted(CountVectorizer()).predict_proba)
    why = vd.explain(spy, vd.Words(), X, method=METHOD)
    assert spy.n_rows == why.n_calls == 401


def test_a_mask_token_may_be_a_word_of_the_model(asked: Asked) -> None:
    quick, plain = both_ways(fitted(CountVectorizer()).predict_proba, represent=vd.Words(mask="bad"))
    assert asked.n == 802
    assert bits(quick) == bits(plain)


CROSSING = {
    "hyphens": (CountVectorizer(token_pattern=r"[\w-]+"), "a well-made, so-so film that is not-good but good-bad"),
    "anything but space": (CountVectorizer(token_pattern=r"\S+"), "good, bad; good. film! a plot, a cast"),
    "across spaces": (CountVectorizer(token_pattern=r"\w+ \w+"), "good film bad film the plot the cast is good"),
}


@pytest.mark.parametrize("name", CROSSING)
def test_tokens_that_cross_the_borders_of_words(name: str, asked: Asked) -> None:
    """The quick answers are wrong, which is seen at once, and the bits are those of the strings."""
    vectorizer, text = CROSSING[name]
    texts = [text, *TEXTS, text.replace("good", "bad"), *text.split()]
    pipeline = make_pipeline(vectorizer, LogisticRegression()).fit(texts, np.arange(len(texts)) % 2)
    quick, plain = both_ways(pipeline.predict_proba, f"{text} {text}", vd.Words(positions=True))
    assert bits(quick) == bits(plain)
    assert asked.n in (802, 802 + engine.CHECKED)


def test_letters_that_become_a_word_when_those_between_them_are_gone() -> None:
    """One sample in a hundred has it, so the first few may all agree."""
    vectorizer = CountVectorizer(vocabulary=["ab", "zz"])
    pipeline = make_pipeline(vectorizer, LogisticRegression(C=100)).fit(["ab", "zz", "q"] * 4, [1, 0, 0] * 4)
    letters = vd.Words(positions=True, split="")
    for rng in range(4):
        quick, plain = both_ways(pipeline.predict_proba, "axxxxxb pqrs tuvw", letters, rng=rng, target=1)
        assert bits(quick) == bits(plain)


def test_an_answer_that_differs_leads_to_the_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a millionth is too much; a shape of its own, an exception or NaN are, too."""
    pipeline = fitted(CountVectorizer())
    honest = words.CountPipeline.__call__
    wrong: dict[str, Any] = {
        "a little": lambda self, designs: honest(self, designs) * (1 + 1e-5),
        "one row": lambda self, designs: np.where(
            np.arange(len(designs))[:, None] == 20, 0.5, honest(self, designs)
        ),
        "fewer columns": lambda self, designs: honest(self, designs)[:, :1],
        "fewer rows": lambda self, designs: honest(self, designs)[:-1],
        "nan": lambda self, designs: honest(self, designs) * np.nan,
        "error": lambda self, designs: 1 / 0,
        "nothing": lambda self, designs: None,
    }
    for name, answer in wrong.items():
        with monkeypatch.context() as patch:
            patch.setattr(words.CountPipeline, "__call__", answer)
            quick, plain = both_ways(pipeline.predict_proba)
        assert bits(quick) == bits(plain), name


@given(
    st.lists(
        st.sampled_from(["good", "bad", "film", "GOOD", "the", "x", "naïve", "日本", "don't", "-", ","]),
        min_size=9,
        max_size=20,
    )
)
@settings(max_examples=40, deadline=None)
def test_any_text(words: list[str]) -> None:
    """Whether it is taken or left, the answer is the strings' own."""
    text = " ".join(words)
    if len(set(words) - {"-", ","}) < 2:
        return
    for represent in (vd.Words(positions=True), vd.Words(positions=True, split="")):
        quick, plain = both_ways(tfidf().predict_proba, text, represent, method=vd.Lime(n_samples=600))
        np.testing.assert_allclose(quick.weights, plain.weights, atol=1e-8)


@cache
def tfidf() -> Any:
    return fitted(TfidfVectorizer())


def test_a_text_of_words_that_the_model_does_not_know() -> None:
    why = vd.explain(
        tfidf().predict_proba, vd.Words(), "zzz yyy xxx www vvv uuu ttt sss rrr qqq ppp", method=METHOD
    )
    assert why.verdict.label == "none"


def test_many_texts_without_strings(asked: Asked) -> None:
    texts = [X, X.replace("good", "fine"), X.upper()]
    many = vd.explain_many(tfidf().predict_proba, vd.Words(), texts, method=METHOD)
    assert asked.n == 3 * engine.CHECKED
    plain = vd.explain_many(lambda texts: tfidf().predict_proba(texts), vd.Words(), texts, method=METHOD)
    for quick, slow in zip(many, plain, strict=True):
        assert_alike(quick, slow)
