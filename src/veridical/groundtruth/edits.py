"""Edits: other content in a few features (noise, shapes, swaps), tried at random until the decision changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np

from veridical.errors import InputError, check_probability, check_whole
from veridical.groundtruth.causes import CONFIDENCE_SLACK, Aim, Cause, ChangedInput, fit_range, required_confidence
from veridical.models.outputs import Model, join_batches, n_rows, rows_at
from veridical.protocols import Representation, Representer, Seed
from veridical.records import Bools, Floats, Ints, Record
from veridical.representations.masking import Masked
from veridical.representations.regions import Array, Places, as_type, is_tensor, numbers_of
from veridical.representations.tables.rows import Row
from veridical.representations.words import TextComposer
from veridical.seeds import generator

__all__ = ["DrawnShape", "EditedColumns", "NoisyParts", "SwappedParts", "SwappedWords"]

EDITS_PER_ROUND = 25  # edits that are tried together
MAX_VALUES_AT_ONCE = 2**24  # numbers of inputs that are made for all searches that run side by side, about
MAX_PRUNED = 4  # of those of a batch that flip the decision, how many are looked at more closely

SearchResult = TypeVar("SearchResult")
Search: TypeAlias = Generator[
    Any, Floats, SearchResult
]  # asks about inputs, is sent their outputs, and has an answer


class Canvas(Protocol):
    """An instance whose features can be given other content."""

    @property
    def n_parts(self) -> int: ...

    def mix(self, others: Any, masks: Bools) -> Any:
        """One input a mask (n, d), as the model takes them: its parts are those of the other copy of that row."""
        ...

    def match_parts(self, changed: Any, mask: Bools, represent: Representer) -> Bools | None:
        """The edited parts as those of the changed copy; None if it cannot be cut as the instance is."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class EditAnswers(Record):
    """Edits of one instance, and what the model says about them."""

    others: Any  # (n) copies whose content is taken
    masks: Bools  # (n, d) in these parts
    flips: Bools  # (n,) whether the model decides as wanted
    support: Floats  # (n,) what it says for that


