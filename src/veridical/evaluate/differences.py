"""What differs between two explanations, or between two models over many rows, by more than the noise."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from scipy.special import stdtr, stdtrit

from veridical.evaluate.align import aligned, joined
from veridical.evaluate.compare import holm
from veridical.evaluate.records import LEVEL
from veridical.evaluate.unlike import Unlike, same_draws, set_to_zero
from veridical.records import Bools, Explanation, Explanations, Floats, Ints, Part, Record, Seen, Verdict

if TYPE_CHECKING:
    import pandas as pd

ROUNDING = 1e-6  # of the largest weight, below which a difference is none
NET = ((8, 1e6), (12, 4.0), (10**9, 2.0))  # degrees of freedom of weights from a net, up to so many parts
WIDE = (
    "In a table of so many columns only large differences can be told from one explanation each: explain with "
    "several seeds (rng), and compare the two lists."
)
HALF = 0.975  # the quantile that a 95 % interval ends at
NAMED = 3  # parts that a sentence names


class Many(Protocol):
    """Explanations of many rows that are not all in memory, by number of the row."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Explanation: ...


Side: TypeAlias = Explanation | Explanations | Many


@dataclass(frozen=True, slots=True, eq=False)
class Difference(Seen):
    """Two explanations side by side, or two models over many rows: what the second has more than the first.

    A part that only one of them has counts 0 in the other, for what is not there adds nothing; its weight there is
    nan. Over many rows, weights and differences are means over the rows in which either has the part; bins of a
    column are parts of their own.

    ``larger`` says which differences are larger than the noise with all parts taken together: if nothing differs,
    the chance that any part is called larger is at most 5 % (Holm). The intervals are of each part alone.
    """

    first: Side
    second: Side
    titles: tuple[str, str]  # what to call them
    parts: tuple[Part, ...]  # (d,) that either has; with both names where they are called differently
    weights: Floats  # (d, 2)
    intervals: Floats  # (d, 2): 95 %, of the difference; infinite where it was not measured
    p: Floats  # (d,) adjusted for the number of parts (Holm); nan where a difference was not measured
    counts: Ints  # (d,) rows that the means are over
    changes: Floats  # (n,) how far the weights of each row are apart: the root of their squared differences
    verdict: Verdict  # passed: no part differs by more than the noise
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """One name a part, aligned with the weights."""
        return tuple(part.name for part in self.parts)

    @property
    def difference(self) -> Floats:
        """The second's weights less the first's, (d,); nan where one of them did not test the part."""
        unknown = np.isnan(self.intervals).any(axis=1)
        return np.where(unknown, np.nan, second_less_first(self.weights))

    @property
    def larger(self) -> Bools:
        """Whether each difference is larger than the noise, all parts taken together, (d,)."""
        return np.asarray(np.nan_to_num(self.p, nan=1.0) < LEVEL)

    @property
    def rows(self) -> Ints:
        """The rows from the one that changed most to the one that changed least, (n,)."""
        return np.argsort(-self.changes, kind="stable").astype(np.int64)

    def top(self, k: int = 5) -> list[tuple[str, float]]:
        """The k largest differences, those larger than the noise first; no difference is never among them."""
        found = self.difference
        order = np.lexsort((-np.abs(found), ~self.larger))
        known = [j for j in order if found[j] != 0 and not np.isnan(found[j])]
        return [(self.parts[j].name, float(found[j])) for j in known[: max(k, 0)]]

    def to_frame(self) -> pd.DataFrame:
        """One line a part."""
        from veridical.frames import difference_frame

        return difference_frame(self)

    def __repr__(self) -> str:
        from veridical.render.differences import difference_picture

        return difference_picture(self)


@dataclass(frozen=True, slots=True, eq=False)
class Gap(Record):
    """The parts of one pair of explanations, and how far apart they are."""

    keys: tuple[Hashable, ...]
    parts: tuple[Part, ...]
    weights: Floats  # (d, 2), nan where one does not have the part
    reach: Floats  # (d, 2): how far noise takes the difference down and up, at 95 %; infinite if unknown
    degrees: float  # of freedom
    untested: Bools  # (d,) parts that one of them has, but did not test

    @property
    def apart(self) -> Floats:
        """How far apart the weights are, (d,); nan where one of them was not tested."""
        return np.where(self.untested, np.nan, second_less_first(self.weights))


def second_less_first(weights: Floats) -> Floats:
    """How far apart weights (d, 2) are, (d,); what is not there is 0."""
    first, second = np.nan_to_num(weights).T
    with np.errstate(over="ignore"):
        return np.asarray(second - first)


def differ(a: Explanation, b: Explanation, titles: tuple[str, str] = ("first", "second")) -> Difference:
    """Two explanations, part by part."""
    gap = gap_of(a, b)
    apart = gap.apart
    ends = np.stack([apart - gap.reach[:, 0], apart + gap.reach[:, 1]], axis=1)
    p = adjusted(apart, gap.reach, gap.degrees, gap.weights)
    said = f"predictions {a.prediction:.4g} and {b.prediction:.4g}"
    verdict = judged(gap.parts, apart, p, f"{said}", hidden_by(gap.reach, gap.degrees))
    return Difference(
        a,
        b,
        titles,
        gap.parts,
        gap.weights,
        ends,
        p,
        np.ones(len(apart), np.int64),
        np.array([size_of(apart)]),
        verdict,
        (*Unlike().add(a, b).notes(), *([WIDE] if gap.degrees == NET[-1][1] else [])),
    )


