"""Many explanations as blocks: what counts over all rows, drawn by columns and by rows, and the rows in a table."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import leaves_list, linkage

from veridical.display import blocks
from veridical.display.explanations import listed, row_words, target_of, top_names, verdict_advice
from veridical.display.marks import Axes, short, ticks
from veridical.display.words import count, decimals, first, number, percent, plain, row_label, value_words
from veridical.records import Explanation, Explanations, FeatureCurve, Floats, shown_class
from veridical.summaries.importances import Importance

BINS, TONES = 48, 5  # places along a line of a swarm; colors of values, from low to high
SWARMED, SCATTERED, HEATED = 10, 3, (60, 16)  # columns of a swarm, of dependence; rows and columns of a heat map
MOST_CURVES = 24  # local curves behind the dots of a dependence plot
HUGE = 1e100  # what is larger is drawn there
MOST_LEVELS = 12  # categories along a dependence plot
OPENED = 100  # rows of a list that can be opened
TOP_WORDS = 3  # features that a row of a table names


def importance(found: Importance, limits: blocks.Limits) -> tuple[blocks.Block, ...]:
    """How many rows have which label, what counts over all of them, and how that depends on their values."""
    shown = *counted(found), *columns_of(found, limits), *rows_of(found, limits), *_notes(found, limits)
    if not limits.folds or not len(found.sample.numbers):
        return shown
    table = sampled_rows(found, limits)
    told = f"{len(table.lines):,} of {count(found.n_rows, 'row')}"
    return *shown, blocks.Details(("Row by row",), told if table.more else "", (table,), kind="folded")


def counted(found: Importance) -> tuple[blocks.Block, ...]:
    """How many rows there are, what they explain, and how many have each label."""
    every = [target for target, _ in found.targets]
    shown = ", ".join(f"{plain(shown_class(target, every), 30)} ({n:,})" for target, n in found.targets[:3])
    more = f" and {len(found.targets) - 3:,} more" if len(found.targets) > 3 else ""
    said = [(f"of {shown}{more}", "")] if found.targets else []
    said += [("failed", f"{found.n_failed:,}")] if found.n_failed else []
    said += (
        [("faithful", f"{percent(max(found.fidelity, 0.0))} on average")] if math.isfinite(found.fidelity) else []
    )
    head = blocks.Headline((count(found.n_rows, "explanation"),), tuple(said))
    return head, *([blocks.LabelCounts(found.labels)] if found.labels else [])


def columns_of(found: Importance, limits: blocks.Limits) -> tuple[blocks.Block, ...]:
    """Importance by column with intervals and signs."""
    if not (found.importance > 0).any():
        return (blocks.Text(("No feature has any weight.",)),)
    left = int(np.count_nonzero(found.importance)) - limits.columns
    more = (blocks.Text((f"And {count(left, 'more feature')}.",), "sum"),) if left > 0 else ()
    return importance_bars(found, limits.columns), *more, blocks.Legend(("whisker",))


def importance_bars(found: Importance, k: int) -> blocks.Bars:
    """The k most important columns, each with its interval."""
    values, show = [v for v in found.importance[:k].tolist() if v > 0], decimals(found.importance[:k])
    ends = [(low, high) if math.isfinite(high) else None for low, high in found.intervals[:k].tolist()]
    lines = [
        blocks.BarLine(
            found.columns[j],
            values[j],
            (show(values[j])[1:], _direction(found, j)),
            ends=ends[j],
            clear=bool(found.intervals[j, 0] > 0) or ends[j] is None,
        )
        for j in range(len(values))
    ]
    heads = ("Feature", "Importance: mean size of the weight", "Importance", "Raises the output")
    span = blocks.span_of(values, [each for each in ends if each])
    return blocks.Bars(heads, tuple(lines), span, "importance: mean size of the weight, over all rows", sizes=True)


def _direction(found: Importance, j: int) -> str:
    """In how many of the rows that have it a column raises the output."""
    n = int(found.counts[j])
    return f"in {percent(found.raising[j] / n)}" if n else "–"


def rows_of(found: Importance, limits: blocks.Limits) -> tuple[blocks.Block, ...]:
    """The swarm, how weights depend on values, and rows by features: of some rows."""
    sample = found.sample
    if not limits.points or len(sample.numbers) < 2 or not (found.importance > 0).any():
        return ()
    some = spread(len(sample.numbers), limits.points)
    drawn = [swarm(found, some)]
    told = (
        f"{len(some):,} of {count(found.n_rows, 'row')}" if len(some) < found.n_rows else count(len(some), "row")
    )
    scatters = [s for j in range(len(found.columns[:SCATTERED])) if (s := scatter(found, j, some)) is not None]
    maps = heat(found, some)
    below = (
        [blocks.Details(("How weights depend on values",), told, tuple(scatters), kind="folded", opened=True)]
        if scatters
        else []
    )
    below += [blocks.Details(("Rows by features",), told, (maps,), kind="folded")] if maps else []
    return *drawn, *(below if limits.folds else ())


def spread(n: int, most: int) -> list[int]:
    """At most so many of n things that are in random order already."""
    return list(range(n)) if n <= most else np.linspace(0, n - 1, most).round().astype(int).tolist()


def swarm(found: Importance, some: Sequence[int], most: int = SWARMED) -> blocks.Swarm:
    """A dot a row on one line per column: across by weight, in the color of the row's own value."""
    sample, k = found.sample, min(most, found.sample.weights.shape[1])
    weights = np.clip(sample.weights[list(some)][:, :k], -HUGE, HUGE)
    known = weights[np.isfinite(weights)]
    span, lines = blocks.span_of(known.tolist()), []
    for j in range(k):
        there = np.isfinite(weights[:, j])
        xs = weights[there, j]
        tones = tones_of(sample.values[list(some), j])[there]
        told = (
            f"weights from {number(float(xs.min()))} to {number(float(xs.max()))}" if len(xs) else "no row has it"
        )
        words = f"{plain(found.columns[j], 60)}: {told}, raises the output {_direction(found, j)}"
        lines.append(blocks.SwarmLine(found.columns[j], xs, offsets(xs, span), tones, words))
    colored = bool((np.isfinite(sample.values[list(some), :k])).any())
    return blocks.Swarm(tuple(lines), span, len(some), found.n_rows, colored)


