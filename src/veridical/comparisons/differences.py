"""Differences between two explanations, or between two models over many rows, beyond the noise."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy.special import stdtr, stdtrit

from veridical.comparisons.alignment import align_parts, join_parts
from veridical.errors import InputError
from veridical.metrics.reports import LEVEL
from veridical.records import (
    PER_UNIT,
    QUESTIONS,
    Bools,
    Explanation,
    Explanations,
    Floats,
    Ints,
    Part,
    Record,
    Tabular,
    Verdict,
)

ROUNDING = 1e-6  # of the largest weight, below which a difference is none
NET_DEGREES = ((8, 1e6), (12, 4.0), (10**9, 2.0))  # degrees of freedom of weights from a net, up to so many parts
ADDITIVE_DEGREES = 3.0  # the same of an additive local model, at least: its own samples have lighter tails
FEW_DEGREES = (NET_DEGREES[-1][1], ADDITIVE_DEGREES)
WIDE_NOTE = (
    "With so many columns, only large differences show in one explanation each: explain with several seeds "
    "(rng), and compare the two lists."
)
UPPER_QUANTILE = 0.975  # the quantile that a 95 % interval ends at
QUARTERS = (0.25, 0.5, 0.75)
MAX_NAMED_PARTS = 3  # parts that a sentence names


class ExplanationSequence(Protocol):
    """Explanations of many rows that are not all in memory, by row number."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Explanation: ...


