"""Texts as words and sentences: any Unicode, against a slow reference that joins pieces in plain Python."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veridical as vd
from tests.builders.effort import ending
from veridical.representations.words import split_text, word_pattern

SEED = np.random.SeedSequence(5)

# Characters that trip up programs: marks, joiners, right-to-left, no spaces, controls, halves of a pair.
ODD = (
    "\x00\n\r\t\x0b\x1c\x85\u00a0\u2028\u3000 .,!?'’_-—…\"()[]"
    "aZß1\u0301\u0308\u20e3éñ½²ı"
    "日本語か゚ｶ。！」ฉันไทย"
    "שָׁלוֹםمَرحبا\u200f\u202e\u200d\u200c\ufeff"
    "👩\u200d👩🏽🇨🇭\U0001f1e8\U0002a6d6\U0010ffff\ud83d\ude00\udc80"
)
characters = st.one_of(st.sampled_from(ODD), st.characters())
texts = st.one_of(
    st.text(characters, min_size=1, max_size=40),
    st.lists(st.sampled_from(["good", "bad", "naïve", "日本", "don't", "שלום", "👩‍👩‍👧", "e\u0301a"]), min_size=2)
    .map(lambda words: " ".join(words)),
)  # fmt: skip


def rebuilt(text: str, spans: list[tuple[int, int]], gone: set[int], mask: str | None) -> str:
    """The text without some of its pieces, joined one by one."""
    made, at = [], 0
    for i, (start, stop) in enumerate(spans):
        made += [text[at:start], (mask or "") if i in gone else text[start:stop]]
        at = stop
    return "".join([*made, text[at:]])


def pairs_of_characters(text: str) -> list[tuple[int, int]]:
    """A splitter of one's own that leaves every third character between parts."""
    return [(i, min(i + 2, len(text))) for i in range(0, len(text), 3)]


SPLITS: dict[str, Any] = {
    "words": (None, lambda text: split_text(None, text, word_pattern())),
    "characters": ("", lambda text: [(i, i + 1) for i in range(len(text))]),
    "spaces": (r"\s+", lambda text: [m.span() for m in re.finditer(r"\S+", text)]),
    "pattern": (re.compile(r"[,.\s]"), lambda text: [m.span() for m in re.finditer(r"[^,.\s]+", text)]),
    "function": (pairs_of_characters, pairs_of_characters),
}


@given(
    texts, st.sampled_from(sorted(SPLITS)), st.booleans(), st.sampled_from([None, "", "[MASK]", "☃"]), st.data()
)
@settings(max_examples=300, deadline=None)
def test_words_of_any_text(text: str, kind: str, positions: bool, mask: str | None, data: Any) -> None:
    split, reference = SPLITS[kind]
    spans = reference(text)
    pieces = [text[a:b] for a, b in spans]
    represent = vd.Words(positions=positions, split=split, mask=mask)
    if not text.strip() or not pieces:
        with pytest.raises(vd.errors.InputError, match=r"empty|no word"):
            represent(text)
        return
    parts = represent(text)
    d = len(parts.names)
    owner = list(range(len(pieces))) if positions else [list(dict.fromkeys(pieces)).index(p) for p in pieces]
    assert [part.value for part in parts.parts] == (pieces if positions else list(dict.fromkeys(pieces)))
    rows = data.draw(st.lists(st.lists(st.booleans(), min_size=d, max_size=d), min_size=1, max_size=4))
    masks = np.array([[True] * d, *rows, [False] * d])
    for made, kept in zip(parts.compose(masks), masks, strict=True):
        gone = {i for i, part in enumerate(owner) if not kept[part]}
        assert made == rebuilt(text, spans, gone, mask)
    assert parts.compose(masks)[0] == text


@given(texts, st.sampled_from([None, "[MASK]"]))
@settings(max_examples=200, deadline=None)
def test_sentences_of_any_text(text: str, mask: str | None) -> None:
    try:
        parts = vd.Sentences(mask=mask)(text)
    except vd.errors.InputError:
        return
    spans = [(int(a), int(b)) for a, b, _ in parts.view.data["spans"]]
    assert [text[a:b] for a, b in spans] == [part.value for part in parts.parts]
    assert rebuilt(text, spans, set(range(len(spans))), None).strip() == "", "nothing but space is between them"
    masks = np.vstack([np.ones((1, len(spans)), bool), ~np.eye(len(spans), dtype=bool)])
    wanted = [text, *(rebuilt(text, spans, {j}, mask) for j in range(len(spans)))]
    assert parts.compose(masks) == wanted


