"""Texts as words or sentences that are removed or masked; pipelines that count words get no strings."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from veridical.errors import InputError, check_whole, describe_error
from veridical.protocols import Predict
from veridical.records import Bools, Features, Floats, Part, View
from veridical.representations.masking import (
    InstanceList,
    Masked,
    NoParts,
    PartRepresenter,
    check_flag,
    check_parts,
    make_unique,
)
from veridical.representations.regions import WAS_THERE, Composer, MovedComposer, Places
from veridical.sampling.masks import coins, removals

TEXT_MODULE = "sklearn.feature_extraction.text"
NEUTRAL_WORD = "veridical"  # that no list of stop words has
MAX_NAME = 60  # characters of a sentence that name it
TEXTS_PER_BATCH = 1024  # that a model is given at once: of a network, they lie in its memory together
METHODS = ("predict_proba", "predict_log_proba", "decision_function", "predict")


@dataclass(frozen=True, eq=False)
class CountPipeline:
    """Answers of a pipeline to masks of a text: counts of its words are a product of masks and a table."""

    counts: Floats  # (d + 1, v) how often each part, and what is always there, has each word
    words: Any  # (v,) columns of the vocabulary
    size: int  # of the vocabulary
    weigh: Sequence[Any]  # steps that weigh the counts
    binary: bool
    dtype: Any
    ask: Callable[[Any], Any]

    def __call__(self, designs: Floats) -> Any:
        found = designs @ self.counts[:-1] + self.counts[-1]
        if self.binary:
            found = np.minimum(found, 1.0)
        there = found != 0
        ends = np.append(0, np.cumsum(there.sum(axis=1)))
        columns = np.broadcast_to(self.words, found.shape)[there]
        matrix = csr_matrix((found[there].astype(self.dtype), columns, ends), shape=(len(found), self.size))
        for step in self.weigh:
            matrix = step.transform(matrix, copy=False)
        return self.ask(matrix)


def find_count_pipeline(predict: Predict, pieces: Sequence[tuple[str, int]], d: int) -> CountPipeline | None:
    """The quicker way to ask, if predict is a method of a pipeline that counts single words.

    ``pieces`` are those of the text in order, each with its part, or -1 if it is always there. Whether the
    answers agree with the pipeline's own is for the caller to check: a word may depend on its neighbors.
    """
    pipeline: Any = getattr(predict, "__self__", None)
    method = getattr(predict, "__name__", "")
    if method not in METHODS or _kind(pipeline) != "sklearn.pipeline.Pipeline" or len(pipeline.steps) < 2:
        return None
    vectorizer, *middle, model = (step for _, step in pipeline.steps)
    if not _counts_words(vectorizer) or any(_kind(step) != f"{TEXT_MODULE}.TfidfTransformer" for step in middle):
        return None
    weigh = [*([vectorizer._tfidf] if hasattr(vectorizer, "_tfidf") else []), *middle]
    analyze, vocabulary = vectorizer.build_analyzer(), vectorizer.vocabulary_
    # What is between parts must part their words, also when others were taken out. Samples may not show it: letters
    # that follow each other become one word only when all between them are gone.
    for gap in {piece for piece, part in pieces[1:-1] if part < 0}:
        words_alone = [word for text in (NEUTRAL_WORD, gap, NEUTRAL_WORD) for word in analyze(text)]
        if analyze(f"{NEUTRAL_WORD}{gap}{NEUTRAL_WORD}") != words_alone:
            return None
    every = ((part, word) for piece, part in pieces for word in analyze(piece))
    found = Counter((part, int(vocabulary[word])) for part, word in every if word in vocabulary)
    words = np.unique([column for _, column in found]).astype(np.int32)
    counts = np.zeros((d + 1, len(words)))
    for (part, column), count in found.items():
        counts[part, np.searchsorted(words, column)] = count  # -1 is the last row: always there
    dtype = np.float64 if weigh else vectorizer.dtype
    binary, ask = bool(vectorizer.binary), getattr(model, method)
    return CountPipeline(counts, words, len(vocabulary), weigh, binary, dtype, ask)


def _counts_words(vectorizer: Any) -> bool:
    """A fitted vectorizer of single words, with nothing of the caller's own inside."""
    return (
        _kind(vectorizer) in (f"{TEXT_MODULE}.CountVectorizer", f"{TEXT_MODULE}.TfidfVectorizer")
        and vectorizer.analyzer == "word"
        and tuple(vectorizer.ngram_range) == (1, 1)
        and vectorizer.tokenizer is None
        and vectorizer.preprocessor is None
        and hasattr(vectorizer, "vocabulary_")
    )


