"""Data and models of the panel: tables, texts, pictures and series, each with several kinds of models.

Everything is small, so that a hundred models are trained on a laptop. ``load`` gives instances and answers; ``TRAIN``
has a function of (X, y, seed) for each kind of model, as ``vd.Subject`` takes it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn import datasets
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import veridical as vd
from sets import NoDataError

MAX_TABLE, MAX_TEXTS, MAX_PICTURES = 3000, 2400, 2000  # rows of a set, at most
TABLES: Mapping[str, tuple[str, str, tuple[str, ...]]] = {  # file, target, columns that are left out
    "adult": ("adult", "income", ("split", "fnlwgt")),
    "compas": (
        "compas_two_years",
        "two_year_recid",
        (
            "id",
            "is_recid",
            "event",
            "start",
            "end",
            "decile_score",
            "score_text",
            "v_decile_score",
            "v_score_text",
        ),
    ),
    "german": ("german_credit", "", ()),
    "pima": ("pima_diabetes", "outcome", ()),
    "titanic": ("titanic", "survived", ("alive", "deck", "embark_town", "class", "who", "adult_male", "alone")),
    "mushrooms": ("mushrooms", "class", ()),
    "penguins": ("penguins", "species", ()),
    "red wine": ("wine_quality_red", "quality", ()),
    "white wine": ("wine_quality_white", "quality", ()),
    "boston": ("boston_housing", "MEDV", ()),
    "mpg": ("auto_mpg", "mpg", ("name",)),
    "bike": ("bike_sharing_hour", "cnt", ("instant", "dteday", "casual", "registered")),
    "communities": (
        "communities_crime",
        "ViolentCrimesPerPop",
        ("state", "county", "community", "communityname string"),
    ),
}
BUNDLED = {
    "cancer": datasets.load_breast_cancer,
    "digits table": datasets.load_digits,
    "diabetes": datasets.load_diabetes,
}
MADE = ("blobs", "dependent", "redundant", "moons", "independent")
TEXTS = {
    "polarity": "sentences/rt_polarity.tsv",
    "subjectivity": "sentences/subjectivity.tsv",
    "sst": "sentences/sst_binary.tsv",
    "imdb": "imdb_subset/imdb_6k.parquet",
    "trec": "sentences/trec.tsv",
}
NEWSGROUPS = {
    "hockey or baseball": ("rec.sport.hockey", "rec.sport.baseball"),
    "space or medicine": ("sci.space", "sci.med"),
    "mac or pc": ("comp.sys.mac.hardware", "comp.sys.ibm.pc.hardware"),
    "guns or mideast": ("talk.politics.guns", "talk.politics.mideast"),
}
PICTURES = {
    "mnist": "mnist/mnist_25k.npz",
    "fashion": "fashion_mnist/fashion_mnist_20k.npz",
    "cifar": "cifar10/cifar10_5k.npz",
}
SERIES = ("GunPoint", "ItalyPowerDemand", "ArrowHead", "Coffee")


def load(kind: str, name: str, data: Path) -> tuple[Any, Any]:
    """Instances and answers (integers from 0 on) of a set, in random order."""
    found = {"table": load_table, "text": load_texts, "picture": load_pictures, "series": load_series}
    return found[kind](name, data)


def read(path: Path) -> Any:
    if not path.exists():
        raise NoDataError(f"there is no {path}")
    return (
        pd.read_parquet(path)
        if path.suffix == ".parquet"
        else pd.read_csv(path, sep="\t" if path.suffix == ".tsv" else ",")
    )


@lru_cache(maxsize=4)
def load_table(name: str, data: Path) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    if name in MADE:
        return make_table(name)
    if name in BUNDLED:
        bunch = BUNDLED[name](as_frame=True)
        X, y = bunch.data, np.asarray(bunch.target)
    else:
        file, target, gone = TABLES[name]
        frame = read(data / "tabular" / f"{file}.csv")
        target = target or frame.columns[-1]
        y = np.asarray(frame.pop(target))
        few = {c for c in frame.columns if frame[c].dtype.kind in "if" or frame[c].nunique() <= 200}
        keep = [c for c in frame.columns if c in few and c not in gone]
        X = frame[keep]
        X = X.loc[:, X.notna().mean() > 0.5]
    known = X.notna().all(axis=1).to_numpy() & pd.notna(pd.Series(y)).to_numpy()
    X, y = X[known], y[known]
    y = (
        (y > np.median(y)).astype(int)
        if y.dtype.kind == "f" or len(np.unique(y)) > 12 or "wine" in name
        else pd.factorize(y, sort=True)[0]
    )
    rows = rng.permutation(len(X))[:MAX_TABLE]
    return X.iloc[rows].reset_index(drop=True), y[rows]


def make_table(name: str) -> tuple[Any, Any]:
    """Tables whose dependence is known: all columns alike, correlated, or independent of each other."""
    rng, n = np.random.default_rng(1), 2000
    if name == "blobs":
        y = rng.integers(0, 3, n)
        X = rng.normal(size=(n, 8)) + rng.normal(size=(3, 8))[y]
    elif name == "moons":
        X, y = datasets.make_moons(n, noise=0.25, random_state=1)
        X = np.column_stack([X, X @ rng.normal(size=(2, 3)) + 0.5 * rng.normal(size=(n, 3))])
    elif name == "independent":
        X = rng.normal(size=(n, 10))
        y = (X[:, :4] @ [1.5, -1.2, 1.0, 0.7] + rng.logistic(size=n) > 0).astype(int)
    else:
        redundant = 10 if name == "redundant" else 2
        X, y = datasets.make_classification(
            n, 20, n_informative=8, n_redundant=redundant, random_state=3, class_sep=1.2
        )
    return pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])]), np.asarray(y)


@lru_cache(maxsize=4)
def load_texts(name: str, data: Path) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    if name in NEWSGROUPS:
        frame = read(data / "newsgroups20" / "20news_bydate.parquet")
        frame = frame[frame["group"].isin(NEWSGROUPS[name])]
        texts = [text.split("\n\n", 1)[-1] for text in frame["text"]]  # without headers
        labels = pd.factorize(frame["group"], sort=True)[0]
    else:
        frame = read(data / TEXTS[name])
        column = "text" if "text" in frame.columns else frame.columns[-1]
        texts, labels = frame[column].astype(str).tolist(), pd.factorize(frame["label"], sort=True)[0]
    texts = [" ".join(text.split()[:200]) for text in texts]
    some = [i for i, text in enumerate(texts) if len(text.split()) >= 4]
    rows = [some[i] for i in rng.permutation(len(some))[:MAX_TEXTS]]
    return [texts[i] for i in rows], np.asarray(labels)[rows]


@lru_cache(maxsize=2)
def load_pictures(name: str, data: Path) -> tuple[Any, Any]:
    path = data / PICTURES[name]
    if not path.exists():
        raise NoDataError(f"there is no {path}")
    found = np.load(path)
    X, y = found[next(k for k in found if k.startswith("x_"))], found[next(k for k in found if k.startswith("y_"))]
    X = X.astype(np.float32) / 255
    X = X.mean(axis=-1) if X.ndim == 4 and name != "cifar" else X
    y = np.asarray(y).ravel().astype(int)
    rows = np.random.default_rng(0).permutation(np.flatnonzero(y < (4 if name == "cifar" else 10)))[:MAX_PICTURES]
    X = X[rows]
    return (np.ascontiguousarray(np.moveaxis(X, -1, 1)) if X.ndim == 4 else X), y[rows]


@lru_cache(maxsize=4)
def load_series(name: str, data: Path) -> tuple[Any, Any]:
    both = [
        pd.read_csv(data / "timeseries" / f"{name}_{part}.tsv", sep="\t", header=None)
        for part in ("TRAIN", "TEST")
    ]
    every = pd.concat(both).to_numpy(dtype=np.float32)
    every = every[np.random.default_rng(0).permutation(len(every))]
    X, y = every[:, 1:], pd.factorize(every[:, 0], sort=True)[0]
    step = max(X.shape[1] // 96, 1)
    return np.ascontiguousarray(X[:, ::step][:, :96]), y


# ---- models


def represent(kind: str, X: Any) -> Any:
    """What the features of a kind of instances are."""
    if kind == "table":
        return vd.Rows(X)
    if kind == "text":
        return vd.Words()
    if kind == "picture":
        return vd.Grid(7, 7) if X.shape[-1] == 28 else vd.Grid(8, 8)
    return vd.Windows(8)


def mixed(X: Any, model: Any) -> Any:
    """A pipeline for columns of numbers and categories."""
    if not isinstance(X, pd.DataFrame):
        return make_pipeline(StandardScaler(), model)
    numbers = [c for c in X.columns if X[c].dtype.kind in "iuf"]
    others = [c for c in X.columns if c not in numbers]
    coder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(make_column_transformer((StandardScaler(), numbers), (coder, others)), model)


def fit_estimator(make: Callable[[int], Any], X: Any, y: Any, seed: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mixed(X, make(seed)).fit(X, y).predict_proba


def fit_texts(make: Callable[[int], Any], X: Any, y: Any, seed: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(seed).fit(list(X), y).predict_proba


class Heads(torch.nn.Module):
    """A tiny transformer over patches of pictures, or over pieces of series."""

    def __init__(self, size: int, n: int, k: int) -> None:
        super().__init__()
        self.size, self.inner = size, torch.nn.Linear(size, 32)
        self.place = torch.nn.Parameter(torch.randn(1, n, 32) * 0.1)
        layer = torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.out = torch.nn.Linear(32, k)

    def forward(self, x: Any) -> Any:
        pieces = cut_patches(x) if x.ndim == 4 else x.reshape(len(x), -1, self.size)
        return self.out(self.layers(self.inner(pieces) + self.place).mean(dim=1))


def cut_patches(x: Any) -> Any:
    """Squares of 4 by 4 pixels, (n, squares, values)."""
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 4, 4, w // 4, 4).permute(0, 2, 4, 1, 3, 5).reshape(n, -1, 16 * c)


class Recurrent(torch.nn.Module):
    """A GRU over the steps of a series."""

    def __init__(self, k: int) -> None:
        super().__init__()
        self.gru, self.out = torch.nn.GRU(4, 32, batch_first=True), torch.nn.Linear(32, k)

    def forward(self, x: Any) -> Any:
        return self.out(self.gru(x.reshape(len(x), -1, 4))[0].mean(dim=1))


def build(name: str, X: Any, k: int) -> Any:
    """An untrained network for pictures (n, c, h, w) or series (n, t)."""
    nn = torch.nn
    if X.ndim == 2:
        t = X.shape[1] - X.shape[1] % 4
        if name == "recurrent":
            return nn.Sequential(Cut(t), Recurrent(k))
        if name == "attention":
            return nn.Sequential(Cut(t), Heads(4, t // 4, k))
        if name == "mlp":
            return nn.Sequential(nn.Linear(X.shape[1], 48), nn.ReLU(), nn.Linear(48, k))
        norm = (nn.BatchNorm1d(12),) if name == "norm" else ()
        body = (
            nn.Conv1d(1, 12, 5, padding=2),
            *norm,
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(12, 16, 5, padding=2),
            nn.ReLU(),
        )
        return nn.Sequential(
            nn.Unflatten(1, (1, X.shape[1])), *body, nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(64, k)
        )
    c, h = X.shape[1], X.shape[2]
    if name == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(c * h * h, 64), nn.ReLU(), nn.Linear(64, k))
    if name == "attention":
        return Heads(16 * c, (h // 4) ** 2, k)
    if name == "norm":
        body = (
            nn.Conv2d(c, 12, 3, 2, 1),
            nn.BatchNorm2d(12),
            nn.ReLU(),
            nn.Conv2d(12, 24, 3, 2, 1),
            nn.BatchNorm2d(24),
            nn.ReLU(),
        )
        return nn.Sequential(*body, nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(24 * 16, k))
    act = nn.Tanh if name == "tanh" else nn.ReLU
    body = (
        nn.Conv2d(c, 8, 3, padding=1),
        act(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        act(),
        nn.MaxPool2d(2),
    )
    return nn.Sequential(*body, nn.Flatten(), nn.Linear(16 * (h // 4) ** 2, 32), act(), nn.Linear(32, k))


class Cut(torch.nn.Module):
    """The first steps of a series."""

    def __init__(self, t: int) -> None:
        super().__init__()
        self.t = t

    def forward(self, x: Any) -> Any:
        return x[:, : self.t]


def prepare(X: Any) -> Any:
    """Pictures and series as tensors, with an axis for channels."""
    found = torch.as_tensor(np.asarray(X), dtype=torch.float32)
    return found[:, None] if found.ndim == 3 else found


def fit_network(name: str, X: Any, y: Any, seed: int) -> Any:
    """A network, trained until it is good enough, at most 25 epochs."""
    torch.manual_seed(seed)
    inputs, labels = prepare(X), torch.as_tensor(np.asarray(y), dtype=torch.long)
    module = build(name, inputs, int(labels.max()) + 1)
    optimizer = torch.optim.Adam(module.parameters(), 3e-3)
    for _ in range(60 if len(inputs) < 500 else 14):
        for piece in torch.randperm(len(inputs)).split(64):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(module(inputs[piece]), labels[piece]).backward()
            optimizer.step()
    return vd.Network(module.eval(), prepare=prepare, answers="softmax")


def forest(seed: int) -> Any:
    return RandomForestClassifier(40, min_samples_leaf=3, random_state=seed)


TRAIN: Mapping[str, Mapping[str, Callable[[Any, Any, int], Any]]] = {
    "table": {
        "logistic": partial(fit_estimator, lambda seed: LogisticRegression(max_iter=500)),
        "forest": partial(fit_estimator, forest),
        "boosting": partial(
            fit_estimator, lambda seed: HistGradientBoostingClassifier(max_iter=60, random_state=seed)
        ),
        "neighbors": partial(fit_estimator, lambda seed: KNeighborsClassifier(15)),
        "perceptron": partial(fit_estimator, lambda seed: MLPClassifier((32,), max_iter=150, random_state=seed)),
    },
    "text": {
        "tfidf logistic": partial(
            fit_texts,
            lambda seed: make_pipeline(TfidfVectorizer(min_df=2), LogisticRegression(C=10, max_iter=500)),
        ),
        "counts bayes": partial(
            fit_texts, lambda seed: make_pipeline(CountVectorizer(min_df=2), MultinomialNB(alpha=0.5))
        ),
        "tfidf perceptron": partial(
            fit_texts,
            lambda seed: make_pipeline(
                TfidfVectorizer(min_df=3), MLPClassifier((24,), max_iter=12, random_state=seed)
            ),
        ),
    },
    "picture": {name: partial(fit_network, name) for name in ("mlp", "cnn", "tanh", "norm", "attention")},
    "series": {name: partial(fit_network, name) for name in ("mlp", "cnn", "norm", "recurrent", "attention")},
}


@dataclass(frozen=True)
class Trained:
    """A sound model with its data, cut into what it was trained on and what it is audited on."""

    kind: str
    name: str
    architecture: str
    seed: int
    train: tuple[Any, Any]
    test: tuple[Any, Any]
