"""Shortcuts to plant in data: what gives the answer away, and where it lies in each instance.

A shortcut is called with instances, one bool per instance (does it get the shortcut?) and a random generator. It
returns the instances with the shortcut in them, and one item per instance that says where it lies, as
``vd.Subject`` takes a region: names of columns or words, a mask of the instance's shape, or a function from a
Representation to the share of each feature. Any function with this signature is a shortcut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from veridical.errors import InputError, NotApplicable, check_number, check_positive
from veridical.protocols import Placed, Representation, Viewable
from veridical.records import Bools, Floats
from veridical.representations.images import channel_axis
from veridical.representations.regions import as_type, is_tensor, numbers_of

__all__ = ["Background", "Column", "Patch", "Tone", "Word"]

Plant: TypeAlias = Callable[[Any, Bools, np.random.Generator], tuple[Any, Sequence[Any]]]
PIXELS_PER_SQUARE = 2  # pixels a side of the squares of a patch
RARE_WORD = "zyx"  # a word that no text has


@dataclass(frozen=True)
class Patch:
    """A checkered square in a picture.

    Parameters
    ----------
    side : float, default 0.25
        Share of the picture's height and width that the square takes.
    place : tuple of float, default (0.0, 0.0)
        Upper left corner of the square, as shares of the height and width.
    value : float, optional
        Give all pixels of the square this value. A replacement by the mean color of a region cannot hide such a
        square. By default the square is checkered with the smallest and the largest value of all pictures.
    axes : str, optional
        Axes of a picture, as for ``vd.Superpixels``.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> pictures = np.random.default_rng(0).random((4, 16, 16))
    >>> rng, on = np.random.default_rng(0), np.array([True, False, True, False])
    >>> marked, masks = vd.shortcuts.Patch(side=0.5)(pictures, on, rng)
    >>> int(masks[0].sum())
    64
    >>> bool((marked[1] == pictures[1]).all())
    True
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
        """Plant the square in some pictures; return all pictures and the masks of where it lies."""
        arrays = _to_arrays(X, "a picture")
        ends = min(float(a.min()) for a in arrays), max(float(a.max()) for a in arrays)
        masks = [self._mask(a) for a in arrays]
        values = [self._values(a, ends) for a in arrays]
        made = [_paste(a, m, v) if o else a for a, m, v, o in zip(arrays, masks, values, on, strict=True)]
        return replace_instances(X, made), masks

    def _values(self, picture: Any, ends: tuple[float, float]) -> Any:
        """Values of the square: a checkerboard of the smallest and largest value, or one value."""
        if self.value is not None:
            return np.full(picture.shape, self.value)
        channel = channel_axis(picture.shape, self.axes)
        *_, down, across = [axis for axis in range(picture.ndim) if axis != channel]
        where = np.indices(picture.shape) // PIXELS_PER_SQUARE
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
    """Objects on one of two kinds of background: ``first`` with the shortcut, ``second`` without.

    Parameters
    ----------
    first, second : sequence of array
        Backgrounds of the pictures' shape; one is drawn for each object.
    mask : callable
        Finds the object of a picture: takes the picture and returns bools (h, w) that are True on the object.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> pictures = np.random.default_rng(0).random((4, 8, 8))
    >>> snow, grass = np.ones((1, 8, 8)), np.zeros((1, 8, 8))
    >>> shortcut = vd.shortcuts.Background(snow, grass, mask=lambda picture: np.eye(8, dtype=bool))
    >>> made, masks = shortcut(pictures, np.array([True, False, True, False]), np.random.default_rng(0))
    >>> float(made[0][masks[0]].mean()), float(made[1][masks[1]].mean())
    (1.0, 0.0)
    """

    first: Sequence[Any]
    second: Sequence[Any]
    mask: Callable[[Any], Any]

    def __post_init__(self) -> None:
        if not len(self.first) or not len(self.second):
            raise InputError("Background needs at least one background of each kind")
        if not callable(self.mask):
            raise InputError(f"mask must be a function from a picture to its object's mask, not {self.mask!r}")

    def __call__(self, X: Any, on: Bools, rng: np.random.Generator) -> tuple[Any, list[Any]]:
        """Put objects on their backgrounds; return the pictures and the masks of the backgrounds."""
        made, masks = [], []
        for x, planted in zip(X, on, strict=True):
            choices = self.first if planted else self.second
            picture = numbers_of(x, "a picture")
            behind = numbers_of(choices[int(rng.integers(len(choices)))], "a background")
            if behind.shape != picture.shape:
                raise InputError(f"a background has shape {behind.shape}, a picture {picture.shape}: resize one")
            whole = self._outside(x, picture)
            made.append(_paste(picture, whole, behind))
            masks.append(whole)
        return replace_instances(X, made), masks

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
    """A word at a random place of a text.

    Parameters
    ----------
    word : str, default "zyx"
        The word. By default it is one that no text has.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> vd.shortcuts.Word("film")(["a good one", "a bad one"], np.array([True, False]), np.random.default_rng(0))
    (['a good one film', 'a bad one'], [['film'], ['film']])
    """

    word: str = RARE_WORD

    def __post_init__(self) -> None:
        if not isinstance(self.word, str) or not self.word.strip() or len(self.word.split()) != 1:
            raise InputError(f"Word needs a single word, not {self.word!r}")

    def __call__(self, X: Any, on: Bools, rng: np.random.Generator) -> tuple[Any, list[Any]]:
        """Plant the word in some texts, and take it out of the others; return the texts and the word per text."""
        made = []
        if hasattr(X, "columns") or not all(isinstance(text, str) for text in X):
            raise InputError(f"vd.shortcuts.Word is planted in texts, not in {type(X).__name__} of something else")
        for text, planted in zip(X, on, strict=True):
            words = [word for word in text.split(" ") if word != self.word]
            if planted:
                words.insert(int(rng.integers(len(words) + 1)), self.word)
            made.append(" ".join(words))
        return replace_instances(X, made), [[self.word]] * len(made)