Side: TypeAlias = Explanation | Explanations | ExplanationSequence


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Difference(Tabular):
    """Two explanations side by side, or two models over many rows: the second minus the first.

    A feature that only one of them has counts 0 in the other, where its weight is nan. Weights are on the scale of
    the outputs, also where an explanation is on log-odds. Over many rows, weights and differences are means over the
    rows in which either has the feature; bins of a column are features of their own, quarters of the rows where
    columns of numbers have none.

    Attributes
    ----------
    first, second : Explanation, Explanations or Store
        The two sides.
    titles : tuple of str
        Names of the two sides.
    parts : tuple of Part
        The features (d,) that either side has, with both names where they differ.
    weights : array (d, 2)
        Weights of both sides.
    intervals : array (d, 2)
        95 % confidence intervals of the differences, all features taken together (Bonferroni): a difference is
        larger than the noise where its interval does not contain zero. Infinite if it was not measured.
    p : array (d,)
        P-values, adjusted for the number of features (Bonferroni); nan if a difference was not measured.
    counts : array (d,)
        Number of rows that the means are over.
    changes : array (n,)
        How far the weights of each row are apart: the root of their squared differences.
    verdict : Verdict
        Labeled "same" if no feature differs by more than the noise, else "different"; "unchecked" if none was
        measured.
    notes : tuple of str
        What a reader should know.
    """

    first: Side
    second: Side
    titles: tuple[str, str]  # what to call them
    parts: tuple[Part, ...]  # (d,) that either has; with both names where they are called differently
    weights: Floats  # (d, 2)
    intervals: Floats  # (d, 2): 95 %, of all differences together; infinite where one was not measured
    p: Floats  # (d,) adjusted for the number of parts (Bonferroni); nan where a difference was not measured
    counts: Ints  # (d,) rows that the means are over
    changes: Floats  # (n,) how far the weights of each row are apart: the root of their squared differences
    verdict: Verdict  # "same": no part differs by more than the noise
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features, aligned with the weights."""
        return tuple(part.name for part in self.parts)

    @property
    def difference(self) -> Floats:
        """The second's weights minus the first's, (d,); nan where one of them did not test the feature."""
        unknown = np.isnan(self.intervals).any(axis=1)
        return np.where(unknown, np.nan, subtract_first(self.weights))

    @property
    def larger(self) -> Bools:
        """Which differences are larger than the noise, all features taken together, (d,).

        If nothing differs, the chance that any feature is called larger is at most 5 %.
        """
        return np.asarray(np.nan_to_num(self.p, nan=1.0) < LEVEL)

    @property
    def rows(self) -> Ints:
        """Rows, the most changed first, (n,)."""
        return np.argsort(-self.changes, kind="stable").astype(np.int64)

    def top(self, k: int = 5) -> list[tuple[str, float]]:
        """Return the largest differences, those larger than the noise first.

        Parameters
        ----------
        k : int, default 5
            The most differences to return; zeros are never among them.

        Returns
        -------
        list of (str, float)
            Names and differences.
        """
        found = self.difference
        order = np.lexsort((-np.abs(found), ~self.larger))
        known = [j for j in order if found[j] != 0 and not np.isnan(found[j])]
        return [(self.parts[j].name, float(found[j])) for j in known[: max(k, 0)]]


@dataclass(frozen=True, slots=True, eq=False)
class Gap(Record):
    """The features of one pair of explanations, and how far apart their weights are."""

    keys: tuple[Hashable, ...]
    parts: tuple[Part, ...]
    weights: Floats  # (d, 2), nan where one does not have the part
    reach: Floats  # (d, 2): how far noise takes the difference down and up, at 95 %; infinite if unknown
    degrees: float  # of freedom
    untested: Bools  # (d,) parts that one of them has, but did not test

    @property
    def apart(self) -> Floats:
        """How far apart the weights are, (d,); nan where one of them was not tested."""
        return np.where(self.untested, np.nan, subtract_first(self.weights))


def subtract_first(weights: Floats) -> Floats:
    """The second column of weights (d, 2) minus the first; missing weights count 0."""
    first, second = np.nan_to_num(weights).T
    with np.errstate(over="ignore"):
        return np.asarray(second - first)


def differ(a: Explanation, b: Explanation, titles: tuple[str, str] = ("first", "second")) -> Difference:
    """Compare two explanations feature by feature."""
    gap = measure_gap(a, b)
    apart = gap.apart
    reach = gap.reach * joint_level(gap.reach, gap.degrees)
    ends = np.stack([apart - reach[:, 0], apart + reach[:, 1]], axis=1)
    p = adjust_p_values(apart, gap.reach, gap.degrees, gap.weights)
    said = f"predictions {a.prediction:.4g} and {b.prediction:.4g}"
    verdict = judge_difference(gap.parts, apart, p, said, titles, reach)
    return Difference(
        a,
        b,
        titles,
        gap.parts,
        gap.weights,
        ends,
        p,
        np.ones(len(apart), np.int64),
        np.array([row_distance(apart)]),
        verdict,
        (*ComparabilityNotes().add(a, b).notes(), *([WIDE_NOTE] if gap.degrees in FEW_DEGREES else [])),
    )


def measure_gap(a: Explanation, b: Explanation) -> Gap:
    """Compare two explanations feature by feature, with the noise of the difference.

    Noise of independent samples adds up like the sides of a right angle (also for asymmetric intervals: Zou and
    Donner 2008). If both may rest on the same samples, errors may add up or cancel, and only the plain sum is
    safe.
    """
    places = align_parts(a, b)
    at = np.array([[i, j] for _, i, j in places], dtype=np.int64).reshape(-1, 2)
    weights, down, up = np.stack([_read_weights(e, at[:, k]) for k, e in enumerate((a, b))], axis=2)
    add = np.sum if may_share_samples(a, b) else np.linalg.norm
    reach = np.stack([add([up[:, 0], down[:, 1]], axis=0), add([down[:, 0], up[:, 1]], axis=0)], axis=1)
    parts = [join_parts(a.parts[i] if i >= 0 else None, b.parts[j] if j >= 0 else None) for _, i, j in places]
    keys = tuple(key for key, _, _ in places)
    unknown = (at >= 0) & ~np.isfinite(weights)
    reach[unknown.any(axis=1)] = np.inf
    untested = ((at >= 0) & np.isnan(weights)).any(axis=1)
    return Gap(keys, tuple(parts), weights, reach, min(_degrees_of_freedom(a), _degrees_of_freedom(b)), untested)


def _read_weights(e: Explanation, at: Ints) -> Floats:
    """Weights and how far their intervals reach down and up, (3, m); position -1 means missing."""
    found = np.zeros((3, len(at)))
    found[0] = np.nan
    here = at >= 0
    weights, ends = (numbers[at[here]] for numbers in e.on_outputs)
    with np.errstate(over="ignore", invalid="ignore"):
        found[:, here] = weights, np.abs(weights - ends[:, 0]), np.abs(ends[:, 1] - weights)
    unsure = np.zeros(len(at), bool)
    unsure[here] = find_left_out(e)[at[here]]
    found[1:, unsure | np.isnan(found[1:]).any(axis=0)] = np.inf
    return found


def _degrees_of_freedom(e: Explanation) -> float:
    """Degrees of freedom behind the intervals, chosen cautiously.

    Methods without a surrogate measure one feature at a time and share out their samples. A table's surrogate is
    fitted to a net of samples, where now and then an interaction passes for a feature, more often the more
    features there are: most weights are closer to the truth than their intervals say, a few far from it. With so
    few degrees of freedom, false alarms stayed below 5 % in trials with 4 to 30 columns.
    """
    d = max(len(e.parts), 1)
    if not np.isfinite(e.fidelity):
        return float(max(e.effective_size / d - 1, 1.0))
    found = float(max(e.effective_size / 2 - d - 1, 1.0))
    tails = next(degrees for most, degrees in NET_DEGREES if d <= most)
    if (method_recipe(e).get("surrogate") or {}).get("name") == "Additive":
        tails = max(tails, ADDITIVE_DEGREES)
    return min(found, tails) if e.view is None or e.view.kind == "fields" else found


def joint_level(reach: Floats, degrees: Any) -> Any:
    """How much longer intervals are that hold for all measured differences together, (d, 1) or one number."""
    known = max(int(np.isfinite(reach).all(axis=1).sum()), 1)
    level = stdtrit(degrees, 1 - LEVEL / 2 / known) / stdtrit(degrees, UPPER_QUANTILE)
    return level[:, None] if np.ndim(level) else float(level)


def adjust_p_values(apart: Floats, reach: Floats, degrees: Any, weights: Floats) -> Floats:
    """Two-sided p of each difference, adjusted for all measured ones (Bonferroni); nan for the others."""
    known = np.isfinite(reach).all(axis=1)
    toward = np.where(apart > 0, reach[:, 0], reach[:, 1])  # noise on the side of zero
    least = ROUNDING * float(np.abs(weights[np.isfinite(weights)]).max(initial=0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(apart) / (toward / stdtrit(degrees, UPPER_QUANTILE))
    p = np.where(np.abs(apart) <= least, 1.0, np.where(toward > 0, 2 * stdtr(degrees, -np.abs(t)), 0.0))
    return np.where(known, np.minimum(p * known.sum(), 1.0), np.nan)


def judge_difference(
    parts: Sequence[Part], apart: Floats, p: Floats, said: str, titles: tuple[str, str], reach: Floats
) -> Verdict:
    """Judge what differs, in one sentence; ``reach`` (d, 2) is that of the intervals by which it is decided."""
    larger = np.flatnonzero(np.nan_to_num(p, nan=1.0) < LEVEL)
    missed, d = int(np.isnan(p).sum()), len(p)
    of_all = f"{d - missed} feature{'s' * (d - missed != 1)}"
    if not d or missed == d:
        why = "the noise of no feature was measured" if d else "there are no features"
        sentence = f"Nothing can be said about the difference: {why}; {said}."
        return Verdict(False, np.nan, 0.0, sentence, label="unchecked")
    if len(larger):
        most = int(larger[np.argmax(np.abs(apart[larger]))])
        how = f"{abs(apart[most]):.2g} {'more' if apart[most] > 0 else 'less'}"
        verb = "differs" if len(larger) == 1 else "differ"
        start = (
            f"{len(larger)} of {of_all} {verb} beyond the noise, most {parts[most].column:.60}: "
            f"{titles[1]:.40} has {how} than {titles[0]:.40}"
        )
    else:
        hidden = float(np.where(np.isfinite(reach), reach, 0.0).max())
        below = f"; one below {hidden:.2g} may not have shown" if hidden > 0 else ""
        start = f"No difference in {of_all} is larger than the noise{below}"
    left = f"{missed} feature{'s were' if missed > 1 else ' was'} not measured; " if missed else ""
    label = "different" if len(larger) else "same"
    return Verdict(not len(larger), float(len(larger)), 0.0, f"{start}; {left}{said}.", label=label)


def row_distance(apart: Floats) -> float:
    """How far the weights of a row are apart: the root of their squared differences."""
    return float(np.sqrt(np.sum(np.square(apart[np.isfinite(apart)]))))


MIN_REPEATS = 5  # rows, on average, from which on a bin or category is a part of its own
PAIRS_PER_BATCH = 1024  # pairs
Pair: TypeAlias = tuple[int, Explanation, Explanation]  # the number of a row, and both explanations of it


def differ_over_rows(
    sides: tuple[Any, Any], n_rows: int, pairs: Iterable[Pair], titles: tuple[str, str] = ("first", "second")
) -> Difference:
    """Compare two explanations of each row: mean differences, with intervals over the rows.

    ``sides`` are the sources of both; a row without a pair has changed by 0.
    """
    found, rest = RunningDifference(n_rows), iter(pairs)
    while some := list(islice(rest, PAIRS_PER_BATCH)):
        found.add(some)
    if not found.n_pairs:
        raise InputError("there are no explanations to compare")
    together = found.share_samples
    weights, reach, counts, parts = found.means(together)
    apart = subtract_first(weights)
    fewest = 2 * found.fewest  # twice as many will do where noise is taken at its worst
    degrees = np.clip(counts - 1.0, 1.0, fewest if together else None)
    both = np.c_[reach, reach]
    p, joint = adjust_p_values(apart, both, degrees, weights), both * joint_level(both, degrees)
    said = "over {:,} rows; mean predictions {:.4g} and {:.4g}".format(found.n_pairs, *found.predictions)
    n = n_rows - found.n_pairs
    left_out = f"{n:,} row{'s' * (n != 1)} that only one of them explains {'are' if n != 1 else 'is'}"
    return Difference(
        *sides,
        titles,
        parts,
        weights,
        np.stack([apart - joint[:, 0], apart + joint[:, 1]], axis=1),
        p,
        counts,
        found.changes,
        judge_difference(parts, apart, p, said, titles, joint),
        found.unlike.notes() + ((f"{left_out} left out.",) if n else ()),
    )


@dataclass
class PartSums:
    """Sums over the rows in which a feature was measured; of differences, mean and squares around it."""

    n: Floats  # (d,) rows
    known: Floats  # (d, 2) rows in which each side has the part
    weights: Floats  # (d, 2)
    mean: Floats  # (d,)
    squares: Floats  # (d,)
    reach: Floats  # (d,)

    @classmethod
    def of(cls, codes: Ints, entries: Floats, d: int) -> PartSums:
        """Build sums from entries (weights, difference, reach of its noise) with feature numbers."""
        measured = np.isfinite(entries[:, 3]) & np.isfinite(entries[:, 2])
        own, kept = codes[measured], entries[measured]
        n, sums = _sum_by_group(own, np.ones((len(own), 1)), d)[:, 0], _sum_by_group(own, np.nan_to_num(kept), d)
        mean = sums[:, 2] / np.maximum(n, 1)
        squares = _sum_by_group(own, np.square(kept[:, 2:3] - mean[own, None]), d)[:, 0]
        return cls(n, _sum_by_group(own, np.isfinite(kept[:, :2]), d), sums[:, :2], mean, squares, sums[:, 3])

    def merged(self, group: Ints, d: int) -> PartSums:
        """Merge features with the same number in ``group`` (Chan et al. 1983)."""
        n, total, reach = _sum_by_group(group, np.c_[self.n, self.n * self.mean, self.reach], d).T
        mean = total / np.maximum(n, 1)
        squares = _sum_by_group(group, np.c_[self.squares + self.n * np.square(self.mean - mean[group])], d)[:, 0]
        return PartSums(
            n, _sum_by_group(group, self.known, d), _sum_by_group(group, self.weights, d), mean, squares, reach
        )

    def beside(self, other: PartSums) -> PartSums:
        """Both, one after the other."""
        return PartSums(
            *(np.concatenate(two) for two in zip(vars(self).values(), vars(other).values(), strict=True))
        )


def _sum_by_group(group: Ints, columns: Any, d: int) -> Floats:
    """Sums (d, c) of the lines of columns (m, c) with the same number."""
    return np.stack([np.bincount(group, column, d).astype(np.float64) for column in columns.T], axis=1)


class RunningDifference:
    """Sums over rows for each feature, under all its names; pairs are added in batches."""

    def __init__(self, n_rows: int) -> None:
        self.changes = np.zeros(n_rows)  # (n,)
        self.fewest = np.inf  # degrees of freedom
        self.seeds = set[int](), set[int]()  # hashes, of each side
        self.unlike = ComparabilityNotes()
        self.n_pairs, self.totals = 0, np.zeros(2)
        self.number: dict[tuple[Hashable, str], int] = {}
        self.parts: list[Part] = []
        self.times: list[int] = []
        self.edges: dict[Hashable, Floats] | None = None  # between quarters of numbers, of the first rows
        self.sums = PartSums.of(np.empty(0, np.int64), np.empty((0, 4)), 0)

    def add(self, pairs: Sequence[Pair]) -> None:
        """Add some rows."""
        gaps = [measure_gap(a, b) for _, a, b in pairs]
        apart = [g.apart for g in gaps]
        for (i, *both), own in zip(pairs, apart, strict=True):
            self.changes[i] = row_distance(own)
            self.unlike.add(*both)
            for seeds, e in zip(self.seeds, both, strict=True):
                seeds.add(hash(str(e.recipe.get("rng"))))
        self.n_pairs += len(pairs)
        self.totals += np.sum([[a.prediction, b.prediction] for _, a, b in pairs], axis=0)
        self.fewest = min(self.fewest, *(g.degrees for g in gaps))
        codes = self._codes(gaps)
        entries = np.concatenate(
            [np.c_[g.weights, own, g.reach.max(axis=1)] for g, own in zip(gaps, apart, strict=True)]
        )
        d = len(self.parts)
        more = PartSums.of(codes, entries, d)
        self.sums = self.sums.beside(more).merged(np.r_[np.arange(len(self.sums.n)), np.arange(d)], d)

    def _codes(self, gaps: Sequence[Gap]) -> Ints:
        """A number for each feature of each row, by what it is and its name."""
        codes, every = [], [*chain.from_iterable(zip(g.keys, g.parts, strict=True) for g in gaps)]
        if self.edges is None:
            self.edges = find_quarters(every)
        for key, own in every:
            part = quarter_of(own, self.edges[key]) if key in self.edges and is_number(own) else own
            at = self.number.setdefault((key, part.name), len(self.parts))
            if at == len(self.parts):
                self.parts.append(part)
                self.times.append(0)
            self.times[at] += 1
            codes.append(at)
        return np.array(codes, dtype=np.int64)

    @property
    def share_samples(self) -> bool:
        """Whether two rows may rest on the same samples, so that their noise does not average out."""
        return any(len(seeds) < self.n_pairs for seeds in self.seeds)

    @property
    def predictions(self) -> Floats:
        """Mean predictions of both models."""
        return np.asarray(self.totals / self.n_pairs)

    def means(self, together: bool) -> tuple[Floats, Floats, Ints, tuple[Part, ...]]:
        """Mean weights (d, 2), half intervals over rows (d,), numbers of rows (d,), and the features.

        The variation between rows contains the noise of each row. If rows share their samples, the noise may be
        the same in all of them, and is added.
        """
        group, parts = self._grouped()
        own = self.sums.merged(group, len(parts))
        n = np.maximum(own.n, 1)
        weights = np.where(own.known > 0, own.weights / n[:, None], np.nan)
        error = np.sqrt(own.squares / np.maximum(own.n - 1, 1) / n)
        common = own.reach / n / stdtrit(1e6, UPPER_QUANTILE) if together else 0.0
        reach = stdtrit(np.maximum(own.n - 1.0, 1.0), UPPER_QUANTILE) * np.sqrt(
            np.square(error) + np.square(common)
        )
        return weights, np.where(own.n > 1, reach, np.inf), own.n.astype(np.int64), parts

    def _grouped(self) -> tuple[Ints, tuple[Part, ...]]:
        """A number for each feature, the same for the same thing; and the numbered features.

        Bins and categories of a column are features of their own, since their weights mean different things,
        unless they hardly ever come again: then the column is one feature.
        """
        times, kinds = dict[Hashable, int](), dict[Hashable, int]()
        for (key, _), often in zip(self.number, self.times, strict=True):
            times[key] = times.get(key, 0) + often
            kinds[key] = kinds.get(key, 0) + 1
        number: dict[Hashable, int] = {}
        named, group = list[Part](), list[int]()
        for (key, name), part in zip(self.number, self.parts, strict=True):
            rare = kinds[key] > 1 and times[key] < MIN_REPEATS * kinds[key]
            own = key if rare or kinds[key] == 1 else (key, name)
            if own not in number:
                number[own] = len(named)
                named.append(Part(part.column, part.column, "|") if rare else part)
            group.append(number[own])
        return np.array(group, dtype=np.int64), tuple(named)


def is_number(part: Part) -> bool:
    """Whether a feature is a column of numbers at the row's own value."""
    return part.relation == "=" and isinstance(part.value, (int, float)) and not isinstance(part.value, bool)


