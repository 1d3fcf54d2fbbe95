"""Explanations as columns of a Parquet table, one row each with lists for its parts, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, pairwise
from typing import Any

import numpy as np

from veridical.errors import InputError, safe_str
from veridical.packing.explanations import ARRAYS, FACTS, NUMBERS, TEXTS, Pool, pack_findings, unpack_target
from veridical.packing.limits import count, spend
from veridical.packing.values import STRICT, encode, pack_view, parse
from veridical.records import Explanation, Output, Part

TARGET = ("target", "target_is_index", "target_class")  # the last is not in older files
UNSEEN = ("view", "map", "findings", "row_name")  # columns that an older file may not have, each JSON or nothing
OWN = ("own", "own_texts")  # the row's own values: floats, and JSON where a value is none; older files have none


def arrow_schema(pa: Any) -> Any:
    """Names and types of the columns."""
    text, number, whole, texts = pa.string(), pa.float64(), pa.int64(), pa.list_(pa.string())
    types = {"target": text, "target_is_index": pa.bool_(), "target_class": text, **dict.fromkeys(NUMBERS, number)}
    types |= {"n_calls": whole, "top_k": whole, "passed": pa.bool_(), "observed": number}
    types |= {"expected": number, "sentence": text, "unsettled": pa.list_(texts), "notes": texts}
    types |= {
        "path": texts,
        "purpose": text,
        "recipe": text,
        **dict.fromkeys([*UNSEEN], text),
        **dict.fromkeys([*TEXTS, "values"], texts),
    }
    types |= {**dict.fromkeys(ARRAYS, pa.list_(number)), "own": pa.list_(number), "own_texts": texts}
    return pa.schema(list(types.items()))


def columns(items: Sequence[Explanation], own: bool = True) -> dict[str, Any]:
    """Each a list of entries, or (offsets, flat entries) where an entry is a list over parts.

    Flat entries that repeat are (numbers, distinct entries). Without ``own``, the rows' own values are left out.
    """
    offsets = np.cumsum([0, *(len(e.parts) for e in items)], dtype=np.int32)
    codes, parts = distinct([p for e in items for p in e.parts])
    intervals = np.concatenate([e.intervals for e in items])
    known = {key: [read(e) for e in items] for key, read in FACTS.items()}
    return {
        **known,
        **pack_targets([e.target for e in items]),
        "recipe": _recipes(items),
        "view": [_text(pack_view(e.view)) for e in items],
        "map": [_text(pack_view(e.map)) for e in items],
        "findings": [_text(pack_findings(e.verdict)) for e in items],
        **{key: (offsets, (codes, [getattr(p, name) for p in parts])) for key, name in TEXTS.items()},
        "values": (offsets, (codes, [encode(p.value) for p in parts])),
        "weights": (offsets, np.concatenate([e.weights for e in items])),
        "low": (offsets, intervals[:, 0]),
        "high": (offsets, intervals[:, 1]),
        "row_name": [None if e.row is None else _counted(encode(e.row)) for e in items],
        **own_columns([e.values if own else () for e in items]),
    }


def own_columns(rows: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    """The rows' own values as numbers; as JSON beside them in rows that have others than floats."""
    flat, offsets = list(chain.from_iterable(rows)), np.cumsum([0, *map(len, rows)], dtype=np.int32)
    if set(map(type, flat)) <= {float}:
        none = np.zeros(len(rows) + 1, np.int32)
        return {"own": (offsets, np.array(flat, dtype=np.float64)), "own_texts": (none, list[str]())}
    told = [[] if set(map(type, row)) <= {float} else [_unless_float(v) for v in row] for row in rows]
    ends = np.cumsum([0, *map(len, told)], dtype=np.int32)
    numbers = [value if type(value) is float else None for value in flat]
    return {"own": (offsets, numbers), "own_texts": (ends, list(chain.from_iterable(told)))}


def _unless_float(value: Any) -> str | None:
    return None if type(value) is float else encode(value)


def pack_targets(targets: Sequence[Any]) -> dict[str, Any]:
    """Targets as columns: what a reader sees, whether it is a position, and a class that is no text as JSON."""
    known: dict[Any, str | None] = {}
    for target in targets:
        if (type(target), target) not in known:
            plain = isinstance(target, (str, Output))
            known[type(target), target] = None if plain else encode(target)
    return {
        "target": [str(int(t)) if isinstance(t, Output) else safe_str(t) for t in targets],
        "target_is_index": [isinstance(t, Output) for t in targets],
        "target_class": [known[type(t), t] for t in targets],
    }


def _packed_target(shown: str, is_index: bool, packed: str | None = None) -> Any:
    """The target of one row, as JSON has it; older files have none but texts and positions."""
    return {"output": int(shown)} if is_index else shown if packed is None else {"class": parse(packed)}


def unpack_targets(table: Any) -> list[Any]:
    """The targets of a table of Arrow."""
    there = [key for key in TARGET if key in table.schema.names]
    cells = zip(*(table.column(key).to_pylist() for key in there), strict=True)
    known: dict[Any, Any] = {}
    found = []
    for cell in cells:
        if cell not in known:
            known[cell] = unpack_target(_packed_target(*cell))
        found.append(known[cell])
    return found


