"""RemovedFeatures: what should not matter is taken out of the data, so that any model can be trained without it.

A column becomes a constant that the training data have, of the same type and at the same place, so that every
pipeline still takes the table; a word leaves every text. The model itself stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from scipy.sparse import diags, issparse

from veridical.errors import InputError, NotApplicable, safe_repr
from veridical.models.validation import check_list
from veridical.protocols import Predict, Representation, Representer, Seed
from veridical.records import Record
from veridical.representations.fields import Fields, MixedRecord
from veridical.representations.masking import Masked
from veridical.representations.tables.rows import Rows
from veridical.representations.tables.schema import as_array, as_pandas
from veridical.representations.words import Words, split_text, word_pattern
from veridical.seeds import generator

Columns: TypeAlias = Mapping[str, tuple[tuple[int, ...], tuple[Any, ...]]]  # name to places and constants
MAX_SUBSETS = 10_000  # that are listed before some are drawn


@dataclass(frozen=True, slots=True, eq=False)
class RemovedFeatures(Record):
    """What is taken out of instances: called with some, it returns them without it.

    Attributes
    ----------
    removed : tuple of str
        Names of columns, or words.
    columns : mapping
        Of each column, or group of one-hot columns, its places in the table and the constants that it becomes.
    words : frozenset of str
        Words that leave every text.
    split : callable or None
        The ``split`` of the representer that says what a word is.
    fields : mapping
        Of records, the removal of each field.
    """

    removed: tuple[str, ...]
    columns: Columns
    words: frozenset[str] = frozenset()
    split: Any = None
    fields: Mapping[str, RemovedFeatures] | None = None

    def __call__(self, X: Any) -> Any:
        """Return the instances without what is removed; they are copied where something changes."""
        X = as_pandas(X)
        if self.fields is not None:
            return self._records(X)
        if self.words:
            return [self._text(text) for text in X]
        return self._table(X) if self.columns else X

    def wrap(self, predict: Predict) -> Predict:
        """Return a predict function that takes whole instances, and gives the model those without."""

        def without(X: Any) -> Any:
            return predict(self(X))

        return without

    def _table(self, X: Any) -> Any:
        if isinstance(X, (list, tuple)):
            X = as_array(X, "X") if not isinstance(X[0], Mapping) else pd.DataFrame(list(X))
        if issparse(X):
            kept = np.ones(X.shape[1])
            kept[[place for places, _ in self.columns.values() for place in places]] = 0.0
            return (X @ diags(kept)).astype(X.dtype).tocsr()
        made = X.copy()
        for places, values in self.columns.values():
            for place, value in zip(places, values, strict=True):
                if isinstance(made, pd.DataFrame):
                    kind = made.dtypes.iloc[place]
                    made.isetitem(place, pd.Series([value] * len(made), index=made.index, dtype=kind))
                else:
                    made[:, place] = value
        return made

    def _text(self, text: str) -> str:
        spans = split_text(self.split, text, word_pattern())
        gone, kept, at = [span for span in spans if text[slice(*span)] in self.words], "", 0
        for start, stop in gone:
            kept += text[at:start]
            at = stop
        return kept + text[at:]

    def _records(self, X: Any) -> Any:
        """Records whose fields have a removal each; a table among the fields has columns of the record's own."""
        assert self.fields is not None
        if isinstance(X, pd.DataFrame):
            made = X.copy()
            for name, own in self.fields.items():
                if own.words:
                    made[name] = pd.Series(
                        [own._text(text) for text in made[name]], index=made.index, dtype=object
                    )
                for column, (_, (value,)) in own.columns.items():
                    made[column] = pd.Series([value] * len(made), index=made.index, dtype=made[column].dtype)
            return made
        return [self._record(record) for record in X]

    def _record(self, record: Mapping[str, Any]) -> dict[str, Any]:
        assert self.fields is not None
        found = dict(record)
        for name, own in self.fields.items():
            if own.words:
                found[name] = own._text(found[name])
            inner = dict(found[name]) if isinstance(found.get(name), Mapping) else found
            inner.update({column: values[0] for column, (_, values) in own.columns.items()})
            if inner is not found:
                found[name] = inner
        return found