@given(texts)
@settings(max_examples=200, deadline=None)
def test_nothing_that_can_be_read_is_lost_between_words(text: str) -> None:
    """What is between words has no letter, digit or mark of one."""
    spans = split_text(None, text, word_pattern())
    between = rebuilt(text, spans, set(range(len(spans))), None)
    assert not re.search(r"\w", between)
    assert spans == sorted(spans)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's a don’t-care e\u0301tude.", ["It's", "a", "don’t", "care", "e\u0301tude"]),
        ("我很喜欢 this 電影", ["我", "很", "喜", "欢", "this", "電", "影"]),
        ("שָׁלוֹם עולם", ["שָׁלוֹם", "עולם"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("a_b x2 3.5%", ["a_b", "x2", "3", "5"]),
        ("カタカナ語", ["カ", "タ", "カ", "ナ", "語"]),
        ("한국어 문장", ["한국어", "문장"]),
    ],
)
def test_words_of_many_scripts(text: str, words: list[str]) -> None:
    assert [text[a:b] for a, b in split_text(None, text, word_pattern())] == words


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One here. Two there! Three?", ["One here.", "Two there!", "Three?"]),
        ('He said "No." She left.', ['He said "No."', "She left."]),
        ("今天很好。明天呢？", ["今天很好。", "明天呢？"]),
        ("A title\n\nThe text.", ["A title", "The text."]),
        ("It cost 3.5 e.g. in Bern. Yes.", ["It cost 3.5 e.g. in Bern.", "Yes."]),
        ("  Wait… What?  ", ["Wait…", "What?"]),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert [part.value for part in vd.Sentences()(text).parts] == sentences


def test_long_runs_of_space_take_no_time() -> None:
    """A pattern that goes back and forth takes a quarter of an hour for so many."""
    text = "A. B" + " " * 300_000 + "b"
    with ending():
        assert len(vd.Sentences()(text).parts) == 2


def test_repeated_words_have_names_of_their_own() -> None:
    text = "good good good[1] bad good"
    names = vd.Words(positions=True, split=" ")(text).names
    assert len(set(names)) == 5
    assert names[2:4] == ("good[1]", "bad")
    assert vd.Words(split=" ")(text).names == ("good", "good[1]", "bad")


def test_a_string_of_another_class_is_its_own_characters() -> None:
    class Choice(str, enum.Enum):
        first = "good film"

    for text in (Choice.first, np.str_("good film")):
        made = vd.Words()(text).compose(np.ones((1, 2), bool))
        assert made == ["good film"]
        assert type(made[0]) is str


# Tokenizers ------------------------------------------------------------------------------------------------


@dataclass
class FastTokenizer:
    """What a fast tokenizer of Hugging Face's answers; one that cuts bytes gives one character several times."""

    offsets: list[tuple[int, int]]
    is_fast: bool = True

    def __call__(self, text: str, *, return_offsets_mapping: bool, add_special_tokens: bool) -> Any:
        assert return_offsets_mapping
        assert not add_special_tokens
        return {"input_ids": [0] * len(self.offsets), "offset_mapping": self.offsets}

    def encode(self, text: str) -> Any:
        raise AssertionError("gives ids, not offsets")


class Tokenizer:
    """The same of the tokenizers package, which is not called but asked to encode."""

    def __init__(self, offsets: list[tuple[int, int]]) -> None:
        self.offsets = offsets

    def encode(self, text: str, add_special_tokens: bool = True) -> Any:
        assert not add_special_tokens
        return FastTokenizer(self.offsets)


@pytest.mark.parametrize("kind", [FastTokenizer, Tokenizer])
def test_tokens_of_a_tokenizer(kind: Any) -> None:
    text = "so 😀 nice"
    offsets = [(0, 2), (3, 4), (3, 4), (3, 4), (5, 7), (7, 9), (9, 9)]
    parts = vd.Words(split=kind(offsets))(text)
    assert parts.names == ("so", "😀", "ni", "ce")
    assert parts.compose(np.array([[1, 0, 1, 1], [1, 1, 1, 0]], bool)) == ["so  nice", "so 😀 ni"]


def test_a_real_fast_tokenizer() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    assert vd.Words(split=made)("so nice!").names == ("so", "nice", "!")


@pytest.mark.parametrize(
    ("spans", "word"),
    [([(0, 2), (1, 3)], "overlap"), ([(0, 99)], "99"), ([(-1, 2)], "-1"), ([(3, 1)], "3"), ([5], "split")],
)
def test_spans_that_make_no_sense(spans: Any, word: str) -> None:
    with pytest.raises(vd.errors.InputError, match=word):
        vd.Words(split=lambda text: spans)("a b c d")


@pytest.mark.parametrize(("size", "most"), [(7, 7), (None, 513), (1024, 513)])
def test_a_model_is_given_so_many_texts_at_once(size: int | None, most: int) -> None:
    asked: list[int] = []

    def predict(batch: list[str]) -> list[float]:
        asked.append(len(batch))
        return [float(len(text)) for text in batch]

    words = "one two three four five six seven eight nine ten eleven twelve thirteen"
    for represent in (vd.Words(batch_size=size), vd.Fields({"note": vd.Words(batch_size=size)})):
        asked.clear()
        if isinstance(represent, vd.Words):
            vd.explain(predict, represent, words, method=vd.Lime(n_samples=512))
        else:
            own = {"note": words}
            vd.explain(
                lambda rows: predict([r["note"] for r in rows]), represent, own, method=vd.Lime(n_samples=512)
            )
        assert (max(asked), sum(asked)) == (most, 513)


@pytest.mark.parametrize("size", [0, -1, 2.5, "8", True])
def test_batch_sizes_are_whole(size: Any) -> None:
    for make in (vd.Words, vd.Sentences):
        with pytest.raises(vd.errors.InputError, match="batch_size must be a whole number"):
            make(batch_size=size)
