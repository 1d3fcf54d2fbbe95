"""How much each column, word or region counts over many explanations: sums over all rows, and some rows to be drawn.

Everything is added up a batch at a time, so that explanations in memory and in stores of any size take one way.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from veridical.records import OUTCOMES, Bools, Explanation, Floats, Ints, Record, Tabular

SAMPLED = 2000  # rows that pictures are drawn of, at most
DRAWN = 30  # columns of these rows that are kept, the heaviest
BATCH = 2**13  # explanations added up at once
TO_NUMBER = (int, float, np.integer, np.floating)
WIDTH = 2 * 1.959964  # of a 95 % interval, in standard errors


@dataclass(frozen=True, slots=True, eq=False)
class RowSample(Record):
    """Some rows with their weights and own values in the heaviest columns.

    Attributes
    ----------
    numbers : array (m,)
        Numbers of the rows, as if drawn at random.
    rows : tuple (m,)
        Their names.
    weights : array (m, s)
        Weights on the scale of the outputs; nan where a row does not have the column, or it was not tested.
    values : array (m, s)
        The rows' own values as numbers, or as positions among ``levels``; nan where a row has none.
    levels : tuple of tuple (s,)
        The categories of each column; empty where it is numeric.
    predictions, fidelities : array (m,)
        What the model says of each row, and how faithful its explanation is.
    labels : tuple of str (m,)
        The label of each verdict.
    targets : tuple (m,)
        What each row explains.
    """

    numbers: Ints
    rows: tuple[Any, ...]
    weights: Floats
    values: Floats
    levels: tuple[tuple[Any, ...], ...]
    predictions: Floats
    fidelities: Floats
    labels: tuple[str, ...]
    targets: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Importance(Tabular):
    """How much each column, word or region counts over many rows: global feature importance from local explanations.

    The importance of a column is the mean size of its weight over all rows, on the scale of the outputs; a row that
    does not have it counts as zero, and one in which it was not tested is left out.

    Attributes
    ----------
    columns : tuple of str (c,)
        Columns, words or regions, the most important first.
    importance : array (c,)
        The mean size of their weights.
    intervals : array (c, 2)
        95 % confidence intervals: of which rows there are, and of noise in the weights, which rows may share.
    means : array (c,)
        The mean of the weights with their signs.
    counts : array (c,)
        Rows that have each column.
    raising : array (c,)
        Rows whose output it raises.
    n_rows : int
        Rows with an explanation.
    n_failed : int
        Rows without.
    targets : tuple of (target, int)
        What the rows explain, the most frequent first.
    labels : tuple of (str, int)
        How often each label is there, the best first.
    fidelity : float
        Mean fidelity over the rows where it was measured.
    sample : RowSample
        Some rows, of which pictures are drawn.
    notes : tuple of str
        What a reader should know.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> many = vd.explain_many(lambda X: 3 * X[:, 0] + X[:, 1], vd.Rows(X, names=["a", "b", "c"]), X[:40])
    >>> many.importance().columns[:2]
    ('a', 'b')
    """

    columns: tuple[str, ...]
    importance: Floats
    intervals: Floats
    means: Floats
    counts: Ints
    raising: Ints
    n_rows: int
    n_failed: int
    targets: tuple[tuple[Any, int], ...]
    labels: tuple[tuple[str, int], ...]
    fidelity: float
    sample: RowSample
    notes: tuple[str, ...] = ()

    def top(self, k: int = 5) -> list[tuple[str, float]]:
        """Return the k most important columns.

        Parameters
        ----------
        k : int, default 5
            How many at most.

        Returns
        -------
        list of (str, float)
            Names and importances, the largest first.
        """
        return list(zip(self.columns[:k], self.importance[:k].tolist(), strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class WeightBatch(Record):
    """Weights of some rows as columns: what is added up."""

    numbers: Ints  # (n,) of the rows
    counts: Ints  # (n,) parts of each
    columns: tuple[str, ...]  # the distinct ones
    codes: Ints  # (m,) which of them each part is in, row after row
    weights: Floats  # (m,) on the scale of the outputs
    low: Floats  # (m,)
    high: Floats  # (m,)
    predictions: Floats  # (n,)
    fidelities: Floats  # (n,)
    labels: tuple[str, ...]  # (n,)
    targets: tuple[Any, ...]  # (n,)


class WeightSums:
    """Sums over columns, which grow batch by batch; and which rows are to be drawn."""

    def __init__(self, n_rows: int) -> None:
        self.limit = 2.0**64 * min(SAMPLED / max(n_rows, 1), 1.0)
        self.names: list[str] = []
        self._known: dict[str, int] = {}
        self.sums = np.zeros((7, 0))  # sizes, squares, signed, noise, rows having it, raised, not tested
        self.n_rows = self.n_fidelity = 0
        self.fidelity = 0.0
        self.targets: dict[Any, list[Any]] = {}
        self.labels = Counter[str]()
        self._kept: list[tuple[WeightBatch, Bools, Sequence[Any], Sequence[Any]]] = []

    def chosen(self, numbers: Ints) -> Bools:
        """Which rows are to be drawn: that depends on their numbers alone."""
        return np.asarray(hash_numbers(numbers) < self.limit)

    def add(self, batch: WeightBatch, rows: Sequence[Any], values: Sequence[Any]) -> None:
        """Add a batch; names and own values are those of its chosen rows."""
        n, at = len(batch.counts), self._number(batch.columns)
        row, codes = np.repeat(np.arange(n), batch.counts), at[batch.codes]
        weights, low, high = batch.weights, batch.low, batch.high
        known = np.isfinite(weights)
        places = row * len(self.names) + codes
        if _has_duplicates(places, n * len(self.names)):  # several parts of a row lie in one column
            keys, inverse = np.unique(places, return_inverse=True)
            spread = np.nan_to_num(_noise_of(low, high)) ** 2
            sums = [np.bincount(inverse, np.where(known, x, 0.0), len(keys)) for x in (weights, spread)]
            tested = np.bincount(inverse, known, len(keys)) > 0
            weights, noise = np.where(tested, sums[0], np.nan), np.sqrt(sums[1])
            codes, known = keys % len(self.names), tested
        else:
            noise = np.nan_to_num(_noise_of(low, high))
        size = np.where(known, np.abs(weights), 0.0)
        signed = np.where(known, weights, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            rows_of = (size, size**2, signed, noise, size > 0, signed > 0, ~known)
            self.sums += np.stack([np.bincount(codes, x, len(self.names)) for x in rows_of])
        self.n_rows += n
        fidelity = batch.fidelities[np.isfinite(batch.fidelities)]
        self.fidelity, self.n_fidelity = self.fidelity + float(fidelity.sum()), self.n_fidelity + len(fidelity)
        for key, n_same in Counter(zip(map(type, batch.targets), batch.targets, strict=True)).items():
            self.targets.setdefault(key, [key[1], 0])[1] += n_same
        self.labels.update(Counter(batch.labels))
        some = self.chosen(batch.numbers)
        if some.any():
            self._kept.append((batch, some, rows, values))

    def _number(self, columns: Sequence[str]) -> Ints:
        """The number of each column; a new one has sums of its own."""
        for name in columns:
            if name not in self._known:
                self._known[name] = len(self.names)
                self.names.append(name)
        missing = len(self.names) - self.sums.shape[1]
        self.sums = np.concatenate([self.sums, np.zeros((7, missing))], axis=1) if missing else self.sums
        return np.array([self._known[name] for name in columns], dtype=np.int64)

    def result(self, n_failed: int = 0, notes: tuple[str, ...] = ()) -> Importance:
        """What the rows come to."""
        sizes, squares, signed, noise, having, raising, untested = self.sums
        n = np.maximum(self.n_rows - untested, 1)
        mean = sizes / n
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            error = np.sqrt(np.maximum(squares / n - mean**2, 0.0) / (n - 1)) * stdtrit(n - 1, 0.975)
        error = np.where(n > 1, error, np.inf)
        order = np.argsort(-mean, kind="stable")
        order = order[(mean[order] > 0) | (untested[order] < self.n_rows)]
        half = np.hypot(error, WIDTH / 2 * noise / n)  # rows may share their samples, and so their noise
        bounds = np.stack([np.maximum(mean - half, 0.0), mean + half], axis=1)
        several = len(self.targets) > 1
        told = (
            "Rows explain several targets, so that signs are of each row's own: give one target= to compare them.",
        )
        targets = sorted(self.targets.values(), key=lambda pair: -pair[1])
        return Importance(
            tuple(self.names[j] for j in order),
            mean[order],
            bounds[order],
            (signed / n)[order],
            having[order].astype(np.int64),
            raising[order].astype(np.int64),
            self.n_rows,
            n_failed,
            tuple((target, count) for target, count in targets),
            tuple((label, self.labels[label]) for label in OUTCOMES if label in self.labels),
            self.fidelity / self.n_fidelity if self.n_fidelity else math.nan,
            self._sample([self.names[j] for j in order[:DRAWN]]),
            (*(told if several else ()), *notes),
        )

    def _sample(self, columns: Sequence[str]) -> RowSample:
        """The rows that are drawn, in the order of their numbers, in the heaviest columns."""
        at = {name: s for s, name in enumerate(columns)}
        weights, cells, facts = list[Floats](), list[list[Any]](), list[tuple[Any, ...]]()
        for batch, some, rows, values in self._kept:
            starts = np.cumsum(batch.counts) - batch.counts
            places = np.array([at.get(name, -1) for name in batch.columns], dtype=np.int64)
            for i, name, own in zip(np.flatnonzero(some).tolist(), rows, values, strict=True):
                part = slice(int(starts[i]), int(starts[i] + batch.counts[i]))
                line, cell = np.full(len(columns), np.nan), [None] * len(columns)
                for s, weight, value in zip(
                    places[batch.codes[part]].tolist(),
                    batch.weights[part].tolist(),
                    own or (None,) * int(batch.counts[i]),
                    strict=True,
                ):
                    if s >= 0 and math.isfinite(weight):
                        line[s] = weight if math.isnan(line[s]) else line[s] + weight
                        cell[s] = value
                weights.append(line)
                cells.append(cell)
                fact = int(batch.numbers[i]), name, float(batch.predictions[i]), float(batch.fidelities[i])
                facts.append((*fact, batch.labels[i], batch.targets[i]))
        order = sorted(range(len(facts)), key=lambda i: facts[i][0])
        coded = [_as_numbers([cells[i][s] for i in order]) for s in range(len(columns))]
        numbers, names, predictions, fidelities, labels, targets = (
            zip(*(facts[i] for i in order), strict=True) if facts else ((),) * 6
        )
        m = len(facts)
        return RowSample(
            np.array(numbers, dtype=np.int64),
            tuple(names),
            np.array([weights[i] for i in order]).reshape(m, len(columns)),
            np.array([values for values, _ in coded]).reshape(len(columns), m).T.copy(),
            tuple(levels for _, levels in coded),
            np.array(predictions, dtype=float),
            np.array(fidelities, dtype=float),
            tuple(labels),
            tuple(targets),
        )


def _has_duplicates(places: Ints, size: int) -> bool:
    """Whether some number below ``size`` is there twice; of many more than there are numbers, all are sorted."""
    if size <= 8 * len(places):
        return bool(np.bincount(places).max(initial=0) > 1)
    return len(np.unique(places)) < len(places)


def sum_explanations(items: Sequence[Explanation], numbers: Sequence[int], n_failed: int) -> Importance:
    """The importance of explanations in memory."""
    sums = WeightSums(len(items))
    for start in range(0, len(items), BATCH):
        some, numbered = items[start : start + BATCH], np.array(numbers[start : start + BATCH], dtype=np.int64)
        codes, columns = pd.factorize(np.array([p.column for e in some for p in e.parts], dtype=object))
        weights, intervals = zip(*(shared_pairs(e) for e in some), strict=True)
        ends = np.concatenate(intervals)
        batch = WeightBatch(
            numbered,
            np.array([len(e.parts) for e in some], dtype=np.int64),
            tuple(columns),
            codes,
            np.concatenate(weights),
            ends[:, 0],
            ends[:, 1],
            np.array([e.prediction for e in some]),
            np.array([e.fidelity for e in some]),
            tuple(e.verdict.label for e in some),
            tuple(e.target for e in some),
        )
        chosen = np.flatnonzero(sums.chosen(numbered)).tolist()
        named = [int(numbered[i]) if some[i].row is None else some[i].row for i in chosen]
        sums.add(batch, named, [some[i].values for i in chosen])
    return sums.result(n_failed)


def shared_pairs(e: Explanation) -> tuple[Floats, Floats]:
    """Weights on the scale of the outputs, and their intervals; a pair is shared by its two features."""
    weights, intervals = e.on_outputs
    if not e.pairs or e.changes is not None:  # which count what their features do together, too
        return weights, intervals
    return add_pairs(weights, intervals, [(pair.parts, pair.weight) for pair in e.pairs])


def add_pairs(
    weights: Floats, intervals: Floats, pairs: Iterable[tuple[Sequence[int], float]]
) -> tuple[Floats, Floats]:
    """Weights and intervals (d, 2) to which each pair adds a half at both of its features."""
    added = np.zeros(len(weights))
    for parts, weight in pairs:
        added[list(parts)] += weight / 2
    return weights + added, intervals + added[:, None]


def hash_numbers(numbers: Any) -> Any:
    """Whole numbers as if drawn at random from 0 to 2^64 (splitmix64: Steele et al. 2014)."""
    z = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return z ^ (z >> np.uint64(31))


def _noise_of(low: Floats, high: Floats) -> Floats:
    """Standard errors of weights that have these intervals; nan where they were not measured."""
    with np.errstate(invalid="ignore", over="ignore"):
        width = high - low
        return np.where(np.isfinite(width), width / WIDTH, np.nan)


def _as_numbers(values: Sequence[Any]) -> tuple[Floats, tuple[Any, ...]]:
    """Values as numbers; else positions among their categories, which are told, too."""
    present = [v for v in values if v is not None]
    if all(isinstance(v, TO_NUMBER) and not isinstance(v, bool) for v in present):
        return np.array([math.nan if v is None else float(v) for v in values]), ()
    try:
        levels = tuple(sorted(set(present)))
    except TypeError:
        levels = tuple(dict.fromkeys(chain(map(str, present))))
        values = [None if v is None else str(v) for v in values]
    at = {level: float(i) for i, level in enumerate(levels)}
    return np.array([math.nan if v is None else at[v] for v in values]), levels
