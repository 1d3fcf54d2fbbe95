"""Text: words or sentences that are taken out, or replaced by a mask token."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from veridical.errors import InputError, describe_error
from veridical.masks import coins, removals
from veridical.records import Bools, Features, Floats, Part, Predict, View
from veridical.represent.masked import Listed, Masked, NoParts, checked_flag, checked_parts, unique
from veridical.represent.pipelines import Counted, counted
from veridical.represent.regions import Moved, Places

Spans: TypeAlias = list[tuple[int, int]]
Pieces: TypeAlias = tuple[tuple[str, int], ...]
Splitter: TypeAlias = Any  # a pattern, a function from a text to (start, stop) pairs, or a tokenizer

ALONE = "\u3041-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff"
PICTURE = "[\u2600-\u27bf\U0001f000-\U0001faff][\ufe0f\U0001f3fb-\U0001f3ff]*"  # an emoji, with its color
MARK_BLOCKS = (range(0x300, 0x1E00), range(0x1F00, 0x3100), range(0xA600, 0xAC00), range(0xFE00, 0xFE30))
SENTENCE = re.compile(
    r"""\S.*?(?:
        (?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\bSt)(?<!\bProf)  # a title ends no sentence
        [.!?…]+["'”’)\]]*(?=\s+["'“‘(\[]?[^\W a-z_])  # and what comes next starts like a sentence
        |[。！？｡]+[」』”’）]*|(?=\n\s*\n)|(?<=\S)(?=\s*\Z))""",
    re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True)
class Words:
    """The words of a text.

    A word stands for all its occurrences, or with ``positions`` each occurrence is a part of its own. Words are
    taken out, or replaced by the token ``mask``; what is between them always stays. Chinese characters and
    kana, which are written without spaces, are parts by themselves. ``split`` finds other parts: a regular
    expression of what separates them (``""`` gives characters), a function from a text to the (start, stop) of
    each part, or a tokenizer of Hugging Face that knows offsets.
    """

    positions: bool = False
    split: Splitter = None
    mask: str | None = None

    def __post_init__(self) -> None:
        checked_flag("positions", self.positions)
        _check_settings(self.split, self.mask)

    def __call__(self, x: str) -> Masked:
        return self.parts_of(x)

    def parts_of(self, x: str, least: int = 2) -> Masked:
        """The text as its words; ``least`` is how few of them are still worth explaining."""
        text = checked_text(x)
        spans = checked_spans(words_of(text) if self.split is None else split_by(self.split, text), text)
        pieces = [text[start:stop] for start, stop in spans]
        names = unique(pieces) if self.positions else list(dict.fromkeys(pieces))
        at = {name: j for j, name in enumerate(names)}
        owner = range(len(pieces)) if self.positions else [at[piece] for piece in pieces]
        checked_parts(len(names), least, "word", 'give a longer text, or split="" for its characters')
        words = pieces if self.positions else names
        parts = tuple(Part(name, word, "word", word) for name, word in zip(names, words, strict=True))
        return text_of(text, spans, list(owner), parts, self.mask, self.words)

    def words(self, text: str) -> list[str]:
        """The words of a text, each once, in order."""
        spans = words_of(text) if self.split is None else split_by(self.split, text)
        return list(dict.fromkeys(text[start:stop] for start, stop in spans))

    def each(self, X: Any) -> Listed:
        """Many texts."""
        return Listed.of(self, X, "texts")


@dataclass(frozen=True)
class Sentences:
    """The sentences of a text, each a part; ``split`` and ``mask`` are as for Words."""

    split: Splitter = None
    mask: str | None = None

    def __post_init__(self) -> None:
        _check_settings(self.split, self.mask)

    def __call__(self, x: str) -> Masked:
        return self.parts_of(x)

    def parts_of(self, x: str, least: int = 2) -> Masked:
        """The text as its sentences; ``least`` is how few of them are still worth explaining."""
        text = checked_text(x)
        found = [m.span() for m in SENTENCE.finditer(text)] if self.split is None else split_by(self.split, text)
        spans = checked_spans(found, text)
        checked_parts(len(spans), least, "sentence", "explain it by vd.Words()")
        pieces = [text[start:stop] for start, stop in spans]
        names = [f"{i}: {_short(piece)}" for i, piece in enumerate(pieces, 1)]
        parts = tuple(Part(n, n, "sentence", piece) for n, piece in zip(names, pieces, strict=True))
        return text_of(text, spans, list(range(len(spans))), parts, self.mask)

    def each(self, X: Any) -> Listed:
        """Many texts."""
        return Listed.of(self, X, "texts")


def text_of(
    text: str,
    spans: Spans,
    owner: list[int],
    parts: tuple[Part, ...],
    mask: str | None,
    words: Callable[[str], list[str]] | None = None,
) -> Masked:
    """A text whose pieces belong to parts; ``words`` finds those of other texts, if parts are words."""
    d = len(parts)
    law = removals(d) if d > 1 else coins(d)
    where = np.array([(*span, part) for span, part in zip(spans, owner, strict=True)]).reshape(-1, 3)
    view = View("text", {"text": text, "spans": where})
    bag = None if words is None else Bag(tuple(str(part.value) for part in parts), words)
    return Masked(parts, law, replace(TextComposer.of(text, spans, owner, d, mask), bag=bag), view)


@dataclass(frozen=True, eq=False)
class Bag:
    """The words of a text, one a part, and how those of others are found."""

    parts: tuple[str, ...]
    words: Callable[[str], list[str]]

    def features(self, X: Any) -> Features:
        """This text and others as bags of words: 1 where a word is in a text."""
        texts = Listed.of(Words(), X, "texts").items
        columns = {word: j for j, word in enumerate(dict.fromkeys(self.parts))}
        bags = [list(columns), *(self.words(str(text)) for text in texts)]
        found = [[columns.setdefault(word, len(columns)) for word in bag] for bag in bags]
        ends = np.append(0, np.cumsum([len(row) for row in found]))
        points = csr_matrix((np.ones(ends[-1]), np.concatenate(found), ends), shape=(len(bags), len(columns)))
        return Features(points, np.array([columns[word] for word in self.parts]), np.ones(len(self.parts)))


@dataclass(frozen=True, eq=False)
class TextComposer:
    """Strings by one boolean gather: each byte of the text says which part it needs to be there."""

    text: bytes  # with the mask tokens after their pieces, and a character at the end that is not in the text
    needs: npt.NDArray[np.intp]  # (bytes,) part j: kept; d + j: taken away; 2d: always there
    end: str
    n_parts: int
    pieces: Pieces  # of the text in order, with their parts; -1 between parts
    masked: bool  # whether something stands instead of what is taken away
    bag: Bag | None = None
    mask: str = ""  # that, where it is one token for all
    reason: ClassVar[str] = "what replaces {it} is what was there"
    notes: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def of(cls, text: str, spans: Spans, owner: list[int], d: int, mask: str | None) -> TextComposer:
        end = next(c for c in map(chr, range(0xD800)) if c not in text and c not in (mask or ""))
        pieces, at = list[tuple[str, int]](), 0
        for (start, stop), part in zip(spans, owner, strict=True):
            pieces += [(text[at:start], -1), (text[start:stop], part)]
            at = stop
        pieces.append((text[at:], -1))
        return replace(cls.joined(tuple(pieces), [mask or ""] * len(pieces), end, d), mask=mask or "")

    @classmethod
    def joined(cls, pieces: Pieces, instead: Sequence[str], end: str, d: int) -> TextComposer:
        """Of pieces, and what stands instead of each that is taken away."""
        shown, needs = list[bytes](), list[int]()
        for (piece, part), other in zip(pieces, instead, strict=True):
            shown.append(piece.encode(errors="surrogatepass"))
            needs.append(part if part >= 0 else 2 * d)
            if part >= 0 and other:
                shown.append(other.encode(errors="surrogatepass"))
                needs.append(d + part)
        shown.append(end.encode())
        needs.append(2 * d)
        lengths = [len(s) for s in shown]
        masked = any(instead)
        return cls(b"".join(shown), np.repeat(np.array(needs, dtype=np.intp), lengths), end, d, pieces, masked)

    @property
    def size(self) -> int:
        return 2 * len(self.text)

    @property
    def unchanged(self) -> Bools:
        """Parts all of whose pieces are what stands instead of them, as a mask token in the text is, (d,)."""
        found = np.ones(self.n_parts, bool)
        for piece, part in self.pieces:
            if part >= 0 and piece != self.mask:
                found[part] = False
        return found

    @property
    def places(self) -> Places:
        """The part of each character."""
        owner = np.repeat([part for _, part in self.pieces], [len(piece) for piece, _ in self.pieces])
        return Places(owner.astype(np.intp), owner.shape)

    def __call__(self, masks: Bools, buffer: Any = None) -> list[str]:
        n = len(masks)
        if self.masked:
            states = np.concatenate([masks, ~masks, np.ones((n, 1), bool)], axis=1)
            needs = self.needs
        else:
            states = np.concatenate([masks, np.ones((n, 1), bool)], axis=1)
            needs = np.minimum(self.needs, self.n_parts)
        shown = states.take(needs, axis=1)
        text = np.tile(np.frombuffer(self.text, dtype=np.uint8), n)
        kept: bytes = text.compress(shown.ravel()).tobytes()
        return kept.decode(errors="surrogatepass").split(self.end)[:-1]

    def moved(self, size: float, rng: np.random.Generator, n_blocks: int | None = None) -> Moved:
        """Every piece misspelled; a part that comes more than once, each time alike."""
        wrong: dict[str, str] = {}
        for piece, part in self.pieces:
            if part >= 0 and piece not in wrong:
                wrong[piece] = misspelled(piece, rng)
        instead = [wrong.get(piece, "") for piece, _ in self.pieces]
        end = next(c for c in map(chr, range(0xD800)) if not any(c in text for text in (*self.plain, *instead)))
        made = TextComposer.joined(self.pieces, instead, end, self.n_parts)
        return Moved(made, None, True, "two neighboring letters of each part change places")

    @property
    def plain(self) -> tuple[str, ...]:
        """The pieces alone."""
        return tuple(piece for piece, _ in self.pieces)

    def features(self, X: Any) -> Features | None:
        """This text and others as points, if its parts are words."""
        return None if self.bag is None else self.bag.features(X)

    def shortcut(self, predict: Predict) -> Callable[[Floats], Any] | None:
        """Word counts straight from masks, where the model is a pipeline that looks at nothing else."""
        found: Counted | None = None if self.masked else counted(predict, self.pieces, self.n_parts)
        return found


def misspelled(piece: str, rng: np.random.Generator) -> str:
    """A piece in which two neighbors have changed places; the last one doubled if they are all alike."""
    places = [i for i, (a, b) in enumerate(pairwise(piece)) if a != b and not (a + b).isspace()]
    if not places:
        return piece + piece[-1]
    i = places[int(rng.integers(len(places)))]
    return piece[:i] + piece[i + 1] + piece[i] + piece[i + 2 :]


def words_of(text: str) -> Spans:
    """Where words are: letters, digits and their marks, with apostrophes inside; and emojis."""
    return [m.span() for m in _word().finditer(text)]


@lru_cache(maxsize=1)
def _word() -> re.Pattern[str]:
    """The pattern of a word; combining marks belong to it, which Python's own word characters leave out."""
    marks = "".join(
        chr(c) for block in MARK_BLOCKS for c in block if unicodedata.category(chr(c)) in ("Mn", "Mc", "Me")
    )
    inside = rf"(?:[^\W{ALONE}]|[{marks}\u200c\u200d])"
    picture = rf"{PICTURE}(?:\u200d{PICTURE})*"
    return re.compile(rf"[{ALONE}][{marks}]*|[^\W{ALONE}]{inside}*(?:['’]{inside}+)*|{picture}")


def split_by(split: Splitter, text: str) -> Spans:
    """The parts that the caller's splitter finds."""
    if isinstance(split, (str, re.Pattern)):
        return _between(re.compile(split), text)
    try:
        if hasattr(split, "encode") and not callable(split):  # of the tokenizers package
            return _joined(split.encode(text, add_special_tokens=False).offsets)
        if hasattr(split, "is_fast"):
            return _joined(split(text, return_offsets_mapping=True, add_special_tokens=False)["offset_mapping"])
        return [(int(a), int(b)) for a, b in split(text)]
    except InputError:
        raise
    except Exception as cause:
        raise InputError(
            f"split failed with {describe_error(cause)}; it must give the (start, stop) of every part"
        ) from cause


def _joined(offsets: Iterable[tuple[int, int]]) -> Spans:
    """Spans of tokens, those that share a character as one: a tokenizer of bytes may cut one into several."""
    found: Spans = []
    for start, stop in sorted((int(a), int(b)) for a, b in offsets if a != b):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        else:
            found.append((start, stop))
    return found


def _between(pattern: re.Pattern[str], text: str) -> Spans:
    """What lies between the matches of a pattern."""
    cuts = [0, *(edge for m in pattern.finditer(text) for edge in m.span()), len(text)]
    return [(a, b) for a, b in zip(cuts[0::2], cuts[1::2], strict=True) if a < b]


def checked_spans(spans: Iterable[tuple[int, int]], text: str) -> Spans:
    """Spans in order, the empty ones left out; refuse those that overlap or leave the text."""
    found = sorted((a, b) for a, b in spans if a != b)
    for a, b in found:
        if not 0 <= a < b <= len(text):
            raise InputError(f"split gave a part from {a} to {b} of a text of {len(text)} characters")
    for (_, b), (c, _) in pairwise(found):
        if b > c:
            raise InputError(f"split gave parts that overlap: one ends at {b}, the next starts at {c}")
    return found


def checked_text(x: Any) -> str:
    """A text, or an error that says what came instead."""
    if isinstance(x, (bytes, bytearray)):
        raise InputError("wanted a text, got bytes: decode it first, as in x.decode('utf-8')")
    if not isinstance(x, str):
        missing = isinstance(x, float) and x != x
        what = "None" if x is None else "nan" if missing else type(x).__name__
        absent = what in ("None", "nan", "NAType", "NaTType")
        do = "fill it in" if absent else "pass a str, and a list of them to explain_many"
        raise InputError(f"wanted a text, got {what}: {do}")
    if not x.strip():
        raise NoParts("the text is empty: there is nothing to explain")
    return str.__str__(x)


def _check_settings(split: Any, mask: Any) -> None:
    if mask is not None and not isinstance(mask, str):
        raise InputError(f"mask wants a token such as '[MASK]', not {mask!r}")
    if isinstance(split, str):
        try:
            re.compile(split)
        except re.error as cause:
            raise InputError(f"split is not a regular expression: {split!r}, {cause}") from cause
    elif isinstance(split, re.Pattern) and isinstance(split.pattern, bytes):
        raise InputError(f"split is a pattern of bytes, and texts are not: compile {split.pattern.decode()!r}")
    elif split is not None and not (callable(split) or hasattr(split, "encode") or isinstance(split, re.Pattern)):
        raise InputError(
            f"split wants a regular expression, a function from a text to (start, stop) pairs, or a tokenizer, "
            f"not {split!r}"
        )


def _short(piece: str, limit: int = 60) -> str:
    flat = " ".join(piece.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
