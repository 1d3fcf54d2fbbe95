"""Sums over boxes: the leaves of trees as products of conditions on single columns, whose means are products.

A leaf is reached where every column that its path asks about lies in a set of its own. Where columns are drawn
independently, the chance of a leaf is the product of the chances of these conditions, and so is anything else that a
local model needs to know: one sparse product for all leaves, and one back to the conditions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from veridical.models.trees import Forest, UnreadableError
from veridical.records import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Conditions:
    """Conditions on single features: a range of the cells between cuts, or a set of codes, and whether missing fits.

    A joint one is two others, on features of the same column, at once.
    """

    cuts: tuple[Floats, ...]  # of each feature
    feature: Ints  # (u,)
    low: Ints  # (u,) first cell
    high: Ints  # (u,) after the last
    missing: Bools  # (u,)
    codes: Ints  # (u,) row of ``sets`` where the feature is a category; -1 elsewhere
    sets: Bools  # (s, codes); the last column is for codes beyond
    joint: tuple[tuple[Ints, Ints, Ints], ...]  # joint conditions, and the two that each is; later ones of earlier
    single: bool  # numbers are rounded to 32 bits

    def inside(self, features: Floats, some: slice) -> Bools:
        """Whether inputs (n, f) meet some conditions, which are all of one or more columns: (u, n)."""
        feature, low, high = self.feature[some], self.low[some].astype(np.int32), self.high[some].astype(np.int32)
        used, place = np.unique(feature, return_inverse=True)
        numbers = features[:, used].T
        numbers = numbers.astype(np.float32).astype(np.float64) if self.single else numbers
        gone, cells = np.isnan(numbers), np.empty(numbers.shape, np.int32)
        for own, k, found in zip(numbers, used.tolist(), cells, strict=True):
            found[:] = np.searchsorted(self.cuts[k], own)
        cells[gone] = -1
        at = cells[place]
        met: Bools = (at >= low[:, None]) & (at < high[:, None])
        by_code = np.flatnonzero(self.codes[some] >= 0)
        if len(by_code):
            own, last = numbers[place[by_code]], self.sets.shape[1] - 1
            with np.errstate(invalid="ignore"):
                code = np.where((own >= 0) & (own < last), own, last).astype(np.intp)
            met[by_code] = self.sets[self.codes[some][by_code, None], code] & ~gone[place[by_code]]
        if gone.any():
            met |= self.missing[some, None] & gone[place]
        for both, one, other in self.joint:
            own = (both >= some.start) & (both < some.stop)
            met[both[own] - some.start] = met[one[own] - some.start] & met[other[own] - some.start]
        return met


@dataclass(frozen=True, eq=False)
class BoxSum:
    """A sum over boxes: each has values, and conditions on columns (parts), all of which must be met.

    Conditions are ordered by part; those of the last part, ``d``, are on columns that no sample changes.
    """

    conditions: Conditions
    part: Ints  # (u,) sorted
    d: int
    boxes: Any  # (l, u) sparse, 1 where a box has a condition
    values: Floats  # (l, k)
    base: Floats  # (k,)
    back: Any  # (u, l), the transpose
    starts: Ints  # (d + 2,) where each part's conditions begin

    @classmethod
    def of(cls, forest: Forest, owner: Ints, d: int) -> BoxSum:
        """The leaves of a forest whose features (f,) belong to parts; ``d`` is the owner of those that never change.

        Parameters
        ----------
        forest : Forest
            The trees.
        owner : array of int (f,)
            The part that decides each feature.
        d : int
            How many parts there are.
        """
        leaf, feature, low, high, missing, codes, sets, cuts = _paths(forest, len(owner))
        leaves = np.flatnonzero(forest.children[:, 0] < 0)
        key = _packed((feature, low, high, missing, codes + 1))
        _, first, atom = np.unique(key, return_index=True, return_inverse=True)
        feature, low, high, missing, codes = (each[first] for each in (feature, low, high, missing, codes))
        order = np.lexsort((atom, owner[feature[atom]], leaf))
        leaf, atom = leaf[order], atom[order]
        condition, place, joint, part = _joined(leaf, atom, owner[feature])
        by_part = np.argsort(part, kind="stable")
        at = np.empty(len(part), np.int64)
        at[by_part] = np.arange(len(part))
        never = (low >= high) & ~missing
        by_code = codes >= 0
        never[by_code] = ~missing[by_code] & ~sets[codes[by_code]].any(axis=1)
        possible = np.ones(len(leaves), bool)
        possible[leaf[never[atom]]] = False
        kept, row = possible[place], np.cumsum(possible) - 1
        shape = (int(possible.sum()), len(part))
        boxes = csr_matrix((np.ones(int(kept.sum())), (row[place[kept]], at[condition[kept]])), shape)
        alone = np.minimum(by_part, len(first) - 1)  # joint conditions have numbers that nobody reads
        conditions = Conditions(
            cuts,
            feature[alone],
            low[alone],
            high[alone],
            missing[alone],
            codes[alone],
            sets,
            tuple((at[both], at[one], at[other]) for both, one, other in joint),
            forest.single,
        )
        starts = np.searchsorted(part[by_part], np.arange(d + 2))
        values = forest.values[leaves[possible]]
        return cls(conditions, part[by_part], d, boxes, values, forest.base, boxes.T.tocsr(), starts)

    @property
    def n_boxes(self) -> int:
        """Leaves that can be reached."""
        return len(self.values)

    def output(self, position: int, factor: float = 1.0) -> BoxSum:
        """The sum of one output alone, times a number."""
        at, boxes, back = slice(position, position + 1), self.boxes, self.back
        values = factor * self.values[:, at]
        if not values.all():  # most boxes of a sum for several classes are of one class alone
            some = np.flatnonzero(values[:, 0])
            boxes, values = boxes[some], values[some]
            back = boxes.T.tocsr()
        return replace(self, boxes=boxes, back=back, values=values, base=factor * self.base[at])

    def inside(self, features: Floats, part: int | None = None) -> Bools:
        """Whether inputs (n, f) meet each condition, or each of one part: (u, n)."""
        some = slice(0, len(self.part)) if part is None else slice(*self.starts[part : part + 2].tolist())
        return self.conditions.inside(features, some)


def _packed(columns: tuple[Any, ...]) -> Ints:
    """Several columns of small whole numbers as one."""
    key, size = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        width = int(column.max(initial=0)) + 1
        size *= width
        if size > 2**62:
            raise UnreadableError("more different splits than can be told apart")
        key = key * width + column
    return key


def _paths(forest: Forest, n_features: int) -> tuple[Any, ...]:
    """For every leaf and feature on its way, the range of cells or the codes: those of all splits on it at once."""
    n, inner = len(forest.feature), np.flatnonzero(forest.children[:, 0] >= 0)
    if forest.n_features > n_features:
        raise UnreadableError("the model splits on features that the table does not give")
    up = np.full(n, -1)
    up[forest.children[inner].ravel()] = np.repeat(inner, 2)
    is_left = np.zeros(n, bool)
    is_left[forest.children[inner, 0]] = True
    cuts, rank = list[Floats](), np.zeros(n, np.int64)
    by_feature = inner[np.argsort(forest.feature[inner], kind="stable")]
    ends = np.searchsorted(forest.feature[by_feature], np.arange(n_features + 1))
    for k in range(n_features):
        own = by_feature[ends[k] : ends[k + 1]]
        coded = forest.category[own] >= 0
        if coded.any() and not coded.all():
            raise UnreadableError("a feature that is a number and a category")
        known, rank[own] = np.unique(forest.cut[own], return_inverse=True)
        cuts.append(known)
    leaves = np.flatnonzero(forest.children[:, 0] < 0)
    which, at, passed = np.arange(len(leaves)), leaves, list[tuple[Ints, Ints]]()
    while len(which):  # all leaves climb together
        above = up[at] >= 0
        which, at = which[above], at[above]
        passed.append((which, at))
        at = up[at]
    leaf, child = (np.concatenate(each) for each in zip(*passed, strict=True))
    node = up[child]
    order = np.lexsort((forest.feature[node], leaf))
    leaf, child, node = leaf[order], child[order], node[order]
    left, feature, step = is_left[child], forest.feature[node], rank[node] + 1
    new = np.append(True, (leaf[1:] != leaf[:-1]) | (feature[1:] != feature[:-1]))[: len(leaf)]
    first = np.flatnonzero(new)
    if not len(first):
        none = np.zeros(0, np.int64)
        return none, none, none, none, none > 0, none, np.zeros((0, 1), bool), tuple(cuts)
    coded = forest.category[node] >= 0
    low = np.maximum.reduceat(np.where(left | coded, 0, step), first)
    last = max(map(len, cuts), default=0) + 1  # past the cells of any feature
    high = np.minimum.reduceat(np.where(left & ~coded, step, last), first)
    missing = np.logical_and.reduceat(forest.missing_left[node] == left, first)
    codes, sets = np.full(len(first), -1), np.zeros((0, 1), bool)
    if coded.any():
        among = np.flatnonzero(coded)
        begins = np.flatnonzero(new[among])
        goes = forest.left_sets[forest.category[node[among]]] == left[among, None]
        sets, own = np.unique(np.logical_and.reduceat(goes, begins, axis=0), axis=0, return_inverse=True)
        codes[coded[first]] = own.ravel()
    return leaf[first], feature[first], low, high, missing, codes, sets, tuple(cuts)


def _joined(leaf: Ints, atom: Ints, part: Ints) -> tuple[Ints, Ints, list[tuple[Ints, Ints, Ints]], Ints]:
    """Conditions of one leaf on one part as a single one each, and their leaves; what joint ones are, and all parts."""
    if not len(leaf):
        return atom, leaf, [], part
    new = np.append(True, (leaf[1:] != leaf[:-1]) | (part[atom[1:]] != part[atom[:-1]]))
    first, joint = np.flatnonzero(new), list[tuple[Ints, Ints, Ints]]()
    length, found = np.diff(np.append(first, len(leaf))), atom[first]
    for step in range(1, int(length.max())):
        more = np.flatnonzero(length > step)
        both, own = np.unique(np.stack([found[more], atom[first[more] + step]]), axis=1, return_inverse=True)
        joint.append((len(part) + np.arange(both.shape[1]), both[0], both[1]))
        found[more] = len(part) + own.ravel()
        part = np.append(part, part[both[1]])
    return found, leaf[first], joint, part
