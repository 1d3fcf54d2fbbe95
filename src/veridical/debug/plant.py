"""Shortcuts to plant: what gives the answer away, and where it lies.

A plant is called with instances, one bool an instance that says who gets it, and a random generator. It gives the
instances with the plant in them, and one item an instance that says where it is, as ``vd.Subject`` takes a region:
names of columns or words, a mask of the instance's shape, or a function from a Representation to the share of each
part. Any function like that is a plant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from veridical.errors import InputError, NotApplicable, check_number, check_positive
from veridical.records import Bools, Floats, Representation
from veridical.represent.pictures import channel_axis
from veridical.represent.regions import as_type, is_tensor, numbers_of

Plant: TypeAlias = Callable[[Any, Bools, np.random.Generator], tuple[Any, Sequence[Any]]]
SQUARE = 2  # pixels a side of the squares of a patch
RARE = "zyx"  # a word that no text has


@dataclass(frozen=True)
class Patch:
    """A square in a picture, checkered like a chessboard.

    ``side`` is its share of the height and width, ``place`` its upper left corner, as shares too. With ``value``
    all its pixels have that, and a fill by the mean color of a part cannot take it away. ``axes`` is as for
    ``vd.Superpixels``.
    """

    side: float = 0.25
    place: tuple[float, float] = (0.0, 0.0)
    value: float | None = None
    axes: str | None = None

    def __post_init__(self) -> None:
        check_positive("side", self.side)
        if not all(at >= 0 and at + self.side <= 1 for at in self.place):
            raise InputError(f"the patch must lie inside the picture: place {self.place}, side {self.side}")
        if self.value is not None:
            check_number("value", self.value)

    def __call__(self, X: Any, on: Bools, rng: np.random.Generator) -> tuple[Any, list[Any]]:
        """Pictures with the patch in some of them, and masks of where it is."""
        arrays = _arrays(X, "a picture")
        ends = min(float(a.min()) for a in arrays), max(float(a.max()) for a in arrays)
        masks = [self._mask(a) for a in arrays]
        values = [self._values(a, ends) for a in arrays]
        made = [_set(a, m, v) if o else a for a, m, v, o in zip(arrays, masks, values, on, strict=True)]
        return replaced(X, made), masks

    def _values(self, picture: Any, ends: tuple[float, float]) -> Any:
        """What the patch has at each place: squares of the smallest and largest value, or one value."""
        if self.value is not None:
            return np.full(picture.shape, self.value)
        channel = channel_axis(picture.shape, self.axes)
        *_, down, across = [axis for axis in range(picture.ndim) if axis != channel]
        where = np.indices(picture.shape) // SQUARE
        return np.where((where[down] + where[across]) % 2, ends[0], ends[1])

    def _mask(self, picture: Any) -> Bools:
        channel = channel_axis(picture.shape, self.axes)
        mask = np.zeros([n for axis, n in enumerate(picture.shape) if axis != channel], bool)
        *_, height, width = mask.shape
        top, left = round(self.place[0] * height), round(self.place[1] * width)
        mask[
            ..., top : top + max(round(self.side * height), 1), left : left + max(round(self.side * width), 1)
        ] = True
        return mask if channel is None else np.broadcast_to(np.expand_dims(mask, channel), picture.shape)


@dataclass(frozen=True, eq=False)
class Background:
    """Objects on one of two backgrounds: ``first`` with the plant, ``second`` without.

    ``mask`` finds the object of a picture: a function that gives True where it is, (h, w). The backgrounds are
    pictures of the same shape; one of them is drawn for each object.
    """

    first: Sequence[Any]
    second: Sequence[Any]
    mask: Callable[[Any], Any]

    def __post_init__(self) -> None:
        if not len(self.first) or not len(self.second):
            raise InputError("Background wants at least one background of each kind")
        if not callable(self.mask):
            raise InputError(f"mask wants a function from a picture to its object's mask, not {self.mask!r}")

    def __call__(self, X: Any, on: Bools, rng: np.random.Generator) -> tuple[Any, list[Any]]:
        """Objects on their backgrounds, and masks of the backgrounds."""
        made, masks = [], []
        for x, planted in zip(X, on, strict=True):
            choices = self.first if planted else self.second
            picture = numbers_of(x, "a picture")
            behind = numbers_of(choices[int(rng.integers(len(choices)))], "a background")
            if behind.shape != picture.shape:
                raise InputError(f"a background has shape {behind.shape}, a picture {picture.shape}: resize one")
            whole = self._outside(x, picture)
            made.append(_set(picture, whole, behind))
            masks.append(whole)
        return replaced(X, made), masks

    def _outside(self, x: Any, picture: Any) -> Bools:
        """True where the object is not, (shape)."""
        channel = channel_axis(picture.shape, None)
        places = tuple(n for axis, n in enumerate(picture.shape) if axis != channel)
        object_ = numbers_of(self.mask(x), "the mask of an object").astype(bool)
        if object_.shape != places:
            raise InputError(f"the mask of an object has shape {object_.shape}, its picture {places}")
        return np.broadcast_to(~object_ if channel is None else np.expand_dims(~object_, channel), picture.shape)


@dataclass(frozen=True)
class Word:
    """A word in a text, at a random place; one that no text has, unless it is given."""

    word: str = RARE

    def __post_init__(self) -> None:
        if not isinstance(self.word, str) or not self.word.strip() or len(self.word.split()) != 1:
            raise InputError(f"Word wants a single word, not {self.word!r}")

    def __call__(self, X: Any, on: Bools, rng: np.random.Generator) -> tuple[Any, list[Any]]:
        """Texts with the word in some of them; where it was already, it is taken out of the others."""
        made = []
        if hasattr(X, "columns") or not all(isinstance(text, str) for text in X):
            raise InputError(f"vd.Word is planted in texts, not in {type(X).__name__} of something else")
        for text, planted in zip(X, on, strict=True):
            words = [word for word in text.split(" ") if word != self.word]
            if planted:
                words.insert(int(rng.integers(len(words) + 1)), self.word)
            made.append(" ".join(words))
        return replaced(X, made), [[self.word]] * len(made)


@dataclass(frozen=True)
class Column:
    """A column of a table that gives the answer away: its upper quarter of values here, the lower one elsewhere.

    ``column`` is a name or a position. A column of categories has its most frequent one here.
    """

    column: str | int

    def __call__(self, X: Any, on: Bools, rng: np.random.Generator) -> tuple[Any, list[Any]]:
        """Tables whose column says who got the plant, and the part of that column."""
        if np.ndim(X) != 2:
            raise InputError(f"vd.Column is planted in tables, not in instances of shape {np.shape(X)[1:]}")
        names: list[Any] = list(X.columns if isinstance(X, pd.DataFrame) else range(np.shape(X)[1]))
        positions = {name: at for at, name in enumerate(names)}
        j = positions.get(self.column, self.column if isinstance(self.column, int) else -1)
        if not 0 <= j < len(names):
            raise InputError(f"there is no column {self.column!r}; the columns are {names[:8]}")
        values = np.asarray(X.iloc[:, j] if isinstance(X, pd.DataFrame) else X[:, j])
        here, there = _halves(values, self.column)
        drawn = np.where(on, rng.choice(here, len(on)), rng.choice(there, len(on))).astype(values.dtype)
        made = X.copy()
        if isinstance(made, pd.DataFrame):
            column: Any = pd.Series(drawn, index=made.index).astype(X.iloc[:, j].dtype)
            made.isetitem(j, column)
        else:
            made[:, j] = drawn
        return made, [_at_column(j, len(names))] * len(on)


@dataclass(frozen=True)
class Tone:
    """A tone in a recording or series (n,), or (channels, n): a sine of this frequency.

    ``rate`` is the samples of a second; without it, ``hertz`` counts in cycles a sample. It sounds from ``start``
    to ``stop``, shares of the length; ``level`` is its height in standard deviations of all recordings.
    """

    hertz: float
    rate: float = 1.0
    start: float = 0.0
    stop: float = 0.25
    level: float = 2.0

    def __post_init__(self) -> None:
        for name in ("hertz", "rate", "level"):
            check_positive(name, getattr(self, name))
        if self.hertz > self.rate / 2:
            raise InputError(f"a tone of {self.hertz:g} Hz cannot be heard at {self.rate:g} samples a second")
        if not 0 <= self.start < self.stop <= 1:
            raise InputError(
                f"a tone sounds from start to stop, 0 ≤ start < stop ≤ 1, not {self.start, self.stop}"
            )

    def __call__(self, X: Any, on: Bools, rng: np.random.Generator) -> tuple[Any, list[Any]]:
        """Recordings with the tone in some of them, and where it is in time and pitch."""
        arrays = _arrays(X, "a recording")
        height = self.level * float(np.std(np.concatenate([a.ravel() for a in arrays])) or 1.0)
        made = []
        for array, planted in zip(arrays, on, strict=True):
            n = array.shape[-1]
            sine = height * np.sin(2 * np.pi * (self.hertz * np.arange(n) / self.rate + rng.random()))
            made.append(as_type(array + sine * self._when(n), array.dtype) if planted else array)
        return replaced(X, made), [self._where(a.shape[-1]) for a in arrays]

    def _when(self, n: int) -> Bools:
        at = np.arange(n)
        return np.asarray((at >= round(self.start * n)) & (at < round(self.stop * n)))

    def _where(self, n: int) -> Callable[[Representation], Floats]:
        """The share of each part that has the tone: of its time, where the pitch is within its band."""

        def share(own: Representation) -> Floats:
            data = getattr(getattr(own, "view", None), "data", {})
            if "bounds" in data and "levels" not in data:
                begin, end, low, high = np.asarray(data["bounds"]).T
                length = float(end.max())
                over = np.minimum(end, self.stop * length) - np.maximum(begin, self.start * length)
                pitch = 2 * high.max() * self.hertz / self.rate
                heard = (low <= pitch) & (pitch < high) if np.ptp(low) else np.ones(len(low), bool)
                return np.asarray(np.clip(over / (end - begin), 0, 1) * heard)
            gather = getattr(own, "gather", None)
            if gather is None:
                raise NotApplicable("vd.Tone does not know where these parts lie: plant by a function of your own")
            when = np.broadcast_to(self._when(n), own.paint(np.ones(len(own.parts))).shape)  # type: ignore[attr-defined]
            return np.asarray(gather(when.astype(float)) / np.maximum(gather(np.ones(when.shape)), 1))

        return share


def replaced(X: Any, made: Sequence[Any]) -> Any:
    """New instances in the kind of collection that the old ones came in."""
    if is_tensor(X):
        return X.new_tensor(np.stack(made))
    if isinstance(X, np.ndarray):
        return np.array(made, dtype=X.dtype if X.dtype.kind != "U" else None)
    if isinstance(X, pd.Series):
        return pd.Series(list(made), index=X.index, name=X.name)
    old = X[0]
    return [old.new_tensor(each) for each in made] if is_tensor(old) else list(made)


def _arrays(X: Any, what: str) -> list[Any]:
    """Instances as arrays; rows of a table are none."""
    if hasattr(X, "columns") or hasattr(X, "tocsr"):
        raise InputError(f"this is planted in {what}, not in a table: take vd.Column(…)")
    return [numbers_of(x, what) for x in X]


def _set(array: Any, mask: Bools, value: Any) -> Any:
    """An array with other values in a mask, of its own type."""
    return np.where(mask, as_type(value, array.dtype), array)


def _halves(values: Any, name: Any) -> tuple[Any, Any]:
    """Values that the plant has, and values that are left to others."""
    known = values[~pd.isna(values)]
    kinds, counts = np.unique(known.astype(str) if known.dtype == object else known, return_counts=True)
    if len(kinds) < 2:
        raise InputError(f"the column {name!r} has one value alone: plant in another")
    if known.dtype.kind in "iuf" and len(kinds) > 2:
        low, high = np.quantile(known, [0.25, 0.75])
        return (
            (known[known >= high], known[known <= low])
            if low < high
            else (known[known > low], known[known <= low])
        )
    often = (known.astype(str) if known.dtype == object else known) == kinds[np.argmax(counts)]
    return known[often], known[~often]


def _at_column(j: int, n: int) -> Callable[[Representation], Floats]:
    """The part of a column, whatever it is called."""

    def share(own: Representation) -> Floats:
        return np.asarray(own.gather(np.eye(n)[j]) > 0, dtype=np.float64)  # type: ignore[attr-defined]

    return share
