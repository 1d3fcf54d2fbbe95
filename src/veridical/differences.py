"""The border of one question: what differs between two explanations, by more than the noise?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from veridical.attribute.given import explanations_of
from veridical.errors import InputError
from veridical.evaluate.differences import Difference, differ
from veridical.evaluate.rows import Pair, differ_over_rows
from veridical.keywords import teach_keywords
from veridical.records import Explanation, Explanations
from veridical.scale.stores.store import Store
from veridical.serialize import load


@teach_keywords
def compare(first: Any, second: Any, *, names: Sequence[str] = ("first", "second")) -> Difference:
    """Compare two explanations: two models, two classes, two rows, before and after.

    Each is an explanation, many of them (as of explain_many: the same rows in the same order), a store of them,
    which is read a little at a time, or the path of a store or of a file that either was saved in. ``names`` are
    what to call the two. The difference is the second less the first, and ``larger`` says of which parts it is
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
        sizes = [each.n_rows if isinstance(each, Store) else len(each) for each in (a, b)]
        if sizes[0] != sizes[1]:
            raise InputError(
                "both must explain the same rows in the same order, but there are "
                f"{sizes[0]} explanations and {sizes[1]}"
            )
        return differ_over_rows((a, b), sizes[0], _pairs(_numbered(a), _numbered(b)), titles)
    kinds = [
        f"one {type(each).__name__}" if isinstance(each, Explanation) else f"{len(each)} of them"
        for each in (a, b)
    ]
    raise InputError(f"compare wants one explanation and one, or many and as many, not {kinds[0]} and {kinds[1]}")


def _numbered(many: Explanations | Store) -> Iterator[tuple[int, Explanation]]:
    return many.numbered() if isinstance(many, Store) else enumerate(many)


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
