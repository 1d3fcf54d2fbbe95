"""Local models of recognized structure in closed form, where columns are drawn independently.

Under each law every column is the row's own with some chance, else something else (a draw of the background, or of
another bin). A sum over boxes, of effects of single columns, or of waves of such a sum then has means that are
products, and with them all that least squares needs: means with one column, and with two, as in the row itself.

The law of an additive local model is a mixture of such laws, one per share of columns that is kept, and the row
itself. Its least squares fall apart into whether values are the row's own (a small system), contrasts among other
values of a column, and contrasts of two columns: each is orthogonal to the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from veridical.models.levels import Levels
from veridical.models.structures import Effects
from veridical.models.trees import EXPONENTIAL, Forest, UnreadableError
from veridical.records import Floats, Ints
from veridical.surrogates.boxes import BoxSum
from veridical.surrogates.least_squares import solve

NEVER = -1e4  # the logarithm of a chance that is zero
ROOM, LEAST_ROWS = 2**17, 16  # numbers of an array of conditions and rows that should stay in the cache
CLEARLY = 0.1  # less than a condition that is not met takes from the logarithm of a box's chance
WIDEST = 12.0  # frequency at which a sigmoid's waves end
MAX_WAVES = 4096
TAIL = 38.0  # how far beyond the range of its argument a sigmoid is one or zero to rounding

Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Moments:
    """Means of a term at r rows, under each of m laws."""

    own: Floats  # (r,) the term itself at the rows
    mean: Floats  # (m, r)
    gain: Floats  # (m, d, r) how much larger the mean is if a column is the row's own than if it is not
    both: Floats  # (m, c, r) how much more both columns of a pair gain together

    def plus(self, other: Moments) -> Moments:
        """Those of a sum."""
        return Moments(
            self.own + other.own, self.mean + other.mean, self.gain + other.gain, self.both + other.both
        )

    def rows(self, some: slice) -> Moments:
        """Those of some rows."""
        return Moments(self.own[some], self.mean[:, some], self.gain[:, :, some], self.both[:, :, some])

    def times(self, factor: float) -> Moments:
        """Those of a multiple."""
        return Moments(self.own * factor, self.mean * factor, self.gain * factor, self.both * factor)


Sum = TypeVar("Sum", Moments, "Tables")


def total_of_terms(found: Sequence[Sum]) -> Sum:
    """Moments, or tables, of a sum of terms."""
    return reduce(lambda one, other: one.plus(other), found)


class KeptTerm(Protocol):
    """A term of an output under laws that keep each column with one share, and else draw it from the background."""

    def answers(self, features: Floats, /) -> Floats:
        """Of inputs (n, f), (n,)."""
        ...

    def moments(self, features: Floats, shares: Floats, pairs: Pairs, /) -> Moments:
        """At rows (r, f), under each share (m,)."""
        ...

    def tables(self, features: Floats, share: float, shown: Sequence[Ints], pairs: Pairs, /) -> Tables:
        """At one row (1, f), for other values of its columns: those with the codes ``shown`` (w,) of each part."""
        ...


@dataclass(frozen=True, eq=False)
class Tables:
    """Means of a term at one row under one law, with some columns given."""

    single: tuple[Floats, ...]  # (w,) of each part: its shown values
    double: tuple[Floats, ...]  # (w + 2, w + 2) of each pair: their shown values, the row's own, and drawn

    def plus(self, other: Tables) -> Tables:
        """Those of a sum."""
        return Tables(
            tuple(a + b for a, b in zip(self.single, other.single, strict=True)),
            tuple(a + b for a, b in zip(self.double, other.double, strict=True)),
        )

    def times(self, factor: float) -> Tables:
        """Those of a multiple."""
        return Tables(tuple(factor * a for a in self.single), tuple(factor * a for a in self.double))


@dataclass(frozen=True, eq=False)
class BoxTerm:
    """A sum over boxes whose columns are drawn from a background."""

    forest: Forest
    boxes: BoxSum
    levels: Levels
    chance: Floats  # (u,) that a draw meets each condition
    cells: tuple[Ints, ...]  # (m,) of each part: values between the same cuts are in one cell
    met_by_cell: tuple[Floats, ...]  # (conditions of the part, cells) 1 where a cell meets a condition

    @classmethod
    def of(cls, forest: Forest, levels: Levels) -> BoxTerm:
        """Of all outputs of a forest, for ``output`` to choose from."""
        boxes = BoxSum.of(forest, levels.owner, levels.d)
        chance, cells, met = np.ones(len(boxes.part)), list[Ints](), list[Floats]()
        for j, shares in enumerate(levels.shares):
            a, b = boxes.starts[j : j + 2].tolist()
            place, first = _cells_of(boxes, levels, j)
            met.append(boxes.inside(levels.block(j, first), j).astype(np.float64))
            chance[a:b] = met[-1] @ np.bincount(place, shares, len(first))
            cells.append(place)
        return cls(forest, boxes, levels, chance, tuple(cells), tuple(met))

    def output(self, position: int, sign: float) -> BoxTerm:
        """The sum of one output alone."""
        at = slice(position, position + 1)
        forest = replace(self.forest, values=sign * self.forest.values[:, at], base=sign * self.forest.base[at])
        return replace(self, forest=forest, boxes=self.boxes.output(position, sign))

    def answers(self, features: Floats) -> Floats:
        """Of inputs (n, f), (n,)."""
        return self.forest.answers(features)[:, 0]

    @cached_property
    def fixed(self) -> int:
        """Where the conditions begin that are on columns that no sample changes."""
        return int(self.boxes.starts[self.levels.d])

    def logs(self, share: float) -> tuple[Floats, Floats]:
        """Logarithms of the chance that a sample meets each condition, where the row does not and where it does."""
        out, into = (1 - share) * self.chance, share + (1 - share) * self.chance
        out[self.fixed :], into[self.fixed :] = 0.0, 1.0
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(out), NEVER), np.maximum(np.log(into), NEVER)

    def pulls(self, share: float) -> tuple[Floats, Floats]:
        """How much the row's own value changes the chance of each condition, relative to it: likewise."""
        into = (1 - self.chance) / np.maximum(share + (1 - share) * self.chance, 1e-300)
        out = np.full(len(into), -1 / (1 - share))
        into[self.fixed :] = out[self.fixed :] = 0.0
        return out, into

    def moments(self, features: Floats, shares: Floats, pairs: Pairs) -> Moments:
        """At rows (r, f), under each share (m,)."""
        boxes, r, m, d = self.boxes, len(features), len(shares), self.levels.d
        own, mean = np.empty(r), np.empty((m, r))
        gain, both = np.zeros((m, d, r)), np.zeros((m, len(pairs), r))
        used = np.flatnonzero(np.diff(boxes.starts[: d + 1]))
        starts, couples = boxes.starts[used], self.couples(pairs)
        value, base = boxes.values[:, 0], float(boxes.base[0])
        tables = [(self.logs(share), self.pulls(share)) for share in shares.tolist()]
        whole = boxes.boxes @ tables[0][0][1] - CLEARLY  # logarithms of boxes that the row is in, and no others
        length = max(ROOM // max(len(boxes.part), 1), LEAST_ROWS)
        for at in (slice(a, min(a + length, r)) for a in range(0, r, length)):
            met = boxes.inside(features[at])
            for i, (logs, pulls) in enumerate(tables):
                found = boxes.boxes @ np.where(met, logs[1][:, None], logs[0][:, None])
                if i == 0:
                    own[at] = base + value @ (found > whole[:, None])
                np.exp(found, out=found)
                found *= value[:, None]
                mean[i, at] = base + found.sum(axis=0)
                pull = np.where(met, pulls[1][:, None], pulls[0][:, None])
                if len(used):
                    moved = boxes.back @ found
                    moved *= pull
                    gain[i, used, at] = np.add.reduceat(moved[: self.fixed], starts, axis=0)
                for c, (leaf, one, other) in enumerate(couples):
                    if len(leaf):
                        product = pull[one]
                        product *= pull[other]
                        both[i, c, at] = np.einsum("er,er->r", product, found[leaf])
        return Moments(own, mean, gain, both)

    @cached_property
    def coupled(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Every two conditions of a leaf, on different columns: leaf, both conditions, and the pair as a number."""
        indptr, indices = self.boxes.boxes.indptr, self.boxes.boxes.indices
        sizes, found = np.diff(indptr), list[tuple[Any, Any, Any]]()
        for size in np.unique(sizes[sizes > 1]).tolist():
            leaf = np.flatnonzero(sizes == size)
            own = np.sort(indices[indptr[leaf][:, None] + np.arange(size)], axis=1)
            i, j = np.triu_indices(size, 1)
            found.append((np.repeat(leaf, len(i)), own[:, i].ravel(), own[:, j].ravel()))
        if not found:
            none = np.zeros(0, np.int64)
            return none, none, none, none
        leaf, one, other = (np.concatenate(each).astype(np.int64) for each in zip(*found, strict=True))
        free = other < self.fixed
        leaf, one, other = leaf[free], one[free], other[free]
        pair = self.boxes.part[one] * self.levels.d + self.boxes.part[other]
        order = np.argsort(pair, kind="stable")
        return leaf[order], one[order], other[order], pair[order]

    def couples(self, pairs: Pairs) -> list[tuple[Ints, Ints, Ints]]:
        """For each pair, the leaves that ask about both columns, and by which conditions."""
        if not len(pairs):
            return []
        leaf, one, other, pair = self.coupled
        keys = np.array([min(each) * self.levels.d + max(each) for each in pairs])
        ends = zip(np.searchsorted(pair, keys), np.searchsorted(pair, keys, side="right"), strict=True)
        return [(leaf[a:b], one[a:b], other[a:b]) for a, b in ends]  # the first of a pair comes first

    def tables(self, features: Floats, share: float, shown: Sequence[Ints], pairs: Pairs) -> Tables:
        """At one row (1, f), for other values of its columns."""
        boxes, met = self.boxes, self.boxes.inside(features)[:, 0]
        out, into = self.logs(share)
        logs = np.where(met, into, out)
        found = np.exp(boxes.boxes @ logs) * boxes.values[:, 0]
        mean, moved = float(found.sum() + boxes.base[0]), boxes.back @ found
        chance = np.exp(np.maximum(logs, -600.0))  # of what is never met, nothing is left anyway
        single = list[Floats]()
        for j in range(self.levels.d):
            own = slice(*boxes.starts[j : j + 2].tolist())
            by_cell = mean - moved[own].sum() + (moved[own] / chance[own]) @ self.met_by_cell[j]
            single.append(by_cell[self.cells[j][shown[j]]])
        double, ends = list[Floats](), dict[int, tuple[Floats, Floats]]()
        for j in {
            part for pair in pairs for part in pair
        }:  # by how much conditions are likelier: shown, own, drawn
            own = slice(*boxes.starts[j : j + 2].tolist())
            given = np.column_stack([self.met_by_cell[j][:, self.cells[j][shown[j]]], met[own], self.chance[own]])
            given = given / chance[own, None] - 1
            ends[j] = (given, mean + moved[own] @ given)
        for (i, j), (leaf, one, other) in zip(pairs, self.couples(pairs), strict=True):
            (first, left), (second, right) = ends[i], ends[j]
            both = (first[one - boxes.starts[i]] * found[leaf, None]).T @ second[other - boxes.starts[j]]
            double.append(left[:, None] + right - mean + both)
        return Tables(tuple(single), tuple(double))


@dataclass(frozen=True, eq=False)
class EffectTerm:
    """A sum of effects of single columns."""

    effects: Effects  # of one output
    levels: Levels

    def answers(self, features: Floats) -> Floats:
        """Of inputs (n, f), (n,)."""
        return np.asarray(self.effects.of(features)[:, :, 0].sum(axis=1) + self.effects.base[0])

    def by_part(self, features: Floats) -> Floats:
        """The effect of each part, and of columns that no sample changes, at inputs (n, f): (d + 1, n)."""
        each, d = self.effects.of(features)[:, :, 0], self.levels.d
        found = np.zeros((d + 1, len(features)))
        np.add.at(found, self.levels.owner, each.T)
        return found

    @cached_property
    def of_levels(self) -> tuple[Floats, ...]:
        """The effects of all values of each part, (m,)."""
        found = list[Floats]()
        for j in range(self.levels.d):
            each = self.effects.of(self.levels.block(j))[:, self.levels.owned[j], 0]
            found.append(each.sum(axis=1))
        return tuple(found)

    @cached_property
    def means(self) -> Floats:
        """The mean effect of each part, (d,)."""
        return np.array([s @ h for s, h in zip(self.levels.shares, self.of_levels, strict=True)])

    def moments(self, features: Floats, shares: Floats, pairs: Pairs) -> Moments:
        """At rows (r, f), under each share (m,)."""
        own = self.by_part(features)
        gain = own[:-1] - self.means[:, None]
        base = float(self.effects.base[0]) + own[-1] + self.means.sum()
        mean = base + shares[:, None] * gain.sum(axis=0)
        every = np.broadcast_to(gain, (len(shares), *gain.shape))
        return Moments(base + gain.sum(axis=0), mean, every, np.zeros((len(shares), len(pairs), len(features))))

    def tables(self, features: Floats, share: float, shown: Sequence[Ints], pairs: Pairs) -> Tables:
        """At one row (1, f), for other values of its columns."""
        own = self.by_part(features)[:, 0]
        each = share * own[:-1] + (1 - share) * self.means
        mean = float(self.effects.base[0]) + own[-1] + float(each.sum())
        values = [h[codes] for h, codes in zip(self.of_levels, shown, strict=True)]
        single = tuple(mean - each[j] + values[j] for j in range(len(values)))
        ends = [np.append(values[j], [own[j], self.means[j]]) - each[j] for j in range(len(values))]
        return Tables(single, tuple(mean + ends[i][:, None] + ends[j] for i, j in pairs))


@dataclass(frozen=True, eq=False)
class WaveTerm:
    """A sigmoid, or the exponential, of a sum of effects of single columns: as waves, each of which is a product.

    σ(m) = 1/2 + ∫₀^∞ sin(m t) / sinh(π t) dt, by the midpoint rule, which is exact to rounding here.
    """

    inside: EffectTerm
    constant: float
    weights: npt.NDArray[np.complex128]  # (t,)
    exponents: npt.NDArray[np.complex128]  # (t,)
    link: str

    @classmethod
    def of(cls, effects: Effects, levels: Levels, link: str) -> WaveTerm:
        """A link of a sum of effects."""
        inside = EffectTerm(effects, levels)
        if link == EXPONENTIAL:
            return cls(inside, 0.0, np.ones(1, complex), np.ones(1, complex), link)
        ends = np.array([[h.min(), h.max()] for h in inside.of_levels])
        usual = inside.by_part(levels.usual[None])[-1, 0] + float(effects.base[0])
        low, high = usual + ends.sum(axis=0)
        reach = 1.25 * max(abs(low), abs(high), high - low)  # a row's own values may lie outside
        step = 2 * np.pi / (reach + TAIL)
        t = (np.arange(int(np.ceil(WIDEST / step))) + 0.5) * step
        if len(t) > MAX_WAVES or not np.isfinite(step):
            raise UnreadableError("log-odds that are very large")
        return cls(inside, 0.5, -1j * step / np.sinh(np.pi * t), 1j * t, link)

    def answers(self, features: Floats) -> Floats:
        """Of inputs (n, f), (n,)."""
        sums = self.inside.answers(features)
        return np.asarray(np.exp(sums) if self.link == EXPONENTIAL else 1 / (1 + np.exp(-sums)))

    @cached_property
    def drawn(self) -> Any:
        """The mean wave of a draw of each part, (d, t)."""
        return np.stack(
            [
                s @ np.exp(h[:, None] * self.exponents)
                for s, h in zip(self.inside.levels.shares, self.inside.of_levels, strict=True)
            ]
        )

    def moments(self, features: Floats, shares: Floats, pairs: Pairs) -> Moments:
        """At rows (r, f), under each share (m,)."""
        own, r, m, d = self.inside.by_part(features), len(features), len(shares), self.inside.levels.d
        mean, gain, both = np.empty((m, r)), np.empty((m, d, r)), np.zeros((m, len(pairs), r))
        start = own[-1] + float(self.inside.effects.base[0])
        length = max(ROOM // (d * len(self.exponents)), 1)
        for at in (slice(a, min(a + length, r)) for a in range(0, r, length)):
            waves = np.exp(own[:-1, at, None] * self.exponents)  # (d, r, t)
            apart = waves - self.drawn[:, None]
            begin = np.exp(start[at, None] * self.exponents) * self.weights
            for i, share in enumerate(shares.tolist()):
                each = share * waves + (1 - share) * self.drawn[:, None]
                before, after = _cumulated(each)
                mean[i, at] = self.constant + (begin * before[-1] * each[-1]).sum(axis=1).real
                gain[i, :, at] = np.einsum("rt,drt->dr", begin, before * apart * after).real
                for c, (j, k) in enumerate(pairs):
                    rest = np.delete(each, [j, k], axis=0).prod(axis=0)
                    both[i, c, at] = (begin * rest * apart[j] * apart[k]).sum(axis=1).real
        return Moments(self.answers(features), mean, gain, both)

    def tables(self, features: Floats, share: float, shown: Sequence[Ints], pairs: Pairs) -> Tables:
        """At one row (1, f), for other values of its columns."""
        own, inside = self.inside.by_part(features)[:, 0], self.inside
        waves = np.exp(own[:-1, None] * self.exponents)
        each = share * waves + (1 - share) * self.drawn
        begin = np.exp((own[-1] + float(inside.effects.base[0])) * self.exponents) * self.weights
        values = [
            np.exp(h[codes][:, None] * self.exponents) for h, codes in zip(inside.of_levels, shown, strict=True)
        ]
        before, after = _cumulated(each[:, None])
        single = tuple(
            self.constant + (v @ (begin * before[j, 0] * after[j, 0])).real for j, v in enumerate(values)
        )
        double = list[Floats]()
        for j, k in pairs:
            rest = begin * np.delete(each, [j, k], axis=0).prod(axis=0)
            one, other = (np.vstack([values[i], waves[i], self.drawn[i]]) for i in (j, k))
            double.append(self.constant + ((one * rest) @ other.T).real)
        return Tables(single, tuple(double))


def _cumulated(each: Any) -> tuple[Any, Any]:
    """Products of all factors (d, …) before each one, and of all after it."""
    before, after = np.ones_like(each), np.ones_like(each)
    for j in range(1, len(each)):
        before[j] = before[j - 1] * each[j - 1]
        after[-j - 1] = after[-j] * each[-j]
    return before, after


def _cells_of(boxes: BoxSum, levels: Levels, part: int) -> tuple[Ints, Ints]:
    """The cell of each value of a part, and a value of each cell."""
    owned, values = levels.owned[part], levels.values[part]
    if len(owned) != 1 or (boxes.conditions.codes[boxes.starts[part] : boxes.starts[part + 1]] >= 0).any():
        every = np.arange(len(values))
        return every, every
    numbers = values[:, 0].astype(np.float32).astype(np.float64) if boxes.conditions.single else values[:, 0]
    cell = np.searchsorted(boxes.conditions.cuts[owned[0]], numbers)
    _, first, place = np.unique(np.where(np.isnan(numbers), -1, cell), return_index=True, return_inverse=True)
    return place, first


@dataclass(frozen=True, eq=False)
class KeptLaw:
    """Samples that keep each column with one of some shares, as often as each other, and the row itself."""

    shares: Floats  # (m,)
    weights: Floats  # (m + 1,) how often each share is drawn, and the row itself

    @classmethod
    def of(cls, shares: Sequence[float], end: float) -> KeptLaw:
        """``end`` is what the row itself counts, relative to all samples."""
        m = len(shares)
        return cls(np.array(shares), np.append(np.full(m, 1 / m), end) / (1 + end))

    @property
    def every(self) -> Floats:
        """The shares, and that of the row itself, (m + 1,)."""
        return np.append(self.shares, 1.0)


@dataclass(frozen=True, eq=False)
class Contributions:
    """Additive local models of r rows."""

    intercepts: Floats  # (r,)
    weights: Floats  # (r, d)
    pairs: Floats  # (r, c) what pairs contribute at the rows; 0 where they are not in the model

    def rows(self, some: slice) -> Contributions:
        """Those of some rows."""
        return Contributions(self.intercepts[some], self.weights[some], self.pairs[some])

    @property
    def local(self) -> Floats:
        """What the local models say at the rows, (r,)."""
        return np.asarray(self.intercepts + self.weights.sum(axis=1) + self.pairs.sum(axis=1))


def own_given(found: Moments, law: KeptLaw) -> Floats:
    """Means with one column as in the row, under every share and for the row itself: (m + 1, d, r)."""
    rest = (1 - law.shares)[:, None, None]
    given = found.mean[:, None] + rest * found.gain
    return np.concatenate([given, np.broadcast_to(found.own, (1, *given.shape[1:]))])


def additive_weights(found: Moments, law: KeptLaw, chance: Floats) -> tuple[Floats, Floats]:
    """Intercepts (r,) and weights (d, r) of additive local models without pairs.

    ``chance`` (d, r) is that a draw of the background is the row's own value.
    """
    p, s = law.weights, law.every
    share, square = float(p @ s), float(p @ s**2)
    mean = p @ np.concatenate([found.mean, found.own[None]])
    given = own_given(found, law)
    kept, drawn = (np.tensordot(p * w, given, axes=1) for w in (s, 1 - s))
    a, b = share + (1 - share) * chance, square + (share - square) * chance
    left = kept + chance * drawn - a * mean
    total = (left / (a - b)).sum(axis=0) / (1 + ((b - a * share) / (a - b)).sum(axis=0))
    intercepts = mean - share * total
    return intercepts, (kept + chance * drawn - a * intercepts - b * total) / (a - b)


@dataclass(frozen=True, eq=False)
class OwnFits:
    """Least squares on whether values are the row's own, of r rows: columns alone, and candidate pairs of them.

    A pair's column is that both values are the row's own; what columns alone say of it is taken off.
    """

    law: KeptLaw
    chance: Floats  # (d, r) that a draw is the row's own value
    pairs: Pairs
    constant: Floats  # (r,) of columns alone
    slopes: Floats  # (d, r)
    pair_constants: Floats  # (c, r) the same, of the pairs' columns
    pair_slopes: Floats  # (c, d, r)
    gram: Floats  # (c, c, r) of what columns alone leave of the pairs' columns
    moment: Floats  # (c, r) of it with the output

    @classmethod
    def of(cls, found: Moments, law: KeptLaw, chance: Floats, pairs: Pairs) -> OwnFits:
        """Of the moments of an output; the pairs are those whose moments are known."""
        p, s = law.weights, law.every
        kept = s[:, None, None] + (1 - s)[:, None, None] * chance  # (m + 1, d, r) that a sample has the own value
        constant, slopes = _slopes(*additive_weights(found, law, chance), chance)
        m, (d, r), c = len(law.shares), chance.shape, len(pairs)
        both, given = np.empty((c, m + 1, r)), np.empty((c, m + 1, d, r))
        rest, own = (1 - law.shares)[:, None], own_given(found, law)
        moment = np.empty((c, r))
        for at, (j, k) in enumerate(pairs):
            both[at] = kept[:, j] * kept[:, k]
            given[at] = both[at][:, None]
            given[at, :, j], given[at, :, k] = kept[:, k], kept[:, j]
            two = found.mean + rest * (found.gain[:, j] + found.gain[:, k] + rest * found.both[:, at])
            moment[at] = (p[:, None] * both[at] * np.concatenate([two, own[m:, 0]])).sum(axis=0)
        pair_constants, pair_slopes = np.empty((c, r)), np.empty((c, d, r))
        for at in range(c):
            as_term = _moments_of_given(both[at], given[at], law)
            pair_constants[at], pair_slopes[at] = _slopes(*additive_weights(as_term, law, chance), chance)
        mean = np.tensordot(both, p, axes=(1, 0))  # (c, r)
        beside = np.einsum("s,csdr,sdr->cdr", p, given, kept)  # both, and another own value
        moment -= constant * mean + np.einsum("dr,cdr->cr", slopes, beside)
        gram = np.empty((c, c, r))
        for a, one in enumerate(pairs):
            for b, other in enumerate(pairs):
                union = kept[:, sorted({*one, *other})].prod(axis=1)
                gram[a, b] = p @ union - pair_constants[b] * mean[a] - (pair_slopes[b] * beside[a]).sum(axis=0)
        return cls(law, chance, pairs, constant, slopes, pair_constants, pair_slopes, gram, moment)

    def rows(self, some: slice) -> OwnFits:
        """Those of some rows."""
        names = ("chance", "constant", "slopes", "pair_constants", "pair_slopes", "gram", "moment")
        return replace(self, **{name: getattr(self, name)[..., some] for name in names})

    def explained(self, found: Moments) -> Floats:
        """The variance of what columns alone say of whether values are the row's own, (r,)."""
        p, s = self.law.weights, self.law.every
        kept = s[:, None, None] + (1 - s)[:, None, None] * self.chance
        mean = p @ np.concatenate([found.mean, found.own[None]])
        beside = np.einsum("s,sdr,sdr->dr", p, kept, own_given(found, self.law))
        return np.asarray(np.maximum(self.constant * mean + (self.slopes * beside).sum(axis=0) - mean**2, 0.0))

    @property
    def gains(self) -> Floats:
        """How much squared error each pair takes away if it comes first, (c, r)."""
        own = np.einsum("ccr->cr", self.gram)
        return np.asarray(np.square(self.moment) / np.maximum(own, 1e-300) * (own > 1e-9))

    def chosen(self, which: npt.NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
        """Constants (r,), slopes (d, r) and slopes of pairs (c, r), if rows have some of the pairs: (c, r)."""
        extra = np.zeros(self.moment.shape)
        counts = which.sum(axis=0)
        for size in np.unique(counts[counts > 0]).tolist():
            rows = np.flatnonzero(counts == size)
            at = np.nonzero(which[:, rows].T)[1].reshape(-1, size)
            gram = self.gram[at[:, :, None], at[:, None], rows[:, None, None]]
            found = solve(gram, self.moment[at, rows[:, None]][:, :, None])[:, :, 0]
            extra[at, rows[:, None]] = found
        constant = self.constant - (extra * self.pair_constants).sum(axis=0)
        return constant, self.slopes - np.einsum("cr,cdr->dr", extra, self.pair_slopes), extra

    @cached_property
    def alone(self) -> Floats:
        """What constant and both columns of a pair say of its column, (c, 3, r): that is theirs and not the pair's."""
        p, s = self.law.weights, self.law.every
        kept = s[:, None, None] + (1 - s)[:, None, None] * self.chance
        found = np.empty((len(self.pairs), 3, self.chance.shape[1]))
        for at, (j, k) in enumerate(self.pairs):
            one, other, both = p @ kept[:, j], p @ kept[:, k], p @ (kept[:, j] * kept[:, k])
            rows = [[np.ones_like(both), one, other], [one, one, both], [other, both, other]]
            gram = np.array(rows).transpose(2, 0, 1)
            found[at] = solve(gram, np.repeat(both[:, None, None], 3, axis=1))[:, :, 0].T
        return found

    def parted(self, which: npt.NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
        """Constants, slopes and slopes of pairs, where a pair has none of what its columns say alone."""
        constant, slopes, extra = self.chosen(which)
        slopes = slopes.copy()
        for at in np.flatnonzero(which.any(axis=1)).tolist():
            j, k = self.pairs[at]
            own = extra[at] * self.alone[at]
            constant, slopes[j], slopes[k] = constant + own[0], slopes[j] + own[1], slopes[k] + own[2]
        return constant, slopes, extra

    def contributions(self, which: npt.NDArray[np.bool_]) -> Contributions:
        """The local models of rows that have some of the pairs, (c, r); means over the background are zero."""
        constant, slopes, extra = self.parted(which)
        weights = (1 - self.chance) * slopes
        pairs = extra * (1 - self.alone.sum(axis=1)) if which.any() else extra
        return Contributions(constant + (self.chance * slopes).sum(axis=0), weights.T, pairs.T)


def _slopes(intercepts: Floats, weights: Floats, chance: Floats) -> tuple[Floats, Floats]:
    """Constant and slopes on whether values are the row's own."""
    slopes = weights / (1 - chance)
    return intercepts - (chance * slopes).sum(axis=0), slopes


def _moments_of_given(mean: Floats, given: Floats, law: KeptLaw) -> Moments:
    """Moments of what has means (m + 1, r), and means (m + 1, d, r) with one column as in the row."""
    m = len(law.shares)
    gain = (given[:m] - mean[:m, None]) / (1 - law.shares)[:, None, None]
    return Moments(mean[m], mean[:m], gain, np.zeros((m, 0, given.shape[2])))


@dataclass(frozen=True, eq=False)
class RowShape:
    """What a row's local model says of shown values, none of which is the row's own; that comes last in pairs."""

    curves: tuple[Floats, ...]  # (w,) of each part
    pairs: tuple[Floats, ...]  # (w + 1, w + 1)


def row_shape(fits: OwnFits, found: Moments, tables: Sequence[Tables], chosen: Sequence[int]) -> RowShape:
    """What other values of one row's columns contribute.

    Parameters
    ----------
    fits : OwnFits
        Of this row alone.
    found : Moments
        Of this row alone.
    tables : sequence of Tables
        Under each share, with tables for the chosen pairs.
    chosen : sequence of int
        The pairs of the local model, among those of ``fits``.
    """
    law, chance = fits.law, fits.chance[:, 0]
    which = np.zeros((len(fits.pairs), 1), bool)
    which[list(chosen)] = True
    _, slopes, extra = (each[..., 0] for each in fits.parted(which))
    s, rest = law.shares, (law.weights[:-1] * (1 - law.shares))
    kept = s[:, None] + (1 - s)[:, None] * chance  # (m, d)
    single = [np.stack([table.single[j] for table in tables]) for j in range(len(chance))]
    double = {at: np.stack([table.double[i] for table in tables]) for i, at in enumerate(chosen)}
    drawn = found.mean[:, None, 0] - s[:, None] * found.gain[:, :, 0]  # (m, d)
    given = drawn + found.gain[:, :, 0]
    curves, beside = list[Floats](), dict[tuple[int, int], tuple[Floats, float]]()
    for j in range(len(chance)):
        mine = [at for at in chosen if j in fits.pairs[at]]
        columns = np.stack([np.ones(len(s)), *(kept[:, _partner(fits.pairs[at], j)] for at in mine)])  # (1 + p, m)
        far = (drawn[:, j] - chance[j] * given[:, j]) / (1 - chance[j])
        right = [(rest * columns[0]) @ (single[j] - far[:, None])]
        for place, at in enumerate(mine, 1):
            block = double[at] if fits.pairs[at][0] == j else double[at].swapaxes(1, 2)
            far = (block[:, -1, -2] - chance[j] * block[:, -2, -2]) / (1 - chance[j])
            right.append((rest * columns[place]) @ (block[:, :-2, -2] - far[:, None]))
        union = columns[:, None] * columns[None]
        union[np.arange(len(columns)), np.arange(len(columns))] = columns  # a flag times itself is itself
        found_here = solve(union @ rest, np.stack(right))
        curve = found_here[0] - chance[j] * slopes[j]
        for place, at in enumerate(mine, 1):
            k = _partner(fits.pairs[at], j)
            share = float(rest @ kept[:, k] / rest.sum())  # how often the other is kept where this one is not
            beside[at, j] = (found_here[place], share)
            curve = curve + share * found_here[place]
        curves.append(curve)
    both = law.weights[:-1] * np.square(1 - s)
    pairs = [
        _pair_effects(
            np.tensordot(both, double[at], axes=1) / both.sum(),
            tuple(chance[list(fits.pairs[at])].tolist()),
            extra[at] * np.append(1.0, -fits.alone[at, :, 0]),
            (beside[at, fits.pairs[at][0]], beside[at, fits.pairs[at][1]]),
        )
        for at in chosen
    ]
    return RowShape(tuple(curves), tuple(pairs))


def _partner(pair: tuple[int, int], j: int) -> int:
    return pair[1] if pair[0] == j else pair[0]


def _pair_effects(
    means: Floats, chance: tuple[float, ...], slopes: Floats, beside: tuple[tuple[Floats, float], ...]
) -> Floats:
    """The effects of a pair at shown values, and last at the own ones, from means (w + 2, w + 2) of the output.

    ``slopes`` are of both own values, a constant, and each own value; ``beside`` are effects of other values where
    the other column is kept, and how often it is.
    """
    (q, t), ((u, up), (v, vp)), (both, constant, one, other) = chance, beside, slopes
    there, drawn, here = slice(0, -2), -1, -2
    across = (means[there, drawn] - t * means[there, here]) / (1 - t)
    along = (means[drawn, there] - q * means[here, there]) / (1 - q)
    far = means[drawn, drawn] - q * means[here, drawn] - t * means[drawn, here] + q * t * means[here, here]
    apart = means[there, there] - across[:, None] - along + far / ((1 - q) * (1 - t))
    found = np.empty((len(u) + 1, len(v) + 1))
    found[:-1, :-1] = constant - up * u[:, None] - vp * v + apart
    found[:-1, -1] = constant + other + (1 - up) * u
    found[-1, :-1] = constant + one + (1 - vp) * v
    found[-1, -1] = both + constant + one + other
    return found