def find_quarters(features: Sequence[tuple[Hashable, Part]]) -> dict[Hashable, Floats]:
    """The edges between quarters of the numbers that features have, by key, where these are many.

    What numbers contribute, high ones and low ones together, adds up to nothing.
    """
    values = dict[Hashable, list[Any]]()
    for key, part in features:
        values.setdefault(key, []).append(part.value if is_number(part) else None)
    found = dict[Hashable, Floats]()
    for key, own in values.items():
        known = [value for value in own if value is not None]
        if len(set(known)) > 2 * len(QUARTERS):
            found[key] = np.unique(np.quantile(known, QUARTERS))
    return found


def quarter_of(part: Part, edges: Floats) -> Part:
    """The quarter that a number lies in, as a feature."""
    at, column = int(np.searchsorted(edges, part.value)), part.column
    low, high = edges[at - 1] if at else None, edges[at] if at < len(edges) else None
    if low is None:
        return Part(f"{column} ≤ {high:.4g}", column, "≤", float(edges[at]))
    if high is None:
        return Part(f"{column} > {low:.4g}", column, ">", float(low))
    return Part(f"{low:.4g} < {column} ≤ {high:.4g}", column, "in", (float(low), float(high)))


NOISE_SETTINGS = {"n_samples", "max_calls", "until", "n_draws"}  # settings that change noise, not meaning
SCALE_NOTE = (
    "One output lies between 0 and 1, the other does not: if one is a probability and the other is not, their "
    "weights are in different units."
)


