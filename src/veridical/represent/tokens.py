"""Texts as a network reads them: token ids, of which those of a word that is taken away are hidden."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from veridical.errors import InputError
from veridical.records import Bools, Features
from veridical.represent.masked import Listed, Masked, tried
from veridical.represent.regions import Array, ArrayComposer, Moved, Places
from veridical.represent.words import Words, checked_text

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Tokens:
    """The words of a text, for a model of token ids (n, length): the text is read once, and words are hidden.

    ``encode`` is a tokenizer of Hugging Face that knows offsets, or a function from a text to its ids and to the
    (start, stop) of the characters that each token stands for, (0, 0) for none. ``hide`` is the id that stands for
    every token of a word that is taken away: that of ``[MASK]``, or of padding where the model does not look at
    padding. ``parts`` says what the parts are, ``vd.Words()`` or ``vd.Sentences()``.

    It asks something else than ``vd.Words()``, where the text without a word is read anew: here all other tokens
    stay as they were, and where they were, and the model sees that something is hidden. In return no text is ever
    made: a ``vd.Network`` replaces ids on its own device. It takes them as they come, without ``prepare``; name
    its ``embedding``, so that they stay whole numbers.
    """

    encode: Any
    hide: int
    parts: Any = field(default_factory=Words)

    def __post_init__(self) -> None:
        if isinstance(self.encode, str) or not (callable(self.encode) or hasattr(self.encode, "encode")):
            raise InputError(
                "encode wants a tokenizer, or a function from a text to its ids and the (start, stop) of each, "
                f"not {self.encode!r}"
            )
        if isinstance(self.hide, (bool, np.bool_)) or not isinstance(self.hide, (int, np.integer)):
            raise InputError(f"hide wants the id of a token, such as tokenizer.mask_token_id, not {self.hide!r}")
        if not callable(self.parts) or isinstance(self.parts, type) or not hasattr(self.parts, "each"):
            raise InputError(f"parts wants settings of texts, such as vd.Words(), not {self.parts!r}")
        if getattr(self.parts, "mask", None) is not None:
            raise InputError("mask is for texts, and here ids are hidden: leave mask out, and give its id as hide")

    def __call__(self, x: str) -> Masked:
        parts: Masked = self.parts(x)
        assert parts.view is not None
        text = parts.view.data["text"]
        ids, spans = encoded(self.encode, text)
        owner = owners(parts.places.labels, spans)
        places = Places(owner, owner.shape)
        hidden = np.where(owner < 0, ids, np.int64(self.hide))
        known = getattr(parts.compose, "features", None)
        return replace(parts, compose=IdComposer(ArrayComposer.of(ids, hidden, places), known, len(parts.parts)))

    def each(self, X: Any) -> Listed:
        """Many texts."""
        return Read.of(self, X, "texts")

    def read(self, text: Any) -> Ids:
        """The ids of a text."""
        return encoded(self.encode, checked_text(text))[0]


@dataclass(frozen=True, eq=False)
class Read(Listed):
    """Many texts, which the model takes as ids."""

    def inputs(self, start: int, stop: int) -> Any:
        rows = [self.represent.read(text) for text in self.items[start:stop]]  # type: ignore[attr-defined]
        if len({len(row) for row in rows}) > 1:
            raise InputError(
                "the model cannot be asked about texts of different numbers of tokens at once: let encode fill "
                "them up to one length, with (0, 0) as the place of padding"
            )
        return np.stack(rows)


@dataclass(frozen=True, eq=False)
class IdComposer:
    """Rows of ids in which some are hidden."""

    made: ArrayComposer
    known: Callable[[Any], Features | None] | None  # texts as points
    n_parts: int
    reason: ClassVar[str] = "there is no token of {it} that could be hidden, as where a text is cut off"
    notes: ClassVar[tuple[str, ...]] = ()

    @property
    def unchanged(self) -> Bools:
        """Parts without a token of their own that can be hidden, as where a text is cut off, (d,)."""
        own, hidden = self.ends
        return ~np.isin(np.arange(self.n_parts), self.places.labels[own != hidden])

    @property
    def size(self) -> int:
        return self.made.size

    @property
    def places(self) -> Places:
        """The part of each token."""
        return self.made.places

    @property
    def ends(self) -> tuple[Array, Array]:
        """The ids with all parts, and with none."""
        return self.made.ends

    def __call__(self, masks: Bools, buffer: Any = None) -> Array:
        return self.made(masks, buffer)

    def features(self, X: Any) -> Features | None:
        """This text and others as points, if its parts are words."""
        return None if self.known is None else self.known(X)

    def moved(self, size: float, rng: np.random.Generator, n_blocks: int | None = None) -> Moved:
        """Ids have no neighbors that mean nearly the same."""
        raise InputError(
            "token ids cannot be moved a little, for the next id is another word: explain texts by vd.Words(), or "
            "ask for gradients by vd.Network(module, embedding=…)"
        )


def encoded(encode: Any, text: str) -> tuple[Ids, Sequence[tuple[int, int]]]:
    """The ids of a text, and the characters that each stands for."""
    if hasattr(encode, "is_fast"):
        found = tried("encode", lambda text: encode(text, return_offsets_mapping=True), text)
        ids, spans = found["input_ids"], found["offset_mapping"]
    elif not callable(encode):  # of the tokenizers package
        found = tried("encode", encode.encode, text)
        ids, spans = found.ids, found.offsets
    else:
        ids, spans = _pair(tried("encode", encode, text))
    numbers, places = np.asarray(ids), [(int(a), int(b)) for a, b in spans]
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or len(numbers) != len(places):
        raise InputError(
            f"encode gave ids of type {numbers.dtype} and shape {numbers.shape}, and {len(places)} spans; wanted "
            "one whole number a token, and one (start, stop) each"
        )
    wrong = [span for span in places if not 0 <= span[0] <= span[1] <= len(text)]
    if wrong:
        raise InputError(f"encode gave a token from {wrong[0][0]} to {wrong[0][1]} of {len(text)} characters")
    return numbers.astype(np.int64), places


def _pair(found: Any) -> tuple[Any, Any]:
    if not isinstance(found, tuple) or len(found) != 2:
        raise InputError(
            f"encode must give two lists, the ids of a text and the (start, stop) of each; it gave "
            f"{type(found).__name__}"
        )
    return found


def owners(characters: npt.NDArray[np.intp], spans: Sequence[tuple[int, int]]) -> npt.NDArray[np.intp]:
    """The part that each token belongs to, of which it has most characters, the first of equals; -1 if none."""
    starts, stops = np.array(spans, dtype=np.intp).reshape(-1, 2).T
    lengths, d = stops - starts, int(characters.max(initial=-1)) + 1
    token = np.repeat(np.arange(len(spans)), lengths)
    own = characters[np.arange(len(token)) + np.repeat(starts - np.cumsum(lengths) + lengths, lengths)]
    pairs, first, counts = np.unique((token * d + own)[own >= 0], return_index=True, return_counts=True)
    pairs = pairs[np.lexsort((-first, counts))]  # of those of a token the last stays
    found = np.full(len(spans), -1, dtype=np.intp)
    found[pairs // d] = pairs % d
    return found
