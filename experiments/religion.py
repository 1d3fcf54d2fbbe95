"""Atheism or Christianity: newsgroups to train on, web pages as the real world, and the paper's classifier.

Words are what the classifier sees of a text: runs of two or more letters, digits and underscores, case kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

import veridical as vd
from sets import NoDataError

GROUPS = ("alt.atheism", "soc.religion.christian")  # classes 0 and 1
RELATED = (*GROUPS, "talk.religion.misc")  # newsgroups that are not about other things
TABLES = {
    "two": "newsgroups20/atheism_christian",
    "all": "newsgroups20/20news_bydate",
    "pages": "religion_dmoz/religion",
}
N_OTHER = 4000  # articles of other newsgroups
WORD = re.compile(r"\b\w\w+\b")
REPRESENT = vd.Words(split=r"\W+")
FEWEST, MOST = 20, 500  # known words of an article that is explained
DENSE = 4000  # columns up to which products of matrices are dense


def find(data: Path | None, name: str) -> Path:
    """The file of a table: Parquet where it can be read, or CSV with gzip."""
    stem = TABLES[name]
    if data is None:
        wanted = ", ".join(f"{each}.parquet" for each in TABLES.values())
        raise NoDataError(f"name the folder with {wanted} (or the same as .csv.gz): --data DIR")
    readable = any(find_spec(package) for package in ("pyarrow", "fastparquet"))
    for path in (data / f"{stem}.parquet", data / f"{stem}.csv.gz"):
        if path.is_file() and (readable or path.suffix == ".gz"):
            return path
    raise NoDataError(
        f"wanted {stem}.parquet, and pyarrow to read it, or {stem}.csv.gz; looked in {data}: "
        "give another --data, or pip install 'veridical[parquet]'"
    )


def table(data: Path | None, name: str) -> pd.DataFrame:
    """A table of the data."""
    path = find(data, name)
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    return pd.read_csv(path, keep_default_na=False, lineterminator="\n")


@dataclass(frozen=True, eq=False)
class Texts:
    """Labeled texts as the words that are in them."""

    texts: Sequence[str]
    labels: Any  # (n,)
    bags: Any  # (n, vocabulary) CSR of 0 and 1

    def __len__(self) -> int:
        return len(self.texts)

    def some(self, rows: Any) -> Texts:
        return Texts([self.texts[i] for i in rows], self.labels[rows], self.bags[rows])


@dataclass(frozen=True, eq=False)
class Worlds:
    """All that is read once: the words of the training articles are the vocabulary."""

    words: Any  # (v,) the vocabulary
    train: Texts
    test: Texts
    pages: Texts  # as many of one class as of the other
    headers: Any  # (v,) in how many training articles a word is in the header
    bodies: Any  # (v,) and in how many below it
    others: Any  # (v,) share of the articles of other newsgroups that have it

    @property
    def column(self) -> dict[str, int]:
        return {word: j for j, word in enumerate(self.words)}


def check(data: Path | None) -> None:
    """Refuse before any work if a table is not there."""
    for name in TABLES:
        find(data, name)


@lru_cache(maxsize=1)
def load(data: Path | None) -> Worlds:
    """The worlds, with the paper's sizes: 1,079 and 717 articles, 819 + 819 pages."""
    two, pages, whole = (table(data, name) for name in ("two", "pages", "all"))
    train, test = (two[two.split == split] for split in ("train", "test"))
    vectorizer = CountVectorizer(lowercase=False, binary=True, dtype=np.float32).fit(train.text)
    kept = balanced((pages.label == "christianity").to_numpy().astype(int))
    other = whole[~whole.group.isin(RELATED) & (whole.split == "train")]
    other = other.sample(min(N_OTHER, len(other)), random_state=0)
    heads = [halves(text) for text in train.text]

    def texts(frame: pd.DataFrame, labels: Any) -> Texts:
        return Texts(list(frame.text), np.asarray(labels).astype(int), vectorizer.transform(frame.text))

    counted = [np.asarray(vectorizer.transform([pair[i] for pair in heads]).sum(axis=0)).ravel() for i in (0, 1)]
    return Worlds(
        vectorizer.get_feature_names_out(),
        texts(train, train.group == GROUPS[1]),
        texts(test, test.group == GROUPS[1]),
        texts(pages.iloc[kept], pages.label.iloc[kept] == "christianity"),
        counted[0],
        counted[1],
        shares(vectorizer.transform(other.text)),
    )


def balanced(labels: Any, seed: int = 1) -> Any:
    """Rows with as many of one class as of the other: all of the smaller class, a sample of the larger."""
    size, rng = np.bincount(labels, minlength=2).min(), np.random.default_rng(seed)
    return np.sort(np.concatenate([rng.permutation(np.flatnonzero(labels == c))[:size] for c in (0, 1)]))


def halves(text: str) -> tuple[str, str]:
    """The header of an article, and what is below it."""
    head, *rest = re.split(r"\n\s*\n", text, maxsplit=1)
    return head, "".join(rest)


def shares(bags: Any) -> Any:
    """The share of texts that have each word."""
    return np.asarray(bags.astype(float).mean(axis=0)).ravel()


