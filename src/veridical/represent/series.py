"""Time series: windows that are kept, or filled; or bands of frequency that are taken out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from veridical.errors import InputError, check_whole
from veridical.masks import coins
from veridical.records import Floats, Part, View
from veridical.represent.fill import (
    Constant,
    Fallback,
    Fill,
    Interpolate,
    Noise,
    WholeMean,
    filled,
    first_to_change,
    is_other,
    replaced_notes,
)
from veridical.represent.masked import Compose, Filled, Listed, Masked, checked_flag, checked_parts, tried, unique
from veridical.represent.regions import (
    HARDLY,
    Array,
    Places,
    as_type,
    batch_hint,
    compose,
    is_tensor,
    like,
    numbers_of,
)
from veridical.represent.sums import SumComposer, band_sounds

SHOWN = 2**14  # steps of a series that a view keeps, at most
DEFAULT = Fallback((WholeMean(), Interpolate(), Constant()))
OTHERS = (WholeMean(), Interpolate(), Constant(), Noise())  # that are suggested where a fill changes nothing


@dataclass(frozen=True)
class ChangePoints:
    """Cuts where the level of the series changes: windows of least variance, found by halving again and again."""

    shortest: int = 2

    def __post_init__(self) -> None:
        check_whole("shortest", self.shortest)

    def __call__(self, values: Floats, n: int) -> list[int]:
        """The starts of n windows but the first, of values (t, c)."""
        spread = values.std(axis=0)
        scaled = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        sums = np.vstack([np.zeros(scaled.shape[1]), np.cumsum(scaled, axis=0)])
        edges = [0, len(values)]
        while len(edges) <= n:
            found = [self._best(sums, a, b) for a, b in pairwise(edges)]
            _, cut = max(found)
            if cut < 0:
                break
            edges = sorted([*edges, cut])
        return edges[1:-1]

    def _best(self, sums: Floats, start: int, stop: int) -> tuple[float, int]:
        """How much variance the best cut of a window takes away, and where it is; -1 if it is too short."""
        cuts = np.arange(start + self.shortest, stop - self.shortest + 1)
        if not len(cuts):
            return -1.0, -1
        left, right = sums[cuts] - sums[start], sums[stop] - sums[cuts]
        whole = np.sum((sums[stop] - sums[start]) ** 2) / (stop - start)
        split = np.sum(left**2, axis=1) / (cuts - start) + np.sum(right**2, axis=1) / (stop - cuts)
        best = int(np.argmax(split))
        return float(split[best] - whole), int(cuts[best])


@dataclass(frozen=True)
class Bands:
    """Parts are bands of frequency instead of windows: each is taken out by subtraction, the mean stays."""


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows of a series (t,) or (t, c), or (c, t) with ``time_axis=1``.

    Each window of each channel is a part; with ``together``, a window of all channels is one. ``cut`` is
    ChangePoints(), Bands(), or the steps at which windows start (the first is 0); by default n windows are of
    equal length. ``fill`` says what stands in for a window: WholeMean(), PartMean(), Interpolate(), Noise(), a
    function, or another series. By default it is the mean of the whole series; a window that is flat at that mean
    is replaced by what is around it instead (``Fallback``). ``channels`` names the channels.
    """

    n: int = 10
    cut: Any = None
    fill: Fill = field(default_factory=lambda: DEFAULT)
    channels: Sequence[str] | None = None
    together: bool = False
    time_axis: int = 0

    def __post_init__(self) -> None:
        check_whole("n", self.n)
        if self.time_axis not in (0, 1, -1):
            raise InputError(f"time_axis is 0 for (t, c) or 1 for (c, t), not {self.time_axis!r}")
        checked_flag("together", self.together)
        if isinstance(self.channels, (str, bytes)):
            raise InputError(f"channels wants a list with a name for each channel, not {self.channels!r}")
        if isinstance(self.cut, (type, str)):
            raise InputError(f"cut wants ChangePoints(), Bands() or the starts of windows, not {self.cut!r}")

    def __call__(self, x: Any) -> Masked:
        return self.parts_of(x)

    def parts_of(self, x: Any, least: int = 2) -> Masked:
        """The series as its windows; ``least`` is how few of them are still worth explaining."""
        array = numbers_of(x, "a series")
        if array.ndim not in (1, 2) or not array.size:
            hint = batch_hint(array.shape, 2)
            raise InputError(f"a series has shape (t,) or (t, c); this has {array.shape}{hint}")
        by_time = self._by_time(array)
        names = self._channel_names(x, by_time.shape[1])
        if isinstance(self.cut, Bands):
            return self._bands(x, by_time, names, least)
        starts = self._starts(by_time.astype(np.float64), array.shape)
        window = np.searchsorted(starts, np.arange(len(by_time)), side="right") - 1
        n, c = len(starts), 1 if self.together else by_time.shape[1]
        checked_parts(n * c, least, "window", "ask for more of them")
        labels = np.stack([window + n * (0 if self.together else k) for k in range(by_time.shape[1])], axis=1)
        edges = [*starts, len(by_time)]
        spans = [f"t {a}-{b - 1}" for a, b in pairwise(edges)]
        titles = spans if c == 1 else [f"{name}, {span}" for name in names for span in spans]
        owners = ["series"] * n if c == 1 else [name for name in names for _ in spans]
        parts = _series_parts(unique(titles), owners, "window")
        refill = partial(self._composer, x, window, labels)
        view = _view(by_time, labels, names)
        wide = by_time.shape[1] > len(by_time) and self.channels is None and not hasattr(x, "columns")
        notes = (self._read_as(array.shape),) if wide else ()
        return Filled(parts, coins(len(parts)), refill(self.fill), view, notes, refill=refill, others=OTHERS)

    def each(self, X: Any) -> Listed:
        """Many series."""
        return Listed.of(self, X, "series")

    def _composer(self, x: Any, window: Array, labels: Array, fill: Fill) -> Compose:
        """What makes series in which a fill stands in for some of the parts."""
        array = numbers_of(x, "a series")
        own, where = x if is_tensor(x) else array, self._oriented(labels, array.ndim)
        apart = None if array.ndim == 1 else 1 - self.time_axis % 2
        nearly = 0.0 if getattr(fill, "purpose", "content") == "change" else HARDLY

        def fitting(fill: Fill) -> Array:
            return self._oriented(self._filled(self._by_time(array), window, fill), array.ndim)

        if not isinstance(fill, Fallback):
            return compose(own, fitting(fill), where, apart=apart, nearly=nearly)
        made = [partial(like, own, partial(fitting, each)) for each in fill.fills]
        found, chosen, left = first_to_change(own, Places(where, array.shape, None, apart, nearly), made)
        composer = compose(own, found, where, apart=apart, nearly=nearly)
        return replace(composer, notes=replaced_notes(fill.fills, chosen, "window"), known=left)

    def _by_time(self, array: Array) -> Array:
        """The series as (t, c)."""
        return array[:, None] if array.ndim == 1 else array if self.time_axis == 0 else array.T

    def _filled(self, by_time: Array, window: Array, fill: Fill) -> Array:
        """The series with every window filled."""
        values = by_time.astype(np.float64)
        if not is_other(fill):
            return as_type(filled(fill, values, window, "series"), by_time.dtype)
        own = numbers_of(fill, "the fill")
        other = self._by_time(own)
        if other.shape != by_time.shape:
            raise InputError(
                f"the fill has shape {own.shape}, but the series has {by_time.shape}: "
                "give another series of the same shape"
            )
        return as_type(other, by_time.dtype)

    def _oriented(self, by_time: Array, ndim: int) -> Array:
        """Back to the axes of the instance."""
        return by_time[:, 0] if ndim == 1 else by_time if self.time_axis == 0 else by_time.T

    def _read_as(self, shape: tuple[int, ...]) -> str:
        """Which axis was taken for what, and how to say otherwise."""
        if len(shape) == 1:
            return f"shape {shape} was read as {shape[0]} steps of one channel"
        time, other = (0, 1) if self.time_axis == 0 else (1, 0)
        read = f"{shape[time]} step{'s' * (shape[time] != 1)} of {shape[other]} channel{'s' * (shape[other] != 1)}"
        return f"shape {shape} was read as {read}; if axis {other} is time, say time_axis={other}"

    def _starts(self, values: Floats, shape: tuple[int, ...]) -> list[int]:
        """Where windows start, the first at 0."""
        t = len(values)
        if self.cut is None or isinstance(self.cut, ChangePoints) or callable(self.cut):
            if self.n > t:
                raise InputError(
                    f"a series of {t} step{'s' * (t != 1)} cannot be cut into {self.n} windows: "
                    f"{self._read_as(shape)}, or give fewer windows"
                )
            if self.cut is None:
                return [-(-i * t // self.n) for i in range(self.n)]
            return _checked_starts(tried("cut", self.cut, values, self.n), t)
        return _checked_starts(self.cut, t)

    def _bands(self, x: Any, by_time: Array, names: list[str], least: int) -> Masked:
        t, c = by_time.shape
        if self.n > t // 2:
            read = self._read_as(tuple(np.shape(x)))
            raise InputError(
                f"a series of {t} steps has no {self.n} bands of frequency: {read}, or give fewer bands"
            )
        checked_parts(self.n * c, least, "band", "ask for more of them")
        whole = np.zeros((self.n * c, t, c))
        titles, owners = [], []
        for k, name in enumerate(names):
            whole[k * self.n : (k + 1) * self.n, :, k], edges = band_sounds(by_time[:, k].astype(float), self.n)
            spans = [f"{a:.3g}-{b:.3g} cycles a step" for a, b in pairwise(edges)]
            titles += spans if c == 1 else [f"{name}, {span}" for span in spans]
            owners += [name if c > 1 else "series"] * self.n
        pieces = np.stack([self._oriented(piece, np.ndim(x)).ravel() for piece in whole])
        parts = _series_parts(unique(titles), owners, "band")
        return Masked(parts, coins(len(parts)), SumComposer.of(x, pieces), _view(by_time, None, names))

    def _channel_names(self, x: Any, c: int) -> list[str]:
        if self.channels is not None:
            names = [str(name) for name in self.channels]
            if len(names) != c or len(set(names)) != c:
                raise InputError(f"channels must name the {c} channels of the series, each once, not {names}")
            return names
        columns = getattr(x, "columns", None)
        if columns is not None and len(columns) == c:
            return [str(name) for name in columns]
        return ["series"] if c == 1 else [f"channel {k}" for k in range(c)]


def _checked_starts(cut: Any, t: int) -> list[int]:
    """The starts of windows, 0 the first; refuse those that are not rising steps of the series."""
    try:
        starts = [int(step) for step in cut]
        whole = all(float(step) == int(step) for step in cut)
    except (TypeError, ValueError, OverflowError) as cause:
        raise InputError(f"cut wants the steps at which windows start, not {cut!r}") from cause
    starts = starts if starts and starts[0] == 0 else [0, *starts]
    if not whole or any(a >= b for a, b in pairwise([*starts, t])):
        raise InputError(
            f"the starts of windows must rise, from 0 to below the {t} steps of the series: {list(cut)}"
        )
    return starts


def _series_parts(names: Sequence[str], owners: Sequence[str], relation: str) -> tuple[Part, ...]:
    return tuple(Part(name, owner, relation, j) for j, (name, owner) in enumerate(zip(names, owners, strict=True)))


def _view(by_time: Array, labels: Array | None, names: Sequence[str]) -> View:
    step = -(-len(by_time) // SHOWN)
    data: dict[str, Any] = {"values": by_time[::step].astype(np.float64), "channels": tuple(names)}
    if labels is not None:
        data["labels"] = labels[::step].astype(np.uint16)
    return View("series", {**data, "step": step})
