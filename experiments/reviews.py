"""Reviews of books and DVDs (Blitzer, Dredze and Pereira 2007), as the experiments of the LIME paper read them.

A review is the set of its words, bigrams left out, written as a string of words between blanks; what the training
reviews do not have is left out of the test reviews, since no model here could see it.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

import veridical as vd

DOMAINS = {"books": "Books", "dvd": "DVDs"}
FOLDER = "blitzer/processed_acl"  # in the folder of --data
CLASSES = ("positive", "negative")  # in the order in which they are shuffled
SHARE = 0.8  # of each class is trained on
WORDS = vd.Words(split=" ")


class NoDataError(Exception):
    """A file that is wanted is not there."""


@dataclass(frozen=True, eq=False)
class Reviews:
    """One split of a domain; label 1 is positive."""

    domain: str
    split: int
    train: list[str]
    y_train: Any
    test: list[str]
    y_test: Any
    counter: CountVectorizer  # fitted: 1 where a review has the word
    X_train: Any  # CSR, what it makes of the texts
    X_test: Any

    @property
    def vocabulary(self) -> Any:
        """The word of each column."""
        return self.counter.get_feature_names_out()


def check(data: Path | None) -> None:
    """Say what is missing before any work is done."""
    if data is None:
        raise NoDataError(f"--data DIR must name the folder that holds {FOLDER}/")
    wanted = [data / FOLDER / domain / f"{name}.review.gz" for domain in DOMAINS for name in CLASSES]
    missing = [str(path) for path in wanted if not path.exists()]
    if missing:
        raise NoDataError(
            f"missing: {', '.join(missing)}. They are the processed_acl files of the Multi-Domain Sentiment "
            "Dataset, one gzipped file a class"
        )


@lru_cache(maxsize=4)
def load(domain: str, split: int, data: Path) -> Reviews:
    """A domain, shuffled by the seed ``split``, one class after the other, and cut."""
    rng = np.random.RandomState(split)
    train: list[str] = []
    test: list[str] = []
    y_train: list[int] = []
    y_test: list[int] = []
    for name in CLASSES:
        path = data / FOLDER / domain / f"{name}.review.gz"
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as lines:
            texts = [" ".join(words_of(line)) for line in lines]
        order = rng.permutation(len(texts))
        cut = int(SHARE * len(texts))
        train += [texts[i] for i in order[:cut]]
        test += [texts[i] for i in order[cut:]]
        y_train += [int(name == "positive")] * cut
        y_test += [int(name == "positive")] * (len(texts) - cut)
    return reviews_of(domain, split, (train, np.array(y_train)), (test, np.array(y_test)))


def words_of(line: str) -> list[str]:
    """The single words of a line of word:count pairs, each once."""
    words = {pair.rsplit(":", 1)[0] for pair in line.split() if not pair.startswith("#label#")}
    return sorted(word for word in words if "_" not in word)


def reviews_of(domain: str, split: int, train: tuple[list[str], Any], test: tuple[list[str], Any]) -> Reviews:
    """Texts and labels to train and test on, counted; a test text without any known word is left out."""
    counter = CountVectorizer(binary=True, lowercase=False, token_pattern=r"\S+")
    X_train = counter.fit_transform(train[0])
    known = counter.vocabulary_
    texts = [" ".join(word for word in text.split() if word in known) for text in test[0]]
    there = [i for i, text in enumerate(texts) if text]
    kept = [texts[i] for i in there]
    X_test = counter.transform(kept)
    X_train.sort_indices()
    X_test.sort_indices()
    return Reviews(domain, split, *train, kept, test[1][there], counter, X_train, X_test)
