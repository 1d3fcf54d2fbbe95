"""Texts as token ids: read once, and hidden where a word is taken away, as if each row were made by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veridical as vd
from tests.builders import contracts
from tests.builders.networks import seeded
from veridical.errors import InputError
from veridical.models.adapters import model_of
from veridical.models.validation import seed_of
from veridical.networks.streaming import StreamTask, streamed
from veridical.representations.tokens import find_owners

torch = pytest.importorskip("torch")
nn = torch.nn
torch.set_num_threads(1)

START, END, MASK = 1, 2, 3
TEXTS = [
    "A superb, superb cast; but the unbelievable plot is a mess.",
    "Dull jokes and great music",
    "we laughed, we cried and we yawned",
]
METHOD = vd.Lime(n_samples=128)


def encode(text: str) -> tuple[list[int], list[tuple[int, int]]]:
    """Pieces of at most four letters, and marks, between a start and an end."""
    spans = [m.span() for m in re.finditer(r"\w{1,4}|[^\w\s]", text)]
    ids = [4 + sum(map(ord, text[a:b].lower())) % 40 for a, b in spans]
    return [START, *ids, END], [(0, 0), *spans, (0, 0)]


class Reader(nn.Module):  # type: ignore[misc]
    """Reads in order, so that where a token stands matters."""

    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(44, 6)
        self.over = nn.Conv1d(6, 8, 2)
        self.head = nn.Linear(8, 3)

    def forward(self, ids: Any) -> Any:
        return self.head(torch.tanh(self.over(self.emb(ids).mT)).amax(dim=2)).softmax(1)


def network() -> Any:
    return vd.Network(seeded(Reader).double(), embedding="emb")


def by_hand(text: str, represent: Any, masks: Any) -> list[list[int]]:
    """What masks of words stand for, one token at a time."""
    ids, spans = encode(text)
    words = vd.Words(positions=represent.parts.positions)(text)
    where = words.view.data["spans"]
    made = []
    for mask in masks:
        row = []
        for token, (a, b) in zip(ids, spans, strict=True):
            own = [part for start, stop, part in where if start <= a < b <= stop]
            row.append(MASK if own and not mask[own[0]] else token)
        made.append(row)
    return made


@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("text", TEXTS)
def test_as_if_each_row_were_made_by_hand(text: str, positions: bool) -> None:
    represent = vd.Tokens(encode, MASK, parts=vd.Words(positions=positions))
    net, parts = network(), represent(text)
    sample = parts.draw(parts.kernel, seed_of(0), 0, 64)
    inputs = parts.realize(sample)
    made = by_hand(text, represent, sample.designs != 0)
    np.testing.assert_array_equal(inputs[0 : len(inputs)], made)
    slow = net(np.array(made))
    np.testing.assert_allclose(model_of(net)(inputs), slow, rtol=1e-12)
    np.testing.assert_array_equal(parts.names, vd.Words(positions=positions)(text).names)
    why = vd.explain(net, represent, text, method=METHOD)
    again = vd.explain(lambda ids: net(np.asarray(ids)), represent, text, method=METHOD)
    np.testing.assert_allclose(why.weights, again.weights, rtol=1e-9, atol=1e-12)
    assert why.prediction == pytest.approx(net(np.array([encode(text)[0]]))[0].max())


def test_in_one_stream() -> None:
    net, represent = network(), vd.Tokens(encode, MASK)
    task = StreamTask(METHOD, model_of(net), net, None, seed_of(0))
    found = list(streamed(task, represent.each(TEXTS).batch(0, 3), range(3)))
    for ours, alone in zip(found, vd.explain_many(net, represent, TEXTS, method=METHOD), strict=True):
        assert isinstance(ours, vd.Explanation)
        np.testing.assert_allclose(ours.weights, alone.weights, rtol=1e-6, atol=1e-9)
        assert ours.recipe == alone.recipe


@pytest.mark.parametrize("parts", [vd.Words(), vd.Words(positions=True), vd.Sentences(split=",|;")])
def test_promises(parts: Any) -> None:
    represent, text = vd.Tokens(encode, MASK, parts=parts), TEXTS[0]
    ids = np.array([encode(text)[0]])
    representation = represent(text)
    contracts.restores_the_instance(representation, ids)
    contracts.every_part_matters(representation)
    contracts.names_are_unique(representation)
    contracts.is_pure_in_the_seed(representation)
    contracts.batches_are_the_slices(representation)
    contracts.view_shows_every_part(representation)
    contracts.check_removable(representation, ids)


def test_other_methods_and_gradients_read_the_same_ids() -> None:
    net, represent = network(), vd.Tokens(encode, MASK)
    taken = vd.explain(net, represent, TEXTS[1], method=vd.Occlusion(), target=0)
    ids = np.array(encode(TEXTS[1])[0])
    hidden = ids.copy()
    hidden[1] = MASK  # "Dull" is one token
    np.testing.assert_allclose(taken.weights[0], (net(ids[None]) - net(hidden[None]))[0, 0], rtol=1e-9)
    slopes = vd.explain(net, represent, TEXTS[1], method=vd.gradients.InputXGradient(), target=0)
    assert slopes.weights.shape == (5,)
    assert slopes.weights.any()


class Fast:
    """What a fast tokenizer of Hugging Face looks like."""

    is_fast = True

    def __call__(self, text: str, return_offsets_mapping: bool = False) -> dict[str, Any]:
        ids, spans = encode(text)
        return {"input_ids": ids, **({"offset_mapping": spans} if return_offsets_mapping else {})}


class Rust:
    """What one of the tokenizers package looks like."""

    def encode(self, text: str) -> Any:
        class Encoding:
            ids, offsets = encode(text)

        return Encoding()


@pytest.mark.parametrize("tokenizer", [Fast(), Rust()])
def test_tokenizers(tokenizer: Any) -> None:
    why = vd.explain(network(), vd.Tokens(tokenizer, MASK), TEXTS[0], method=METHOD)
    own = vd.explain(network(), vd.Tokens(encode, MASK), TEXTS[0], method=METHOD)
    np.testing.assert_array_equal(why.weights, own.weights)


def test_a_token_of_two_words_is_of_that_which_has_more_of_it() -> None:
    def pairs(text: str) -> tuple[list[int], list[tuple[int, int]]]:
        return [10, 11, 12], [(0, 5), (5, 12), (12, len(text))]  # "a goo", "d film; ", "b"

    parts = vd.Tokens(pairs, MASK)("a good film b")
    np.testing.assert_array_equal(parts.places.labels, [1, 2, 3])
    assert parts.names == ("a", "good", "film", "b")
    assert "1 word was not tested: there is no token of it" in parts.replacement.notes[-1]


def padded(text: str) -> tuple[list[int], list[tuple[int, int]]]:
    ids, spans = encode(text)
    return ids + [0] * (30 - len(ids)), spans + [(0, 0)] * (30 - len(ids))


def test_many_texts_are_asked_about_by_their_ids(tmp_path: Path) -> None:
    net, represent = network(), vd.Tokens(padded, MASK)
    np.testing.assert_array_equal(represent.each(TEXTS).inputs(0, 3), [padded(text)[0] for text in TEXTS])
    with pytest.raises(InputError, match="different numbers of tokens at once"):
        vd.Tokens(encode, MASK).each(TEXTS).inputs(0, 3)
    quick = vd.groupings.Mixture(n_starts=1, rounds=4, copies=1, n_neighbors=1)
    groups = vd.group(net, represent, TEXTS * 10, k=2, method=quick)
    assert groups.weights.shape[0] == 2
    vd.explain_many(net, represent, TEXTS, method=METHOD, store=tmp_path / "why")
    with pytest.raises(InputError, match="the representer makes other parts"):
        vd.explain_many(net, vd.Tokens(padded, 0), TEXTS, method=METHOD, store=tmp_path / "why")


def test_owners_are_those_found_token_by_token() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        characters = np.repeat(rng.integers(-1, 4, 12), rng.integers(1, 4, 12))
        spans = [tuple(sorted(rng.integers(0, len(characters) + 1, 2).tolist())) for _ in range(9)]
        wanted = []
        for start, stop in spans:
            own = [part for part in characters[start:stop].tolist() if part >= 0]
            wanted.append(max(own, key=lambda part: (own.count(part), -own.index(part))) if own else -1)
        assert find_owners(characters, spans).tolist() == wanted


def test_what_is_cut_off_is_said() -> None:
    def short(text: str) -> tuple[list[int], list[tuple[int, int]]]:
        ids, spans = encode(text)
        return ids[:3], spans[:3]

    why = vd.explain(lambda ids: ids[:, 1] / 40, vd.Tokens(short, MASK), "dull but fine", method=METHOD)
    assert any("1 word was not tested: there is no token of it" in note for note in why.notes)
    np.testing.assert_array_equal(why.tested, [True, True, False])


BAD: dict[str, tuple[Any, tuple[str, ...]]] = {
    "no tokenizer": (lambda: vd.Tokens("bert", MASK), ("encode wants a tokenizer", "bert")),
    "no id": (lambda: vd.Tokens(encode, "[MASK]"), ("hide wants the id", "mask_token_id", "[MASK]")),
    "true": (lambda: vd.Tokens(encode, True), ("hide wants the id", "True")),
    "no parts": (lambda: vd.Tokens(encode, MASK, parts=vd.Words), ("parts wants settings", "vd.Words()")),
    "a mask": (lambda: vd.Tokens(encode, MASK, parts=vd.Words(mask="?")), ("leave mask out", "hide")),
    "ids alone": (lambda: vd.Tokens(lambda t: [1, 2], MASK)("a b"), ("two lists", "list")),
    "unequal": (lambda: vd.Tokens(lambda t: ([1, 2], [(0, 1)]), MASK)("a b"), ("1 spans", "one (start, stop)")),
    "halves": (lambda: vd.Tokens(lambda t: ([0.5], [(0, 1)]), MASK)("a b"), ("float64", "whole number")),
    "beyond": (lambda: vd.Tokens(lambda t: ([5], [(0, 9)]), MASK)("a b"), ("from 0 to 9 of 3 characters",)),
    "failing": (lambda: vd.Tokens(lambda t: 1 / 0, MASK)("a b"), ("encode failed with ZeroDivisionError",)),
    "no text": (lambda: vd.Tokens(encode, MASK)(3), ("wanted a text", "int")),
    "moved": (
        lambda: vd.explain(network(), vd.Tokens(encode, MASK), TEXTS[0], method=vd.Sensitivity()),
        ("cannot be moved a little", "vd.Words()"),
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    call, words = BAD[name]
    with pytest.raises(InputError) as caught:
        call()
    assert not [word for word in words if word not in str(caught.value)], str(caught.value)