@dataclass(frozen=True)
class Column:
    """A column of a table that gives the answer away.

    Rows with the shortcut get values from the column's upper quarter, all others from its lower quarter. In a
    column of categories, rows with the shortcut get the most frequent category.

    Parameters
    ----------
    column : str or int
        Name or position of the column.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> X = np.arange(24.0).reshape(8, 3)
    >>> planted, regions = vd.shortcuts.Column(1)(X, np.arange(8) < 4, np.random.default_rng(0))
    >>> bool(planted[:4, 1].min() > planted[4:, 1].max())
    True
    """

    column: str | int

    def __call__(self, X: Any, on: Bools, rng: np.random.Generator) -> tuple[Any, list[Any]]:
        """Draw the column anew by who gets the shortcut; return the tables and where the column lies."""
        if np.ndim(X) != 2:
            raise InputError(
                f"vd.shortcuts.Column is planted in tables, not in instances of shape {np.shape(X)[1:]}"
            )
        names: list[Any] = list(X.columns if isinstance(X, pd.DataFrame) else range(np.shape(X)[1]))
        positions = {name: at for at, name in enumerate(names)}
        j = positions.get(self.column, self.column if isinstance(self.column, int) else -1)
        if not 0 <= j < len(names):
            raise InputError(f"there is no column {self.column!r}; the columns are {names[:8]}")
        values = np.asarray(X.iloc[:, j] if isinstance(X, pd.DataFrame) else X[:, j])
        here, there = _split_values(values, self.column)
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
    """A sine tone in a recording or series (n,), or (channels, n).

    Parameters
    ----------
    hertz : float
        Frequency, in cycles per second (per sample if ``rate`` is 1).
    rate : float, default 1.0
        Samples per second.
    start, stop : float, default 0.0 and 0.25
        Where the tone begins and ends, as shares of the length.
    level : float, default 2.0
        Height of the tone, in standard deviations of all recordings.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> series = np.random.default_rng(0).normal(size=(4, 80))
    >>> made, regions = vd.shortcuts.Tone(0.1)(series, np.array([True, False, False, False]), np.random.default_rng(0))
    >>> bool((made[0, 20:] == series[0, 20:]).all()), bool((made[0, :20] == series[0, :20]).any())
    (True, False)
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
            raise InputError(f"a tone of {self.hertz:g} Hz cannot be heard at {self.rate:g} samples per second")
        if not 0 <= self.start < self.stop <= 1:
            raise InputError(
                f"a tone sounds from start to stop, 0 ≤ start < stop ≤ 1, not {self.start, self.stop}"
            )

    def __call__(self, X: Any, on: Bools, rng: np.random.Generator) -> tuple[Any, list[Any]]:
        """Add the tone to some recordings; return all recordings and where the tone lies in time and pitch."""
        arrays = _to_arrays(X, "a recording")
        height = self.level * float(np.std(np.concatenate([a.ravel() for a in arrays])) or 1.0)
        made = []
        for array, planted in zip(arrays, on, strict=True):
            n = array.shape[-1]
            sine = height * np.sin(2 * np.pi * (self.hertz * np.arange(n) / self.rate + rng.random()))
            made.append(as_type(array + sine * self._when(n), array.dtype) if planted else array)
        return replace_instances(X, made), [self._where(a.shape[-1]) for a in arrays]

    def _when(self, n: int) -> Bools:
        at = np.arange(n)
        return np.asarray((at >= round(self.start * n)) & (at < round(self.stop * n)))

    def _where(self, n: int) -> Callable[[Representation], Floats]:
        """A function to the share of each part that has the tone: of its time, if its band has the pitch."""

        def share(own: Representation) -> Floats:
            data = own.view.data if isinstance(own, Viewable) and own.view is not None else {}
            if "bounds" in data and "levels" not in data:
                begin, end, low, high = np.asarray(data["bounds"]).T
                length = float(end.max())
                over = np.minimum(end, self.stop * length) - np.maximum(begin, self.start * length)
                pitch = 2 * high.max() * self.hertz / self.rate
                heard = (low <= pitch) & (pitch < high) if np.ptp(low) else np.ones(len(low), bool)
                return np.asarray(np.clip(over / (end - begin), 0, 1) * heard)
            if not isinstance(own, Placed):
                raise NotApplicable(
                    "vd.shortcuts.Tone does not know where these features lie: give a function of your own"
                )
            when = np.broadcast_to(self._when(n), own.paint(np.ones(len(own.parts))).shape)
            return np.asarray(own.gather(when.astype(float)) / np.maximum(own.gather(np.ones(when.shape)), 1))

        return share


def replace_instances(X: Any, made: Sequence[Any]) -> Any:
    """Return new instances in the same kind of collection as the old ones."""
    if is_tensor(X):
        return X.new_tensor(np.stack(made))
    if isinstance(X, np.ndarray):
        return np.array(made, dtype=X.dtype if X.dtype.kind != "U" else None)
    if isinstance(X, pd.Series):
        return pd.Series(list(made), index=X.index, name=X.name)
    old = X[0]
    return [old.new_tensor(each) for each in made] if is_tensor(old) else list(made)


def _to_arrays(X: Any, what: str) -> list[Any]:
    """Instances as arrays; refuses tables."""
    if hasattr(X, "columns") or hasattr(X, "tocsr"):
        raise InputError(f"this shortcut is planted in {what}, not in a table: use vd.shortcuts.Column(…)")
    return [numbers_of(x, what) for x in X]


def _paste(array: Any, mask: Bools, value: Any) -> Any:
    """An array with other values where a mask is True, in its own type."""
    return np.where(mask, as_type(value, array.dtype), array)


def _split_values(values: Any, name: Any) -> tuple[Any, Any]:
    """Values for rows with the shortcut, and values for the others."""
    known = values[~pd.isna(values)]
    kinds, counts = np.unique(known.astype(str) if known.dtype == object else known, return_counts=True)
    if len(kinds) < 2:
        raise InputError(f"the column {name!r} has a single value: choose another")
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
    """A function to the part of a column, whatever its name."""

    def share(own: Representation) -> Floats:
        return np.asarray(own.gather(np.eye(n)[j]) > 0, dtype=np.float64)  # type: ignore[attr-defined]

    return share