class Svm(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """scikit-learn's SVC with an RBF kernel, asked many times quickly.

    The probability of class 1 is the logistic function of twice the decision value: 12 and 88 % at the margins.
    """

    def __init__(self, C: float = 10.0, gamma: float = 0.001) -> None:
        self.C, self.gamma = C, gamma

    def fit(self, X: Any, y: Any) -> Svm:
        self.classes_ = np.unique(y)
        machine = SVC(C=self.C, kernel="precomputed").fit(self._kernel(X, X), y)
        self.vectors_ = csr_matrix(X[machine.support_])
        self.columns_ = self.vectors_.T.tocsr()
        self.sizes_ = np.asarray(self.vectors_.multiply(self.vectors_).sum(axis=1), dtype=np.float32).ravel()
        self.dual_ = machine.dual_coef_[0]
        self.intercept_ = float(machine.intercept_[0])
        return self

    def decision_function(self, X: Any) -> Any:
        X = csr_matrix(X, dtype=np.float32)
        used = np.unique(X.indices)
        if len(used) > DENSE:
            near = self._kernel(X, self.vectors_)
        else:
            place = np.zeros(X.shape[1], dtype=np.int32)
            place[used] = np.arange(len(used), dtype=np.int32)
            few = csr_matrix((X.data, place[X.indices], X.indptr), shape=(X.shape[0], len(used))).toarray()
            near = few @ self.columns_[used].toarray()
            near *= 2
            near -= np.einsum("ij,ij->i", few, few)[:, None]
            near -= self.sizes_
            near *= np.float32(self.gamma)
            np.exp(near, out=near)
        return near.astype(float) @ self.dual_ + self.intercept_  # rounded alike, however many are asked

    def predict_proba(self, X: Any) -> Any:
        sure = 1 / (1 + np.exp(-2 * self.decision_function(X)))
        return np.column_stack([1 - sure, sure])

    def predict(self, X: Any) -> Any:
        return self.classes_[(self.decision_function(X) > 0).astype(int)]

    def _kernel(self, A: Any, B: Any) -> Any:
        sizes = [np.asarray(M.multiply(M).sum(axis=1)).ravel() for M in (A, B)]
        squared = sizes[0][:, None] + sizes[1][None] - 2 * (A @ B.T).toarray()
        return np.exp(-self.gamma * squared)


@dataclass(frozen=True, eq=False)
class Classifier:
    """A classifier that knows some of the words, and takes texts."""

    pipeline: Pipeline
    kept: Any  # (k,) columns of the vocabulary

    @classmethod
    def without(cls, worlds: Worlds, removed: Iterable[str] = ()) -> Classifier:
        """Trained on the training articles as if these words did not exist."""
        gone = set(removed)
        kept = np.array([j for j, word in enumerate(worlds.words) if word not in gone])
        words = CountVectorizer(
            lowercase=False, binary=True, dtype=np.float32, vocabulary=list(worlds.words[kept])
        ).fit([""])
        model = Svm().fit(worlds.train.bags[:, kept], worlds.train.labels)
        return cls(Pipeline([("words", words), ("svm", model)]), kept)

    def __call__(self, texts: Sequence[str]) -> Any:
        return self.pipeline.predict_proba(texts)

    def predict(self, texts: Texts) -> Any:
        """Classes, without reading the texts again."""
        return self.pipeline[-1].predict(texts.bags[:, self.kept])

    def right(self, texts: Texts) -> Any:
        """Whether each text is classified right, (n,)."""
        return self.predict(texts) == texts.labels

    def accuracy(self, texts: Texts) -> float:
        return float(np.mean(self.right(texts)))

    def seen(self, text: str) -> str:
        """The text as far as the classifier sees it: the words it knows."""
        known = self.pipeline[0].vocabulary_
        return " ".join(word for word in WORD.findall(text) if word in known)


def split_pages(labels: Any, seed: int = 0) -> tuple[Any, Any]:
    """Rows of two halves, with half of each class in each; seed 0 is the split that was never changed."""
    rng = np.random.default_rng(seed)
    drawn = [rng.permutation(np.flatnonzero(labels == c)) for c in np.unique(labels)]
    return (
        np.sort(np.concatenate([rows[: len(rows) // 2] for rows in drawn])),
        np.sort(np.concatenate([rows[len(rows) // 2 :] for rows in drawn])),
    )


def readable(texts: Texts, n: int, rng: np.random.Generator) -> list[str]:
    """Some texts at random, out of those with neither very few nor very many words."""
    sizes = np.diff(texts.bags.indptr)
    fit = np.flatnonzero((sizes >= FEWEST) & (sizes <= MOST))
    return [texts.texts[i] for i in rng.permutation(fit)[:n]]


def explained(
    classifier: Classifier, texts: Iterable[str], rng: np.random.Generator, method: Any = None
) -> vd.Explanations:
    """Explanations of texts as far as the classifier sees them; a text with hardly a word left is left out.

    By default LIME explains the probability of Christianity from four samples a word, at least 1,024 and at most
    2,048. Another method explains the class that is predicted, as greedy removal must.
    """
    found = []
    for text in texts:
        seen = classifier.seen(text)
        size = len(set(seen.split()))
        if size >= 3:
            how = method or vd.Lime(n_samples=int(np.clip(4 * size, 1024, 2048)), surrogate=vd.surrogates.Linear())
            predict, target = classifier.pipeline.predict_proba, 1 if method is None else None
            found.append(vd.explain(predict, REPRESENT, seen, target=target, method=how, rng=rng))
    return vd.Explanations(tuple(found))


@dataclass(frozen=True, eq=False)
class Topic:
    """What a user knows who has read other things: which words are about religion.

    A word is topical if pages about religion have it, and more than ``times`` as often as newsgroups about other
    things. Labels are not looked at.
    """

    topical: frozenset[str]

    @classmethod
    def of(cls, worlds: Worlds, pages: Texts, times: float) -> Topic:
        share = shares(pages.bags)
        return cls(frozenset(worlds.words[share > times * worlds.others]))

    def bad(self, word: str) -> bool:
        return word not in self.topical