def _kind(thing: Any) -> str:
    """The name of its class, which tells without importing what it is."""
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


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
class Words(PartRepresenter):
    """The words of a text; what is between them always stays.

    Chinese characters and kana, which are written without spaces, are words by themselves.

    Parameters
    ----------
    positions : bool, default False
        Each occurrence is a part of its own, instead of all occurrences of a word being one.
    split : str, pattern, function or tokenizer, optional
        What the parts are instead of words: a regular expression of what separates them (``""`` gives
        characters), a function from a text to the (start, stop) of each part, or a tokenizer of Hugging Face that
        knows offsets.
    mask : str, optional
        A token that replaces words that are taken away, such as "[MASK]"; by default they are removed.
    batch_size : int or None, default 1024
        Texts that the model is given at once, at most; None for all.

    Examples
    --------
    >>> import veridical as vd
    >>> vd.Words()("not bad, not good").names
    ('not', 'bad', 'good')
    >>> vd.Words(positions=True)("not bad, not good").names
    ('not[1]', 'bad', 'not[2]', 'good')
    """

    positions: bool = False
    split: Splitter = None
    mask: str | None = None
    batch_size: int | None = TEXTS_PER_BATCH

    kind: ClassVar[str] = "texts"

    def __post_init__(self) -> None:
        check_flag("positions", self.positions)
        _check_settings(self.split, self.mask, self.batch_size)

    def parts_of(self, x: str) -> Masked:
        """The text as its words."""
        text = check_text(x)
        spans = split_text(self.split, text, word_pattern())
        pieces = [text[start:stop] for start, stop in spans]
        names = make_unique(pieces) if self.positions else list(dict.fromkeys(pieces))
        at = {name: j for j, name in enumerate(names)}
        owner = range(len(pieces)) if self.positions else [at[piece] for piece in pieces]
        check_parts(len(names), "word", 'give another text, or split="" for its characters')
        words = pieces if self.positions else names
        parts = tuple(Part(name, word, "word", word) for name, word in zip(names, words, strict=True))
        return mask_text(text, spans, list(owner), parts, self.mask, self.words, self.batch_size)

    def words(self, text: str) -> list[str]:
        """The words of a text, each once, in order.

        Parameters
        ----------
        text : str
            Any text.

        Returns
        -------
        list of str
            Its words, or what ``split`` finds.
        """
        spans = split_text(self.split, text, word_pattern())
        return list(dict.fromkeys(text[start:stop] for start, stop in spans))


