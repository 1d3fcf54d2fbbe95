"""Other content for texts and table rows: words that speak for another label, and values of other rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.debug.adversary.edits import AT_ONCE, Edit, NothingToTake, Scene
from veridical.debug.adversary.records import Aim
from veridical.debug.asked import joined
from veridical.debug.records import rows_at
from veridical.errors import InputError
from veridical.records import Bools, Representation, Representer
from veridical.represent.masked import Masked
from veridical.represent.rows import Row
from veridical.represent.words import TextComposer

FIRST, LAST = 5, 100  # words that are tried are among so many, about, at the first batch and at the last


@dataclass(frozen=True, eq=False)
class Text:
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

    def named(self, changed: list[str], mask: Bools, represent: Representer) -> Bools | None:
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
    """Other words in place of k words of a text: ``words``, or those of texts that have the wanted label.

    Of the latter, words that are frequent there and rare elsewhere are tried first. A word that stands for all its
    occurrences is swapped everywhere. The changed text has as many words as the text, and none twice that was
    there before.
    """

    words: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.words
        if given is not None and (
            isinstance(given, str) or not given or not all(isinstance(w, str) for w in given)
        ):
            raise InputError(f"words are a tuple of words to swap in, such as ('awful', 'dull'), not {given!r}")

    def canvas(self, x: Any, own: Representation) -> Text:
        """The text as its pieces."""
        if not isinstance(own, Masked) or not isinstance(own.compose, TextComposer):
            raise InputError(
                "vd.SwappedWords swaps words of texts: take vd.SwappedParts() for pictures, spectrograms and "
                "series, vd.EditedColumns() for tables"
            )
        return Text(own.compose.pieces, len(own.parts))

    def known(self, aim: Aim, canvases: Sequence[Text]) -> Mapping[int, Sequence[str]]:
        """For each label the words that speak for it, the most telling first."""
        if self.words is not None:
            return {int(label): self.words for label in np.unique(aim.wanted)}
        bags = [canvas.words for canvas in canvases]
        return {int(label): _telling(bags, aim.labels == label) for label in np.unique(aim.wanted)}

    def others(self, scene: Scene, strength: float, rng: np.random.Generator) -> list[list[str]]:
        """A word for each part, of those that the text does not have."""
        own = {word.casefold() for word in scene.canvas.words}
        words = [word for word in scene.known[scene.wanted] if word.casefold() not in own]
        if not words:
            raise NothingToTake(f"no text with other words is decided as {scene.sought}, to take them from")
        chances = 1 / (np.arange(len(words)) + FIRST * (LAST / FIRST) ** strength)
        drawn = rng.choice(len(words), (AT_ONCE, scene.canvas.n_parts), p=chances / chances.sum())
        return [[words[j] for j in row] for row in drawn.tolist()]


@dataclass(frozen=True, eq=False)
class Cells:
    """A table row."""

    row: Row

    @property
    def n_parts(self) -> int:
        return len(self.row.parts)

    def mix(self, others: Any, masks: Bools) -> Any:
        """Rows with the columns of a mask from other rows."""
        return self.row.background.mixed(self.row.row, others, ~masks)

    def named(self, changed: Any, mask: Bools, represent: Representer) -> Bools:
        """The same columns are the parts of every row."""
        return mask


@dataclass(frozen=True)
class EditedColumns(Edit):
    """Values of other rows in k columns of a row, taken from rows that the model gives the wanted label."""

    def canvas(self, x: Any, own: Representation) -> Cells:
        """The row and its background."""
        if not isinstance(own, Row):
            raise InputError(
                "vd.EditedColumns edits rows of a table that is not sparse, by vd.Rows(): take vd.SwappedWords() "
                "for texts, vd.SwappedParts() for pictures, spectrograms and series"
            )
        return Cells(own)

    def known(self, aim: Aim, canvases: Sequence[Cells]) -> Any:
        """All rows as one table."""
        return joined(list(aim.inputs))

    def others(self, scene: Scene, strength: float, rng: np.random.Generator) -> Any:
        """Other rows, drawn at random."""
        if not len(scene.decided):
            raise NothingToTake(f"no row is decided as {scene.sought}, to take values from")
        return rows_at(scene.known, rng.choice(scene.decided, AT_ONCE))


def _telling(bags: Sequence[set[str]], on: Bools) -> list[str]:
    """Words of some bags, by how much more frequent they are there than in the others."""
    here, there = Counter[str](), Counter[str]()
    for bag, is_on in zip(bags, on, strict=True):
        (here if is_on else there).update(bag)
    n_here, n_there = int(on.sum()), int((~on).sum())

    def odds(word: str) -> float:
        return float(np.log((here[word] + 0.5) / (n_here + 1)) - np.log((there[word] + 0.5) / (n_there + 1)))

    return sorted(here, key=lambda word: (-odds(word), word))
