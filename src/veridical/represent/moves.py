"""Table rows moved a little: numbers by a share of their spread, categories to others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from veridical.records import Bools, Step
from veridical.represent.background import Background
from veridical.represent.columns import Binned, Coded, Normal


@dataclass(frozen=True, eq=False)
class Way:
    """Where one part goes: the values of its columns, ahead and back."""

    ahead: list[Any]  # (columns,) arrays of one value
    back: list[Any] | None  # None where there is no opposite
    drawn: bool = False


def step_of(background: Background, row: Any, size: float, rng: np.random.Generator) -> Step:
    """A row, a table of one row, with all its parts moved."""
    ways = [_way(background, column, row, size, rng) for column in background.columns]
    tables = []
    for back in (False, True):
        columns: list[Any] = [background.schema.column(row, j) for j in range(len(background.schema.names))]
        for column, way in zip(background.columns, ways, strict=True):
            chosen = way.back if back else way.ahead
            for position, value in zip(_positions(column), chosen or (), strict=chosen is not None):
                columns[position] = value
        tables.append(background.schema.build(columns, 1))
    ahead, back_ = (partial(_mixed, background, row, table) for table in tables)
    both = np.array([way.back is not None for way in ways])
    far = f"each number moves by {size:.3g} of its standard deviation, or to the next one that was seen"
    says = f"{far}, up and down; a category becomes another one" if not both.all() else f"{far}, up and down"
    return Step(ahead, back_, both, any(way.drawn for way in ways), says)


def _mixed(background: Background, row: Any, moved: Any, masks: Bools) -> Any:
    """The row once a mask, with the columns of the moved one where parts are not kept."""
    every = np.zeros(len(masks), np.intp)
    return background.mixed(row, moved.iloc[every] if hasattr(moved, "iloc") else moved[every], masks)


def _positions(column: Binned | Coded | Normal) -> tuple[int, ...]:
    return column.positions if isinstance(column, Coded) else (column.position,)


def _way(
    background: Background, column: Binned | Coded | Normal, row: Any, size: float, rng: np.random.Generator
) -> Way:
    """Where one part goes from where it is in this row."""
    if isinstance(column, Coded):
        state = int(background.coded_states(row, column)[0])
        if column.edges is None or column.parts[state].relation in ("=", "is missing"):
            return _other(background, column, state, rng)
        return _neighbors(column, float(background.numbers(row, column)[0]), size)
    own = float(background.numbers(row, column)[0])
    if np.isnan(own):  # missing: one of the values that are not
        known = np.flatnonzero(~np.isnan(column.left)) if isinstance(column, Binned) else np.zeros(1, np.intp)
        value = column.left[rng.choice(known)] if isinstance(column, Binned) else column.mean
        return Way([background.cast(np.array([value]), column.position, column)], None, True)
    far = size * column.sd
    if isinstance(column, Normal):
        far = max(np.rint(far), 1.0) if column.whole else far
        low, high = (end * column.sd + column.mean for end in (column.low, column.high))
        ends = min(own + far, high), max(own - far, low)
    else:
        ends = own + far, own - far
    ahead, back = ([background.cast(np.array([end]), column.position, column)] for end in ends)
    return Way(ahead, back)


def _other(background: Background, column: Coded, state: int, rng: np.random.Generator) -> Way:
    """Another level, drawn as often as it was seen."""
    shares = np.diff(column.cumulative, prepend=0.0)
    shares[column.bounds[state] : column.bounds[state + 1]] = 0.0
    level = int(rng.choice(len(shares), p=shares / shares.sum()))
    return Way(_level(background, column, level), None, int((shares > 0).sum()) > 1)


def _level(background: Background, column: Coded, level: int) -> list[Any]:
    if len(column.positions) == 1:
        return [column.levels.take([level])]
    taken = column.levels.take([level], axis=0)
    return [background.cast(taken[:, j], position) for j, position in enumerate(column.positions)]


def _neighbors(column: Coded, own: float, size: float) -> Way:
    """The numbers that were seen about ``size`` standard deviations away, at least the next ones."""
    order, far = np.asarray(column.order), size * column.sd
    after, before = (np.searchsorted(order, own, side) for side in ("right", "left"))
    up = max(int(np.searchsorted(order, own + far, "right")) - 1, int(after))
    down = min(int(np.searchsorted(order, own - far, "left")), int(before) - 1)
    ways = [[column.levels.take([level])] for level in (up, down) if 0 <= level < len(order)]
    return Way(ways[0], ways[1] if len(ways) > 1 else None)
