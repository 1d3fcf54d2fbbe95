"""Models of texts and tables whose wrong decisions are caused on purpose, as those of networks are."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import flips
import veridical as vd
from sets import SETS, NoDataError, documents
from standins import Run, Standin

TEXTS, TABLE = "polarity", "german"
FEWEST = 8  # words of a text


def check(data: Path | None) -> None:
    """Say what is missing before any work."""
    wanted = (SETS[TEXTS].file, flips.TABLES[TABLE].file)
    missing = [file for file in wanted if data is None or not (data / file).is_file()]
    if missing:
        raise NoDataError(f"wanted {' and '.join(missing)}: name their folder by --data DIR")


def of_texts(run: Run, seed: int) -> Standin:
    """Sentences from reviews of films, good or bad."""
    texts, labels = _read(run.data)
    train, test = train_test_split(np.arange(len(texts)), test_size=1000, random_state=seed, stratify=labels)
    model = make_pipeline(TfidfVectorizer(min_df=2), LogisticRegression(C=3.0, max_iter=500))
    model.fit(texts[train], labels[train])
    return Standin(model.predict_proba, vd.Words(), list(texts[test]), labels[test],
                   float(model.score(texts[test], labels[test])))  # fmt: skip


def of_tables(run: Run, seed: int) -> Standin:
    """Loans that are paid back or not, numbers and categories."""
    known = flips.TABLES[TABLE]
    frame = pd.read_csv(run.data / known.file)
    y = frame[known.label].isin(known.ones).to_numpy().astype(int)
    X = frame.drop(columns=[known.label, *known.dropped])
    train, test = train_test_split(np.arange(len(X)), test_size=300, random_state=seed, stratify=y)
    words = [name for name in X if X[name].dtype.kind not in "biuf"]
    coded = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), remainder="passthrough")
    model = make_pipeline(coded, RandomForestClassifier(100, min_samples_leaf=3, random_state=seed))
    model.fit(X.iloc[train], y[train])
    own = float(model.score(X.iloc[test], y[test]))
    return Standin(model.predict_proba, vd.Rows(X.iloc[train]), X.iloc[test], y[test], own)


@lru_cache(maxsize=1)
def _read(data: Path) -> tuple[Any, Any]:
    texts, labels = documents(TEXTS, data / SETS[TEXTS].file)
    long = np.array([len(text.split()) >= FEWEST for text in texts])
    return texts[long], labels[long]


PLAIN: dict[str, Callable[[Run, int], Standin]] = {"sentences": of_texts, "loans": of_tables}
EDITS: dict[str, dict[str, Any]] = {  # kinds of causes of each, by name
    "sentences": {
        "one word swapped": vd.edits.SwappedWords(1, 0.7),
        "three words swapped": vd.edits.SwappedWords(3, 0.7),
    },
    "loans": {
        "one column edited": vd.edits.EditedColumns(1, 0.6),
        "three columns edited": vd.edits.EditedColumns(3, 0.6),
    },
}
