"""Scikit-learn text pipelines that look at word counts alone, asked without making any string."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from veridical.records import Floats, Predict

TEXT = "sklearn.feature_extraction.text"
WORD = "veridical"  # any, that no list of stop words has
METHODS = ("predict_proba", "predict_log_proba", "decision_function", "predict")


@dataclass(frozen=True, eq=False)
class Counted:
    """Answers of a pipeline to masks of a text: counts of its words are a product of masks and a table."""

    counts: Floats  # (d + 1, v) how often each part, and what is always there, has each word
    words: Any  # (v,) columns of the vocabulary
    size: int  # of the vocabulary
    weigh: Callable[[Any], Any] | None
    binary: bool
    dtype: Any
    ask: Callable[[Any], Any]

    def __call__(self, designs: Floats) -> Any:
        found = designs @ self.counts[:-1] + self.counts[-1]
        if self.binary:
            found = np.minimum(found, 1.0)
        there = found != 0
        ends = np.append(0, np.cumsum(there.sum(axis=1)))
        columns = np.broadcast_to(self.words, found.shape)[there]
        matrix = csr_matrix((found[there].astype(self.dtype), columns, ends), shape=(len(found), self.size))
        return self.ask(matrix if self.weigh is None else self.weigh(matrix))


def counted(predict: Predict, pieces: Sequence[tuple[str, int]], d: int) -> Counted | None:
    """The quicker way to ask, if predict is a method of a pipeline that counts single words.

    ``pieces`` are those of the text in order, each with its part, or -1 if it is always there. Whether the
    answers agree with the pipeline's own is for the caller to check: a word may depend on its neighbors.
    """
    pipeline: Any = getattr(predict, "__self__", None)
    method = getattr(predict, "__name__", "")
    if _kind(pipeline) != "sklearn.pipeline.Pipeline" or method not in METHODS or len(pipeline.steps) < 2:
        return None
    vectorizer, *middle, model = (step for _, step in pipeline.steps)
    if not _counts_words(vectorizer) or any(_kind(step) != f"{TEXT}.TfidfTransformer" for step in middle):
        return None
    weigh = [vectorizer._tfidf] if hasattr(vectorizer, "_tfidf") else []
    weigh += middle
    analyze, vocabulary = vectorizer.build_analyzer(), vectorizer.vocabulary_
    if not _keeps_apart(analyze, pieces):
        return None
    found: dict[tuple[int, int], int] = {}
    for piece, part in pieces:
        for word in analyze(piece):
            if word in vocabulary:
                key = (part, int(vocabulary[word]))
                found[key] = found.get(key, 0) + 1
    words = np.unique([column for _, column in found]).astype(np.int32)
    counts = np.zeros((d + 1, len(words)))
    for (part, column), count in found.items():
        counts[part, np.searchsorted(words, column)] = count  # -1 is the last row: always there
    chain = (lambda matrix: _through(weigh, matrix)) if weigh else None
    dtype = np.float64 if weigh else vectorizer.dtype
    ask = getattr(model, method)
    return Counted(counts, words, len(vocabulary), chain, bool(vectorizer.binary), dtype, ask)


def _keeps_apart(analyze: Callable[[str], list[str]], pieces: Sequence[tuple[str, int]]) -> bool:
    """Whether what is between parts parts their words, also when others were taken out.

    Samples may not show it: letters that follow each other become one word only when all between them are gone.
    """
    gaps = {piece for piece, part in pieces[1:-1] if part < 0}
    return all(analyze(f"{WORD}{gap}{WORD}") == [*analyze(WORD), *analyze(gap), *analyze(WORD)] for gap in gaps)


def _counts_words(vectorizer: Any) -> bool:
    """A fitted vectorizer of single words, with nothing of the caller's own inside."""
    return (
        _kind(vectorizer) in (f"{TEXT}.CountVectorizer", f"{TEXT}.TfidfVectorizer")
        and vectorizer.analyzer == "word"
        and tuple(vectorizer.ngram_range) == (1, 1)
        and vectorizer.tokenizer is None
        and vectorizer.preprocessor is None
        and hasattr(vectorizer, "vocabulary_")
    )


def _kind(thing: Any) -> str:
    """The name of its class, which tells without importing what it is."""
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def _through(steps: Sequence[Any], matrix: Any) -> Any:
    for step in steps:
        matrix = step.transform(matrix, copy=False)
    return matrix
