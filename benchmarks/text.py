"""Texts: documents of two lengths, and four kinds of scikit-learn pipelines that sort them.

Always there: paragraphs of the docstrings of numpy, scipy, scikit-learn and pandas, to be told apart. From
--data DIR: sentences of film reviews (rt-polarity) and two religious newsgroups.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

import veridical as vd
from laws import Floats, masks, removals
from limits import Limits, mask_limits
from package import TextPackage
from problems import Predict

SHIPPED = {"docstrings": (40, 130)}  # words of the documents explained, about
FILES = {"sentences": (35,), "newsgroups": (120,)}
MODELS = ("lr", "rf", "mlp", "nb")
N_ROWS = 3  # documents a problem
CERTAIN = 0.99  # a model surer than this says the same whatever is removed: there is nothing to explain
SOURCES = (
    "numpy numpy.linalg numpy.random numpy.fft numpy.polynomial numpy.ma numpy.char",
    "scipy.stats scipy.optimize scipy.signal scipy.linalg scipy.sparse scipy.interpolate",
    "sklearn.linear_model sklearn.ensemble sklearn.svm sklearn.cluster sklearn.decomposition sklearn.datasets "
    "sklearn.metrics sklearn.preprocessing",
    "pandas pandas.DataFrame pandas.Series pandas.Index pandas.Timestamp pandas.api.types",
)
A_CLASS = 600  # paragraphs


@dataclass(frozen=True, eq=False)
class TextProblem:
    """Documents, a pipeline's predict_proba, and lime's idea of a word: what is between non-word characters."""

    name: str
    rows: tuple[str, ...]
    predict: Predict

    @property
    def instance(self) -> str:
        return self.rows[0]

    def row(self, i: int) -> str:
        return self.rows[i]

    def target(self, i: int) -> int:
        return int(np.argmax(self.predict([self.rows[i]])[0]))

    def words(self, i: int) -> list[str]:
        """Distinct words, in the order in which they first come."""
        return list(dict.fromkeys(re.findall(r"\w+", self.rows[i])))

    def n_parts(self, i: int) -> int:
        return len(self.words(i))

    def law(self, d: int) -> Floats:
        return removals(d)

    def inputs(self, i: int, kept: Floats) -> list[str]:
        """All occurrences of a word go together; what is between words stays."""
        place = {word: j for j, word in enumerate(self.words(i))}
        pieces = re.findall(r"\w+|\W+", self.rows[i])
        columns = np.array([place.get(piece, len(place)) for piece in pieces])
        shown = np.column_stack([kept > 0, np.ones(len(kept), bool)])[:, columns]
        return ["".join(compress(pieces, mask)) for mask in shown.tolist()]

    def represent(self) -> Any:
        return vd.Words(split=r"\W+")

    def order(self, i: int, why: vd.Explanation) -> list[int]:
        place = {name: j for j, name in enumerate(why.names)}
        return [place[word] for word in self.words(i)]

    def limits(self, n_rows: int, samples: int) -> Limits:
        return mask_limits(self, n_rows, samples)

    def fingerprint(self, n_rows: int) -> bytes:
        return fingerprint(self, n_rows)

    def package(self) -> TextPackage:
        return TextPackage(self)


def fingerprint(problem: Any, n_rows: int) -> bytes:
    """The model's answers to a few masks of each row."""
    found = []
    for i in range(n_rows):
        few = masks(problem.law(problem.n_parts(i)), 32, np.random.default_rng(0))
        found.append(np.round(problem.predict(problem.inputs(i, few)), 5) + 0.0)
    return b"".join(answers.tobytes() for answers in found)


def names(data: Path | None, quick: bool = False) -> list[str]:
    """The problems as 'dataset-model-words'."""
    if data is None:
        print(f"No --data DIR: {' and '.join(FILES)} are left out.\n")
    if quick:
        return ["docstrings-lr-40", "docstrings-rf-40"]
    sizes = SHIPPED | (FILES if data else {})
    return [f"{name}-{model}-{words}" for name, many in sizes.items() for words in many for model in MODELS]


def load(name: str, data: Path | None = None) -> TextProblem:
    dataset, model, words = name.split("-")
    rest, fitted = _fitted(dataset, model, data)
    lengths = np.array([len(re.findall(r"\w+", text)) for text in rest])
    open_ = fitted.predict_proba(rest).max(axis=1) <= CERTAIN
    nearest = np.argsort(np.abs(lengths - int(words)) + 1e6 * ~open_, kind="stable")[:N_ROWS]
    return TextProblem(name, tuple(rest[i] for i in nearest), fitted.predict_proba)


@cache
def _fitted(dataset: str, model: str, data: Path | None) -> tuple[list[str], Any]:
    """ExplanationsInMemory-out documents, and a pipeline fitted to the others."""
    if dataset == "docstrings":
        texts, labels = docstrings()
    elif data is None:
        raise SystemExit(f"{dataset} needs --data DIR")
    elif dataset == "sentences":
        table = pd.read_csv(data / "sentences" / "rt_polarity.tsv", sep="\t", keep_default_na=False)
        texts, labels = table["text"].tolist(), table["label"].tolist()
    else:
        table = pd.read_parquet(data / "newsgroups20" / "atheism_christian.parquet")
        texts, labels = table["text"].tolist(), table["group"].tolist()
    train, rest, known, _ = train_test_split(texts, labels, random_state=0, test_size=0.3)
    return rest, _pipeline(model).fit(train, known)


def _pipeline(model: str) -> Any:
    if model == "nb":
        return make_pipeline(CountVectorizer(), MultinomialNB())
    made = {
        "lr": lambda: LogisticRegression(C=20, max_iter=500),
        "rf": lambda: RandomForestClassifier(100, random_state=0),
        "mlp": lambda: MLPClassifier(hidden_layer_sizes=(32,), max_iter=200, tol=1e-2, random_state=0),
    }
    return make_pipeline(TfidfVectorizer(), made[model]())


@cache
def docstrings() -> tuple[list[str], list[int]]:
    """Paragraphs of 25 to 150 words, as many of each package; the same for the same versions."""
    texts, labels = [], []
    rng = np.random.default_rng(0)
    for label, sources in enumerate(SOURCES):
        found = list(dict.fromkeys(p for source in sources.split() for p in _paragraphs(source)))
        chosen = rng.permutation(len(found))[:A_CLASS]
        texts += [found[i] for i in chosen]
        labels += [label] * len(chosen)
    return texts, labels


def _paragraphs(source: str) -> Iterator[str]:
    """Of everything public in a module or class."""
    try:
        home: Any = import_module(source)
    except ModuleNotFoundError:
        module, name = source.rsplit(".", 1)
        home = getattr(import_module(module), name)
    for name in sorted(n for n in dir(home) if not n.startswith("_")):
        text = inspect.getdoc(getattr(home, name, None)) or ""
        for paragraph in re.split(r"\n\s*\n", text):
            plain = re.sub(r"\s+", " ", paragraph).strip()
            if 25 <= len(plain.split()) <= 150 and ">>>" not in plain:
                yield plain
