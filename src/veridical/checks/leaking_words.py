"""Words and places of texts that give the answer away.

A word that stands for one class alone, that the model uses, and that the other words of a text do not foretell was
put there by whoever made the data: a mark of the source, a signature, a file name. Words of a topic foretell each
other. Where whole parts of a text give the answer away, such as headers, their words foretell each other, too; so
texts are also looked at by place.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from veridical.checks.answers import to_probabilities
from veridical.checks.suspects import Material, Suspect, learn_out_of_fold
from veridical.metrics.significance import auroc, wilson_interval
from veridical.protocols import Seed
from veridical.records import UNCLEAR, Bools, Floats, Ints
from veridical.representations.words import word_pattern

MIN_TEXTS, MIN_TEXT_SHARE = 8, 0.08  # texts that a word must be in, as a number and as a share of its class
MIN_ONE_SIDED = 0.75  # share of the texts with a word that are of its class, surely
MAX_ELSEWHERE, MIN_OFTEN = (
    0.004,
    0.3,
)  # share of other texts with a word of a topic, unless its own class is full of it
MAX_WORDS = 40  # words that the model is asked about
MAX_VOCABULARY = 2000  # words by which others are foretold
MIN_LOSS = 0.005  # by which the loss grows, in the mean over all texts, without a word that the model uses,
MIN_DROP, MIN_SHARE = (
    0.7,
    0.1,
)  # or its log-odds fall in the mean over texts that have it, and are so many of a class
MAX_OWN_AREA = 0.6  # AUROC of the other words for a word within its class, up to which it is unrelated
ALWAYS, NEVER = 0.95, 0.05  # shares of its class and of others, for a word that is as good as the answer
N_PLACES = 5  # pieces that texts are cut into
MIN_PLACE_WORDS = 20  # words in the middle of texts that have places
PLACE_ALONE, PLACE_GONE = (
    0.9,
    0.5,
)  # of the gain over a guess, that one place gives alone, and that goes without it
MIN_PROBABILITY = 1e-3
MAX_EXAMPLES = 3


@dataclass(frozen=True, eq=False)
class LabeledBags:
    """Labeled texts as bags of words in lower case."""

    words: tuple[str, ...]
    bags: csr_matrix  # (m, v) 1 where a text has a word
    counts: Floats  # (k, v) texts of a class that have it
    sizes: Ints  # (k,) texts of a class

    @classmethod
    def of(cls, texts: Sequence[str], labels: Ints) -> LabeledBags:
        bags = [sorted(find_words(text)) for text in texts]
        often = Counter(chain.from_iterable(bags))
        known = [word for word, n in often.most_common() if n >= MIN_TEXTS]
        at = {word: j for j, word in enumerate(known)}
        rows = [[at[word] for word in bag if word in at] for bag in bags]
        ends = np.append(0, np.cumsum([len(row) for row in rows]))
        columns = np.array([j for row in rows for j in row], dtype=np.int64)
        found = csr_matrix((np.ones(len(columns)), columns, ends), shape=(len(bags), len(known)))
        k = int(labels.max()) + 1
        counts = np.stack([np.asarray(found[labels == c].sum(axis=0)).ravel() for c in range(k)])
        return cls(tuple(known), found, counts, np.bincount(labels, minlength=k))

    def one_sided(self) -> list[tuple[int, int]]:
        """Words that stand for one class alone, with that class, the most frequent in it first."""
        totals, found = self.counts.sum(axis=0), []
        for j in range(len(self.words)):
            c = int(np.argmax(self.counts[:, j] / np.maximum(self.sizes, 1)))
            n, share = int(totals[j]), float(self.counts[c, j] / totals[j])
            enough = self.counts[c, j] >= MIN_TEXT_SHARE * self.sizes[c]
            if enough and wilson_interval(share, n)[0] >= max(MIN_ONE_SIDED, self.sizes[c] / self.sizes.sum()):
                found.append((j, c))
        return sorted(found, key=lambda each: -self.counts[each[1], each[0]])[:MAX_WORDS]

    def ownness(self, j: int, c: int, labels: Ints, seed: Seed) -> float:
        """AUROC (0.5 to 1) of the other words for a word among the texts of its class, out of fold."""
        some = np.flatnonzero(labels == c)
        has = np.asarray(self.bags[some, j].toarray()).ravel() > 0
        if has.all() or not has.any():
            return 0.5
        others = [i for i in range(min(len(self.words), MAX_VOCABULARY)) if i != j]
        guess = learn_out_of_fold(self.bags[some][:, others], has, has.astype(np.int64), _presence, seed)
        return float(max(auroc(guess, has)[0], 0.5))


def find_words(text: str) -> set[str]:
    """The words of a text, in lower case."""
    return {match.group().lower() for match in word_pattern().finditer(text)}


def _presence(X: Any, y: Bools) -> Callable[[Any], Floats]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return LogisticRegression(C=0.3, max_iter=200, class_weight="balanced").fit(X, y).decision_function  # type: ignore[no-any-return]


def without_word(text: str, word: str) -> str:
    """A text without a word, in whatever case."""
    return word_pattern().sub(lambda match: "" if match.group().lower() == word else match.group(), text)


def loss_of(material: Material, outputs: Floats, rows: Ints) -> Floats:
    """Log loss of the right classes; without right answers, of those that are predicted."""
    p = np.clip(to_probabilities(outputs), MIN_PROBABILITY, 1.0)
    right = material.right.values if material.has_labels else material.outputs.argmax(axis=1)
    return np.asarray(-np.log(p[np.arange(len(p)), np.minimum(right[rows], p.shape[1] - 1)]))


def log_odds(outputs: Floats, c: int) -> Floats:
    """What the model says for a class, as log-odds (n,)."""
    p = np.clip(to_probabilities(outputs), MIN_PROBABILITY, 1 - MIN_PROBABILITY)
    own = p[:, min(c, p.shape[1] - 1)]
    return np.asarray(np.log(own) - np.log(1 - own))


def search_words(material: Material, weights: dict[str, float], seed: Seed) -> list[Suspect]:
    """Suspects among the words of texts, then among their places."""
    if not material.has_labels or not material.right.n_classes:
        return []
    known = LabeledBags.of(material.labeled_inputs, material.labels)
    bags = [find_words(text) for text in material.inputs]
    found = [_examine(material, known, (j, c), bags, weights, seed) for j, c in known.one_sided()]
    told = [each for each in found if each.label]
    return [*sorted(told, key=lambda each: (each.label != "failed", -each.used)), *search_places(material, seed)]


def _examine(
    material: Material,
    known: LabeledBags,
    which: tuple[int, int],
    bags: Sequence[set[str]],
    weights: dict[str, float],
    seed: Seed,
) -> Suspect:
    (j, c), n = which, len(bags)
    word = known.words[j]
    at = np.array([i for i, bag in enumerate(bags) if word in bag], dtype=np.int64)
    often = float(known.counts[c, j] / known.sizes[c])
    others = float((known.counts[:, j].sum() - known.counts[c, j]) / max(known.sizes.sum() - known.sizes[c], 1))
    suspect = Suspect(kind="word", name=word, place=word, often=(often, others), of_class=c)
    if not len(at):
        return suspect
    outputs = material.outputs.copy()
    outputs[at] = material.ask([without_word(material.inputs[i], word) for i in at.tolist()])
    before, after = (loss_of(material, each[at], at) for each in (material.outputs, outputs))
    lost = float((after - before).sum() / n)
    drop = float((log_odds(material.outputs[at], c) - log_odds(outputs[at], c)).mean())
    used = lost > MIN_LOSS or (drop > MIN_DROP and often > MIN_SHARE)
    total = sum(weights.values()) or 1.0
    own = np.nan
    always = often >= ALWAYS and others <= NEVER
    label, reason = "", ""
    if used and (others <= MAX_ELSEWHERE or often >= MIN_OFTEN):
        own = known.ownness(j, c, material.labels, seed)
        if always or own < MAX_OWN_AREA:
            label, reason = "failed", "as good as the answer" if always else "own"
    return Suspect(
        kind="word", name=word, place=word, used=material.changed(material.outputs, outputs),
        share=weights.get(word, 0.0) / total,
        right=material.share_right(material.outputs), right_without=material.share_right(outputs), own=own,
        often=(often, others), label=label, reason=reason, of_class=c,
        rows=tuple(int(material.rows[i]) for i in at[np.argsort(before - after, kind="stable")][:MAX_EXAMPLES]),
    )  # fmt: skip


def search_places(material: Material, seed: Seed) -> list[Suspect]:
    """A piece of the texts that gives the answer away alone, where the rest does not."""
    lengths = [len(word_pattern().findall(text)) for text in material.inputs]
    if np.median(lengths) < MIN_PLACE_WORDS:
        return []
    right = material.share_right(material.outputs)
    guess = float(np.bincount(material.right.values).max() / len(material.right.values))
    if not right > guess:
        return []
    only = [
        material.share_right(material.ask([keep_place(t, i) for t in material.inputs])) for i in range(N_PLACES)
    ]
    gone = [
        material.share_right(material.ask([keep_place(t, i, gone=True) for t in material.inputs]))
        for i in range(N_PLACES)
    ]
    best = int(np.argmax(only))
    alone, left = ((each - guess) / (right - guess) for each in (only[best], gone[best]))
    if alone < PLACE_ALONE or left > 1 - PLACE_GONE:
        return []
    name = ("the first fifth", "the second fifth", "the middle fifth", "the fourth fifth", "the last fifth")[best]
    changed = material.changed(
        material.outputs, material.ask([keep_place(t, best, gone=True) for t in material.inputs])
    )
    return [
        Suspect(
            kind="place",
            name=f"{name} of the texts",
            place=best,
            used=changed,
            right=right,
            right_without=gone[best],
            right_alone=only[best],
            label=UNCLEAR,
            reason="leans",
        )
    ]


def keep_place(text: str, i: int, gone: bool = False) -> str:
    """One of the pieces of a text, or all others."""
    spans = [match.span() for match in re.finditer(r"\S+\s*", text)]
    cuts = [round(len(spans) * at / N_PLACES) for at in (i, i + 1)]
    ends = [spans[at][0] if at < len(spans) else len(text) for at in cuts]
    return text[: ends[0]] + text[ends[1] :] if gone else text[ends[0] : ends[1]]