def without(representer: Representer, X: Any, removed: Iterable[str]) -> RemovedFeatures:
    """Learn how to take columns or words out of instances.

    Parameters
    ----------
    representer : Rows, Words or Fields
        What the instances are, as ``vd.explain`` takes it.
    X : DataFrame, array or list of str
        Training data, which say what is usual.
    removed : iterable of str
        Names of columns, or words. Of ``Fields``, columns, and words as ``"field: word"``.

    Returns
    -------
    RemovedFeatures
        Called with instances, it returns them without what was removed.

    Raises
    ------
    InputError
        If there is no such column.
    NotApplicable
        If instances are of a kind from which nothing can be taken by its name, such as pictures.

    Examples
    --------
    >>> import pandas as pd
    >>> import veridical as vd
    >>> X = pd.DataFrame({"age": [31, 40, 58], "city": ["Bern", "Oslo", "Oslo"]})
    >>> vd.checks.without(vd.Rows(X), X, ["city"])(X)["city"].tolist()
    ['Oslo', 'Oslo', 'Oslo']
    >>> vd.checks.without(vd.Words(), ["A bad leak."], ["leak"])(["One leak, two leaks."])
    ['One , two leaks.']
    """
    names = tuple(dict.fromkeys(check_list("removed", removed)))
    wrong = [name for name in names if not isinstance(name, str) or not name]
    if wrong:
        raise InputError(f"removed names columns or words, as explanations show them, not {safe_repr(wrong[0])}")
    if isinstance(representer, Rows):
        return RemovedFeatures(names, _constants(representer, X, names))
    if isinstance(representer, Fields):
        return _of_fields(representer, X, names)
    if isinstance(representer, Words):
        return RemovedFeatures(names, {}, frozenset(names), representer.split)
    raise NotApplicable(
        f"nothing can be taken by its name out of what {type(representer).__name__} represents: columns of tables "
        "and words of texts can; change the training data themselves, and compare the two models by vd.compare"
    )


def _constants(rows: Rows, X: Any, names: Sequence[str]) -> Columns:
    """The usual value of each column: the median of numbers, else what is most frequent."""
    known: dict[str, tuple[int, ...]] = {name: (j,) for j, name in enumerate(rows.names)}
    if not rows.sparse:
        known |= {column.column: tuple(column.positions) for column in rows.background.columns}
    missing = [name for name in names if name not in known]
    if missing:
        few = ", ".join(list(known)[:8]) + (f" and {len(known) - 8} more" if len(known) > 8 else "")
        raise InputError(f"there is no column {missing[0]!r}; there are {few}")
    if rows.sparse:
        return {name: (known[name], (0.0,)) for name in names}
    table = rows.background.schema.check_table(X)
    frame = table if isinstance(table, pd.DataFrame) else pd.DataFrame(table)
    return {name: (known[name], _usual(frame.iloc[:, list(known[name])])) for name in names}


