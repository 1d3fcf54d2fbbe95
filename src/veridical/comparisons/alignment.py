"""Alignment: which features of two explanations, and which rows of two sets of them, are the same thing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from numbers import Real
from typing import Any

import numpy as np

from veridical.errors import InputError
from veridical.records import Explanation, Explanations, Part, View
from veridical.representations.tables.schema import is_missing, list_some

PLACE_KEYS = {
    "picture": ("labels",),
    "spectrogram": ("labels", "bounds"),
    "sound": ("bounds",),
    "series": ("labels", "step"),
}  # what says where the parts of a view lie
REMEDIES = {
    "picture": "cut both the same way: vd.Grid(…), or vd.Superpixels(segment=labels) with one array of labels",
    "spectrogram": "cut both the same way: as many tiles, of recordings that are equally long",
    "sound": "cut both the same way: as many slices or tiles, of recordings that are equally long",
    "series": "cut both the same way: vd.Windows(n) for series that are equally long, or one list of starts",
}


def align_parts(a: Explanation, b: Explanation) -> list[tuple[Hashable, int, int]]:
    """Match features: each with its position in both explanations, -1 if one of them lacks it.

    Table columns match by name, whatever the value; words by their text, or by their place if places are separate
    features; regions of pictures, sounds and series by where they lie, which must be the same in both.
    """
    check_places(a.view, b.view)
    first, second = ({key: j for j, key in enumerate(keys)} for keys in part_keys([a, b]))
    both = dict.fromkeys([*first, *second])
    return [(key, first.get(key, -1), second.get(key, -1)) for key in both]


def join_parts(a: Part | None, b: Part | None) -> Part:
    """A feature of both explanations, or of the one that has it; with both names where they differ."""
    one = a or b
    if one is None:
        raise ValueError("a feature is in at least one explanation")
    if a is None or b is None or a == b:
        return one
    return one if a.name == b.name else Part(f"{a.name} | {b.name}", one.column, "|")


def part_keys(items: Sequence[Explanation]) -> list[Iterator[Hashable]]:
    """One unique key per feature of each explanation, equal for features that are the same thing."""
    by_column = all(_all_distinct([part.column for part in e.parts]) for e in items if e.view is None)
    return [_unique_keys(e, by_column) for e in items]


def _unique_keys(e: Explanation, by_column: bool) -> Iterator[Hashable]:
    found, seen = _part_meanings(e, by_column), Counter[Hashable]()
    if _all_distinct(found):
        yield from found
        return
    for key in found:
        seen[key] += 1
        yield key if seen[key] == 1 else (key, seen[key])


def _part_meanings(e: Explanation, by_column: bool) -> list[Hashable]:
    if e.view is None:
        return [part.column if by_column else part.name for part in e.parts]
    found: list[Hashable] = [part.name for part in e.parts]
    for name, (first, count, inner) in _fields(e.view).items():
        if not isinstance(inner, View):  # columns of a table, in their order, whatever the values
            found[first : first + count] = [(name, count, k) for k in range(count)]
    return found


def _fields(view: View) -> dict[str, Any]:
    return dict(view.data["fields"]) if view.kind == "fields" else {}


def _all_distinct(keys: Sequence[Hashable]) -> bool:
    return len(set(keys)) == len(keys)


def check_places(a: View | None, b: View | None, where: str = "") -> None:
    """Refuse two instances whose features do not lie at the same places."""
    kinds = [view.kind if isinstance(view, View) else "row" for view in (a, b)]
    if kinds[0] != kinds[1]:
        raise InputError(f"the first explanation is of a {kinds[0]}, the second of a {kinds[1]}{where}")
    if not isinstance(a, View) or not isinstance(b, View):
        return
    for name, (_, _, inner) in _fields(a).items():
        if name in _fields(b):
            check_places(inner, _fields(b)[name][2], f", in the field {name!r}")
    if not all(_same_array(a.data.get(key), b.data.get(key)) for key in PLACE_KEYS.get(a.kind, ())):
        raise InputError(
            f"the regions of the two {a.kind}s do not lie at the same places{where}, so their weights cannot be "
            f"compared one by one; {REMEDIES[a.kind]}"
        )


def _same_array(a: Any, b: Any) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(np.asarray(a), np.asarray(b)))


MAX_ROWS_CHECKED = 100  # rows whose own values tell whether they are the same rows
MISSING = ("missing",)  # a name that is nan, NaT or the like, and equal to itself
ORDINALS = ("first", "second")


@dataclass(frozen=True, eq=False)
class RowSet:
    """Explanations of many rows, in memory or in a store, with the names of their rows."""

    source: Any  # Explanations, or what reads them a few at a time
    names: Mapping[int, Any]  # of every row by its number, of those that failed, too
    n_rows: int
    numbered: Callable[[], Iterator[tuple[int, Explanation]]]  # every explanation by the number of its row
    failed: bool = False  # whether some rows in memory have no explanation
    complete: bool = True  # whether the store has all its rows

    @classmethod
    def in_memory(cls, many: Explanations) -> RowSet:
        """The rows of explanations that are held in memory."""
        names = {number: e.row for number, e in zip(many.numbers, many, strict=True)}
        names |= {failure.number: failure.row for failure in many.failures}
        return cls(
            many, names, len(many), lambda: zip(many.numbers, many, strict=True), failed=bool(many.failures)
        )

    def comparable_names(self) -> dict[int, Any]:
        """The name of every row in the order of rows; names that are missing are all the same one."""
        return {
            number: MISSING if name is not None and is_missing(name) else name
            for number, name in sorted(self.names.items())
        }


def match_rows(a: RowSet, b: RowSet) -> tuple[RowSet, RowSet, list[str]]:
    """Both sets with their rows in one order, by their names where both have names; and notes about it."""
    first, second = a.comparable_names(), b.comparable_names()
    one, other = list(first.values()), list(second.values())
    failed, complete = a.failed or b.failed, a.complete and b.complete
    same_length = len(one) == len(other) or not complete
    if same_length and all(second.get(i, name) == name for i, name in first.items()):
        return (*keep_pairs(a, b, {i: i for i in first if i in second}), []) if failed else (a, b, [])
    if None in one or None in other:
        return a, b, []
    if len(one) == len(other) and not failed:
        if len(set(one)) == len(set(other)) == 1:  # two rows, with several seeds each
            return a, b, []
        plain = [names == list(range(len(names))) for names in (one, other)]
        if any(plain) and not (
            all(type(name) is int for name in one + other)
            and differ_in_values(
                (one, other) for (_, one), (_, other) in zip(a.numbered(), b.numbered(), strict=False)
            )
        ):
            which = "first" if plain[0] else "second"
            return a, b, [f"The rows of the {which} have no names, so that rows were compared in order."]
    apart = [
        [name for name in names if name not in known] for names, known in ((one, set(other)), (other, set(one)))
    ]
    if any(apart):
        words = [
            f"only the {which} has {list_some(names, 3)}"
            for which, names in zip(ORDINALS, apart, strict=True)
            if names
        ]
        raise InputError(
            f"both must explain the same rows, and the names of their rows differ: {'; '.join(words)}"
        )
    places = {name: i for i, name in second.items()}
    if len(places) < len(other) or len(set(one)) < len(one):
        raise InputError(
            "the rows are in different orders and cannot be matched by name, for some have the same name: "
            "give both in the same order"
        )
    kept = keep_pairs(a, b, {i: places[name] for i, name in first.items()})
    return *kept, ["The rows come in different orders: they were matched by their names."]


def keep_pairs(a: RowSet, b: RowSet, places: Mapping[int, int]) -> tuple[RowSet, RowSet]:
    """The rows that both explain, in the order of the first; ``places`` are numbers in the second."""
    first, second = dict(a.numbered()), dict(b.numbered())
    both = [(i, j) for i, j in places.items() if i in first and j in second]
    return (
        RowSet.in_memory(Explanations(tuple(first[i] for i, _ in both))),
        RowSet.in_memory(Explanations(tuple(second[j] for _, j in both))),
    )


def pair_rows(a: RowSet, b: RowSet) -> Iterator[tuple[int, Explanation, Explanation]]:
    """The number of each row that both explain, and both explanations."""
    first, second = a.numbered(), b.numbered()
    one, other = next(first, None), next(second, None)
    while one is not None and other is not None:
        if one[0] == other[0]:
            yield *one, other[1]
        behind, ahead = one[0] <= other[0], other[0] <= one[0]
        one = next(first, None) if behind else one
        other = next(second, None) if ahead else other


def differ_in_values(pairs: Iterable[tuple[Explanation, Explanation]]) -> bool:
    """Whether rows at the same place have different values of their own, or texts, so that they are different rows."""
    for one, other in islice(pairs, MAX_ROWS_CHECKED):
        own, known = (dict(zip((p.column for p in e.parts), e.values, strict=False)) for e in (one, other))
        if any(_unequal(own[column], known[column]) for column in own if column in known):
            return True
        texts = [e.view.data["text"] if e.view is not None and e.view.kind == "text" else "" for e in (one, other)]
        if texts[0] != texts[1]:
            return True
    return False


def _unequal(value: Any, other: Any) -> bool:
    """Whether two values of a column are different; of different kinds, that is not known."""
    if isinstance(value, Real) and isinstance(other, Real):
        return not np.isclose(float(value), float(other), equal_nan=True)
    return type(value) is type(other) is str and value != other
