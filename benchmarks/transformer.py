"""Texts before a transformer on a device: words read anew, tokens hidden there, and many texts in one stream.

The network has DistilBERT's size and weights at random: 6 layers of width 768. Texts have 96 words, a token each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np
import torch
from torch import nn

import veridical as vd
from laws import Floats
from maps import in_turn

WORDS, SAMPLES, TEXTS = 96, 512, 64
VOCABULARY, HIDDEN = 30_000, 1  # ids of tokens; 0 is padding
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


class Reader(nn.Module):
    """An encoder of token ids (n, length), and two classes."""

    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.vectors = nn.Embedding(VOCABULARY, width)
        self.places = nn.Parameter(torch.randn(WORDS, width))
        layer = nn.TransformerEncoderLayer(width, 12, 4 * width, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.decide = nn.Linear(width, 2)

    def forward(self, ids: Any) -> Any:
        return self.decide(self.layers(self.vectors(ids) + self.places[: ids.shape[1]]).mean(dim=1))


def encode(text: str) -> tuple[list[int], list[tuple[int, int]]]:
    """Ids of the words of a text, and where they are in it."""
    ids, spans, at = [], [], 0
    for word in text.split():
        start = text.index(word, at)
        at = start + len(word)
        ids.append(2 + crc32(word.encode()) % (VOCABULARY - 2))
        spans.append((start, at))
    return ids, spans


def read(texts: Iterable[str]) -> Any:
    """Texts as ids, one row each, padded."""
    return torch.tensor([(encode(text)[0] + [0] * WORDS)[:WORDS] for text in texts])


def texts(n: int) -> list[str]:
    """Texts of distinct words."""
    rng = np.random.default_rng(0)
    return [" ".join(f"word{i}" for i in rng.permutation(5000)[:WORDS]) for _ in range(n)]


def bare(module: Any, ids: Any, times: int = 1) -> Callable[[], None]:
    def run() -> None:
        with torch.inference_mode():
            for _ in range(times):
                module(ids)

    return run


def measure(device: str, quick: bool) -> list[dict[str, Any]]:
    """Lines of the table, in all precisions."""
    torch.manual_seed(0)
    module = (Reader(48, 1) if quick else Reader(768, 6)).eval().to(device)
    return [line for precision in PRECISIONS for line in _measure(module, precision, quick)]


def _measure(module: Any, precision: str, quick: bool) -> Iterable[dict[str, Any]]:
    n, samples = (2, 300) if quick else (TEXTS, SAMPLES)
    given, method = texts(n), vd.Lime(n_samples=samples)
    half = None if precision == "float32" else precision
    device = module.decide.weight.device
    tokens = vd.Network(module, answers="softmax", embedding="vectors", precision=half)
    anew = vd.Network(module, prepare=read, answers="softmax", embedding="vectors", precision=half)
    hidden = vd.Tokens(encode, hide=HIDDEN)
    plain = deepcopy(module).to(PRECISIONS[precision])
    ids = read([given[0]] * samples).to(device)
    calls = {
        "pass": bare(plain, ids),
        "read": partial(vd.explain, anew, vd.Words(), given[0], method=method),
        "hidden": partial(vd.explain, tokens, hidden, given[0], method=method),
    }
    times = in_turn(calls, 1 if quick else 5, device.type)
    many = {
        "pass": bare(plain, ids, times=n),
        "stream": partial(vd.explain_many, tokens, hidden, given, method=method),
    }
    streams = in_turn(many, 1 if quick else 2, device.type)
    line = partial(_line, precision, samples)
    yield line(f"forward pass, {samples} texts", times["pass"], times["pass"])
    yield line(f"Lime, {samples} masks, texts read anew", times["read"], times["pass"])
    yield line(f"Lime, {samples} masks, tokens hidden", times["hidden"], times["pass"])
    yield line(f"a stream of {n}, a text", streams["stream"] / n, streams["pass"] / n)


def _line(precision: str, calls: int, what: str, spent: Floats, unit: Floats) -> dict[str, Any]:
    known = {"network": "transformer, random weights", "precision": precision, "what": what, "calls": calls}
    ms, over = 1000 * float(np.median(spent)), float(np.median(spent / unit))
    return {**known, "ms": ms, "over": over, "error": None, "weights": ""}