@dataclass(frozen=True)
class Edit(ABC):
    """Other content in k features of an instance; a subclass says which content.

    At most ``n_tries`` edits of random features are tried, until the wanted label has ``confidence``. Features
    that can be restored without losing the decision are restored: what is left is a smallest cause, of at least
    two features if k is at least 2.
    """

    purpose: ClassVar[str] = "content"

    k: int = 1
    confidence: float = 0.7
    n_tries: int = 200

    def __post_init__(self) -> None:
        check_whole("k", self.k)
        check_whole("n_tries", self.n_tries)
        check_probability("confidence", self.confidence)

    @abstractmethod
    def canvas(self, x: Any, own: Representation) -> Canvas:
        """An instance that can be edited, from what the model takes (a batch of one) and its features."""

    @abstractmethod
    def others(self, scene: EditScene, strength: float, rng: np.random.Generator) -> Any:
        """Copies of an instance with other content everywhere; ``strength`` rises from 0 to 1."""

    def look_up(self, aim: Aim, canvases: Sequence[Any]) -> Any:
        """What is computed once for all instances, and is known in every scene."""
        return None

    def __call__(self, aim: Aim, seed: Seed) -> tuple[Cause, ...]:
        """Search for one cause per instance; those for which none was found say why."""
        every = aim.represent.each(aim.X).batch(0, len(aim))
        canvases = [self.canvas(x, own) for x, own in zip(aim.inputs, every, strict=True)]
        known = self.look_up(aim, canvases)
        scenes = [EditScene(aim, i, canvas, known) for i, canvas in enumerate(canvases)]
        step = max(MAX_VALUES_AT_ONCE // (EDITS_PER_ROUND * max(int(np.prod(np.shape(x))) for x in aim.inputs)), 1)
        found = list[ChangedInput]()
        for first in range(0, len(aim), step):
            some = scenes[first : first + step]
            found += run_searches(aim.model, [self._found(scene, generator(seed, scene.i)) for scene in some])
        return aim.judge(found, type(self).__name__, self.confidence)

    def _found(self, scene: EditScene, rng: np.random.Generator) -> Search[ChangedInput]:
        n_parts = scene.canvas.n_parts
        if scene.aim.labels[scene.i] == scene.wanted:
            return scene.untouched
        if self.k > n_parts:
            return replace(scene.untouched, reason=f"it has {n_parts} features, and k={self.k} are to be edited")
        try:
            return (yield from EditSearch(self, scene).run(rng))
        except NoContentError as cause:
            return replace(scene.untouched, reason=str(cause))


class NoContentError(Exception):
    """There is no other content for an instance; the message says why."""


@dataclass(frozen=True, eq=False)
class EditScene:
    """One instance of an aim, ready to be edited."""

    aim: Aim
    i: int
    canvas: Any  # a Canvas
    known: Any  # what the edit looked up for all instances

    @property
    def x(self) -> Any:
        """The instance as the model takes it, a batch of one."""
        return self.aim.inputs[self.i]

    @property
    def untouched(self) -> ChangedInput:
        """The instance itself, of which no part was changed."""
        return ChangedInput(self.x, 0, np.zeros(self.canvas.n_parts, bool))

    @property
    def wanted(self) -> int:
        """The label that it is to get; where any other will do, the likeliest."""
        return int(self.aim.wanted[self.i])

    @property
    def wanted_words(self) -> str:
        """The same in words."""
        return "anything else" if self.aim.anything else str(self.wanted)

    @property
    def donors(self) -> Ints:
        """The instances that the model gives a label that this one may get."""
        labels = self.aim.labels
        return np.flatnonzero(labels != labels[self.i] if self.aim.anything else labels == self.wanted)

    def query(self, others: Any, masks: Bools) -> Search[EditAnswers]:
        """What the model says of edits."""
        outputs, decision = (yield self.canvas.mix(others, masks)), self.aim.decision
        labels = decision(outputs)
        sought = self.aim.accepted_labels(np.full(len(masks), self.i), labels)
        return EditAnswers(others, masks, labels == sought, decision.support(outputs, sought))


@dataclass(frozen=True, eq=False)
class EditSearch:
    """The search for a cause in one instance."""

    edit: Edit
    scene: EditScene

    def run(self, rng: np.random.Generator) -> Search[ChangedInput]:
        """The first edit that will do; else the one that the model says most for, of those that will not."""
        nearest, most = None, -np.inf
        n, n_parts = min(self.edit.n_tries, EDITS_PER_ROUND), self.scene.canvas.n_parts
        rounds = self.edit.n_tries // n
        for number in range(rounds):
            others = rows_at(self.edit.others(self.scene, number / max(rounds - 1, 1), rng), range(n))
            masks = draw_masks(n_parts, self.edit.k, n, rng)
            edited = yield from self.scene.query(others, masks)
            good = edited.flips & (edited.support >= required_confidence(self.edit.confidence))
            made = yield from self._best(edited, np.flatnonzero(good)[:MAX_PRUNED])
            if made is not None:
                return made
            unsure = ~edited.flips | (edited.support < self.edit.confidence - CONFIDENCE_SLACK)
            top = int(np.argmax(np.where(unsure, edited.support, -np.inf)))
            if unsure[top] and edited.support[top] > most:
                most, nearest = edited.support[top], (rows_at(others, [top]), masks[top])
        made = None if nearest is None else self._made(*nearest)
        reason = f"{rounds * n} edits of {self.edit.k} of {n_parts} features were tried"
        return replace(made or self.scene.untouched, reason=reason)

    def _best(self, edited: EditAnswers, rows: Ints) -> Search[ChangedInput | None]:
        """Of edits that flip the decision, the one that needs most of its parts, if there are two at least."""
        others, masks = rows_at(edited.others, rows), edited.masks[rows]
        if self.edit.k > 1 and len(rows):
            masks = yield from self._pruned(others, masks)
        sizes = masks.sum(axis=1)
        for row in np.argsort(-sizes, kind="stable"):
            made = self._made(rows_at(others, [row]), masks[row]) if sizes[row] >= min(self.edit.k, 2) else None
            if made is not None:
                return made
        return None

    def _pruned(self, others: Any, masks: Bools) -> Search[Bools]:
        """The parts that each decision needs; none where it becomes unsure without those that it does not.

        One part after the other is undone, each time the one that leaves most, as long as the decision stays.
        """
        masks, going = masks.copy(), np.arange(len(masks))
        while len(going):
            at, part = np.nonzero(masks[going])
            fewer = masks[going[at]]
            fewer[np.arange(len(part)), part] = False
            edited = yield from self.scene.query(rows_at(others, going[at]), fewer)
            left = []
            for own, row in enumerate(going):
                still = np.flatnonzero(edited.flips & (at == own))
                if not len(still):
                    continue  # it needs all that it has
                best = still[np.argmax(edited.support[still])]
                sure = edited.support[best] >= required_confidence(self.edit.confidence)
                masks[row] = fewer[best] & sure
                left += [row] * bool(masks[row].sum() > 1)
            going = np.array(left, dtype=np.int64)
        return masks

    def _made(self, other: Any, mask: Bools) -> ChangedInput | None:
        """The edit as what was found; None if its changed copy is not cut as the instance is."""
        changed = self.scene.canvas.mix(other, mask[None])
        parts = self.scene.canvas.match_parts(changed, mask, self.scene.aim.represent)
        return None if parts is None else ChangedInput(changed, 0, parts)


def run_searches(model: Model, searches: Sequence[Search[ChangedInput]]) -> list[ChangedInput]:
    """Run searches side by side: the model gets the next inputs of all of them in one batch."""
    found: dict[int, ChangedInput] = {}
    asked: dict[int, Any] = {}
    n_calls = np.zeros(len(searches), np.int64)

    def go_on(i: int, outputs: Any) -> None:
        try:
            asked[i] = searches[i].send(outputs)
            n_calls[i] += n_rows(asked[i])
        except StopIteration as end:
            found[i] = replace(end.value, n_calls=int(n_calls[i]))

    for i in range(len(searches)):
        go_on(i, None)
    while asked:
        batches, asked = asked, {}
        shapes = {i: np.shape(batch)[1:] if hasattr(batch, "shape") else () for i, batch in batches.items()}
        for shape in dict.fromkeys(shapes.values()):
            alike = [i for i in batches if shapes[i] == shape]
            outputs = model(join_batches([batches[i] for i in alike]))
            ends = np.cumsum([n_rows(batches[i]) for i in alike])
            for i, own in zip(alike, np.split(outputs, ends[:-1]), strict=True):
                go_on(i, own)
    return [found[i] for i in range(len(searches))]


def draw_masks(d: int, k: int, n: int, rng: np.random.Generator) -> Bools:
    """Random masks (n, d) of k features each; single features come equally often."""
    if k == 1:
        order = np.concatenate([rng.permutation(d) for _ in range(-(-n // d))])[:n]
        return np.asarray(np.eye(d, dtype=bool)[order])
    return np.asarray(np.argsort(rng.random((n, d)), axis=1) < k)


MIN_NOISE, MAX_NOISE = 0.4, 2.4  # noise that is tried, from and to, in standard deviations of the instance
MIN_BRIGHTNESS, MAX_BRIGHTNESS = (
    0.6,
    1.4,
)  # levels of shapes that are tried: 0 is the median of the instance, 1 its largest value
RIDGE_SHARE = 0.4  # of the distance from one ridge to the next, how much is ridge


@dataclass(frozen=True, eq=False)
class ArrayCanvas:
    """An array cut into parts by labels."""

    x: Any  # a batch of one, an array or a tensor
    places: Places
    n_parts: int

    def mix(self, others: Array, masks: Bools) -> Any:
        """Arrays with the parts of a mask from others (n, …), and the rest of the instance."""
        own = numbers_of(self.x, "an instance")
        made = np.where(masks[:, self.places.spread], as_type(others, own.dtype), own)
        return self.x.new_tensor(made) if is_tensor(self.x) else made

    def match_parts(self, changed: Any, mask: Bools, represent: Representer) -> Bools:
        """The same places are the parts of both."""
        return mask


class ArrayEdit(Edit):
    """Edits of what is an array cut into parts."""

    def canvas(self, x: Any, own: Representation) -> ArrayCanvas:
        """The instance as the model takes it, and where its parts lie."""
        if not isinstance(own, Masked) or isinstance(own.compose, TextComposer):
            raise InputError(
                f"vd.edits.{type(self).__name__} edits pictures, spectrograms and series: use "
                "vd.edits.SwappedWords() for texts, vd.edits.EditedColumns() for tables"
            )
        return ArrayCanvas(x, own.places, len(own.parts))


@dataclass(frozen=True)
class NoisyParts(ArrayEdit):
    """Normal noise on k features of an array, louder until the model decides otherwise.

    Parameters
    ----------
    k : int, default 1
        Number of features that are changed together.
    confidence : float, default 0.7
        Probability that the wanted label must reach.
    n_tries : int, default 200
        The most edits that are tried per instance.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> def model(spectrograms):
    ...     return 1 / (1 + np.exp(-2 * spectrograms[:, :2].mean(axis=(1, 2))))
    >>> spectrograms = np.random.default_rng(0).normal(size=(3, 4, 4))
    >>> found = vd.causes(model, vd.Tiles(times=2, bands=2), spectrograms, kind=vd.edits.NoisyParts(confidence=0.6))
    >>> [cause.success for cause in found]
    [True, True, True]
    """

    def others(self, scene: EditScene, strength: float, rng: np.random.Generator) -> Array:
        """The instance plus noise of its own spread, times a factor that rises."""
        x = numbers_of(scene.x, "an instance")
        noise = rng.standard_normal((EDITS_PER_ROUND, *x.shape[1:]), dtype=np.float32)
        noise *= _interpolate_level(MIN_NOISE, MAX_NOISE, strength) * (float(x.std()) or 1.0)
        return fit_range(x + noise, x)


@dataclass(frozen=True)
class DrawnShape(ArrayEdit):
    """Bright parallel ridges over k features of an array, brighter until the model decides otherwise.

    In a spectrogram they are loud lines, in a series high pulses. Their direction is random.

    Parameters
    ----------
    k : int, default 1
        Number of features that are changed together.
    confidence : float, default 0.7
        Probability that the wanted label must reach.
    n_tries : int, default 200
        The most edits that are tried per instance.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> def model(spectrograms):
    ...     return np.clip(spectrograms[:, :4].mean(axis=(1, 2)), 0, 1)
    >>> spectrograms = np.random.default_rng(0).random((3, 8, 8)) * 0.4
    >>> found = vd.causes(model, vd.Tiles(times=2, bands=2), spectrograms, kind=vd.edits.DrawnShape(k=2, confidence=0.5))
    >>> len(found)
    3
    """

    def others(self, scene: EditScene, strength: float, rng: np.random.Generator) -> Array:
        """The instance under ridges of a level that rises."""
        own, x = scene.canvas, numbers_of(scene.x, "an instance").astype(np.float64)
        middle, high = float(np.median(x)), float(x.max())
        level = middle + _interpolate_level(MIN_BRIGHTNESS, MAX_BRIGHTNESS, strength) * ((high - middle) or 1.0)
        shape, channel = own.places.labels.shape, own.places.channel
        side = (own.places.labels.size / own.n_parts) ** (1 / len(shape))
        drawn = np.stack([draw_ridges(shape, max(round(side / 2), 3), rng) for _ in range(EDITS_PER_ROUND)])
        where = drawn if channel is None else np.expand_dims(drawn, channel + 1)
        return fit_range(np.where(where, np.maximum(x, level), x), x)


@dataclass(frozen=True)
class SwappedParts(ArrayEdit):
    """K features of an array taken from the same places of another instance, one with the wanted label.

    Parameters
    ----------
    k : int, default 1
        Number of features that are changed together.
    confidence : float, default 0.7
        Probability that the wanted label must reach.
    n_tries : int, default 200
        The most edits that are tried per instance.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> def model(spectrograms):
    ...     return 1 / (1 + np.exp(-8 * spectrograms[:, :2].mean(axis=(1, 2))))
    >>> spectrograms = np.random.default_rng(0).normal(size=(6, 4, 4))
    >>> found = vd.causes(model, vd.Tiles(times=2, bands=2), spectrograms, kind=vd.edits.SwappedParts(confidence=0.5))
    >>> len(found)
    6
    """

    def others(self, scene: EditScene, strength: float, rng: np.random.Generator) -> Array:
        """Other instances, drawn at random."""
        inputs = scene.aim.inputs
        same = [j for j in scene.donors if np.shape(inputs[j]) == np.shape(scene.x)]
        if not same:
            raise NoContentError(
                f"no instance of the same shape is decided as {scene.wanted_words}, to take regions from"
            )
        return np.concatenate([numbers_of(inputs[j], "an instance") for j in rng.choice(same, EDITS_PER_ROUND)])


def draw_ridges(shape: tuple[int, ...], period: int, rng: np.random.Generator) -> Bools:
    """Parallel ridges across an array, along a direction and from a start that are drawn at random."""
    long = [axis for axis, n in enumerate(shape) if n >= 2 * period] or [int(np.argmax(shape))]
    slopes = np.zeros(len(shape))
    while not slopes.any():
        slopes[long] = rng.integers(-1, 2, len(long))
    along = sum(slope * grid for slope, grid in zip(slopes, np.indices(shape, sparse=True), strict=True))
    return np.asarray((along + rng.integers(period)) % period < max(RIDGE_SHARE * period, 1))


def _interpolate_level(low: float, high: float, strength: float) -> float:
    return float(low * (high / low) ** strength)


FIRST_WORDS, LAST_WORDS = (
    5,
    100,
)  # words that are tried are among so many, about, at the first batch and at the last


@dataclass(frozen=True, eq=False)
class TextCanvas:
    """A text as its pieces."""

    pieces: tuple[tuple[str, int], ...]  # in order, each with its part; -1 between parts
    n_parts: int

    @property
    def words(self) -> set[str]:
        """What the parts are, each once."""
        return {piece for piece, part in self.pieces if part >= 0}

    def mix(self, others: Sequence[Sequence[str]], masks: Bools) -> list[str]:
        """Texts with the parts of a mask swapped for other words, of which each row has one a part."""
        return ["".join(self._swapped(words, mask)) for words, mask in zip(others, masks, strict=True)]

    def match_parts(self, changed: list[str], mask: Bools, represent: Representer) -> Bools | None:
        """The swapped words among the parts of the changed text; None if it is not cut into as many pieces."""
        own: Any = represent(changed[0])
        new = own.compose.pieces
        if len(new) != len(self.pieces):
            return None
        swapped, kept = set[int](), set[int]()
        for (_, now), (_, part) in zip(new, self.pieces, strict=True):
            (swapped if part >= 0 and mask[part] else kept).add(now)
        if len(swapped) != mask.sum() or swapped & kept:
            return None
        return np.isin(np.arange(len(own.parts)), list(swapped))

    def _swapped(self, words: Sequence[str], mask: Bools) -> list[str]:
        return [words[part] if part >= 0 and mask[part] else piece for piece, part in self.pieces]


@dataclass(frozen=True)
class SwappedWords(Edit):
    """Other words in place of k words of a text.

    A word that stands for all its occurrences is swapped everywhere. The changed text has as many words as the
    original, and none of the new words was there before.

    Parameters
    ----------
    k : int, default 1
        Number of words that are swapped together.
    confidence : float, default 0.7
        Probability that the wanted label must reach.
    n_tries : int, default 200
        The most edits that are tried per text.
    words : tuple of str, optional
        Words to swap in. By default words of texts that have the wanted label; those that are frequent there and
        rare elsewhere are tried first.

    Examples
    --------
    >>> import veridical as vd
    >>> def model(texts):
    ...     return [0.9 if "good" in text else 0.1 for text in texts]
    >>> texts = ["a good film", "a dull film"]
    >>> found = vd.causes(model, vd.Words(), texts, kind=vd.edits.SwappedWords(words=("good", "bad")))
    >>> [cause.success for cause in found]
    [True, True]
    """

    words: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.words
        if given is not None and (
            isinstance(given, str) or not given or not all(isinstance(w, str) for w in given)
        ):
            raise InputError(f"words are a tuple of words to swap in, such as ('awful', 'dull'), not {given!r}")

    def canvas(self, x: Any, own: Representation) -> TextCanvas:
        """The text as its pieces."""
        if not isinstance(own, Masked) or not isinstance(own.compose, TextComposer):
            raise InputError(
                "vd.edits.SwappedWords swaps words of texts: use vd.edits.SwappedParts() for pictures, "
                "spectrograms and series, vd.edits.EditedColumns() for tables"
            )
        return TextCanvas(own.compose.pieces, len(own.parts))

    def look_up(self, aim: Aim, canvases: Sequence[TextCanvas]) -> Mapping[int, Sequence[str]]:
        """For each label the words that speak for it, the most telling first."""
        if self.words is not None:
            return {int(label): self.words for label in np.unique(aim.wanted)}
        bags = [canvas.words for canvas in canvases]
        return {int(label): _rank_words(bags, aim.labels == label) for label in np.unique(aim.wanted)}

    def others(self, scene: EditScene, strength: float, rng: np.random.Generator) -> list[list[str]]:
        """One word per feature, from those that the text does not have."""
        own = {word.casefold() for word in scene.canvas.words}
        words = [word for word in scene.known[scene.wanted] if word.casefold() not in own]
        if not words:
            raise NoContentError(f"no text with other words is decided as {scene.wanted_words}, to take them from")
        chances = 1 / (np.arange(len(words)) + FIRST_WORDS * (LAST_WORDS / FIRST_WORDS) ** strength)
        drawn = rng.choice(len(words), (EDITS_PER_ROUND, scene.canvas.n_parts), p=chances / chances.sum())
        return [[words[j] for j in row] for row in drawn.tolist()]


@dataclass(frozen=True, eq=False)
class RowCanvas:
    """A table row."""

    row: Row

    @property
    def n_parts(self) -> int:
        return len(self.row.parts)

    def mix(self, others: Any, masks: Bools) -> Any:
        """Rows with the columns of a mask from other rows."""
        return self.row.background.mix_rows(self.row.row, others, ~masks)

    def match_parts(self, changed: Any, mask: Bools, represent: Representer) -> Bools:
        """The same columns are the parts of every row."""
        return mask


@dataclass(frozen=True)
class EditedColumns(Edit):
    """K values of a table row taken from other rows, which have the wanted label.

    Parameters
    ----------
    k : int, default 1
        Number of columns that are changed together.
    confidence : float, default 0.7
        Probability that the wanted label must reach.
    n_tries : int, default 200
        The most edits that are tried per row.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> def model(rows):
    ...     return 1 / (1 + np.exp(-4 * rows[:, 0]))
    >>> found = vd.causes(model, vd.Rows(X), X[:8], kind=vd.edits.EditedColumns())
    >>> [cause.success for cause in found]
    [True, True, True, True, True, True, True, True]
    """

    def canvas(self, x: Any, own: Representation) -> RowCanvas:
        """The row and its background."""
        if not isinstance(own, Row):
            raise InputError(
                "vd.edits.EditedColumns edits rows of a table that is not sparse, by vd.Rows(): use "
                "vd.edits.SwappedWords() for texts, vd.edits.SwappedParts() for pictures, spectrograms and series"
            )
        return RowCanvas(own)

    def look_up(self, aim: Aim, canvases: Sequence[RowCanvas]) -> Any:
        """All rows as one table."""
        return join_batches(list(aim.inputs))

    def others(self, scene: EditScene, strength: float, rng: np.random.Generator) -> Any:
        """Other rows, drawn at random."""
        if not len(scene.donors):
            raise NoContentError(f"no row is decided as {scene.wanted_words}, to take values from")
        return rows_at(scene.known, rng.choice(scene.donors, EDITS_PER_ROUND))


def _rank_words(bags: Sequence[set[str]], on: Bools) -> list[str]:
    """Words of some bags, by how much more frequent they are there than in the others."""
    here, there = Counter[str](), Counter[str]()
    for bag, is_on in zip(bags, on, strict=True):
        (here if is_on else there).update(bag)
    n_here, n_there = int(on.sum()), int((~on).sum())

    def odds(word: str) -> float:
        return float(np.log((here[word] + 0.5) / (n_here + 1)) - np.log((there[word] + 0.5) / (n_there + 1)))

    return sorted(here, key=lambda word: (-odds(word), word))
