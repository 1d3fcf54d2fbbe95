"""Pairs of forests that look equally good and are not: ten fake words help in validation, and not later.

As in section 5.4 of the LIME paper: of the reviews to train and validate on, each fake word is in 10 % of the
negative and 20 % of the positive ones; of the test reviews, in 10 % of both. A round has fake words, a cut and
forests of its own; forests are made until two of them are right equally often on the validation reviews and at
least 5 points apart on the test reviews. Each new forest is compared with all before it, not with one partner
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.ensemble import RandomForestClassifier

from reviews import Reviews

FAKES = tuple(f"FAKE{j}" for j in range(10))
SEEN = (0.1, 0.2)  # share of the negative and of the positive reviews that have a fake word
LATER = (0.1, 0.1)  # the same, of the test reviews
VALIDATION = 0.2  # of the reviews that are not for the test
TREES, DEPTH = 30, 5
GAP = 0.05  # in accuracy on the test reviews
TRIES = 300  # forests, after which a round is given up
Predict = Callable[[Sequence[str]], Any]

NEVER = -64.0  # what an unwanted word counts: more than all words on a path


@dataclass(frozen=True, eq=False)
class Problem:
    """The reviews of a round, with fake words."""

    words: tuple[str, ...]  # of the columns
    train: Any  # CSC, with y_train
    y_train: Any
    valid: Any  # CSR
    y_valid: Any
    test: Any
    y_test: Any
    texts: tuple[str, ...]  # of the validation reviews


@dataclass(frozen=True, eq=False)
class Pair:
    """Two forests; ``better`` is the number of the one to choose."""

    forests: tuple[Any, Any]
    valid: tuple[int, int]  # right on the validation reviews
    test: tuple[int, int]  # and on the test reviews
    better: int
    tried: int  # forests


def sprinkled(y: Any, shares: tuple[float, float], rng: np.random.Generator) -> Any:
    """Which reviews have which fake words, (n, 10): exactly those shares of the classes 0 and 1."""
    there = np.zeros((len(y), len(FAKES)), dtype=np.float32)
    for j, label in product(range(len(FAKES)), (0, 1)):
        rows = np.flatnonzero(y == label)
        there[rng.choice(rows, round(shares[label] * len(rows)), replace=False), j] = 1
    return csr_matrix(there)


def problem_of(reviews: Reviews, rng: np.random.Generator) -> Problem:
    """Fake words and a cut into training and validation reviews."""
    words = (*(str(word) for word in reviews.vocabulary), *FAKES)
    if len(set(words)) < len(words):
        raise ValueError(f"the reviews have words such as {FAKES[0]}: give the fake words other names")
    fakes = sprinkled(reviews.y_train, SEEN, rng)
    later = sprinkled(reviews.y_test, LATER, rng)
    X = hstack([reviews.X_train, fakes], format="csr", dtype=np.float32)
    test = hstack([reviews.X_test, later], format="csr", dtype=np.float32)
    order = rng.permutation(X.shape[0])
    cut = round((1 - VALIDATION) * len(order))
    train, valid = order[:cut], order[cut:]
    texts = tuple(" ".join([reviews.train[i], *(FAKES[j] for j in np.sort(fakes[i].indices))]) for i in valid)
    y = reviews.y_train
    return Problem(words, X[train].tocsc(), y[train], X[valid], y[valid], test, reviews.y_test, texts)


def grown(problem: Problem, rng: np.random.Generator, without: int = 0) -> tuple[Any, int, int]:
    """A forest, and how often it is right on the validation and test reviews.

    It does not get to see the last ``without`` words, which it then has no use for.
    """
    forest = RandomForestClassifier(TREES, max_depth=DEPTH, random_state=int(rng.integers(2**31)))
    train = problem.train
    if without:
        shown = problem.train[:, : train.shape[1] - without]
        train = hstack([shown, csr_matrix((train.shape[0], without))], format="csc", dtype=np.float32)
    forest.fit(train, problem.y_train)
    valid, test = (
        int((forest.predict(X) == y).sum())
        for X, y in ((problem.valid, problem.y_valid), (problem.test, problem.y_test))
    )
    return forest, valid, test


def found(problem: Problem, rng: np.random.Generator) -> Pair | None:
    """The first two forests that validation cannot tell apart, and the test can."""
    pool: list[tuple[Any, int, int]] = []
    apart = GAP * problem.test.shape[0] - 1e-9
    for tried in range(1, TRIES + 1):
        new = grown(problem, rng)
        for old in pool:
            if new[1] == old[1] and abs(new[2] - old[2]) >= apart:
                return _pair(old, new, int(new[2] > old[2]), tried, rng)
        pool.append(new)
    return None


def planted(problem: Problem, rng: np.random.Generator) -> Pair | None:
    """A forest that never saw a fake word, which is the one to choose, and one that did, equally good to see."""
    clean: list[tuple[Any, int, int]] = []
    tempted: list[tuple[Any, int, int]] = []
    for tried in range(2, TRIES + 1, 2):
        clean.append(grown(problem, rng, without=len(FAKES)))
        tempted.append(grown(problem, rng))
        for one, other in product(clean, tempted):
            if one[1] == other[1]:
                return _pair(one, other, 0, tried, rng)
    return None


def _pair(one: Any, other: Any, better: int, tried: int, rng: np.random.Generator) -> Pair:
    """A pair in random order."""
    both = (one, other) if rng.random() < 0.5 else (other, one)
    forests, valid, test = zip(*both, strict=True)
    return Pair(forests, valid, test, better if both[0] is one else 1 - better, tried)


@dataclass(frozen=True, eq=False)
class Leaves:
    """Forests as a sum over their leaves: quick to ask about many texts with few different words.

    A leaf is reached by the texts that have all words it wants and none that it does not.
    """

    at: dict[str, int]  # columns of the words that some tree looks at
    paths: Any  # (leaves, words): 1 where a word is wanted, NEVER where it must not be there
    wanted: Any  # (leaves,) how many words are
    values: Any  # (leaves, forests) what a leaf adds to the probability of class 1

    @classmethod
    def of(cls, forests: Sequence[Any], words: Sequence[str]) -> Leaves:
        leaves = [
            (wanted, unwanted, value / len(forest.estimators_), number)
            for number, forest in enumerate(forests)
            for tree in forest.estimators_
            for wanted, unwanted, value in leaves_of(tree.tree_)
        ]
        used = sorted({word for wanted, unwanted, _, _ in leaves for word in wanted | unwanted})
        place = {word: j for j, word in enumerate(used)}
        paths, values = np.zeros((len(leaves), len(used)), np.float32), np.zeros((len(leaves), len(forests)))
        for i, (wanted, unwanted, value, number) in enumerate(leaves):
            paths[i, [place[word] for word in wanted]] = 1
            paths[i, [place[word] for word in unwanted]] = NEVER
            values[i, number] = value
        at = {words[word]: j for word, j in place.items()}
        return cls(at, paths, (paths == 1).sum(axis=1), values)

    def __call__(self, texts: Sequence[str]) -> Any:
        """The probability of class 1, (n, forests)."""
        looked_at = frozenset(self.at)
        rows = [looked_at.intersection(text.split()) for text in texts]
        columns = sorted({self.at[word] for row in rows for word in row})
        place = {column: j for j, column in enumerate(columns)}
        has = np.zeros((len(texts), len(columns)), np.float32)
        for i, row in enumerate(rows):
            has[i, [place[self.at[word]] for word in row]] = 1
        return self._sum(has, columns)

    def _sum(self, has: Any, columns: Any) -> Any:
        """The answers to texts, by whether they have the words of these columns; they have no others."""
        paths = self.paths[:, columns]
        possible = (paths == 1).sum(axis=1) == self.wanted  # leaves that these words can lead to
        return (has @ paths[possible].T == self.wanted[possible]) @ self.values[possible]

    def near(self, review: str) -> Predict:
        """The same answers, quicker for texts that are this review with nothing in place of some of its words."""
        words = review.split(" ")
        lengths = np.array([len(word.encode()) for word in words])
        columns = np.array([self.at.get(word, -1) for word in words])
        used = np.flatnonzero(columns >= 0)

        def predict(texts: Sequence[str]) -> Any:
            blanks = np.flatnonzero(np.frombuffer((" ".join(texts) + " ").encode(), np.uint8) == ord(" "))
            if len(blanks) != len(texts) * len(words):
                return self(texts)
            found = np.diff(blanks, prepend=-1).reshape(len(texts), len(words)) - 1
            if ((found != 0) & (found != lengths)).any():
                return self(texts)
            return self._sum((found[:, used] != 0).astype(np.float32), columns[used])

        return predict


def alone(predict: Predict, number: int) -> Predict:
    """Only one of the forests: the probabilities of both classes."""

    def classes(texts: Sequence[str]) -> Any:
        p = predict(texts)[:, number]
        return np.stack([1 - p, p], axis=1)

    return classes


def leaves_of(tree: Any) -> Iterator[tuple[frozenset[int], frozenset[int], float]]:
    """The words that each leaf of a tree wants, those it does not, and its share of class 1."""
    shares = tree.value[:, 0, 1] / tree.value[:, 0, :].sum(axis=1)
    stack = [(0, frozenset[int](), frozenset[int]())]
    while stack:
        node, wanted, unwanted = stack.pop()
        if tree.children_left[node] == -1:
            yield wanted, unwanted, float(shares[node])
        else:
            word = frozenset([int(tree.feature[node])])
            stack.append((tree.children_left[node], wanted, unwanted | word))
            stack.append((tree.children_right[node], wanted | word, unwanted))