def may_share_samples(a: Explanation, b: Explanation) -> bool:
    """Whether both may rest on the same samples."""
    one, other = a.recipe.get("rng"), b.recipe.get("rng")
    return one is None or other is None or one == other


def find_left_out(e: Explanation) -> Bools:
    """Features (d,) that a method left out, so that a weight of zero does not mean that they do not count."""
    if method_recipe(e).get("n_features") is None and not e.path:
        return np.zeros(len(e.weights), bool)
    return np.asarray((e.weights == 0) & (e.intervals == 0).all(axis=1))


class ComparabilityNotes:
    """What a reader should know about pairs of explanations, each note once."""

    def __init__(self) -> None:
        self.found: dict[str, None] = {}
        self.within = [True, True]  # whether all outputs of each side look like probabilities
        self.n_pairs, self.unlike_targets = 0, list[tuple[str, str]]()

    def add(self, a: Explanation, b: Explanation) -> ComparabilityNotes:
        """Add a pair."""
        self.found |= dict.fromkeys(_compare_pair(a, b))
        self.n_pairs += 1
        if str(a.target) != str(b.target):
            self.unlike_targets.append((str(a.target), str(b.target)))
        self.within = [
            all_so_far and 0 <= e.prediction <= 1 for all_so_far, e in zip(self.within, (a, b), strict=True)
        ]
        return self

    def notes(self) -> tuple[str, ...]:
        """All notes."""
        scales = (SCALE_NOTE,) if self.within[0] != self.within[1] else ()
        return (*self._note_targets(), *self.found, *scales)

    def _note_targets(self) -> list[str]:
        """A note if the targets differ."""
        if not self.unlike_targets:
            return []
        (first, second), n = self.unlike_targets[0], len(self.unlike_targets)
        if self.n_pairs == 1:
            return [f"The two explain different targets: {first} and {second}."]
        where = f"In {n:,} of {self.n_pairs:,} rows" if n < self.n_pairs else "In all rows"
        return [f"{where} the two explain different targets, such as {first} and {second}."]


