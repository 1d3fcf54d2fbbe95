"""How a column of numbers becomes a few bins. Pass one of these to ``Rows(discretize=…)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from veridical.errors import InputError, check_whole
from veridical.records import Floats


class Discretizer(Protocol):
    """Finds the edges between the bins of a column; a value on an edge belongs to the bin below it."""

    def edges(self, values: Floats, column: str, position: int) -> Floats | None:
        """Increasing edges, or None to leave the column as a number."""
        ...


@dataclass(frozen=True)
class Quantiles:
    """``n`` bins of about equal count; equal edges are merged."""

    n: int = 4

    def __post_init__(self) -> None:
        check_whole("the n of Quantiles", self.n, least=2)

    def edges(self, values: Floats, column: str, position: int) -> Floats | None:
        shares = np.linspace(0, 1, self.n + 1)[1:-1]
        return np.unique(np.quantile(values[np.isfinite(values)], shares))


def Quartiles() -> Quantiles:  # noqa: N802 - reads like the other discretizers
    """Four bins of about equal count, as in the lime package."""
    return Quantiles(4)


def Deciles() -> Quantiles:  # noqa: N802
    """Ten bins of about equal count."""
    return Quantiles(10)


@dataclass(frozen=True)
class Entropy:
    """Bins that separate the labels best: the leaves of a small decision tree on each column alone."""

    labels: Sequence[Any]  # one a row of the background
    max_depth: int = 3

    def edges(self, values: Floats, column: str, position: int) -> Floats | None:
        labels = np.asarray(self.labels)
        if labels.shape != values.shape:
            raise InputError(
                f"Entropy wants one label a row of the background: {len(values)} rows, "
                f"labels of shape {labels.shape}"
            )
        seen = np.isfinite(values)
        tree = DecisionTreeClassifier(criterion="entropy", max_depth=self.max_depth, random_state=0)
        fitted = tree.fit(values[seen, None], labels[seen]).tree_
        found = np.unique(fitted.threshold[fitted.children_left >= 0])
        return found if len(found) else np.array([np.median(values[seen])])


@dataclass(frozen=True)
class Edges:
    """The caller's own edges by column name (or position); other columns get quartiles."""

    by_column: Mapping[str | int, Sequence[float]]

    def edges(self, values: Floats, column: str, position: int) -> Floats | None:
        if column not in self.by_column and position not in self.by_column:
            return Quantiles(4).edges(values, column, position)
        given = self.by_column[column if column in self.by_column else position]
        try:
            edges = np.asarray(given, float)
            good = edges.ndim == 1 and len(edges) and np.isfinite(edges).all() and (np.diff(edges) > 0).all()
        except (TypeError, ValueError):
            good = False
        if not good:
            raise InputError(
                f"the edges of {column!r} must be a list of finite, increasing numbers, not {given!r}"
            )
        return edges


@dataclass(frozen=True)
class Continuous:
    """No bins: a part is a number, and its weight is the effect of one standard deviation."""

    def edges(self, values: Floats, column: str, position: int) -> Floats | None:
        return None
