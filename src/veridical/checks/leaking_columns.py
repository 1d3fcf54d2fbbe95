"""Columns that give the answer away: used by the model, and unrelated to everything else once the class is known.

What tells a leak from a strong feature is that nothing else in the row predicts it within a class: it was written
after the outcome. A cause of the outcome that is unrelated to the others looks the same, so the question goes to
whoever made the data.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.linear_model import Ridge

from veridical.checks.suspects import Material, Suspect, learn_out_of_fold, pick_candidates
from veridical.metrics.weights import correlation
from veridical.models.outputs import n_rows
from veridical.protocols import Seed
from veridical.records import UNCLEAR, Floats, Ints
from veridical.seeds import generator

MAX_COLUMNS = 300  # columns that are redrawn one by one, at most
N_REDRAWS = 2  # times that each is redrawn in every row
MAX_CODED = 8  # values of a category that are told apart
MIN_USED = 0.1  # share of answers that change when a column is redrawn, from which on the model uses it
MAX_OWN = 0.1  # correlation with what the rest says of a column within a class, up to which it is unrelated
MIN_ALONE, MIN_AHEAD = (
    0.97,
    0.05,
)  # right answers of a column alone that is as good as the answer, and beyond the rest
MIN_ROWS = 1000  # labeled rows from which on unrelated is told from not known
LEAN_SHARE, LEAN_AHEAD = 0.6, 0.3  # of what redrawing all columns changes, that one column changes alone
MAX_UNRELATED = 0.3  # share of the columns looked at that may be unrelated, before that says nothing
STAND_OUT = 2.0  # times the use of the next unrelated column that one must have, where many are unrelated
REDRAW = 10  # what a seed is for


@dataclass(frozen=True, eq=False)
class LabeledColumns:
    """A table whose columns can be redrawn, with labeled rows to learn from."""

    material: Material
    names: tuple[str, ...]
    codes: Floats  # (m, p) labeled rows as numbers
    owners: Ints  # (p,) the column that each of the numbers is of

    @classmethod
    def of(cls, material: Material) -> LabeledColumns:
        table = material.labeled_inputs
        names = (
            [str(c) for c in table.columns]
            if hasattr(table, "columns")
            else [f"x{j}" for j in range(table.shape[1])]
        )
        pieces, owners = list[Floats](), list[int]()
        for j in range(len(names)):
            column = table.iloc[:, j] if hasattr(table, "iloc") else table[:, j]
            for each in code_column(column):
                pieces.append(each)
                owners.append(j)
        return cls(material, tuple(names), np.column_stack(pieces), np.array(owners))

    def redrawn(self, at: Sequence[int], seed: Seed, number: int) -> Any:
        """The rows that the model is asked about, with other rows' values in some columns, each drawn alone."""
        table, pool = self.material.inputs, self.material.pool_inputs
        rng, made = generator(seed, REDRAW, number), table.copy()
        for j in at:
            rows = rng.integers(0, n_rows(pool), n_rows(table))
            if hasattr(made, "iloc"):
                values = pool.iloc[:, j].iloc[rows]
                made.isetitem(j, values.set_axis(made.index).astype(made.iloc[:, j].dtype, errors="ignore"))
            else:
                made[:, j] = pool[rows, j]
        return made

    def targets(self, j: int) -> list[Any]:
        """What is to be predicted of a column: its ranks, or whether it has each of its values, or none."""
        own = self.codes[:, self.owners == j]
        found = list[Any]()
        for each in own.T:
            if np.ptp(each):
                found.append(rankdata(each))
        return found

    def ownness(self, j: int, seed: Seed) -> float:
        """How well the rest foretells a column within the classes: the largest correlation, out of fold."""
        labels = self.material.labels
        others = self.codes[:, self.owners != j]
        if not others.shape[1]:
            return 0.0
        given = np.column_stack([standardize(others), np.eye(labels.max() + 1)[labels]])
        best = 0.0
        for target in self.targets(j):
            within = target - class_means(target, labels)
            if not np.ptp(within) > 0:
                continue
            for learner in (_line, _trees):
                guess = learn_out_of_fold(given, within, labels, learner, seed)
                best = max(best, correlation(guess - class_means(guess, labels), within))
                if best > MAX_OWN:
                    return best
        return best

    def accuracy_of(self, at: Sequence[int], seed: Seed) -> float:
        """Right answers, out of fold, of a quick model of some columns."""
        X, labels = self.codes[:, np.isin(self.owners, at)], self.material.labels
        if not X.shape[1]:
            return float(np.bincount(labels).max() / len(labels))
        return float((learn_out_of_fold(X, labels, labels, _classes, seed) == labels).mean())


def code_column(column: Any) -> list[Floats]:
    """A column as numbers: values with whether they are missing, or one number a frequent category."""
    values = pd.Series(np.asarray(column)) if not isinstance(column, pd.Series) else column
    if pd.api.types.is_bool_dtype(values) or (
        pd.api.types.is_numeric_dtype(values) and not isinstance(values.dtype, pd.CategoricalDtype)
    ):
        found = pd.to_numeric(values).to_numpy(dtype=np.float64, na_value=np.nan)
        gone = ~np.isfinite(found)
        middle = float(np.nanmedian(np.where(gone, np.nan, found))) if not gone.all() else 0.0
        filled = np.where(gone, middle, found)
        return [filled, *([gone.astype(np.float64)] if gone.any() else [])]
    if pd.api.types.is_datetime64_any_dtype(values):
        return [np.asarray(values.astype("int64"), dtype=np.float64)]
    text = values.astype(str)
    often = text.value_counts().index[:MAX_CODED]
    return [(text == value).to_numpy(dtype=np.float64) for value in often]


