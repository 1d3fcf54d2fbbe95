"""Which parts of two explanations are the same thing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from veridical.errors import InputError
from veridical.records import Explanation, Part, View

PLACES = {
    "picture": ("labels",),
    "spectrogram": ("labels", "bounds"),
    "sound": ("bounds",),
    "series": ("labels", "step"),
}  # what says where the parts of a view lie
HOW = {
    "picture": "cut both the same way: vd.Grid(…), or vd.Superpixels(segment=labels) with one array of labels",
    "spectrogram": "cut both the same way: as many tiles, of recordings that are equally long",
    "sound": "cut both the same way: as many slices or tiles, of recordings that are equally long",
    "series": "cut both the same way: vd.Windows(n) for series that are equally long, or one list of starts",
}


def aligned(a: Explanation, b: Explanation) -> list[tuple[Hashable, int, int]]:
    """What is the same, and where it stands in each; -1 where an explanation does not have it.

    Table columns are the same by name, whatever the value; words by what they are, or by their place where places
    were told apart; parts of pictures, sounds and series by where they lie, which must be the same in both.
    """
    check_places(a.view, b.view)
    first, second = ({key: j for j, key in enumerate(keys)} for keys in keys_of([a, b]))
    both = dict.fromkeys([*first, *second])
    return [(key, first.get(key, -1), second.get(key, -1)) for key in both]


def joined(a: Part | None, b: Part | None) -> Part:
    """A part of both explanations, or of the one that has it; where they differ, both names."""
    one = a or b
    if one is None:
        raise ValueError("a part is in one explanation at least")
    if a is None or b is None or a == b:
        return one
    return one if a.name == b.name else Part(f"{a.name} | {b.name}", one.column, "|")


def keys_of(items: Sequence[Explanation]) -> list[Iterator[Hashable]]:
    """One key a part of each explanation, each once, and equal where parts are the same thing."""
    by_column = all(_once([part.column for part in e.parts]) for e in items if e.view is None)
    return [_keys(e, by_column) for e in items]


def _keys(e: Explanation, by_column: bool) -> Iterator[Hashable]:
    found, seen = _meanings(e, by_column), Counter[Hashable]()
    if _once(found):
        yield from found
        return
    for key in found:
        seen[key] += 1
        yield key if seen[key] == 1 else (key, seen[key])


def _meanings(e: Explanation, by_column: bool) -> list[Hashable]:
    if e.view is None:
        return [part.column if by_column else part.name for part in e.parts]
    found: list[Hashable] = [part.name for part in e.parts]
    for name, (first, count, inner) in _fields(e.view).items():
        if not isinstance(inner, View):  # columns of a table, in their order, whatever the values
            found[first : first + count] = [(name, count, k) for k in range(count)]
    return found


def _fields(view: View) -> dict[str, Any]:
    return dict(view.data["fields"]) if view.kind == "fields" else {}


def _once(keys: Sequence[Hashable]) -> bool:
    return len(set(keys)) == len(keys)


def check_places(a: View | None, b: View | None, where: str = "") -> None:
    """Refuse two instances whose parts do not lie at the same places."""
    kinds = [view.kind if isinstance(view, View) else "row" for view in (a, b)]
    if kinds[0] != kinds[1]:
        raise InputError(f"the first explanation is of a {kinds[0]}, the second of a {kinds[1]}{where}")
    if not isinstance(a, View) or not isinstance(b, View):
        return
    for name, (_, _, inner) in _fields(a).items():
        if name in _fields(b):
            check_places(inner, _fields(b)[name][2], f", in the field {name!r}")
    if not all(_same(a.data.get(key), b.data.get(key)) for key in PLACES.get(a.kind, ())):
        raise InputError(
            f"the parts of the two {a.kind}s do not lie at the same places{where}, so their weights cannot be "
            f"compared part by part; {HOW[a.kind]}"
        )


def _same(a: Any, b: Any) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(np.asarray(a), np.asarray(b)))
