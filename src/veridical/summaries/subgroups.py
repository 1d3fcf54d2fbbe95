"""Where explanations with one label gather: a subgroup of the rows, told by one or two conditions.

Subgroup discovery by weighted relative accuracy (Lavrač, Flach and Zupan 1999): the share of rows that meet the
conditions, times how much more frequent the label is among them than over all. Conditions are looked for on one half of
the rows and counted on the other, so that a subgroup that chance made is not reported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import hypergeom

from veridical.metrics.significance import wilson_interval
from veridical.records import Bools, Floats, Measured, Verdict
from veridical.representations.tables.columns import format_number
from veridical.summaries.importances import Importance, RowSample, hash_numbers

MIN_WANTED = 10  # rows with the label, below which nothing is said of where they lie
MIN_SHARE = 0.05  # of the rows that a condition must hold for, and must not
N_CUTS = 9  # values that a numeric column is cut at: its deciles
N_STARTS = 5  # best single conditions that a second one is added to
MIN_GAIN = 1.1  # times the quality of one condition, below which a second one is left out
MAX_CHANCE = 0.01  # of finding as many in the other half if the label did not depend on the conditions
DIGITS = 3  # of the numbers in conditions


@dataclass(frozen=True, eq=False)
class RowConditions:
    """Conditions on single columns, and which rows meet each of them."""

    words: tuple[str, ...]  # (c,)
    met: Bools  # (c, m)


def describe_label(found: Importance, labels: Sequence[str]) -> Verdict | None:
    """Where explanations with one of these labels gather; None where there are too few of them to say.

    Parameters
    ----------
    found : Importance
        Of the explanations; its sample of rows is looked at.
    labels : sequence of str
        Labels of verdicts, such as ("unreliable",).

    Returns
    -------
    Verdict or None
        Labeled "different" where a subgroup holds clearly more of them than its share, else "same".

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> many = vd.explain_many(lambda X: 3 * X[:, 0] + X[:, 1], vd.Rows(X), X[:40])
    >>> describe_label(many.importance(), ("unreliable",)) is None
    True
    """
    sample, name = found.sample, " or ".join(labels)
    wanted = np.isin(np.array(sample.labels, dtype=str), labels)
    if not MIN_WANTED <= wanted.sum() <= len(wanted) - MIN_WANTED:
        return None
    learned = (hash_numbers(sample.numbers) & np.uint64(1)).astype(bool)  # as good as a coin
    conditions = _list_conditions(sample, found.columns)
    chosen = _search(conditions.met[:, learned], wanted[learned])
    inside: Bools = np.all(conditions.met[list(chosen)][:, ~learned], axis=0)
    wanted = wanted[~learned]
    n, n_wanted, n_inside, hits = (int(each.sum()) for each in (~learned, wanted, inside, inside & wanted))
    if not chosen or hypergeom.sf(hits - 1, n, n_wanted, n_inside) > MAX_CHANCE:
        sentence = (
            "No part of the data that one or two conditions tell holds clearly more than its share of the "
            f"{name} explanations."
        )
        share = n_wanted / n
        ends = wilson_interval(share, n)
        return Verdict(
            True, share, math.nan, sentence, interval=ends, label="same", measured=f"{name}, everywhere"
        )
    where = " and ".join(conditions.words[i] for i in chosen)
    sentence = (
        f"{100 * hits / n_wanted:.0f} % of the {name} explanations are of rows with {where}, where "
        f"{100 * n_inside / n:.0f} % of the rows lie."
    )
    counts = (
        (f"{name}, there", hits, n_inside),
        (f"{name}, elsewhere", n_wanted - hits, n - n_inside),
        (f"{name} explanations that lie there", hits, n_wanted),
        ("rows that lie there", n_inside, n),
    )
    measures = tuple(Measured(what, k / of, *wilson_interval(k / of, of), of) for what, k, of in counts)
    note = f"The conditions were found on {len(learned) - n:,} rows; all numbers are of the other {n:,}."
    return Verdict(
        False,
        hits / n_inside,
        math.nan,
        sentence,
        interval=wilson_interval(hits / n_inside, n_inside),
        measures=measures,
        notes=(note,),
        label="different",
        measured=measures[0].name,
    )


def _list_conditions(sample: RowSample, columns: Sequence[str]) -> RowConditions:
    """Conditions that enough rows meet, and enough do not: ranges and categories of columns, words that are there."""
    found = list[tuple[str, Bools]]()
    for name, values, weights, levels in zip(
        columns, sample.values.T, sample.weights.T, sample.levels, strict=False
    ):
        if levels:
            found += [(f"{name} = {level}", values == i) for i, level in enumerate(levels)]
        elif np.isfinite(values).any():
            for cut in _list_cuts(values):
                shown = format_number(cut, DIGITS)
                found += [(f"{name} ≤ {shown}", values <= cut), (f"{name} > {shown}", values > cut)]
        else:
            there = np.isfinite(weights)
            found += [(f"“{name}”", there), (f"no “{name}”", ~there)]
    kept = [each for each in found if MIN_SHARE <= each[1].mean() <= 1 - MIN_SHARE]
    met = np.array([each[1] for each in kept], dtype=bool).reshape(len(kept), len(sample.labels))
    return RowConditions(tuple(each[0] for each in kept), met)


def _list_cuts(values: Floats) -> list[float]:
    """Where a column is cut: its deciles, as numbers of a few digits."""
    shares = np.arange(1, N_CUTS + 1) / (N_CUTS + 1)
    deciles = np.quantile(values[np.isfinite(values)], shares, method="nearest")
    return sorted({float(format_number(float(cut), DIGITS)) for cut in deciles})


def _search(met: Bools, wanted: Bools) -> tuple[int, ...]:
    """The one or two conditions (c, m) with the largest weighted relative accuracy, if any gains."""
    if not len(met):
        return ()
    gains = (wanted - wanted.mean()) / len(wanted)  # of each row that is inside
    single = met @ gains
    best: tuple[int, ...] = (int(single.argmax()),)
    quality = float(single.max())
    for i in np.argsort(-single, kind="stable")[:N_STARTS].tolist():
        both = met & met[i]
        pairs = np.where(both.mean(axis=1) >= MIN_SHARE, both @ gains, -np.inf)
        j = int(pairs.argmax())
        if pairs[j] > (MIN_GAIN if len(best) == 1 else 1.0) * quality:
            best, quality = (i, j), float(pairs[j])
    return best if quality > 0 else ()
