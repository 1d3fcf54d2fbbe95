"""Bins: how a column of numbers is cut for ``Rows(discretize=…)``, and a series for ``Windows(cut=…)``.

Statistics of columns, from which ``Rows.from_statistics`` makes a background without the data, are here, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from veridical.errors import InputError, check_number, check_positive, check_whole, safe_repr
from veridical.records import Floats

__all__ = [
    "BinStatistics",
    "CategoryStatistics",
    "ChangePoints",
    "Continuous",
    "Deciles",
    "Edges",
    "Entropy",
    "NumberStatistics",
    "Quantiles",
    "Quartiles",
]


class Discretizer(Protocol):
    """What finds the edges between the bins of a column; a value on an edge belongs to the bin below it."""

    def edges(self, values: Floats, column: str, position: int) -> Floats | None:
        """The edges between the bins of one column of the background.

        Parameters
        ----------
        values : array of shape (n,)
            The column; missing values are nan.
        column : str
            Its name.
        position : int
            Its position in the table.

        Returns
        -------
        array or None
            Increasing edges, or None to leave the column as a number.
        """
        ...


@dataclass(frozen=True)
class Quantiles:
    """Bins of about equal count; equal edges are merged.

    Parameters
    ----------
    n : int, default 4
        Bins per column.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> vd.bins.Quantiles(2).edges(np.arange(11.0), "age", 0)
    array([5.])
    """

    n: int = 4

    def __post_init__(self) -> None:
        check_whole("the n of Quantiles", self.n, least=2)

    def edges(self, values: Floats, column: str, position: int) -> Floats | None:
        shares = np.linspace(0, 1, self.n + 1)[1:-1]
        return np.unique(np.quantile(values[np.isfinite(values)], shares))


def Quartiles() -> Quantiles:  # noqa: N802 - reads like the other discretizers
    """Four bins of about equal count, as in the lime package: ``Quantiles(4)``."""
    return Quantiles(4)


def Deciles() -> Quantiles:  # noqa: N802
    """Ten bins of about equal count: ``Quantiles(10)``."""
    return Quantiles(10)


@dataclass(frozen=True)
class Entropy:
    """Bins that separate labels best: the leaves of a small decision tree on each column alone.

    Parameters
    ----------
    labels : sequence
        One label per row of the background.
    max_depth : int, default 3
        Depth of the trees; there are at most 2 to the power of it bins.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> vd.bins.Entropy([0] * 7 + [1] * 4).edges(np.arange(11.0), "age", 0)
    array([6.5])
    """

    labels: Sequence[Any]
    max_depth: int = 3

    def edges(self, values: Floats, column: str, position: int) -> Floats | None:
        labels = np.asarray(self.labels)
        if labels.shape != values.shape:
            raise InputError(
                f"Entropy wants one label per row of the background: {len(values)} rows, "
                f"labels of shape {labels.shape}"
            )
        seen = np.isfinite(values)
        tree = DecisionTreeClassifier(criterion="entropy", max_depth=self.max_depth, random_state=0)
        fitted = tree.fit(values[seen, None], labels[seen]).tree_
        found = np.unique(fitted.threshold[fitted.children_left >= 0])
        return found if len(found) else np.array([np.median(values[seen])])


@dataclass(frozen=True)
class Edges:
    """Bins with given edges; other columns get quartiles.

    Parameters
    ----------
    by_column : mapping of str or int to sequence of float
        Increasing edges by the name or position of the column.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> vd.bins.Edges({"age": [18, 65]}).edges(np.arange(90.0), "age", 0)
    array([18., 65.])
    """

    by_column: Mapping[str | int, Sequence[float]]

    def edges(self, values: Floats, column: str, position: int) -> Floats | None:
        if column not in self.by_column and position not in self.by_column:
            return Quantiles(4).edges(values, column, position)
        wanted = self.by_column[column if column in self.by_column else position]
        try:
            edges = np.asarray(wanted, float)
            good = edges.ndim == 1 and len(edges) and np.isfinite(edges).all() and (np.diff(edges) > 0).all()
        except (TypeError, ValueError):
            good = False
        if not good:
            raise InputError(
                f"the edges of {column!r} must be a list of finite, increasing numbers, not {wanted!r}"
            )
        return edges


@dataclass(frozen=True)
class Continuous:
    """No bins: a feature stays a number, and its weight is the effect of one standard deviation."""

    def edges(self, values: Floats, column: str, position: int) -> Floats | None:
        return None


@dataclass(frozen=True, eq=False)
class BinStatistics:
    """What is known of a column of numbers in bins, where the data themselves are not at hand.

    Inside a bin, values are drawn from a normal that is cut at the ends of the bin.

    Parameters
    ----------
    edges : sequence of float
        Increasing edges between the bins; a value on an edge belongs to the bin below it.
    shares : sequence of float
        How much of the data lies in each bin, one number more than there are edges.
    means, sds : sequence of float
        Mean and standard deviation of the values in each bin.
    low, high : float
        The least and the largest value.
    missing : float, default 0.0
        The share of missing values.

    Examples
    --------
    >>> import veridical as vd
    >>> age = vd.bins.BinStatistics([30, 50], [0.2, 0.5, 0.3], [24, 40, 61], [3, 5, 8], low=18, high=90)
    >>> vd.Rows.from_statistics({"age": age})([45]).names
    ('30 < age ≤ 50',)
    """

    edges: Sequence[float] | Floats
    shares: Sequence[float] | Floats
    means: Sequence[float] | Floats
    sds: Sequence[float] | Floats
    low: float
    high: float
    missing: float = 0.0

    def __post_init__(self) -> None:
        edges, *by_bin = (check_numbers(name, getattr(self, name)) for name in ("edges", "shares", "means", "sds"))
        if not len(edges) or (np.diff(edges) <= 0).any():
            raise InputError(f"edges must be increasing numbers, at least one, not {self.edges!r}")
        for name, values in zip(("shares", "means", "sds"), by_bin, strict=True):
            if len(values) != len(edges) + 1:
                raise InputError(f"{name} wants one number per bin: {len(edges) + 1}, not {len(values)}")
        check_shares(self.shares, self.missing)
        if (by_bin[2] < 0).any():
            raise InputError(f"sds must be numbers from 0 on, not {self.sds!r}")
        for name in ("low", "high"):
            check_number(name, getattr(self, name))
        if not self.low <= self.high:
            raise InputError(f"low must be below high, not {self.low!r} and {self.high!r}")


@dataclass(frozen=True)
class NumberStatistics:
    """What is known of a column that stays a number: drawn from a normal, and its weight is of one sd.

    Parameters
    ----------
    mean, sd : float
        Mean and standard deviation.

    Examples
    --------
    >>> import veridical as vd
    >>> vd.Rows.from_statistics({"age": vd.bins.NumberStatistics(41.0, 12.5)})([45]).names
    ('age',)
    """

    mean: float
    sd: float

    def __post_init__(self) -> None:
        check_number("mean", self.mean)
        check_positive("sd", self.sd)


@dataclass(frozen=True, eq=False)
class CategoryStatistics:
    """What is known of a column of categories.

    Parameters
    ----------
    values : sequence
        The categories.
    shares : sequence of float
        How much of the data has each of them.
    missing : float, default 0.0
        The share of missing values.

    Examples
    --------
    >>> import veridical as vd
    >>> city = vd.bins.CategoryStatistics(["Bern", "Oslo"], [0.3, 0.7])
    >>> vd.Rows.from_statistics({"city": city})({"city": "Oslo"}).names
    ('city = Oslo',)
    """

    values: Sequence[Any]
    shares: Sequence[float] | Floats
    missing: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.values, str) or len(self.values) != len(check_numbers("shares", self.shares)):
            raise InputError(f"values wants one category per share, not {self.values!r} for {self.shares!r}")
        check_shares(self.shares, self.missing)


ColumnStatistics: TypeAlias = BinStatistics | NumberStatistics | CategoryStatistics


def check_numbers(name: str, values: Any) -> Floats:
    """A list of finite numbers as an array."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as cause:
        raise InputError(f"{name} wants a list of numbers, not {safe_repr(values)}") from cause
    if found.ndim != 1 or not np.isfinite(found).all():
        raise InputError(f"{name} wants a list of finite numbers, not {safe_repr(values)}")
    return found


