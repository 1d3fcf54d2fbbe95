"""Parts in the order in which a row would name them: by an explanation, by the truth, or by no model at all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from veridical.debug.adversary.mix import norms
from veridical.debug.veracity.case import Case
from veridical.masks import generator
from veridical.records import Floats, Ints, Refillable, Seed
from veridical.represent.low_rank import LowRank
from veridical.represent.regions import numbers_of

NORM, GREEDY = "norm", "greedy"  # rows that know the change
RANDOM, CONTRAST, RESIDUAL = "random", "contrast", "residual"  # rows that ask no model
REFERENCES, NULLS = (NORM, GREEDY), (RANDOM, CONTRAST, RESIDUAL)
WORD = re.compile(r"\w+")
STEPS = 12  # parts that the greedy oracle looks for one by one; the others by what each does alone
TIES, DRAWN = 0, 1  # what seeds are for


@dataclass(frozen=True, eq=False)
class Typical:
    """What instances are like, as far as they say it without a model."""

    row: Any = None  # of a table: of each column the value in the middle
    counts: Mapping[str, int] | None = None  # of texts: how many of them have a word

    @classmethod
    def of(cls, X: Any) -> Typical:
        """Of instances of any kind: arrays need none, for each has a mean of its own."""
        if isinstance(X, pd.DataFrame):
            return cls(row=_middle(X))
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf":
            return cls(row=pd.DataFrame(X.astype(np.float64)).quantile(interpolation="lower").to_numpy(X.dtype))
        several = getattr(X, "ndim", 1) > 1 or hasattr(X, "tocsr")
        texts = [] if several else [x for x in X if isinstance(x, str)]
        return (
            cls(counts=Counter(word for x in texts for word in set(WORD.findall(x.lower())))) if texts else cls()
        )


def ranked(weights: Floats, seed: Seed) -> Ints:
    """Parts by signed weight, the largest first; ties in random order."""
    return np.lexsort((generator(seed, TIES).random(len(weights)), -weights))


def references(case: Case) -> dict[str, Ints]:
    """The orders of rows that know what was changed."""
    return {NORM: ranked(case.sizes, case.seed), GREEDY: greedy(case)}


def greedy(case: Case) -> Ints:
    """The parts whose change helps the wrong label most, each given those before it."""
    order, left = list[int](), list(range(case.d))
    alone = case.support(np.eye(case.d, dtype=bool))
    while left and len(order) < STEPS:
        masks = np.zeros((len(left), case.d), bool)
        masks[:, order] = True
        masks[np.arange(len(left)), left] = True
        gains = case.support(masks)
        at = int(np.lexsort((-case.sizes[left], -gains))[0])
        order.append(left.pop(at))
    rest = np.array(left, dtype=np.int64)
    return np.append(order, rest[np.lexsort((-case.sizes[rest], -alone[rest]))]).astype(np.int64)


def unasked(case: Case, typical: Typical) -> dict[str, Ints | str]:
    """The orders of rows that ask no model, or why there is none."""
    found: dict[str, Floats | str] = {
        RANDOM: generator(case.seed, DRAWN).random(case.d),
        CONTRAST: _contrast(case, typical),
        RESIDUAL: _residual(case),
    }
    return {name: each if isinstance(each, str) else ranked(each, case.seed) for name, each in found.items()}


def _contrast(case: Case, typical: Typical) -> Floats | str:
    """How far each part is from what is usual: loud or bright, an unusual value, a rare word."""
    x = case.cause.changed
    if isinstance(x, str):
        names = [str(name).lower().partition("[")[0] for name in case.representation.names]
        return np.array([-float((typical.counts or {}).get(name, 0)) for name in names])
    row = typical.row
    if row is None or np.shape(row) != np.shape(x):  # of recordings, the model takes what a front end makes
        if hasattr(x, "tocsr"):
            return np.abs(np.asarray(x.toarray()[0], dtype=np.float64))[case.representation.row.indices]  # type: ignore[attr-defined]
        values = numbers_of(x, "an instance")
        row = np.full(values.shape, values.mean()).astype(values.dtype)
    return norms(case.representation, replace(case.cause, x=row))


def _residual(case: Case) -> Floats | str:
    """How much of each part a low-rank copy of the instance leaves over."""
    if not isinstance(case.representation, Refillable):
        return "there is no low-rank copy of a text or a table row"
    copy = case.representation.refilled(LowRank()).keeping(np.zeros((1, case.d), bool), case.seed)
    return norms(case.representation, replace(case.cause, x=copy[0:1][0]))


def _middle(X: pd.DataFrame) -> pd.Series:
    """Of each column the number in the middle, which is one that it has, or else the commonest value."""
    found = {}
    for name, column in X.items():
        numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
        found[name] = column.quantile(interpolation="lower") if numeric else column.mode(dropna=False).iloc[0]
    return pd.Series(found, dtype=object)
