"""The data sets of the GIME paper, split, with the model that is explained and the neighbors it is judged on.

Everything a grouping is judged by is made here or in fidelity.py, by plain code of their own: the library is given
training and validation instances and ``predict``, and never sees these neighbors.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVR

import veridical as vd
from veridical.errors import require

NEIGHBORS = 10  # of each test instance
REACH = 0.1  # of a table's neighbors, in standard deviations
EPOCHS = 4  # of the network: it is sure of most texts by then, and as right as it gets
DRAW = 4711  # sets the harness's seeds apart from those the methods are given


@dataclass(frozen=True)
class Setting:
    """Where a set lies, and what the paper asks of it."""

    file: str  # in the folder of --data
    k: int
    n_features: int
    sizes: tuple[int, int, int] | None = None  # of a text's training, validation and test part


SETS = {
    "auto": Setting("tabular/auto_mpg.csv", 4, 5),
    "wine": Setting("tabular/wine_quality_red.csv", 10, 5),
    "communities": Setting("tabular/communities_crime.csv", 10, 5),
    "communities-dense": Setting("tabular/communities_crime.csv", 10, 1000),
    "newsgroups": Setting("newsgroups20/atheism_christian.parquet", 10, 50, (1079, 358, 359)),
    "subjectivity": Setting("sentences/subjectivity.tsv", 20, 50, (7000, 1500, 1500)),
    "polarity": Setting("sentences/rt_polarity.tsv", 20, 50, (7000, 1500, 1500)),
}


class NoDataError(Exception):
    """A file that is wanted is not there."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A model, its instances, and neighbors of the test instances with what the model says of them."""

    name: str
    split: int
    train: Any
    valid: Any
    test: Any
    predict: Callable[[Any], Any]
    represent: Any
    setting: Setting
    values: Any  # (n, NEIGHBORS) what the model says of the neighbors
    designs: Callable[[vd.groupings.Grouping], Any]  # the features of the neighbors, (n * NEIGHBORS, d)
    own: float  # how good the model itself is: test RMSE in sd of the target, or accuracy


def check(names: Sequence[str], data: Path | None) -> None:
    """Say what is missing before any work is done."""
    wanted = {name: SETS[name].file for name in names}
    listed = ", ".join(dict.fromkeys(wanted.values()))
    if data is None:
        raise NoDataError(
            f"the sets {', '.join(names)} are read from files: name their folder by --data DIR ({listed})"
        )
    for name, file in wanted.items():
        if not (data / file).is_file():
            raise NoDataError(
                f"the set {name!r} wants {file}; looked for {data / file}, which is not there. Give the folder "
                f"that holds {file.split('/')[0]}/ as --data, or leave the set out by --set"
            )


@lru_cache(maxsize=1)
def load(name: str, split: int, data: Path) -> Problem:
    """A set in one of its splits, its model fitted."""
    return (_table if SETS[name].sizes is None else _text)(name, split, data)


def _table(name: str, split: int, data: Path) -> Problem:
    (train, y), (valid, _), (test, y_test) = cut(columns(name, data / SETS[name].file), split)
    model = SVR().fit(train, y)
    near = neighbors(test, np.random.default_rng([DRAW, split]))
    return Problem(
        name,
        split,
        train,
        valid,
        test,
        model.predict,
        vd.Rows(train),
        SETS[name],
        model.predict(near).reshape(len(test), NEIGHBORS),
        lambda grouping: grouping.space.rows(grouping.space.read(near)),
        float(np.sqrt(np.mean((model.predict(test) - y_test) ** 2))),
    )


def columns(name: str, path: Path) -> Any:
    """The numbers of a table, the target last, (n, d + 1)."""
    table = pd.read_csv(path)
    if name == "auto":
        table = table.drop(columns="name").dropna()
        table["origin"] = table["origin"].map({"usa": 1, "europe": 2, "japan": 3})
        table = table[[c for c in table if c != "mpg"] + ["mpg"]]
    elif name.startswith("communities"):
        table = table.iloc[:, 5:]  # the first five say which place it is
        table = table.loc[:, table.isna().mean() < 0.5].dropna()
    return table.to_numpy(dtype=float)