def check_shares(shares: Sequence[float] | Floats, missing: float) -> None:
    """Refuse shares, and one of missing values, that do not add up to 1."""
    every = np.append(np.asarray(shares, np.float64), missing)
    if (every < 0).any() or abs(every.sum() - 1) > 1e-6:
        raise InputError(
            f"shares, that of missing values among them, must be from 0 on and add up to 1, not {every}"
        )


@dataclass(frozen=True)
class ChangePoints:
    """Windows that begin where the level of the series changes: binary segmentation by least variance.

    Parameters
    ----------
    shortest : int, default 2
        Steps that a window has at least.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> series = np.repeat([0.0, 5.0, 1.0], [20, 10, 30])
    >>> vd.Windows(3, cut=vd.bins.ChangePoints())(series).names
    ('t 0-19', 't 20-29', 't 30-59')
    """

    shortest: int = 2

    def __post_init__(self) -> None:
        check_whole("shortest", self.shortest)

    def __call__(self, values: Floats, n: int) -> list[int]:
        """Where n windows of values (t, c) start, without the first."""
        spread = values.std(axis=0)
        scaled = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        sums = np.vstack([np.zeros(scaled.shape[1]), np.cumsum(scaled, axis=0)])
        edges = [0, len(values)]
        while len(edges) <= n:
            _, cut = max(self._best_cut(sums, a, b) for a, b in pairwise(edges))
            if cut < 0:
                break
            edges = sorted([*edges, cut])
        return edges[1:-1]

    def _best_cut(self, sums: Floats, start: int, stop: int) -> tuple[float, int]:
        """How much variance the best cut of a window takes away, and where it is; -1 if it is too short."""
        cuts = np.arange(start + self.shortest, stop - self.shortest + 1)
        if not len(cuts):
            return -1.0, -1
        left, right = sums[cuts] - sums[start], sums[stop] - sums[cuts]
        whole = np.sum((sums[stop] - sums[start]) ** 2) / (stop - start)
        split = np.sum(left**2, axis=1) / (cuts - start) + np.sum(right**2, axis=1) / (stop - cuts)
        best = int(np.argmax(split))
        return float(split[best] - whole), int(cuts[best])