def _usual(columns: pd.DataFrame) -> tuple[Any, ...]:
    """The values that stand for a column, or for a group of columns that change together."""
    if columns.shape[1] > 1:
        most = columns.value_counts(sort=True, ascending=False)
        best = most[most == most.iloc[0]].index
        return tuple(min(best))
    values = columns.iloc[:, 0].dropna()
    if not len(values):
        return (columns.iloc[0, 0],)
    number = pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype)
    if number or pd.api.types.is_datetime64_any_dtype(values.dtype):
        return (values.sort_values().iloc[(len(values) - 1) // 2],)  # one that there is, of the same type
    counts = values.value_counts()
    return (sorted(counts[counts == counts.max()].index, key=str)[0],)


def _of_fields(fields: Fields, X: Any, names: Sequence[str]) -> RemovedFeatures:
    """The removal of each field that has something to remove."""
    found: dict[str, RemovedFeatures] = {}
    for name in names:
        field, colon, word = name.partition(": ")
        own = fields.fields.get(field if colon else "")
        if isinstance(own, Words):
            before = found.get(field)
            words = (before.words if before else frozenset[str]()) | {word}
            found[field] = RemovedFeatures(tuple(sorted(words)), {}, words, own.split)
            continue
        tables = {
            key: each for key, each in fields.fields.items() if isinstance(each, Rows) and name in each.names
        }
        if not tables:
            raise InputError(f"no field has a column {name!r}; a word is named with its field, as in 'text: good'")
        key, rows = next(iter(tables.items()))
        values = _columns_of(X, key, rows)
        before = found.get(key, RemovedFeatures((), {}))
        constants = {**before.columns, **_constants(rows, values, [name])}
        found[key] = replace(before, removed=(*before.removed, name), columns=constants)
    return RemovedFeatures(tuple(names), {}, fields=found)


def _columns_of(X: Any, field: str, rows: Rows) -> pd.DataFrame:
    """The columns of a table among the fields of records."""
    table = as_pandas(X)
    if not isinstance(table, pd.DataFrame):
        inner = [record[field] if isinstance(record.get(field), Mapping) else record for record in table]
        table = pd.DataFrame(inner)
    return table[list(rows.names)]


def draw_controls(
    shown: Sequence[str], removed: Iterable[str], every: Sequence[str], n: int, seed: Seed
) -> tuple[tuple[str, ...], ...]:
    """Draw as many things as were removed, n times, from those that were shown and not removed.

    Where fewer were shown, the rest is drawn from all others. No draw comes twice before all have come once.
    """
    gone = set(removed)
    pool = [name for name in dict.fromkeys(shown) if name not in gone]
    rest = [name for name in dict.fromkeys(every) if name not in gone and name not in set(pool)]
    size = len(gone)
    if size == 0 or len(pool) + len(rest) < size:
        return ()
    found = list[tuple[str, ...]]()
    while len(found) < n:
        found += _draw_once(pool, rest, size, n - len(found), seed, len(found))
    return tuple(found)


def _draw_once(
    pool: Sequence[str], rest: Sequence[str], size: int, n: int, seed: Seed, key: int
) -> Iterator[tuple[str, ...]]:
    """At most n different draws."""
    rng, short = generator(seed, key), max(size - len(pool), 0)
    names, taken = (rest, short) if short else (pool, size)
    always = tuple(pool) if short else ()
    total = comb(len(names), taken)
    if total <= MAX_SUBSETS:
        every = list(combinations(names, taken))
        yield from ((*always, *every[i]) for i in rng.permutation(total)[:n])
        return
    seen = set[tuple[int, ...]]()
    while len(seen) < n:
        at = tuple(sorted(rng.choice(len(names), taken, replace=False).tolist()))
        if at not in seen:
            seen.add(at)
            yield (*always, *(names[i] for i in at))


def hold_out(n: int, seed: Seed) -> tuple[Any, Any]:
    """Numbers of the rows that are watched, and of those that stay sealed: half of them each, drawn at random."""
    order = generator(seed, 0).permutation(n)
    return np.sort(order[: (n + 1) // 2]), np.sort(order[(n + 1) // 2 :])


def list_names(representer: Representer, X: Any) -> tuple[str, ...]:
    """Everything that could be removed: the columns of a table, or the words of texts, in order of appearance."""
    if isinstance(representer, Rows):
        own = representer.names if representer.sparse else [c.column for c in representer.background.columns]
        return tuple(map(str, own))
    if isinstance(representer, Words):
        return tuple(dict.fromkeys(word for text in X for word in representer.words(text)))
    if not isinstance(representer, Fields):
        return ()
    names = list[str]()
    for field, each in representer.fields.items():
        if isinstance(each, Rows):
            names += list_names(each, None)
        elif isinstance(each, Words):
            table = as_pandas(X)
            texts = table[field] if isinstance(table, pd.DataFrame) else [record[field] for record in table]
            names += [f"{field}: {word}" for word in list_names(each, texts)]
    return tuple(dict.fromkeys(names))


def removable_names(representation: Representation) -> tuple[str, ...]:
    """What each part is called where it is removed: its column, or its word; "" where it has no such name."""
    if not isinstance(representation, MixedRecord):
        masked = isinstance(representation, Masked)
        return tuple("" if masked and p.relation != "word" else p.column for p in representation.parts)
    return tuple(
        f"{field.name}: {name}" if name and isinstance(field.representation, Masked) else name
        for field in representation.fields
        for name in removable_names(field.representation)
    )
