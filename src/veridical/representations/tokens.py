"""Texts as token ids, as a network reads them: the tokens of words that are taken away are hidden."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from veridical.errors import InputError
from veridical.records import Bools, Features
from veridical.representations.masking import InstanceList, Masked, call_user_function
from veridical.representations.regions import ArrayComposer, Composer, MovedComposer, Places
from veridical.representations.words import Sentences, Words, check_text

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Tokens:
    """The words of a text, for a model of token ids (n, length): the text is encoded once, and words are hidden.

    With ``vd.Words()`` a text without a word is encoded anew; here all other tokens stay what and where they were,
    and the model sees that something is hidden. In return no text is ever made: a ``vd.Network`` replaces ids on
    its own device. It takes them without ``prepare``; name its ``embedding``, so that they stay whole numbers.

    Parameters
    ----------
    encode : tokenizer or function
        A tokenizer of Hugging Face that knows offsets, or a function from a text to its ids and to the (start,
        stop) of the characters of each token, (0, 0) for none.
    hide : int
        The id that replaces every token of a word that is taken away: that of ``[MASK]``, or of padding where the
        model does not attend to padding.
    parts : Words or Sentences, default Words()
        What the parts are.

    Examples
    --------
    >>> import re
    >>> import veridical as vd
    >>> def encode(text):
    ...     found = list(re.finditer("[a-z]+", text))
    ...     return [len(word[0]) for word in found], [word.span() for word in found]
    >>> tokens = vd.Tokens(encode, hide=0)
    >>> tokens.encode_ids("a good day")
    array([1, 4, 3])
    >>> tokens("a good day").names
    ('a', 'good', 'day')
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
        if isinstance(self.parts, (Words, Sentences)) and self.parts.mask is not None:
            raise InputError("mask is for texts, and here ids are hidden: leave mask out, and give its id as hide")

    def __call__(self, x: str) -> Masked:
        parts: Masked = self.parts(x)
        assert parts.view is not None
        text = parts.view.data["text"]
        ids, spans = encode_text(self.encode, text)
        owner = find_owners(parts.places.labels, spans)
        places = Places(owner, owner.shape)
        hidden = np.where(owner < 0, ids, np.int64(self.hide))
        composer = IdComposer.of(ids, hidden, places)
        composer = replace(composer, words=parts.compose, n_parts=len(parts.parts))
        return replace(parts, compose=composer)

    def each(self, X: Any) -> InstanceList:
        """Many texts."""
        return TokenizedTexts.of(self, X, "texts")

    def encode_ids(self, text: Any) -> Ids:
        """The ids of a text."""
        return encode_text(self.encode, check_text(text))[0]


@dataclass(frozen=True, eq=False)
class TokenizedTexts(InstanceList):
    """Many texts, which the model takes as ids."""

    def inputs(self, start: int, stop: int) -> Any:
        rows = [self.represent.encode_ids(text) for text in self.items[start:stop]]  # type: ignore[attr-defined]
        if len({len(row) for row in rows}) > 1:
            raise InputError(
                "the model cannot be asked about texts of different numbers of tokens at once: let encode fill "
                "them up to one length, with (0, 0) as the place of padding"
            )
        return np.stack(rows)


@dataclass(frozen=True, eq=False)
class IdComposer(ArrayComposer):
    """Rows of ids in which some are hidden."""

    words: Composer = field(kw_only=True, default_factory=Composer)  # of the text, which knows texts as points
    n_parts: int = field(kw_only=True, default=0)
    reason: ClassVar[str] = "there is no token of {it} that could be hidden, as where a text is cut off"

    @property
    def unchanged(self) -> Bools:
        """Parts without a token of their own that can be hidden, as where a text is cut off, (d,)."""
        own, hidden = self.ends
        return ~np.isin(np.arange(self.n_parts), self.places.labels[own != hidden])

    def features(self, X: Any) -> Features | None:
        """This text and others as points, if its parts are words."""
        return self.words.features(X)

    def move(self, size: float, rng: np.random.Generator, n_blocks: int | None = None) -> MovedComposer:
        """Ids have no neighbors that mean nearly the same."""
        raise InputError(
            "token ids cannot be moved a little, for the next id is another word: explain texts by vd.Words(), or "
            "ask for gradients by vd.Network(module, embedding=…)"
        )


def encode_text(encode: Any, text: str) -> tuple[Ids, Sequence[tuple[int, int]]]:
    """The ids of a text, and the characters that each stands for."""
    if hasattr(encode, "is_fast"):
        found = call_user_function("encode", lambda text: encode(text, return_offsets_mapping=True), text)
        ids, spans = found["input_ids"], found["offset_mapping"]
    elif not callable(encode):  # of the tokenizers package
        found = call_user_function("encode", encode.encode, text)
        ids, spans = found.ids, found.offsets
    else:
        found = call_user_function("encode", encode, text)
        if not isinstance(found, tuple) or len(found) != 2:
            raise InputError(
                "encode must give two lists, the ids of a text and the (start, stop) of each; it gave "
                f"{type(found).__name__}"
            )
        ids, spans = found
    numbers, places = np.asarray(ids), [(int(a), int(b)) for a, b in spans]
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or len(numbers) != len(places):
        raise InputError(
            f"encode gave ids of type {numbers.dtype} and shape {numbers.shape}, and {len(places)} spans; wanted "
            "one whole number, and one (start, stop), per token"
        )
    wrong = [span for span in places if not 0 <= span[0] <= span[1] <= len(text)]
    if wrong:
        raise InputError(f"encode gave a token from {wrong[0][0]} to {wrong[0][1]} of {len(text)} characters")
    return numbers.astype(np.int64), places


def find_owners(characters: npt.NDArray[np.intp], spans: Sequence[tuple[int, int]]) -> npt.NDArray[np.intp]:
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