def offsets(xs: Floats, span: blocks.Span) -> Floats:
    """Heights of dots (m,), -1 to 1, so that those that lie close do not hide each other."""
    if not len(xs):
        return np.empty(0)
    low, high = span
    place = np.clip((xs - low) / ((high - low) or 1.0) * BINS, 0, BINS - 1).astype(int)
    order = np.argsort(place, kind="stable")
    runs = np.bincount(place, minlength=BINS)
    rank = np.empty(len(xs), dtype=int)
    rank[order] = np.arange(len(xs)) - np.repeat(np.cumsum(runs) - runs, runs)
    steps = np.where(rank % 2 == 0, rank // 2, -(rank // 2 + 1))
    return np.asarray(np.clip(steps / max(runs.max() / 2, 6), -1, 1), dtype=float)


def tones_of(values: Floats) -> npt.NDArray[np.int64]:
    """The color of each value, 0 for the lowest to 4 for the highest; -1 where there is none."""
    tones, known = np.full(len(values), -1, dtype=np.int64), np.isfinite(values)
    if known.any():
        unique, place = np.unique(values[known], return_inverse=True)
        shares = place / max(len(unique) - 1, 1) if len(unique) <= TONES else _ranks(values[known])
        tones[known] = np.minimum((shares * TONES).astype(int), TONES - 1)
    return tones


def _ranks(values: Floats) -> Floats:
    return np.asarray(np.searchsorted(np.sort(values), values) / max(len(values) - 1, 1))


def scatter(
    found: Importance, j: int, some: Sequence[int], curves: Sequence[FeatureCurve] = ()
) -> blocks.Scatter | None:
    """Weight against value of one column, with local curves where there are some; none without values."""
    sample = found.sample
    xs, ys = (np.clip(each[list(some), j], -HUGE, HUGE) for each in (sample.values, sample.weights))
    known = np.isfinite(xs) & np.isfinite(ys)
    if known.sum() < 2:
        return None
    xs, ys, levels = xs[known], ys[known], sample.levels[j]
    low, high = (-0.5, len(levels) - 0.5) if levels else (float(xs.min()), float(xs.max()))
    low, high = low - 0.02 * (high - low), high + 0.02 * (high - low)
    reach = (high - low) or 1.0
    bottom, top = blocks.span_of(ys.tolist())
    room = (top - bottom) * 0.04 or 1.0
    bottom, top = bottom - room, top + room
    if levels:
        jitter = ((np.arange(len(xs)) * 0.618) % 1.0 - 0.5) * 0.5
        across = [((i - low) / reach, value_words(level)) for i, level in enumerate(levels[:MOST_LEVELS])]
        xs = xs + jitter
    else:
        across = [((tick - low) / reach, short(tick)) for tick in ticks(low, high)]
    up = [((tick - bottom) / (top - bottom), short(tick)) for tick in ticks(bottom, top, 4)]
    lines = tuple(
        (np.clip((np.array(c.values, dtype=float) - low) / reach, 0, 1), (c.effects - bottom) / (top - bottom))
        for c in curves[:MOST_CURVES]
        if c.numeric and not levels and c.values[-1] is not None
    )
    name = plain(found.columns[j], 80)
    words = (
        f"weight of {name} against its value in {count(len(xs), 'row')}; weights from {number(float(ys.min()))}"
    )
    return blocks.Scatter(
        found.columns[j],
        (xs - low) / reach,
        (ys - bottom) / (top - bottom),
        -bottom / (top - bottom),
        np.sign(ys).astype(np.int64),
        lines,
        Axes(across, up),
        f"{words} to {number(float(ys.max()))}",
    )


def heat(found: Importance, some: Sequence[int], most: tuple[int, int] = HEATED) -> blocks.Heat | None:
    """Rows by the heaviest columns, with those that are alike beside each other."""
    sample, k = found.sample, min(most[1], found.sample.weights.shape[1])
    chosen = [some[i] for i in spread(len(some), most[0])]
    weights = np.clip(np.nan_to_num(sample.weights[chosen][:, :k]), -HUGE, HUGE)
    largest = float(np.abs(weights).max(initial=0.0))
    if not largest or len(chosen) < 3:
        return None
    order = leaves_list(linkage(weights / largest, "average")).tolist()
    show = decimals(weights.ravel())
    rows = tuple(row_label(sample.rows[chosen[i]], 30) for i in order)
    strengths = weights[order] / largest
    words = tuple(tuple(show(w).strip() for w in line) for line in weights[order].tolist())
    return blocks.Heat(rows, tuple(found.columns[:k]), strengths, words)


def _notes(found: Importance, limits: blocks.Limits) -> tuple[blocks.Block, ...]:
    return (blocks.Notes(first(found.notes, limits.notes)),) if found.notes else ()


# ---- the rows


def explanations(many: Explanations, limits: blocks.Limits) -> tuple[blocks.Block, ...]:
    """What many explanations have in common, then every row in a table, and rows to be opened."""
    if not many.items:
        failed = f": {count(len(many.failures), 'row')} failed, see .failed" if many.failures else ""
        return (blocks.Headline((f"No explanations{failed}",)),)
    found, items = many.importance(), many.items[: limits.entries]
    head, *labels = counted(found)
    advice = verdict_advice([e.verdict for e in many.items])
    labels = [blocks.LabelCounts(found.labels, advice)]
    shown = (head, *labels, *columns_of(found, limits), *rows_of(found, limits), *_notes(found, limits))
    if not items:
        return shown
    numbers = many.numbers
    rows = [numbers[i] if e.row is None else e.row for i, e in enumerate(items)]
    left = len(many.items) - len(items)
    more = f"And {left:,} more, not drawn here." if left > 0 else ""
    if not limits.folds:
        return (*shown, _entries(items, rows, limits, more))
    table = row_table([_row_cells(e, row, limits) for e, row in zip(items, rows, strict=True)], more)
    opened = _entries(items[:OPENED], rows[:OPENED], limits, "")
    told = f"{len(opened.items):,} of {count(len(many.items), 'row')}" if len(many.items) > OPENED else ""
    return *shown, table, blocks.Details(("Row by row",), told, (opened,), kind="folded")


def _row_cells(e: Explanation, row: object, limits: blocks.Limits) -> blocks.RowLine:
    told = f"{plain(target_of(e), 40)} {limits.signed(number(e.prediction))}"
    return row_line(row, told, e.prediction, e.verdict.label, e.fidelity, top_names(e))


def row_line(row: object, told: str, prediction: float, label: str, fidelity: float, names: str) -> blocks.RowLine:
    """One row of a table of rows."""
    faithful = percent(max(fidelity, 0.0)) if math.isfinite(fidelity) else "–"
    return blocks.RowLine(row_label(row, 40), (told, prediction), label, (faithful, fidelity), names)


def row_table(lines: Sequence[blocks.RowLine], more: str = "") -> blocks.RowTable:
    """Rows that pages can sort and filter."""
    return blocks.RowTable(("Row", "Model", "Explanation", "Faithful", "Heaviest features"), tuple(lines), more)


def sampled_rows(found: Importance, limits: blocks.Limits) -> blocks.RowTable:
    """The rows of a sample as a table."""
    sample, lines = found.sample, []
    for i in spread(len(sample.numbers), limits.points):
        order = np.argsort(-np.abs(np.nan_to_num(sample.weights[i])), kind="stable")[:TOP_WORDS]
        names = ", ".join(plain(found.columns[j], 30) for j in order if np.nan_to_num(sample.weights[i, j]))
        told = f"{plain(sample.targets[i], 40)} {limits.signed(number(float(sample.predictions[i])))}"
        numbers = float(sample.predictions[i]), sample.labels[i], float(sample.fidelities[i])
        lines.append(row_line(sample.rows[i], told, *numbers, names or "no feature has any weight"))
    left = found.n_rows - len(lines)
    return row_table(lines, f"Drawn from {count(found.n_rows, 'row')}." if left > 0 else "")


def _entries(
    items: Sequence[Explanation], rows: Sequence[object], limits: blocks.Limits, more: str
) -> blocks.Listing:
    """Every row, to be opened."""
    entries = []
    for e, row in zip(items, rows, strict=True):
        said = f"target {plain(target_of(e), 40)}, model {limits.signed(number(e.prediction))}: {top_names(e)}"
        own = listed(e, limits) if limits.folds else ()
        entries.append(blocks.Details(row_words(row)[:2], said, own, e.verdict.label))
    return blocks.Listing(tuple(entries), more, limits.n_bytes)
