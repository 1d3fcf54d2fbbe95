"""The border of one question: what differs between two explanations, by more than the noise?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count, islice
from numbers import Real
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from veridical.attribute.given import explanations_of
from veridical.errors import InputError
from veridical.evaluate.differences import Difference, differ
from veridical.evaluate.rows import Pair, differ_over_rows
from veridical.keywords import teach_keywords
from veridical.records import Explanation, Explanations
from veridical.represent.schema import is_missing, some
from veridical.scale.stores.store import Store
from veridical.serialize import load

MAX_ROWS_CHECKED = 100  # rows whose own values tell whether they are the same rows
MISSING = ("missing",)  # a name that is nan, NaT or the like, and equal to itself
ORDINALS = ("first", "second")
Many: TypeAlias = Explanations | Store


@teach_keywords
def compare(first: Any, second: Any, *, names: Sequence[str] = ("first", "second")) -> Difference:
    """Compare two explanations: two models, two classes, two rows, before and after.

    Each is an explanation, many of them (as of explain_many, of the same rows), a store of them, which is read a
    little at a time, or the path of a store or of a file that either was saved in. Rows are matched by their names
    (index labels, ids) where both sides have names, and by position where they have none. ``names`` are what to
    call the two. The difference is the second less the first, and ``larger`` says of which parts it is
    larger than the noise.

    Parts of tables are compared column by column, words by what they are; of pictures, sounds and series the parts
    must lie at the same places. Give the two explanations different seeds (``rng``) where they are to be compared:
    then their noise is independent, and smaller differences can be told. In wide tables, explain the row with
    several seeds each, and give the two lists.

    >>> import numpy as np
    >>> import veridical as vd
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> rows = vd.Rows(X, names=["age", "height", "debt"])
    >>> old = vd.explain(lambda X: X[:, 0] + X[:, 2], rows, X[0])
    >>> new = vd.explain(lambda X: X[:, 0] - X[:, 2], rows, X[0], rng=1)
    >>> found = vd.compare(old, new, names=("old", "new"))
    >>> [name for name, larger in zip(found.names, found.larger) if larger]
    ['-0.01881 < debt ≤ 0.6586']
    """
    a, b = _read("first", first), _read("second", second)
    titles = _titles(names)
    if isinstance(a, Explanation) and isinstance(b, Explanation):
        return differ(a, b, titles)
    if not isinstance(a, Explanation) and not isinstance(b, Explanation):
        a, b, notes = _match_rows(a, b)
        sizes = [each.n_rows if isinstance(each, Store) else len(each) for each in (a, b)]
        if sizes[0] != sizes[1]:
            raise InputError(
                "both must explain the same rows in the same order, but there are "
                f"{sizes[0]} explanations and {sizes[1]}"
            )
        found = differ_over_rows((a, b), sizes[0], _pairs(_numbered(a), _numbered(b)), titles)
        return replace(found, notes=(*notes, *found.notes))
    kinds = [
        f"one {type(each).__name__}" if isinstance(each, Explanation) else f"{len(each)} of them"
        for each in (a, b)
    ]
    raise InputError(f"compare wants one explanation and one, or many and as many, not {kinds[0]} and {kinds[1]}")


def _match_rows(a: Many, b: Many) -> tuple[Many, Many, list[str]]:
    """Both sides with their rows in one order, by their names where both have names; and what to say of it."""
    first, second = _names_by_number(a), _names_by_number(b)
    one, other = list(first.values()), list(second.values())
    failed = any(isinstance(each, Explanations) and each.failures for each in (a, b))
    going = any(isinstance(each, Store) and not each.manifest["complete"] for each in (a, b))
    same = (going or len(one) == len(other)) and all(second.get(i, name) == name for i, name in first.items())
    if same:
        if not failed:
            return a, b, []
        return *_keep_pairs(a, b, {i: i for i in first if i in second}), []
    if None in one or None in other:
        return a, b, []
    if len(one) == len(other) and not failed:
        if len(set(one)) == len(set(other)) == 1:  # two rows, with several seeds each
            return a, b, []
        plain = [names == list(range(len(names))) for names in (one, other)]
        if any(plain) and not (all(type(name) is int for name in one + other) and _differ_in_values(a, b)):
            which = "first" if plain[0] else "second"
            return a, b, [f"The rows of the {which} have no names, so that rows were compared in order."]
    apart = [
        [name for name in names if name not in known] for names, known in ((one, set(other)), (other, set(one)))
    ]
    if any(apart):
        words = [
            f"only the {which} has {some(names, 3)}" for which, names in zip(ORDINALS, apart, strict=True) if names
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
    kept = _keep_pairs(a, b, {i: places[name] for i, name in first.items()})
    return *kept, ["The rows come in different orders: they were matched by their names."]


def _keep_pairs(a: Many, b: Many, places: dict[int, int]) -> tuple[Explanations, Explanations]:
    """The rows that both explain, in the order of the first; ``places`` are numbers in the second."""
    first, second = dict(_numbered(a)), dict(_numbered(b))
    both = [(i, j) for i, j in places.items() if i in first and j in second]
    return Explanations(tuple(first[i] for i, _ in both)), Explanations(tuple(second[j] for _, j in both))


def _names_by_number(many: Many) -> dict[int, Any]:
    """The name of every row, those that failed among them."""
    if isinstance(many, Store):
        named = many.row_names()
    else:
        named = {**{i: e.row for i, e in _numbered(many)}, **{f.number: f.row for f in many.failures}}
    return {i: MISSING if name is not None and is_missing(name) else name for i, name in sorted(named.items())}


def _differ_in_values(a: Many, b: Many) -> bool:
    """Whether rows at the same place have different values of their own, so that they are different rows."""
    for (_, one), (_, other) in islice(zip(_numbered(a), _numbered(b), strict=False), MAX_ROWS_CHECKED):
        own, known = (dict(zip((p.column for p in e.parts), e.values, strict=False)) for e in (one, other))
        if any(_unequal(own[column], known[column]) for column in own if column in known):
            return True
    return False


def _unequal(value: Any, other: Any) -> bool:
    """Whether two values of a column are different; of different kinds, that is not known."""
    if isinstance(value, Real) and isinstance(other, Real):
        return not np.isclose(float(value), float(other), equal_nan=True)
    return type(value) is type(other) is str and value != other


def _numbered(many: Many) -> Iterator[tuple[int, Explanation]]:
    """Explanations by the number of their row."""
    if isinstance(many, Store):
        return many.numbered()
    failed = {failure.number for failure in many.failures}
    return zip((i for i in count() if i not in failed), many, strict=False)


def _pairs(first: Iterator[tuple[int, Explanation]], second: Iterator[tuple[int, Explanation]]) -> Iterator[Pair]:
    """Rows that both explain, by number."""
    one, other = next(first, None), next(second, None)
    while one is not None and other is not None:
        if one[0] == other[0]:
            yield *one, other[1]
        behind, ahead = one[0] <= other[0], other[0] <= one[0]
        one = next(first, None) if behind else one
        other = next(second, None) if ahead else other


def _read(which: str, given: Any) -> Explanation | Explanations | Store:
    """An explanation or many, given or saved."""
    if isinstance(given, (str, Path)):
        found = load(given)
        if isinstance(found, (Explanation, Explanations, Store)):
            return found
        raise InputError(f"{str(given)!r} holds one {type(found).__name__}, and explanations were wanted")
    if isinstance(given, (Explanation, Explanations, Store)):
        return given
    return Explanations(explanations_of(which, given))


def _titles(names: Any) -> tuple[str, str]:
    found = tuple(names) if isinstance(names, (list, tuple)) else ()
    if (
        len(found) != 2
        or not all(isinstance(name, str) and name.strip() for name in found)
        or found[0] == found[1]
    ):
        raise InputError(f'names are two different texts, such as ("before", "after"), not {names!r}')
    return found[0], found[1]
