"""Training sets with a tenth of their labels wrong: tables, clothes and pets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

SHARE = 0.1  # of labels that are wrong
MOST = 2000  # rows of a table
NUMBER = "number"


@dataclass(frozen=True)
class Table:
    """Where a table lies and what is predicted: a column, and the values that are class 1."""

    file: str
    label: str
    ones: tuple[Any, ...]
    dropped: tuple[str, ...] = ()


TABLES = {
    "pima": Table("tabular/pima_diabetes.csv", "outcome", (1,)),
    "german": Table("tabular/german_credit.csv", "credit_risk", (1,)),
    "wine": Table("tabular/wine_quality_red.csv", "quality", (6, 7, 8)),
    "adult": Table("tabular/adult.csv", "income", (">50K",), ("split", "fnlwgt", "education")),
    "mushrooms": Table("tabular/mushrooms.csv", "class", ("p",)),
}


def table(data: Path, name: str) -> tuple[Any, Any, list[str]]:
    """Columns as numbers (n, d), in standard deviations, categories one by one; labels (n,) of 0 and 1; names."""
    known = TABLES[name]
    frame = some(pd.read_csv(data / known.file))
    y = frame[known.label].isin(known.ones).to_numpy().astype(int)
    columns = frame.drop(columns=[known.label, *known.dropped])
    numbers = columns.select_dtypes(NUMBER)
    others = columns.columns.difference(numbers.columns)
    wide = pd.get_dummies(columns, columns=list(others), dtype=float)
    wide = wide.fillna(wide.median())
    wide = wide.loc[:, wide.std() > 0]
    scaled = (wide - wide.mean()) / wide.std()
    return scaled.to_numpy(np.float64), y, [str(c) for c in scaled.columns]


def some(frame: Any) -> Any:
    """At most so many rows, drawn at random."""
    return frame.iloc[np.sort(np.random.default_rng(0).permutation(len(frame))[:MOST])]


def flipped(y: Any, n_classes: int, seed: int) -> tuple[Any, Any]:
    """Labels with a tenth of them another class, drawn at random, and which these are (bool)."""
    rng = np.random.default_rng([77, seed])
    wrong = np.zeros(len(y), bool)
    wrong[rng.permutation(len(y))[: round(SHARE * len(y))]] = True
    shift = rng.integers(1, n_classes, len(y))
    return np.where(wrong, (y + shift) % n_classes, y), wrong
