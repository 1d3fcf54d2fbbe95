"""Rows of a sparse matrix: the parts are the values that are not zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse, vstack

from veridical.errors import InputError
from veridical.masks import Gaussian, Sizes, coins, euclidean
from veridical.records import Bools, Features, Floats, Kernel, Part, Representation, Sample, Seed, Step
from veridical.represent.foreign import as_array, as_pandas, listed, refusal
from veridical.represent.regions import Places, as_type


@dataclass(frozen=True, eq=False)
class SparseRow:
    """One sparse row: each value is kept, or set to zero, by the toss of a fair coin."""

    row: Any  # CSR of one row
    columns: Sequence[str]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        bad = ~np.isfinite(self.row.data)
        if bad.any():
            raise InputError(f"{self.columns[self.row.indices[bad][0]]} is not finite in this row")

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(
            Part(f"{self.columns[c]} = {v:g}", self.columns[c], "not zero", float(v))
            for c, v in zip(self.row.indices, self.row.data, strict=True)
        )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    @property
    def kernel(self) -> Kernel:
        return Gaussian(0.75)

    @property
    def fewest(self) -> int:
        return self._law.fewest

    def draw(self, kernel: Kernel, seed: Seed, start: int, stop: int) -> Sample:
        return self._law.sample(kernel, seed, start, stop)

    def enumerate(self, kernel: Kernel, limit: int) -> Sample | None:
        return self._law.every(kernel, limit)

    def realize(self, sample: Sample) -> Any:
        """The row once a mask, without the values that are masked."""
        return self._masked(sample.designs)

    @property
    def own_values(self) -> tuple[Any, ...]:
        """The values that are not zero."""
        return tuple(self.row.data.tolist())

    @property
    def steady(self) -> bool:
        """A value that is taken away is zero, whatever the seed."""
        return True

    def keeping(self, masks: Bools, seed: Seed) -> Any:
        """The row once a mask, as for ``realize``."""
        return self._masked(masks)

    def step(self, size: float, seed: Seed, n_blocks: int | None = None) -> Step:
        """Values moved by ``size`` of their own root mean square; whole ones by whole steps, and truths flip."""
        own, kind = self.row.data, self.row.dtype.kind
        far = size * float(np.sqrt(np.mean(np.square(own, dtype=np.float64))))
        far = far if kind == "f" else max(float(np.rint(far)), 1.0)

        def toward(way: float, masks: Bools) -> Any:
            moved = np.where(masks, own, as_type(own + way, own.dtype))
            places = np.tile(self.row.indices, len(masks))
            ends = np.arange(0, masks.size + 1, masks.shape[1])
            return csr_matrix((moved.ravel(), places, ends), shape=(len(masks), self.row.shape[1]))

        both = np.full(self.row.nnz, kind != "b")
        says = "each value flips" if kind == "b" else f"each value moves by {far:.3g}, up and down"
        return Step(partial(toward, -far if kind == "b" else far), partial(toward, -far), both, False, says)

    def gather(self, values: Any) -> Floats:
        """Of one number a column (p,), those of the parts."""
        return self._places.gather(values, self.row.nnz)

    def paint(self, weights: Floats) -> Floats:
        """The weight of its part at every column, 0 where the row is."""
        return self._places.paint(weights, self.row.nnz)

    @property
    def _places(self) -> Places:
        owner = np.full(self.row.shape[1], -1, dtype=np.intp)
        owner[self.row.indices] = np.arange(self.row.nnz)
        return Places(owner, owner.shape)

    def features(self, X: Any) -> Features:
        """This row and others, in the space of all columns."""
        others = sparse_rows(X, self.columns, may_be_empty=True).matrix
        points = vstack([self.row, others], format="csr").astype(np.float64)
        return Features(points, self.row.indices.astype(np.int64), self.row.data.astype(np.float64))

    def _masked(self, masks: Any) -> Any:
        rows, kept = np.nonzero(masks)
        data, indices = self.row.data[kept], self.row.indices[kept]
        return csr_matrix((data, (rows, indices)), shape=(len(masks), self.row.shape[1]), dtype=self.row.dtype)

    @property
    def _law(self) -> Sizes:
        return coins(self.row.nnz, euclidean(self.row.nnz))


def check_sparse(background: Any, names: Sequence[str] | None) -> tuple[str, ...]:
    """Column names of a sparse background."""
    if background.shape[0] < 1:
        raise InputError("the background is empty")
    width = background.shape[1]
    if background.dtype.kind == "c":
        raise InputError(refusal("the sparse matrix", background.dtype))
    named = tuple(f"x{j}" for j in range(width)) if names is None else tuple(map(str, listed("names", names)))
    if len(named) != width or len(set(named)) != width:
        raise InputError(f"names must name every column once: {width} columns, {len(set(named))} names")
    entries = background.tocoo()
    bad = ~np.isfinite(entries.data)
    if bad.any():
        raise InputError(f"column {named[entries.col[bad][0]]} of the background has values that are not finite")
    return named


@dataclass(frozen=True, eq=False)
class SparseRows:
    """The rows of a CSR matrix."""

    matrix: Any
    columns: Sequence[str]

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def inputs(self, start: int, stop: int) -> Any:
        return self.matrix[start:stop]

    def batch(self, start: int, stop: int) -> list[Representation]:
        return [SparseRow(self.matrix[i], self.columns) for i in range(start, stop)]


def sparse_rows(X: Any, names: Sequence[str], may_be_empty: bool = False) -> SparseRows:
    """One or many rows, checked."""
    rows: Any = X if issparse(X) else np.atleast_2d(as_array(as_pandas(X), "rows of numbers"))
    if rows.dtype.kind not in "biuf":
        raise InputError(f"wanted rows of real numbers, as in the sparse background; got {rows.dtype}")
    matrix: Any = csr_matrix(rows, copy=True)
    if matrix.shape[1] != len(names):
        raise InputError(f"wanted rows of {len(names)} columns, as in the background; got {matrix.shape[1]}")
    if not matrix.shape[0]:
        raise InputError("there are no rows to explain")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    empty = np.flatnonzero(np.diff(matrix.indptr) == 0)
    if len(empty) and not may_be_empty:
        raise InputError(f"row {empty[0]} is all zeros, so there is nothing to take away")
    return SparseRows(matrix, names)
