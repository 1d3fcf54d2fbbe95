"""Instances and inputs of any modality as rows of plain numbers, for simple learners to look at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer

from veridical.attribute.ask import n_rows
from veridical.debug.asked import joined
from veridical.errors import NotApplicable
from veridical.records import Floats
from veridical.represent.regions import is_tensor

WORDS = 300  # the most frequent words or columns that are looked at
DIRECTIONS = 40  # principal ones that pictures, sounds and series are looked at along
WORD = r"(?u)\b\w+\b"


def points(first: Any, second: Any) -> tuple[Floats, Floats]:
    """Two batches of the same kind as points of one space, (n, p) each.

    Columns of a table as numbers, categories as codes; words of texts, 1 where a text has them; pictures, sounds
    and series along the principal directions of both batches together.
    """
    n, both = n_rows(first), joined([_plain(first), _plain(second)])
    found = _numbers(both)
    return found[:n], found[n:]


def _plain(batch: Any) -> Any:
    """A batch as a DataFrame, a CSR matrix, an array, or a list of texts."""
    if hasattr(batch, "tocsr"):
        return batch.tocsr()
    if isinstance(batch, pd.DataFrame):
        return batch
    if is_tensor(batch):
        return batch.detach().cpu().numpy()
    if isinstance(batch, np.ndarray) and batch.dtype.kind in "biuf":
        return batch
    if isinstance(batch, np.ndarray) and batch.ndim == 2:
        return pd.DataFrame(batch).infer_objects()
    items = list(batch)
    if all(isinstance(each, str) for each in items):
        return items
    shapes = {np.shape(each) for each in items}
    if len(shapes) > 1 or shapes == {()}:
        raise NotApplicable(
            "this check compares instances place by place, and these differ in shape or are records of several "
            "fields: give tables, texts, or pictures, sounds and series of one size"
        )
    return np.stack([np.asarray(each) for each in items])


def _numbers(both: Any) -> Floats:
    if isinstance(both, pd.DataFrame):
        return np.column_stack([_codes(both.iloc[:, j]) for j in range(both.shape[1])])
    if isinstance(both, list):
        counts = CountVectorizer(binary=True, max_features=WORDS, token_pattern=WORD).fit_transform(both)
        return np.asarray(counts.toarray(), dtype=np.float64)
    if hasattr(both, "tocsc"):
        often = np.argsort(-np.diff(both.tocsc().indptr), kind="stable")[:WORDS]
        return np.asarray(both[:, np.sort(often)].toarray(), dtype=np.float64)
    flat = both.reshape(len(both), -1).astype(np.float64)
    flat = np.column_stack([_known(column) for column in flat.T])
    if both.ndim == 2 and flat.shape[1] <= WORDS:
        return flat
    directions = min(DIRECTIONS, *flat.shape)
    return np.asarray(PCA(directions, svd_solver="randomized", random_state=0).fit_transform(flat))


def _codes(column: Any) -> Floats:
    """Numbers as they are; anything else as codes, in order of the values."""
    if pd.api.types.is_numeric_dtype(column) and not isinstance(column.dtype, pd.CategoricalDtype):
        values = pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)
    elif pd.api.types.is_datetime64_any_dtype(column):
        values = column.astype("int64").to_numpy(dtype=np.float64)
    else:
        values = pd.Categorical(column.astype(str)).codes.astype(np.float64)
    return _known(values)


def _known(values: Floats) -> Floats:
    """Numbers with missing ones below all others, by as much as those differ."""
    known = np.isfinite(values)
    if known.all():
        return values
    some = values[known] if known.any() else np.zeros(1)
    return np.where(known, values, some.min() - (np.ptp(some) or 1.0))