def standardize(X: Floats) -> Floats:
    spread = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def class_means(values: Floats, labels: Ints) -> Floats:
    """The mean of each row's class, (n,)."""
    counts = np.maximum(np.bincount(labels), 1)
    return np.asarray((np.bincount(labels, values) / counts)[labels])


def _line(X: Floats, y: Floats) -> Callable[[Floats], Floats]:
    return Ridge(1e-3 * len(X)).fit(X, y).predict  # type: ignore[no-any-return]


def _trees(X: Floats, y: Floats) -> Callable[[Floats], Floats]:
    from sklearn.ensemble import HistGradientBoostingRegressor  # takes as long to import as all of veridical

    made = HistGradientBoostingRegressor(max_iter=30, max_leaf_nodes=15, early_stopping=False, random_state=0)
    return made.fit(X, y).predict  # type: ignore[no-any-return]


def _classes(X: Floats, y: Ints) -> Callable[[Floats], Ints]:
    from sklearn.ensemble import HistGradientBoostingClassifier  # as above

    made = HistGradientBoostingClassifier(max_iter=30, max_leaf_nodes=15, early_stopping=False, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return made.fit(X, y).predict  # type: ignore[no-any-return]


def search_columns(material: Material, weights: dict[str, float], seed: Seed) -> list[Suspect]:
    """Suspects among the columns of a table; ``weights`` are summed sizes of explanations by column."""
    columns = LabeledColumns.of(material)
    own = material.outputs
    d = min(len(columns.names), MAX_COLUMNS)
    changed, correct = np.zeros(d), np.zeros(d)
    for j in range(d):
        for i in range(N_REDRAWS):
            outputs = material.ask(columns.redrawn([j], seed, j * N_REDRAWS + i))
            changed[j] += material.changed(own, outputs) / N_REDRAWS
            correct[j] += material.share_right(outputs) / N_REDRAWS
    whole = material.changed(own, material.ask(columns.redrawn(range(len(columns.names)), seed, d * N_REDRAWS)))
    by_weight = np.array([weights.get(name, 0.0) for name in columns.names[:d]])
    candidates = pick_candidates(changed, by_weight)
    found = [_examine(columns, j, (changed, correct, float(whole)), seed) for j in candidates]
    return _judge(columns, found, seed)


def _examine(columns: LabeledColumns, j: int, use: tuple[Floats, Floats, float], seed: Seed) -> Suspect:
    changed, correct, whole = use
    material, d = columns.material, len(columns.names)
    others = [i for i in range(d) if i != j]
    alone = material.share_right(material.ask(columns.redrawn(others, seed, d * N_REDRAWS + 1 + j)))
    own = columns.ownness(j, seed) if material.has_labels else np.nan
    column = columns.accuracy_of([j], seed) if material.has_labels else np.nan
    near = not (own > MAX_OWN) or column >= MIN_ALONE
    rest = columns.accuracy_of(others, seed) if near and material.has_labels else np.nan
    return Suspect(
        kind="column", name=columns.names[j], place=j, used=float(changed[j]), share=float(changed[j] / max(whole, 1e-9)),
        right=material.share_right(material.outputs), right_without=float(correct[j]), right_alone=alone,
        column_alone=column, rest=rest, own=own,
    )  # fmt: skip


def _judge(columns: LabeledColumns, found: list[Suspect], seed: Seed) -> list[Suspect]:
    material = columns.material
    if not material.has_labels:
        return [each.labeled(UNCLEAR, "leans") for each in found if each.share > LEAN_SHARE][:1]
    related = [each for each in found if each.own > MAX_OWN]
    unrelated = sorted((each for each in found if not each.own > MAX_OWN), key=lambda each: -each.used)
    many = len(unrelated) - 1 > MAX_UNRELATED * len(found)
    told = list[Suspect]()
    for i, each in enumerate(unrelated):
        if each.used <= MIN_USED:
            continue
        next_used = unrelated[i + 1].used if i + 1 < len(unrelated) else 0.0
        stands_out = i == 0 and each.used > STAND_OUT * next_used and each.column_alone > each.rest - MIN_AHEAD
        if many and not stands_out:
            continue
        known = len(material.labels) >= MIN_ROWS or each.column_alone > each.rest - MIN_AHEAD
        told.append(each.labeled("failed", "own") if known else each.labeled(UNCLEAR, "few rows"))
    for each in found:
        as_good = each.column_alone >= MIN_ALONE and each.column_alone > each.rest + MIN_AHEAD
        if as_good and each.used > MIN_USED and all(each.name != other.name for other in told):
            told.append(each.labeled("failed", "as good as the answer"))
    if not told:
        ordered = sorted(related, key=lambda each: -each.used)
        for i, each in enumerate(ordered[:1]):
            ahead = each.share - (ordered[i + 1].share if i + 1 < len(ordered) else 0.0)
            if each.share > LEAN_SHARE and ahead > LEAN_AHEAD:
                told.append(each.labeled(UNCLEAR, "leans"))
    return told
