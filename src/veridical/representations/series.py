"""Time series: windows in time that are kept or replaced, and frequency bands that are filtered out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from veridical.errors import InputError, check_whole
from veridical.records import Floats, View
from veridical.representations.bins import ChangePoints
from veridical.representations.fills import (
    Constant,
    Fallback,
    Fill,
    Interpolate,
    WholeMean,
)
from veridical.representations.images import Picture
from veridical.representations.masking import (
    Masked,
    PartRepresenter,
    call_user_function,
    check_flag,
    make_unique,
    number_parts,
)
from veridical.representations.regions import (
    UNCHANGED_IN_SIGNALS,
    Array,
    SumComposer,
    batch_hint,
    numbers_of,
)
from veridical.sampling.masks import coins

MAX_STEPS_SHOWN = 2**14  # of a series that a view keeps
DEFAULT_FILL = Fallback((WholeMean(), Interpolate(), Constant()))


@dataclass(frozen=True)
class Bands:
    """Frequency bands as parts of a series, instead of windows: ``vd.Windows(n, cut=vd.Bands())``.

    A band is taken away by subtraction, and the mean of the series always stays.
    """


@dataclass(frozen=True, eq=False)
class Windows(PartRepresenter):
    """The windows of a time series; an instance is an array or torch tensor (t,) or (t, c).

    Parameters
    ----------
    n : int, default 10
        Windows per channel, or frequency bands.
    cut : ChangePoints, Bands, function or sequence of int, optional
        How the series is cut: where its level changes, into frequency bands, by a function from values (t, c) and
        n to the steps at which windows start, or at the steps that are given (the first is 0). By default all
        windows have equal length.
    fill : fill, function or array, optional
        What replaces a window that is taken away: WholeMean(), PartMean(), Interpolate(), Noise(), a function, or
        another series. By default the mean of the whole series; a window that is flat at that mean is replaced by
        what is around it (``Fallback``).
    channels : list of str, optional
        Names of the channels; by default those of a DataFrame's columns.
    together : bool, default False
        A window of all channels is one part, instead of one part per channel.
    time_axis : {0, 1}, default 0
        Which axis is time: 0 for (t, c), 1 for (c, t).

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> vd.Windows(3)(np.arange(12.0)).names
    ('t 0-3', 't 4-7', 't 8-11')
    """

    n: int = 10
    cut: Any = None
    fill: Fill = field(default_factory=lambda: DEFAULT_FILL)
    channels: Sequence[str] | None = None
    together: bool = False
    time_axis: int = 0

    kind: ClassVar[str] = "series"

    def __post_init__(self) -> None:
        check_whole("n", self.n)
        if self.time_axis not in (0, 1, -1):
            raise InputError(f"time_axis is 0 for (t, c) or 1 for (c, t), not {self.time_axis!r}")
        check_flag("together", self.together)
        if isinstance(self.channels, (str, bytes)):
            raise InputError(f"channels wants a list with a name for each channel, not {self.channels!r}")
        if isinstance(self.cut, (type, str)):
            raise InputError(f"cut wants ChangePoints(), Bands() or the starts of windows, not {self.cut!r}")

    def parts_of(self, x: Any) -> Masked:
        """The series as its windows or bands."""
        array = numbers_of(x, "a series")
        if array.ndim not in (1, 2) or not array.size:
            hint = batch_hint(array.shape, 2)
            raise InputError(f"a series has shape (t,) or (t, c); this has {array.shape}{hint}")
        channel = None if array.ndim == 1 else 1 - self.time_axis % 2
        by_time = array[:, None] if channel is None else np.moveaxis(array, channel, -1)
        channels = self._channel_names(x, by_time.shape[1])
        if isinstance(self.cut, Bands):
            return self._bands(x, by_time, channels)
        starts = self._starts(by_time.astype(np.float64), array.shape)
        window = np.searchsorted(starts, np.arange(len(by_time)), side="right") - 1
        n, c = len(starts), 1 if self.together else by_time.shape[1]
        labels = np.stack([window + n * (0 if self.together else k) for k in range(by_time.shape[1])], axis=1)
        edges = [*starts, len(by_time)]
        spans = [f"t {a}-{b - 1}" for a, b in pairwise(edges)]
        titles = spans if c == 1 else [f"{name}, {span}" for name in channels for span in spans]
        owners = ["series"] * n if c == 1 else [name for name in channels for _ in spans]
        parts = number_parts(make_unique(titles), "window", owners)
        wide = by_time.shape[1] > len(by_time) and self.channels is None and not hasattr(x, "columns")
        notes = (self._read_as(array.shape),) if wide else ()
        series = Picture(x, array, channel, "series", notes, "window", UNCHANGED_IN_SIGNALS)
        where = window if channel is None else labels
        return series.masked(where, self.fill, parts, partial(_view, by_time, labels, channels))

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
            return _checked_starts(call_user_function("cut", self.cut, values, self.n), t)
        return _checked_starts(self.cut, t)

    def _bands(self, x: Any, by_time: Array, names: list[str]) -> Masked:
        t, c = by_time.shape
        if self.n > t // 2:
            read = self._read_as(tuple(np.shape(x)))
            raise InputError(
                f"a series of {t} steps has no {self.n} bands of frequency: {read}, or give fewer bands"
            )
        whole = np.zeros((self.n * c, t, c))
        titles, owners = [], []
        for k, name in enumerate(names):
            whole[k * self.n : (k + 1) * self.n, :, k], edges = band_sounds(by_time[:, k].astype(float), self.n)
            spans = [f"{a:.3g}-{b:.3g} cycles a step" for a, b in pairwise(edges)]
            titles += spans if c == 1 else [f"{name}, {span}" for span in spans]
            owners += [name if c > 1 else "series"] * self.n
        pieces = (whole if self.time_axis == 0 else whole.transpose(0, 2, 1)).reshape(len(whole), -1)
        parts = number_parts(make_unique(titles), "band", owners)
        return Masked(parts, coins(len(parts)), SumComposer.of(x, pieces), partial(_view, by_time, None, names))

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


def _view(by_time: Array, labels: Array | None, names: Sequence[str]) -> View:
    step = -(-len(by_time) // MAX_STEPS_SHOWN)
    data: dict[str, Any] = {"values": by_time[::step].astype(np.float64), "channels": tuple(names)}
    if labels is not None:
        data["labels"] = labels[::step].astype(np.uint16)
    return View("series", {**data, "step": step})


def band_sounds(series: Floats, n_bands: int) -> tuple[Floats, Floats]:
    """The frequency bands of a series (t,), without its mean, as series (n, t); their edges in cycles per step."""
    t = len(series)
    spectrum = np.fft.rfft(series)
    edges = np.linspace(1, len(spectrum), n_bands + 1).round().astype(int)
    found = np.empty((n_bands, t))
    for j in range(n_bands):
        own = np.zeros_like(spectrum)
        own[edges[j] : edges[j + 1]] = spectrum[edges[j] : edges[j + 1]]
        found[j] = np.fft.irfft(own, t)
    return found, np.append(edges[:-1], len(spectrum) - 1) / t
