"""Half-way between an instance and its changed copy: the change in some parts alone.

Parts are those of the changed copy, which is cut as the instance is. A mask that is all False gives the instance,
one that is all True the changed copy, to the bit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from veridical.debug.adversary.records import Cause
from veridical.errors import InputError
from veridical.records import Bools, Floats, Representation
from veridical.represent.columns import Binned, Coded, Normal, as_numbers
from veridical.represent.masked import Masked
from veridical.represent.regions import compose
from veridical.represent.rows import Row
from veridical.represent.sparse import SparseRow
from veridical.represent.words import TextComposer


def mixed(representation: Representation, cause: Cause, masks: Bools) -> Any:
    """One input a mask (n, d), as the model takes them: the change where a mask is True, else the instance."""
    if isinstance(representation, Row):
        return _mixed_rows(representation, cause, masks)
    if isinstance(representation, SparseRow):
        return _mixed_values(representation, cause, masks)
    if not isinstance(representation, Masked):
        raise InputError(
            f"{type(representation).__name__} does not say which of its parts were changed: give tables, texts, "
            "pictures, spectrograms or series, each by a representer of its own"
        )
    if isinstance(representation.compose, TextComposer):
        return _mixed_texts(representation.compose, cause, masks)
    places = representation.places
    return compose(cause.changed, _array(cause.x), places.labels, places.channel)(masks)


def norms(representation: Representation, cause: Cause) -> Floats:
    """How large the change is in each part (d,): its Euclidean length.

    A word counts 1 where it was swapped, a category or a missing value 1 where it is another one; a number of a
    table counts in standard deviations of its background.
    """
    if isinstance(representation, Row):
        return _lengths(representation, _moves(representation, cause))
    if isinstance(representation, SparseRow):
        before, after = _values(representation, cause)
        return np.abs(after - before)
    assert isinstance(representation, Masked)
    if isinstance(representation.compose, TextComposer):
        own = _pieces(representation.compose, cause)
        pairs = zip(representation.compose.pieces, own, strict=True)
        swapped = {part for (piece, part), old in pairs if piece != old}
        return np.isin(np.arange(len(representation.parts)), list(swapped)).astype(np.float64)
    return _lengths(representation, cause.delta)


def _lengths(representation: Any, delta: Floats) -> Floats:
    """Euclidean length over each part of one number a value."""
    return np.asarray(np.sqrt(representation.gather(np.square(delta))))


def _mixed_rows(row: Row, cause: Cause, masks: Bools) -> Any:
    """Rows with the changed columns of some parts."""
    schema = row.background.schema
    before, after = schema.check_row(cause.x), schema.check_row(cause.changed)
    for position in row.background.held:
        old, new = (schema.column(each, position)[0] for each in (before, after))
        if old is not new and not (old == new or (pd.isna(old) and pd.isna(new))):
            raise InputError(
                f"the column {schema.names[position]!r} was changed, which is no part: change those alone that are"
            )
    every = before.iloc[np.zeros(len(masks), int)] if hasattr(before, "iloc") else np.repeat(before, len(masks), 0)
    return row.background.mixed(after, every, masks)


def _moves(row: Row, cause: Cause) -> Floats:
    """How far each column was moved (p,), in standard deviations; 1 where it has no numbers and is another."""
    background, schema = row.background, row.background.schema
    before, after = schema.check_row(cause.x), schema.check_row(cause.changed)
    found = np.zeros(len(schema.names))
    for column in background.columns:
        for position in column.positions if isinstance(column, Coded) else (column.position,):
            old, new = (schema.column(each, position) for each in (before, after))
            found[position] = _move(column, old, new)
        if isinstance(column, Coded) and len(column.positions) > 1:  # a group changes as one
            found[list(column.positions)] /= np.sqrt(2)
    return found


def _move(column: Binned | Coded | Normal, old: Any, new: Any) -> float:
    missing = bool(pd.isna(old[0])), bool(pd.isna(new[0]))
    if all(missing):
        return 0.0
    numeric = not isinstance(column, Coded) or column.edges is not None
    if numeric and not any(missing):
        read = as_numbers if isinstance(column, Binned) else column.line.numbers
        far = abs(float(read(new)[0]) - float(read(old)[0]))
        return far / (column.sd or 1.0)
    return float(any(missing) or old[0] != new[0])


def _values(row: SparseRow, cause: Cause) -> tuple[Floats, Floats]:
    """What the instance and its changed copy hold in the columns that are parts, (d,) each."""
    x = csr_matrix(cause.x).toarray()[0]
    if np.delete(x, row.row.indices).any():
        raise InputError(
            "a value of the instance is zero in its changed copy, where it is no part: change values to others"
        )
    return x[row.row.indices], np.asarray(row.row.data)


def _mixed_values(row: SparseRow, cause: Cause, masks: Bools) -> Any:
    """Sparse rows with the changed values of some parts."""
    before, after = _values(row, cause)
    block = np.where(masks, after, before)
    at = np.nonzero(block)
    return csr_matrix(
        (block[at], (at[0], row.row.indices[at[1]])), shape=(len(masks), row.row.shape[1]), dtype=row.row.dtype
    )


def _mixed_texts(composer: TextComposer, cause: Cause, masks: Bools) -> list[str]:
    """Texts with the swapped words of some parts."""
    new, old = [piece for piece, _ in composer.pieces], _pieces(composer, cause)
    at = np.array([part for _, part in composer.pieces])
    kept = np.append(masks, np.ones((len(masks), 1), bool), axis=1)[:, at]  # between parts, both are alike
    return ["".join(a if keep else b for a, b, keep in zip(new, old, row, strict=True)) for row in kept]


def _pieces(composer: TextComposer, cause: Cause) -> Sequence[str]:
    """What the instance has in place of each piece of its changed copy: another word where a part was swapped."""
    if cause.parts is None:
        raise InputError("a cause in a text must say which of its words were swapped: give parts, one bool each")
    swapped = [part >= 0 and bool(cause.parts[part]) for _, part in composer.pieces]
    pattern = "".join(
        f"({'.+?' if free else re.escape(piece)})"
        for (piece, _), free in zip(composer.pieces, swapped, strict=True)
    )
    found = re.fullmatch(pattern, str(cause.x), re.DOTALL)
    if found is None:
        raise InputError(
            "the changed text differs from the instance in more than the words that were swapped, or is cut into "
            "other parts than those that its cause speaks of"
        )
    return found.groups()


def _array(x: Any) -> Any:
    return x.detach().cpu().numpy() if hasattr(x, "detach") else np.asarray(x)