def gap_of(a: Explanation, b: Explanation) -> Gap:
    """Two explanations part by part, with the noise of the difference.

    Noise of samples that were drawn apart adds up like the sides of a right angle (of intervals that are not
    symmetric too: Zou and Donner 2008). Where both may have been asked about the same samples, their errors may go
    together or against each other, and only the plain sum is sure to be enough.
    """
    places = aligned(a, b)
    at = np.array([[i, j] for _, i, j in places], dtype=np.int64).reshape(-1, 2)
    weights, down, up = np.stack([_read(e, at[:, k]) for k, e in enumerate((a, b))], axis=2)
    add = np.sum if same_draws(a, b) else _root_of_squares
    reach = np.stack([add([up[:, 0], down[:, 1]], axis=0), add([down[:, 0], up[:, 1]], axis=0)], axis=1)
    parts = [joined(a.parts[i] if i >= 0 else None, b.parts[j] if j >= 0 else None) for _, i, j in places]
    keys = tuple(key for key, _, _ in places)
    unknown = (at >= 0) & ~np.isfinite(weights)
    reach[unknown.any(axis=1)] = np.inf
    untested = ((at >= 0) & np.isnan(weights)).any(axis=1)
    return Gap(keys, tuple(parts), weights, reach, min(_degrees(a), _degrees(b)), untested)


def _read(e: Explanation, at: Ints) -> Floats:
    """Weight, and how far its interval reaches down and up, of parts at these places (3, m); -1: not there."""
    found = np.zeros((3, len(at)))
    found[0] = np.nan
    here = at >= 0
    weights, ends = e.weights[at[here]], e.intervals[at[here]]
    with np.errstate(over="ignore", invalid="ignore"):
        found[:, here] = weights, np.abs(weights - ends[:, 0]), np.abs(ends[:, 1] - weights)
    unsure = np.zeros(len(at), bool)
    unsure[here] = set_to_zero(e)[at[here]]
    found[1:, unsure | np.isnan(found[1:]).any(axis=0)] = np.inf
    return found


def _root_of_squares(sides: Sequence[Floats], axis: int) -> Floats:
    return np.asarray(np.sqrt(np.sum(np.square(sides), axis=axis)))


def _degrees(e: Explanation) -> float:
    """Degrees of freedom behind the intervals, or fewer: pairs beyond those that a fit of all parts takes.

    Methods without a surrogate measure one part at a time, and their samples are shared out. A surrogate of a
    table is fitted to a net, in which now and then an interaction passes for a part, the more often the more there
    are: most weights are closer to the truth than their intervals say, a few far from it. With so few degrees
    false alarms stayed below 5 % in trials with 4 to 30 columns.
    """
    d = max(len(e.parts), 1)
    if not np.isfinite(e.fidelity):
        return float(max(e.effective_size / d - 1, 1.0))
    found = float(max(e.effective_size / 2 - d - 1, 1.0))
    tails = next(degrees for most, degrees in NET if d <= most)
    return min(found, tails) if e.view is None or e.view.kind == "fields" else found


def adjusted(apart: Floats, reach: Floats, degrees: Any, weights: Floats) -> Floats:
    """Two-sided p of each difference, adjusted for all that were measured; nan for the others.

    ``reach`` (d, 2) is as that of a Gap, and degrees are those of its ends.
    """
    known = np.isfinite(reach).all(axis=1)
    toward = np.where(apart > 0, reach[:, 0], reach[:, 1])  # noise on the side of zero
    least = ROUNDING * float(np.abs(weights[np.isfinite(weights)]).max(initial=0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(apart) / (toward / stdtrit(degrees, HALF))
    p = np.where(np.abs(apart) <= least, 1.0, np.where(toward > 0, 2 * stdtr(degrees, -np.abs(t)), 0.0))
    found = np.full(len(apart), np.nan)
    found[known] = holm(p[known])
    return found


def hidden_by(reach: Floats, degrees: Any) -> float:
    """The largest difference that noise may hide, all parts taken together."""
    known = np.isfinite(reach).all(axis=1)
    if not known.any():
        return np.nan
    level = stdtrit(degrees, 1 - LEVEL / 2 / known.sum()) / stdtrit(degrees, HALF)
    return float((level * np.where(known, reach.max(axis=1), 0.0)).max())


def judged(parts: Sequence[Part], apart: Floats, p: Floats, said: str, hidden: float) -> Verdict:
    """One sentence on what differs."""
    larger = np.flatnonzero(np.nan_to_num(p, nan=1.0) < LEVEL)
    missed, d = int(np.isnan(p).sum()), len(p)
    of_all = f"{d - missed} part{'s' * (d - missed != 1)}"
    if not d or missed == d:
        why = "the noise of no part was measured" if d else "there are no parts"
        return Verdict(False, np.nan, 0.0, f"Nothing can be said of the difference: {why}; {said}.")
    if len(larger):
        order = larger[np.argsort(-np.abs(apart[larger]), kind="stable")]
        named = ", ".join(f"{parts[j].name:.60} ({apart[j]:+.3g})" for j in order[:NAMED])
        more = f" and {len(order) - NAMED} more" if len(order) > NAMED else ""
        verb = "differs" if len(larger) == 1 else "differ"
        start = f"{len(larger)} of {of_all} {verb} by more than the noise: {named}{more}"
    else:
        below = f"; a difference below {hidden:.2g} may not have shown" if hidden > 0 else ""
        start = f"None of {of_all} differs by more than the noise{below}"
    left = f"{missed} part{'s were' if missed > 1 else ' was'} not measured; " if missed else ""
    return Verdict(not len(larger), float(len(larger)), 0.0, f"{start}; {left}{said}.")


def size_of(apart: Floats) -> float:
    """How far the weights of a row are apart: the root of their squared differences."""
    return float(np.sqrt(np.sum(np.square(apart[np.isfinite(apart)]))))