def cut(table: Any, split: int) -> list[tuple[Any, Any]]:
    """70 % to train, 15 % to validate, 15 % to test, in standard deviations of the first, the target too."""
    train, rest = train_test_split(table, test_size=0.3, random_state=split)
    valid, test = train_test_split(rest, test_size=0.5, random_state=split)
    means, sds = train.mean(axis=0), train.std(axis=0, ddof=1)
    kept = sds > 1e-10
    scaled = [((part - means) / np.where(kept, sds, 1.0))[:, kept] for part in (train, valid, test)]
    return [(part[:, :-1], part[:, -1]) for part in scaled]


def neighbors(rows: Any, rng: np.random.Generator) -> Any:
    """Those of the first row, then of the second, …: (n * NEIGHBORS, d)."""
    many = np.repeat(rows, NEIGHBORS, axis=0)
    return many + REACH * rng.normal(size=many.shape)


def _text(name: str, split: int, data: Path) -> Problem:
    texts, labels = documents(name, data / SETS[name].file)
    train, valid, test = shares(labels, SETS[name].sizes, split)
    model = network(texts[train], labels[train], split)

    def predict(some: Sequence[str]) -> Any:
        return model.predict_proba(some)[:, 1]

    near, kept = thinned(texts[test], np.random.default_rng([DRAW, split]))
    return Problem(
        name,
        split,
        list(texts[train]),
        list(texts[valid]),
        list(texts[test]),
        predict,
        vd.Words(split=r"\W+"),
        SETS[name],
        predict(near).reshape(len(test), NEIGHBORS),
        lambda grouping: occurrences(kept, grouping.names),
        float(np.mean(model.predict(texts[test]) == labels[test])),
    )


def documents(name: str, path: Path) -> tuple[Any, Any]:
    """Texts in lower case and their labels, 0 or 1."""
    if path.suffix == ".parquet":
        require("pyarrow", extra="parquet")
        table = pd.read_parquet(path)
        labels = table["group"].to_numpy() == "soc.religion.christian"
    else:
        table = pd.read_csv(path, sep="\t", keep_default_na=False)
        labels = table["label"].to_numpy()
    return table["text"].str.lower().to_numpy(dtype=object), labels.astype(int)


def shares(labels: Any, sizes: tuple[int, int, int], split: int) -> tuple[Any, Any, Any]:
    """Positions to train, validate and test on, the labels in the same shares."""
    everyone = np.arange(len(labels))
    train, rest = train_test_split(everyone, train_size=sizes[0], random_state=split, stratify=labels)
    valid, test = train_test_split(
        rest, train_size=sizes[1], test_size=sizes[2], random_state=split, stratify=labels[rest]
    )
    return train, valid, test


def network(texts: Any, labels: Any, split: int) -> Any:
    """TF-IDF of words and pairs of words, then one hidden layer, trained for a few epochs."""
    model = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True),
        MLPClassifier((32,), batch_size=32, learning_rate_init=2e-3, max_iter=EPOCHS, random_state=split),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a few epochs are what is wanted
        return model.fit(texts, labels)


def thinned(texts: Sequence[str], rng: np.random.Generator) -> tuple[list[str], list[list[str]]]:
    """Each text, then others with some of its words gone, and the words that are left in each.

    How many words go is uniform from 1 to all; all occurrences of a word go together.
    """
    found, left = [], []
    for text in texts:
        pieces = re.findall(r"\w+|\W+", text)
        words = list(dict.fromkeys(re.findall(r"\w+", text)))
        for i in range(NEIGHBORS):
            size = 0 if i == 0 or not words else int(rng.integers(1, len(words) + 1))
            gone = {words[j] for j in rng.permutation(len(words))[:size]}
            found.append("".join(piece for piece in pieces if piece not in gone))
            left.append([word for word in words if word not in gone])
    return found, left


def occurrences(lists: Sequence[Sequence[str]], names: Sequence[str]) -> Any:
    """1 where a list has a word, (n, d) CSR; words that are not among the names are left out."""
    column = {name: j for j, name in enumerate(names)}
    known = [[column[word] for word in words if word in column] for words in lists]
    starts = np.cumsum([0, *map(len, known)])
    indices = np.array([j for row in known for j in row], dtype=np.int64)
    return csr_matrix((np.ones(len(indices)), indices, starts), (len(lists), len(names)))