def distinct(parts: Sequence[Part]) -> tuple[Any, list[Part]]:
    """The number of each part, and the parts that have one; explanations of a table share theirs."""
    which = np.fromiter(map(id, parts), np.int64, len(parts))  # all of them are alive, so no number comes twice
    _, first, codes = np.unique(which, return_index=True, return_inverse=True)
    return codes, [parts[i] for i in first]


def _recipes(items: Sequence[Explanation]) -> list[str]:
    """Recipes as JSON; one like that of the last row of the same target, as of a shared sample, is known."""
    last: dict[Any, tuple[Any, str]] = {}
    made = []
    for e in items:
        key = type(e.target), e.target
        if key not in last or last[key][0] != e.recipe:
            last[key] = e.recipe, encode(e.recipe)
        made.append(last[key][1])
    return made


def _text(packed: Any) -> str | None:
    return None if packed is None else _counted(STRICT.encode(packed))


def _counted(text: str) -> str:
    """A text that will be parsed when it is read."""
    count(len(text))
    return text


def arrow_array(column: Any, kind: Any, pa: Any) -> Any:
    """A column of Arrow, of what ``columns`` gives."""
    with as_unicode():
        if not isinstance(column, tuple):
            return pa.array(column, kind)
        offsets, flat = column
        if isinstance(flat, tuple):
            values = pa.array(flat[1], kind.value_type).take(pa.array(flat[0]))
        else:
            values = pa.array(flat, kind.value_type)
        return pa.ListArray.from_arrays(pa.array(offsets), values)


def _shared(column: Any) -> list[Any]:
    """The values of a column of Arrow; of one with a dictionary, what repeats is one object."""
    found: list[Any] = []
    for chunk in column.chunks:
        if not hasattr(chunk, "dictionary"):
            found += chunk.to_pylist()
            continue
        words = chunk.dictionary.to_pylist()
        found += [None if i is None else words[i] for i in chunk.indices.to_pylist()]
    return found


@contextmanager
def as_unicode() -> Iterator[None]:
    """Texts as UTF-8, which lone surrogates cannot be."""
    try:
        yield
    except UnicodeEncodeError as cause:
        raise InputError("a text here is not valid Unicode: save as .json instead") from cause


def explanations_of(
    table: Any, pool: Pool, own: Sequence[Sequence[Any]] | None = None, names: Sequence[Any] | None = None
) -> Iterator[Explanation]:
    """The inverse of ``columns``, of a table of Arrow; older files have fewer columns.

    ``own`` are the rows' own values and ``names`` their names, where the table is not what tells them.
    """
    lists = {key: table.column(key).combine_chunks() for key in (*TEXTS, "values", *ARRAYS)}
    offsets = lists["names"].offsets.to_numpy()
    if any(not np.array_equal(column.offsets.to_numpy(), offsets) for column in lists.values()):
        raise ValueError("the lists of a row differ in length")
    encoded = [lists[key].flatten().dictionary_encode() for key in (*TEXTS, "values")]
    texts = [np.array(e.dictionary.to_pylist(), dtype=object)[e.indices.to_numpy()] for e in encoded]
    parts = list(map(pool.part, *(column.tolist() for column in texts)))
    weights, low, high = (lists[key].flatten().to_numpy() for key in ARRAYS)
    intervals = np.stack([low, high], axis=1)
    if own is None:
        own = own_of(table) if set(OWN) <= set(table.schema.names) else [()] * table.num_rows
    flat = [name for name in table.schema.names if name not in lists and name not in OWN]
    rows = [
        dict(zip(flat, row, strict=True)) for row in zip(*(_shared(table.column(n)) for n in flat), strict=True)
    ]
    for i, (row, values, (start, stop)) in enumerate(zip(rows, own, pairwise(offsets.tolist()), strict=True)):
        row["target"] = _packed_target(row["target"], row["target_is_index"], row.get("target_class"))
        spend(sum(len(row.get(key) or "") for key in UNSEEN))
        row |= {key: parse(row.get(key) or "null") for key in UNSEEN}
        row["parts"] = tuple(parts[start:stop])
        row["weights"], row["intervals"] = weights[start:stop], intervals[start:stop]
        if names is not None:
            row["row"] = names[i]
        elif row["row_name"] is not None:  # else it is the number, in a part of a store
            row["row"] = row["row_name"]
        row["own"] = values
        yield pool.assembled(row)


def own_of(table: Any) -> list[Sequence[Any]]:
    """The rows' own values, packed: the inverse of ``own_columns``."""
    numbers, texts = (table.column(name).to_pylist() for name in OWN)
    return [_own(*both) for both in zip(numbers, texts, strict=True)]


def _own(numbers: list[Any] | None, texts: list[Any] | None) -> Sequence[Any]:
    if not texts:
        return numbers or ()
    pairs = zip(numbers or (), texts, strict=True)
    return [number if text is None else parse(text) for number, text in pairs]