@dataclass(frozen=True)
class Sentences(PartRepresenter):
    """The sentences of a text.

    Parameters
    ----------
    split : str, pattern, function or tokenizer, optional
        What the parts are instead of sentences, as for ``Words``.
    mask : str, optional
        A token that replaces sentences that are taken away; by default they are removed.
    batch_size : int or None, default 1024
        Texts that the model is given at once, at most; None for all.

    Examples
    --------
    >>> import veridical as vd
    >>> vd.Sentences()("It broke. I sent it back.").names
    ('1: It broke.', '2: I sent it back.')
    """

    split: Splitter = None
    mask: str | None = None
    batch_size: int | None = TEXTS_PER_BATCH

    kind: ClassVar[str] = "texts"

    def __post_init__(self) -> None:
        _check_settings(self.split, self.mask, self.batch_size)

    def parts_of(self, x: str) -> Masked:
        """The text as its sentences."""
        text = check_text(x)
        spans = split_text(self.split, text, SENTENCE)
        check_parts(len(spans), "sentence", "explain it by vd.Words()")
        pieces = [text[start:stop] for start, stop in spans]
        flat = [" ".join(piece.split()) for piece in pieces]
        short = [line if len(line) <= MAX_NAME else f"{line[: MAX_NAME - 1]}…" for line in flat]
        names = [f"{i}: {line}" for i, line in enumerate(short, 1)]
        parts = tuple(Part(n, n, "sentence", piece) for n, piece in zip(names, pieces, strict=True))
        return mask_text(text, spans, list(range(len(spans))), parts, self.mask, batch_size=self.batch_size)


def mask_text(
    text: str,
    spans: Spans,
    owner: list[int],
    parts: tuple[Part, ...],
    mask: str | None,
    words: Callable[[str], list[str]] | None = None,
    batch_size: int | None = TEXTS_PER_BATCH,
) -> Masked:
    """A text whose pieces belong to parts; ``words`` finds those of other texts, if parts are words."""
    d, shown, at = len(parts), list[tuple[str, int]](), 0
    for (start, stop), part in zip(spans, owner, strict=True):
        shown += [(text[at:start], -1), (text[start:stop], part)]
        at = stop
    shown.append((text[at:], -1))
    composer = TextComposer.of(tuple(shown), [mask or ""] * len(shown), d)
    where = np.array([(*span, part) for span, part in zip(spans, owner, strict=True)]).reshape(-1, 3)
    show = partial(View, "text", {"text": text, "spans": where})
    law = removals(d) if d > 1 else coins(d)
    return Masked(parts, law, replace(composer, mask=mask or "", words=words, batch_size=batch_size), show)


@dataclass(frozen=True, eq=False)
class TextComposer(Composer):
    """Strings by one boolean gather: each byte of the text says which part it needs to be there."""

    text: bytes  # with the mask tokens after their pieces, and a character at the end that is not in the text
    needs: npt.NDArray[np.intp]  # (bytes,) part j: kept; d + j: taken away; 2d: always there
    end: str
    n_parts: int
    pieces: Pieces  # of the text in order, with their parts; -1 between parts
    masked: bool  # whether something stands instead of what is taken away
    mask: str = ""  # that, where it is one token for all
    words: Callable[[str], list[str]] | None = None  # of other texts, where parts are words
    batch_size: int | None = None
    reason: ClassVar[str] = WAS_THERE

    @classmethod
    def of(cls, pieces: Pieces, instead: Sequence[str], d: int) -> TextComposer:
        """Of pieces, and what stands instead of each that is taken away."""
        used = "".join([*(piece for piece, _ in pieces), *instead])
        end = next(c for c in map(chr, range(0xD800)) if c not in used)
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
        needed = np.repeat(np.array(needs, dtype=np.intp), lengths)
        return cls(b"".join(shown), needed, end, d, pieces, any(instead))

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

    def move(self, size: float, rng: np.random.Generator, n_blocks: int | None = None) -> MovedComposer:
        """Every piece misspelled; a part that comes more than once, each time alike."""
        wrong: dict[str, str] = {}
        for piece, part in self.pieces:
            if part >= 0 and piece not in wrong:
                wrong[piece] = misspell_word(piece, rng)
        instead = [wrong.get(piece, "") for piece, _ in self.pieces]
        made = TextComposer.of(self.pieces, instead, self.n_parts)
        return MovedComposer(made, None, True, "two neighboring letters of each part change places")

    def features(self, X: Any) -> Features | None:
        """This text and others as bags of words, 1 where a word is in a text; None if parts are no words."""
        if self.words is None:
            return None
        word_of = {part: piece for piece, part in self.pieces}
        own = [word_of[j] for j in range(self.n_parts)]
        columns = {word: j for j, word in enumerate(dict.fromkeys(own))}
        bags = [list(columns), *(self.words(str(text)) for text in InstanceList.of(Words(), X, "texts").items)]
        found = [[columns.setdefault(word, len(columns)) for word in bag] for bag in bags]
        ends = np.append(0, np.cumsum([len(row) for row in found]))
        points = csr_matrix((np.ones(ends[-1]), np.concatenate(found), ends), shape=(len(bags), len(columns)))
        return Features(points, np.array([columns[word] for word in own]), np.ones(len(own)))

    def shortcut(self, predict: Predict) -> Callable[[Floats], Any] | None:
        """Word counts straight from masks, where the model is a pipeline that looks at nothing else."""
        return None if self.masked else find_count_pipeline(predict, self.pieces, self.n_parts)


