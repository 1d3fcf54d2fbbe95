"""Watching: did the reasons change between two nights or two models, beyond the noise?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix
from scipy.special import ndtr, stdtr, stdtrit

from veridical.comparisons.alignment import MAX_ROWS_CHECKED, check_places, differ_in_values
from veridical.comparisons.differences import NOISE_SETTINGS, UPPER_QUANTILE, compare_methods, method_recipe
from veridical.errors import InputError, check_number, safe_repr
from veridical.metrics.reports import LEVEL
from veridical.metrics.significance import adjust_holm
from veridical.records import LOG_ODDS, Bools, Explanation, Explanations, Floats, Ints, Tabular, Verdict
from veridical.representations.tables.schema import is_missing, list_some
from veridical.summaries.importances import WIDTH, shared_pairs

MIN_ROWS = 20  # of each side: below that, no change is told from noise
MAX_COLUMNS = 100  # that are watched, the heaviest of both sides together
MIN_SHARE = 0.02  # of rows that a column leads, on average over both sides, from which on its share is watched
MOSTLY = 0.5  # share of predictions, below which they are no probabilities where the other side's are
CHUNK = 2**14  # rows whose weights are laid out at once
ROUNDING = 1e-9  # of the weight in all, below which a change is none
MAX_NAMED = 2  # changes that the sentence names
LONGEST_NAME = 40  # characters of a column in the sentence
IMPORTANCE, DIRECTION, LEAD, VERDICT_LABEL = "importance", "direction", "lead", "label"  # what is watched
ORDER = (IMPORTANCE, VERDICT_LABEL, LEAD, DIRECTION)  # in which changes are named
FAILED = "failed"  # in place of a label, where a row has no explanation


@runtime_checkable
class NumberedExplanations(Protocol):
    """Explanations of many rows that are read a little at a time, as a store has them."""

    @property
    def n_rows(self) -> int: ...

    def numbered(self) -> Iterator[tuple[int, Explanation]]: ...

    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Drift(Tabular):
    """What changed in the reasons between two sets of explanations, held against the noise.

    Four kinds of numbers are watched: the ``importance`` of each column (the mean size of its weight), its
    ``direction`` (the mean weight with its sign), the ``lead`` of each column (the share of rows in which it is the
    heaviest: the groups of rows with the same main reason), and the share of rows with each ``label`` of the verdict,
    those that failed among them.

    Attributes
    ----------
    titles : tuple of str
        Names of the two sides.
    kinds, names : tuple of str (m,)
        What each number is, and the column or label that it is of.
    values : array (m, 2)
        The number on both sides.
    intervals : array (m, 2)
        95 % confidence interval of each change by itself.
    p : array (m,)
        P-values of a change beyond the tolerance, adjusted for all numbers (Holm).
    n_rows, n_failed : tuple of int
        Rows with an explanation on both sides, and rows without.
    n_pairs : int
        Rows that were compared one by one, because both sides explain the same; 0 where rows differ.
    tolerance : float
        The change that counts as none: of all importance together, and of all rows.
    verdict : Verdict
        "same", which passed, or "different".
    notes : tuple of str
        What a reader should know.
    """

    titles: tuple[str, str]
    kinds: tuple[str, ...]  # (m,) importance, direction, lead or label
    names: tuple[str, ...]  # (m,) of the column, or the label
    values: Floats  # (m, 2)
    intervals: Floats  # (m, 2): 95 %, of the change
    p: Floats  # (m,) adjusted for all of them (Holm)
    n_rows: tuple[int, int]
    n_failed: tuple[int, int]
    n_pairs: int
    tolerance: float
    verdict: Verdict
    notes: tuple[str, ...] = ()

    @property
    def change(self) -> Floats:
        """The second value less the first, (m,)."""
        return np.asarray(self.values[:, 1] - self.values[:, 0])

    @property
    def changed(self) -> Bools:
        """Which numbers changed by more than the noise and the tolerance, all of them taken together, (m,).

        If nothing changed, the chance that any number is called changed is at most 5 % (Holm).
        """
        return np.asarray(np.nan_to_num(self.p, nan=1.0) < LEVEL)

    def top(self, k: int = 5) -> list[tuple[str, str, float]]:
        """Return the changes of importance, direction, lead and label that are larger than the noise.

        Parameters
        ----------
        k : int, default 5
            The most changes to return.

        Returns
        -------
        list of (str, str, float)
            Kind, name and change, the surest first.
        """
        order = [int(j) for j in np.argsort(self.p, kind="stable") if self.changed[j]]
        return [(self.kinds[j], self.names[j], float(self.change[j])) for j in order[: max(k, 0)]]


def watch(old: Any, new: Any, *, names: Sequence[str] = ("old", "new"), tolerance: float = 0.01) -> Drift:
    """Say whether the reasons changed between two nights, or two models, by more than the noise.

    Two models explain the same rows, which are then compared one by one, matched by their names; two nights have
    rows of their own. Both sides must be explained alike: by the same method and settings, for the same target.

    Parameters
    ----------
    old, new : Explanations, Store or list of Explanation
        The two sides, at least 20 explanations each; ``vd.load`` opens what was saved.
    names : pair of str, default ("old", "new")
        What to call the two sides.
    tolerance : float, default 0.01
        The change that counts as none: this share of all importance together, or of all rows.

    Returns
    -------
    Drift
        What changed, with intervals; ``verdict.label`` is "same" or "different".

    Raises
    ------
    InputError
        If a side has too few explanations, or the two cannot be compared: they share no column, or explain other
        targets, by other methods, or on other scales.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> rows = vd.Rows(X, names=["age", "height", "debt"])
    >>> old = vd.explain_many(lambda X: X[:, 0] + X[:, 2], rows, X[:60])
    >>> new = vd.explain_many(lambda X: X[:, 0] + X[:, 1], rows, X[60:120])
    >>> found = vd.comparisons.watch(old, new)
    >>> found.verdict.label, sorted({name for kind, name, _ in found.top() if kind == "importance"})
    ('different', ['debt', 'height'])
    """
    titles = tuple(names) if isinstance(names, (list, tuple)) else ()
    told = all(isinstance(name, str) and name.strip() for name in titles)
    if len(titles) != 2 or not told or titles[0] == titles[1]:
        raise InputError(f'names are two different texts, such as ("Monday", "Tuesday"), not {safe_repr(names)}')
    check_number("tolerance", tolerance)
    if not 0 <= tolerance < 1:
        raise InputError(f"tolerance is a share from 0 to below 1, not {tolerance}")
    columns: dict[str, int] = {}
    a, b = (WatchedRows.read(name, side, columns) for name, side in zip(titles, (old, new), strict=True))
    for matrix in (a.weights, a.noise, a.untested):
        matrix.resize(len(a.rows), len(columns))  # for those that only the second has
    notes = check_alike(a, b, titles)
    pairs = _pairs_of(a, b)
    found = _measure(a, b, list(columns), pairs)
    if len(columns) > MAX_COLUMNS:
        notes.append(f"The {MAX_COLUMNS} heaviest of {len(columns):,} columns or words are watched.")
    scale = np.array([found.total if kind in (IMPORTANCE, DIRECTION) else 1.0 for kind in found.kinds])
    values, error, degrees = np.array(found.values), np.array(found.errors), np.array(found.degrees)
    change = values[:, 1] - values[:, 0]
    p = adjust_holm(_p_values(change, tolerance * scale, ROUNDING * scale, error, degrees))
    half = stdtrit(degrees, UPPER_QUANTILE) * error
    ends = np.stack([change - half, change + half], axis=1)
    farthest = np.abs(change) + stdtrit(degrees, 1 - LEVEL / 2 / len(p)) * error  # of all numbers together
    verdict = _judge(found, values, farthest, p, bool(len(pairs)))
    return Drift(
        titles,
        tuple(found.kinds),
        tuple(found.names),
        values,
        ends,
        p,
        (len(a.rows), len(b.rows)),
        (a.n_failed, b.n_failed),
        len(pairs),
        float(tolerance),
        verdict,
        tuple(notes),
    )


@dataclass(frozen=True, eq=False)
class WatchedRows:
    """One side: the weights of its rows by column, and what must be alike on both sides."""

    rows: tuple[Any, ...]  # (n,) names, or numbers
    weights: csr_matrix  # (n, c) on the scale of the outputs; 0 where a row does not have the column
    noise: csr_matrix  # (n, c) variances of the weights
    untested: csr_matrix  # (n, c) 1 where a row has the column, and it was not tested
    labels: tuple[str, ...]
    targets: Counter[str]
    predictions: Floats
    first: tuple[Explanation, ...]  # a few, by which method, scale and rows are told
    unlike: tuple[str, ...]  # what differs within this side
    n_failed: int
    unfinished: bool = False

    @classmethod
    def read(cls, title: str, given: Any, columns: dict[str, int]) -> WatchedRows:
        """Read a side row by row; its columns are added to ``columns``."""
        rows, labels, predictions, first = list[Any](), list[str](), list[float](), list[Explanation]()
        targets, unlike = Counter[str](), dict[str, None]()
        cells = list[tuple[Floats, Ints]]()
        for number, e in _numbered(title, given):
            weights, ends = shared_pairs(e)
            with np.errstate(invalid="ignore", over="ignore"):
                spread = np.nan_to_num((ends[:, 1] - ends[:, 0]) / WIDTH, posinf=0.0, neginf=0.0)
            codes = np.array([columns.setdefault(part.column, len(columns)) for part in e.parts], dtype=np.int64)
            numbers = np.stack([np.full(len(codes), len(rows), float), weights, spread**2])
            cells.append((numbers, codes))
            rows.append(number if e.row is None or is_missing(e.row) else e.row)
            labels.append(e.verdict.label)
            predictions.append(e.prediction)
            targets[str(e.target)] += 1
            if len(first) < MAX_ROWS_CHECKED:
                first.append(e)
            if e.recipe.get("method") is not first[0].recipe.get("method"):
                unlike |= dict.fromkeys(compare_methods(first[0], e))
        n_failed = len(given.failures) if isinstance(given, Explanations) else len(given) - len(rows)
        if len(rows) < MIN_ROWS:
            lost = f", and {n_failed:,} rows failed" if n_failed else ""
            raise InputError(
                f"{title} has {len(rows)} explanations{lost}: watching needs at least {MIN_ROWS} on each side"
            )
        numbers = np.concatenate([each for each, _ in cells], axis=1)
        at = numbers[0].astype(np.int64), np.concatenate([codes for _, codes in cells])
        known, size = np.isfinite(numbers[1]), (len(rows), max(at[1].max(initial=0) + 1, len(columns)))
        weights, noise, tested, there = (
            coo_matrix((values, at), shape=size).tocsr()  # several parts of a column are added up
            for values in (
                np.where(known, numbers[1], 0.0),
                np.where(known, numbers[2], 0.0),
                known.astype(float),
                np.ones(len(known)),
            )
        )
        there.data = (tested.data == 0).astype(float)  # of the same cells, in the same order
        there.eliminate_zeros()
        more = isinstance(given, NumberedExplanations) and given.n_rows > len(given)
        return cls(
            tuple(rows),
            weights,
            noise,
            there,
            tuple(labels),
            targets,
            np.array(predictions),
            tuple(first),
            tuple(unlike),
            n_failed,
            more,
        )


def _numbered(title: str, given: Any) -> Iterator[tuple[int, Explanation]]:
    """Explanations with the numbers of their rows."""
    if isinstance(given, Explanations):
        return zip(given.numbers, given, strict=True)
    if isinstance(given, NumberedExplanations):
        return given.numbered()
    if isinstance(given, (list, tuple)) and all(isinstance(e, Explanation) for e in given):
        return enumerate(given)
    raise InputError(
        f"{title} wants many explanations, as explain_many gives them, or a store, not {safe_repr(given, 80)}; "
        "vd.load(path) opens what was saved"
    )


def check_alike(a: WatchedRows, b: WatchedRows, titles: Sequence[str]) -> list[str]:
    """Refuse two sides whose weights do not mean the same; notes about what a reader should know."""
    notes = list[str]()
    for side, title in zip((a, b), titles, strict=True):
        if side.unlike:
            raise InputError(f"the rows of {title} are explained in several ways, and cannot be taken together")
        if side.unfinished:
            notes.append(f"{title} is not complete: the rows that are done are compared.")
    check_places(a.first[0].view, b.first[0].view)
    for said in compare_methods(a.first[0], b.first[0]):
        raise InputError(f"{said} Explain both sides by one method with the same settings.")
    one, other = (
        "log-odds" if e.scale == LOG_ODDS and e.changes is None else "the scale of the outputs"
        for e in (a.first[0], b.first[0])
    )
    if one != other:
        raise InputError(
            f"weights of {titles[0]} are on {one}, those of {titles[1]} on {other}: explain both on one scale"
        )
    known = [side.predictions[np.isfinite(side.predictions)] for side in (a, b)]
    within = [float(np.mean((x >= 0) & (x <= 1))) if len(x) else math.nan for x in known]
    if max(within) == 1 and min(within) < MOSTLY:
        which = titles[int(np.argmax(within))]
        raise InputError(
            f"all predictions of {which} lie between 0 and 1, and most of the other side's do not: one is a "
            "probability, the other on another scale; explain both on one scale"
        )
    if not a.targets.keys() & b.targets.keys():
        first, second = (list_some(side.targets, 3) for side in (a, b))
        raise InputError(
            f"{titles[0]} explains {first}, {titles[1]} explains {second}: give both the same target=…"
        )
    if len(a.targets) > 1 or len(b.targets) > 1:
        notes.append(
            "Rows explain several targets, so that importance and direction mix them: one target= for all is sharper."
        )
    own, theirs = (set(np.unique(side.weights.indices).tolist()) for side in (a, b))
    if not own & theirs:
        names = [list_some([part.column for part in side.first[0].parts], 3) for side in (a, b)]
        raise InputError(
            f"the two sides share no column: {titles[0]} has {names[0]}, {titles[1]} has {names[1]}; rename the "
            "columns of one, or explain the same data"
        )
    noise = [[method_recipe(side.first[0]).get(name) for name in sorted(NOISE_SETTINGS)] for side in (a, b)]
    if noise[0] != noise[1]:
        notes.append("The two sides were explained with different numbers of samples.")
    if any(np.isinf(side.first[0].intervals).any() for side in (a, b)):
        notes.append("The noise of single weights was not measured: that of different rows alone is counted.")
    return notes


def _pairs_of(a: WatchedRows, b: WatchedRows) -> Ints:
    """Rows of both sides that are the same row (k, 2), where both sides explain the same rows; else none."""
    none = np.empty((0, 2), np.int64)
    at = {row: j for j, row in enumerate(b.rows)}
    if len(at) < len(b.rows) or len(set(a.rows)) < len(a.rows):
        return none
    found = [(i, at[row]) for i, row in enumerate(a.rows) if row in at]
    alone = max(len(a.rows), len(b.rows)) - len(found)
    if len(found) < MIN_ROWS or alone > a.n_failed + b.n_failed:
        return none
    few = [(a.first[i], b.first[j]) for i, j in found if i < len(a.first) and j < len(b.first)]
    return none if differ_in_values(few) else np.array(found, dtype=np.int64)


@dataclass(eq=False)
class Measurements:
    """What was measured on both sides, number by number."""

    total: float  # importance of all columns together, mean of both sides
    kinds: list[str]
    names: list[str]
    values: list[tuple[float, float]]
    errors: list[float]
    degrees: list[float]

    def add(self, kind: str, name: str, sides: Sequence[tuple[Floats, Floats]], pairs: Ints) -> None:
        """Compare two columns of rows, each with its noise; nan where a row does not count."""
        values, noise = [np.nanmean(x) if np.isfinite(x).any() else 0.0 for x, _ in sides], 0.0
        for x, own in sides:  # rows may share their samples, and so their noise
            noise += float(np.mean(own[np.isfinite(x)])) ** 2 if np.isfinite(x).any() else 0.0
        if len(pairs):
            apart = sides[1][0][pairs[:, 1]] - sides[0][0][pairs[:, 0]]
            apart = apart[np.isfinite(apart)]
            spread, degrees = apart.var(ddof=1) / len(apart) if len(apart) > 1 else np.inf, len(apart) - 1.0
            values = [float(np.nanmean(x[pairs[:, k]])) if len(apart) else 0.0 for k, (x, _) in enumerate(sides)]
        else:
            known = [x[np.isfinite(x)] for x, _ in sides]
            each = [x.var(ddof=1) / len(x) if len(x) > 1 else np.inf for x in known]
            spread, degrees = sum(each), min(len(x) for x in known) - 1.0
        self.put(kind, name, (float(values[0]), float(values[1])), float(np.sqrt(spread + noise)), degrees)

    def put(self, kind: str, name: str, values: tuple[float, float], error: float, degrees: float) -> None:
        """Add a number."""
        self.kinds.append(kind)
        self.names.append(name)
        self.values.append(values)
        self.errors.append(error)
        self.degrees.append(max(degrees, 1.0))


def _measure(a: WatchedRows, b: WatchedRows, columns: Sequence[str], pairs: Ints) -> Measurements:
    """Importance, direction and lead of the heaviest columns, and the labels, on both sides."""
    sizes = np.mean([np.abs(side.weights).sum(axis=0).A1 / len(side.rows) for side in (a, b)], axis=0)
    order = np.argsort(-sizes, kind="stable")
    chosen = order[sizes[order] > 0][:MAX_COLUMNS]
    found = Measurements(float(sizes.sum()), [], [], [], [], [])
    for j in chosen.tolist():
        cells = []
        for side in (a, b):
            weights, noise, gone = (m[:, [j]].toarray().ravel() for m in (side.weights, side.noise, side.untested))
            cells.append((np.where(gone > 0, np.nan, weights), np.sqrt(noise)))
        found.add(IMPORTANCE, columns[j], [(np.abs(x), noise) for x, noise in cells], pairs)
        found.add(DIRECTION, columns[j], cells, pairs)
    leads = [_leads(side, chosen) for side in (a, b)]
    for k, j in enumerate(chosen.tolist()):
        shares = [_share(lead, k) for lead in leads]
        if np.mean([np.mean(share) for share, _ in shares]) >= MIN_SHARE:
            found.add(LEAD, columns[j], shares, pairs)
    counts = [Counter(side.labels) + Counter({FAILED: side.n_failed}) for side in (a, b)]
    n = np.array([sum(count.values()) for count in counts])
    for label in dict.fromkeys([*counts[0], *counts[1]]):
        hits = np.array([count[label] for count in counts])
        near = (hits + 1) / (n + 2)  # so that 0 of n is not taken to be sure (Agresti and Caffo 2000)
        error = float(np.sqrt(np.sum(near * (1 - near) / (n + 2))))
        found.put(VERDICT_LABEL, label, (hits[0] / n[0], hits[1] / n[1]), error, float(n.min()))
    return found


def _leads(side: WatchedRows, chosen: Ints) -> tuple[Ints, Ints, Floats]:
    """Of each row the heaviest column and the next, by place, and how probable it is that the first is heavier."""
    first, second, sure = list[Ints](), list[Ints](), list[Floats]()
    for start in range(0, len(side.rows), CHUNK):
        some = slice(start, start + CHUNK)
        size = np.abs(side.weights[some][:, chosen].toarray())
        size = np.concatenate([size, np.zeros((len(size), 2))], axis=1)  # so that there are two
        spread = np.pad(side.noise[some][:, chosen].toarray(), ((0, 0), (0, 2)))
        order = np.argsort(-size, axis=1, kind="stable")[:, :2]
        heavy, noise = np.take_along_axis(size, order, 1), np.take_along_axis(spread, order, 1).sum(axis=1)
        gap = heavy[:, 0] - heavy[:, 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            p = np.where(noise > 0, ndtr(gap / np.sqrt(noise)), np.where(gap > 0, 1.0, 0.5))
        first.append(order[:, 0])
        second.append(order[:, 1])
        sure.append(p)
    return np.concatenate(first), np.concatenate(second), np.concatenate(sure)


def _share(leads: tuple[Ints, Ints, Floats], k: int) -> tuple[Floats, Floats]:
    """How probable it is, in each row, that column k leads; and how far that may be off."""
    first, second, sure = leads
    p = np.where(first == k, sure, np.where(second == k, 1 - sure, 0.0))
    return p, np.sqrt(p * (1 - p))


def _p_values(change: Floats, tolerance: Floats, rounding: Floats, error: Floats, degrees: Floats) -> Floats:
    """Two-sided p of each change beyond what is tolerated; nan where nothing is known of the noise."""
    far = np.abs(change) - np.maximum(tolerance, rounding)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(far <= 0, 1.0, 2 * stdtr(degrees, -far / error))
    return np.where(np.isfinite(error), p, 1.0)


def _judge(found: Measurements, values: Floats, farthest: Floats, p: Floats, paired: bool) -> Verdict:
    """Whether the reasons changed, in one sentence that names what changed most."""
    changed, m = np.flatnonzero(p < LEVEL), len(p)
    if not len(changed):
        most = float(farthest[np.array(found.kinds) == IMPORTANCE].max(initial=0.0)) / (found.total or 1.0)
        said = f"None of {m} numbers changed by more than the noise"
        below = f"; a change of importance by {100 * most:.2g} % of all may not have shown" if most > 0 else ""
        return Verdict(True, 0.0, 0.0, f"{said}{below}.", label="same", measured="numbers that changed")
    order = sorted(
        changed.tolist(), key=lambda j: (ORDER.index(found.kinds[j]), -abs(values[j, 1] - values[j, 0]))
    )
    named, told = list[str](), set[str]()
    for j in order:
        if len(named) < MAX_NAMED and found.names[j] not in told:
            named.append(_words(found.kinds[j], found.names[j], *values[j].tolist()))
            told.add(found.names[j])
    said = f"{', '.join(named)}; {len(changed)} of {m} numbers changed."
    advice = (
        "Try `vd.compare(old, new)`, which shows the rows that changed most."
        if paired
        else 'Try `importance().plot(kind="dependence")` of both sides.'
    )
    return Verdict(
        False, float(len(changed)), 0.0, said, label="different", advice=advice, measured="numbers that changed"
    )


def _words(kind: str, name: str, before: float, after: float) -> str:
    """One change in a few words."""
    name = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
    if kind == IMPORTANCE:
        return f"{name} counts {'more' if after > before else 'less'} ({before:.3g} → {after:.3g})"
    if kind == DIRECTION:
        return f"{name} {'raises' if after > before else 'lowers'} the output more ({before:+.3g} → {after:+.3g})"
    if kind == VERDICT_LABEL:
        return f"{name} rows: {100 * before:.0f} % → {100 * after:.0f} %"
    return f"{name} leads {100 * before:.0f} % → {100 * after:.0f} % of rows"