def _compare_pair(a: Explanation, b: Explanation) -> list[str]:
    found = compare_methods(a, b)
    if _kind_of_question(a) != _kind_of_question(b):
        asked = f"{a.question} and {b.question}"
        found.append(f"The two answer different questions, so their weights mean different things: {asked}.")
    if _unit_columns(a, b) != _unit_columns(b, a):
        found.append(
            "One weighs a number by its standard deviation, the other by the bin it lies in: their weights cannot "
            "be compared."
        )
    noisy = any((e.intervals[:, 0] != e.intervals[:, 1]).any() for e in (a, b))
    if noisy and may_share_samples(a, b):
        found.append(
            "Both may come from the same samples (their rng is the same, or not known), so the noise of the "
            "difference is taken at its worst: give one of them another rng for a sharper comparison."
        )
    if find_left_out(a).any() or find_left_out(b).any():
        found.append("Features that a method left out have no weight to compare; they count as not measured.")
    return found


def _kind_of_question(e: Explanation) -> str:
    """What is asked, whatever the instance: in words of its own, a method asks the same of each."""
    return e.purpose if e.purpose in QUESTIONS else str(method_recipe(e).get("name", e.purpose))


def compare_methods(a: Explanation, b: Explanation) -> list[str]:
    one, other = method_recipe(a), method_recipe(b)
    names = [str(each.get("name", "another method")) for each in (one, other)]
    if names[0] != names[1]:
        return [f"{names[0]} and {names[1]} do not mean the same by a weight: part of the difference is theirs."]
    unlike = [key for key in one if key not in NOISE_SETTINGS and one[key] != other.get(key)]
    return [f"The settings of {names[0]} differ in {', '.join(unlike)}."] if unlike else []


def method_recipe(e: Explanation) -> Mapping[str, Any]:
    found = e.recipe.get("method")
    return found if isinstance(found, Mapping) else {} if found is None else {"name": found}


def _unit_columns(e: Explanation, other: Explanation) -> set[str]:
    """Columns of both explanations whose weight is per unit here."""
    both = {part.column for part in other.parts}
    return {part.column for part in e.parts if part.relation == PER_UNIT and part.column in both}