def misspell_word(piece: str, rng: np.random.Generator) -> str:
    """A piece in which two neighbors have changed places; the last one doubled if they are all alike."""
    places = [i for i, (a, b) in enumerate(pairwise(piece)) if a != b and not (a + b).isspace()]
    if not places:
        return piece + piece[-1]
    i = places[int(rng.integers(len(places)))]
    return piece[:i] + piece[i + 1] + piece[i] + piece[i + 2 :]


@lru_cache(maxsize=1)
def word_pattern() -> re.Pattern[str]:
    """The pattern of a word; combining marks belong to it, which Python's own word characters leave out."""
    marks = "".join(
        chr(c) for block in MARK_BLOCKS for c in block if unicodedata.category(chr(c)) in ("Mn", "Mc", "Me")
    )
    inside = rf"(?:[^\W{ALONE}]|[{marks}\u200c\u200d])"
    picture = rf"{PICTURE}(?:\u200d{PICTURE})*"
    return re.compile(rf"[{ALONE}][{marks}]*|[^\W{ALONE}]{inside}*(?:['’]{inside}+)*|{picture}")


def split_text(split: Splitter, text: str, default: re.Pattern[str]) -> Spans:
    """The parts of a text in order: the matches of a pattern, unless the caller's own splitter finds others."""
    if split is None:
        return [m.span() for m in default.finditer(text)]
    if isinstance(split, (str, re.Pattern)):  # parts lie between its matches
        cuts = [0, *(edge for m in re.finditer(split, text) for edge in m.span()), len(text)]
        return [(a, b) for a, b in zip(cuts[0::2], cuts[1::2], strict=True) if a < b]
    try:
        if hasattr(split, "encode") and not callable(split):  # of the tokenizers package
            found = _merge_spans(split.encode(text, add_special_tokens=False).offsets)
        elif hasattr(split, "is_fast"):
            encoded = split(text, return_offsets_mapping=True, add_special_tokens=False)
            found = _merge_spans(encoded["offset_mapping"])
        else:
            found = sorted((int(a), int(b)) for a, b in split(text) if a != b)
    except InputError:
        raise
    except Exception as cause:
        raise InputError(
            f"split failed with {describe_error(cause)}; it must give the (start, stop) of every part"
        ) from cause
    for a, b in found:
        if not 0 <= a < b <= len(text):
            raise InputError(f"split gave a part from {a} to {b} of a text of {len(text)} characters")
    for (_, b), (c, _) in pairwise(found):
        if b > c:
            raise InputError(f"split gave parts that overlap: one ends at {b}, the next starts at {c}")
    return found


def _merge_spans(offsets: Iterable[tuple[int, int]]) -> Spans:
    """Spans of tokens, those that share a character as one: a tokenizer of bytes may cut one into several."""
    found: Spans = []
    for start, stop in sorted((int(a), int(b)) for a, b in offsets if a != b):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        else:
            found.append((start, stop))
    return found


def check_text(x: Any) -> str:
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


def _check_settings(split: Any, mask: Any, batch_size: Any) -> None:
    if batch_size is not None:
        check_whole("batch_size", batch_size)
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
