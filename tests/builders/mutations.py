"""Documents with one field damaged: every field at every depth, in every way that a file can be wrong.

``mutated`` gives them in an order that a seed fixes, so that a test may look at as many as it has time for.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any, TypeAlias

Path: TypeAlias = tuple[Any, ...]

DEEP = "[" * 100_000
INFINITE, NEGATIVE_INFINITE, NOT_A_NUMBER = "<1e999>", "<-1e999>", "<NaN>"  # written without their marks
RAW = {f'"{mark}"': mark.strip("<>") for mark in (INFINITE, NEGATIVE_INFINITE, NOT_A_NUMBER)} | {'"<deep>"': DEEP}
OTHERS: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**63, -(2**63), 10**400, 0.5, -0.5, 1e308, -1e308, 5e-324),
    *(INFINITE, NEGATIVE_INFINITE, NOT_A_NUMBER, "<deep>", "", "x", "nan", "inf", "-inf", "9" * 5000, "\ud800"),
    *([], [[]], [None], {}, {"x": 1}, {"float": "x"}, {"tuple": 1}, {"mapping": 1}, {"value": "date", "of": 1}),
    *({"timestamp": 1}, {"array": "", "dtype": "O", "shape": [1]}, {"view": "x", "data": {}}, [1, [2, [3]]]),
)


def fields(document: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value in a document, with the way to it; of long lists the first, the second and the last."""
    yield path, document
    if isinstance(document, dict):
        for key, value in document.items():
            yield from fields(value, (*path, key))
    elif isinstance(document, list):
        for i in sorted({0, 1, len(document) - 1} & set(range(len(document)))):
            yield from fields(document[i], (*path, i))


def changes(value: Any) -> Iterator[Any]:
    """What may stand in the place of a value."""
    yield from (other for other in OTHERS if type(other) is not type(value) or other != value)
    if isinstance(value, list):
        yield from (value[:-1], [*value, *value[-1:]], [value], value[::-1])
    elif isinstance(value, str):
        yield from (value[: len(value) // 2], value + "x", [value])
    elif isinstance(value, dict):
        for key in value:
            yield {other: each for other, each in value.items() if other != key}
        yield {**value, "more": 1}
    elif isinstance(value, (int, float)):
        yield from (value + 1, -value, value * 10**6, str(value))


def put(document: Any, path: Path, value: Any) -> Any:
    """A document with another value in one place."""
    if not path:
        return value
    head, *rest = path
    if isinstance(document, dict):
        return {key: put(each, tuple(rest), value) if key == head else each for key, each in document.items()}
    return [put(each, tuple(rest), value) if i == head else each for i, each in enumerate(document)]


def written(document: Any) -> str:
    """A document as JSON, with what no encoder would write."""
    text = json.dumps(document)
    for mark, raw in RAW.items():
        text = text.replace(mark, raw)
    return text


def mutated(document: Any, seed: int = 0) -> Iterator[tuple[Path, str]]:
    """Every document with one field damaged, once, in an order that the seed fixes."""
    places = {path: value for path, value in fields(document) if path}
    every = [(path, i) for path, value in places.items() for i in range(sum(1 for _ in changes(value)))]
    random.Random(seed).shuffle(every)
    for path, i in every:
        value = list(changes(places[path]))[i]
        yield path, written(put(document, path, value))
    text = written(document)
    for path, value in places.items():
        if isinstance(path[-1], str):  # a key that is there twice
            twice = json.dumps({path[-1]: value})[1:-1]
            yield path, text.replace(twice, f"{twice}, {json.dumps(path[-1])}: null", 1)
