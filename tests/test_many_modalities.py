"""Lists of texts, pictures, sounds, series and records: the same bits however the work is cut."""

from __future__ import annotations

import tracemalloc
import weakref
from collections.abc import Iterator
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd
import pytest

import veridical as vd
from contracts import bits
from veridical.represent.masked import Listed

RNG = np.random.default_rng(0)
PICTURES = [RNG.random((8, 8 + i, 3)) for i in range(4)]
STACK = RNG.integers(0, 256, (4, 6, 6), dtype=np.uint8)
PRICES = pd.DataFrame({"price": RNG.gamma(2, 5, 60)})
RECORDS = [
    {"review": f"good bad w{i} end", "price": float(i + 1), "photo": photo} for i, photo in enumerate(PICTURES)
]
FRAME = pd.DataFrame(
    [{"review": f"good bad w{i} end", "price": float(i + 1)} for i in range(4)], index=list("dcba")
)

LISTS: dict[str, tuple[Any, Any]] = {
    "texts": (vd.Words(), ["good bad end", "a fine, fine cast", "日本語 is good", "so so dull"]),
    "series of texts": (vd.Words(), pd.Series(["good bad end", "a fine cast"] * 2, index=list("dcba"))),
    "array of texts": (vd.Words(positions=True), np.array(["good bad end", "a fine, fine cast"] * 2)),
    "sentences": (vd.Sentences(), ["Good. Bad. Dull.", "Yes! No?", "One. Two. Three. Four.", "A. B."]),
    "pictures": (vd.Grid(2, 2), PICTURES),
    "stack of pictures": (vd.Grid(2, 3), STACK),
    "recordings": (vd.Slices(4), [RNG.normal(size=100 + i) for i in range(4)]),
    "spectrograms": (vd.Tiles(3, 2), RNG.normal(size=(4, 6, 9))),
    "filtered": (vd.Tiles(2, 2, rate=8000), [RNG.normal(size=400 + i) for i in range(4)]),
    "series": (vd.Windows(5), RNG.normal(size=(4, 30, 2))),
    "records": (
        vd.Fields({"review": vd.Words(), "price": vd.Rows(PRICES), "photo": vd.Grid(2, 2)}),
        RECORDS,
    ),
    "frame of records": (vd.Fields({"review": vd.Words(), "price": vd.Rows(PRICES)}), FRAME),
}


def size_of(one: Any) -> float:
    if isinstance(one, dict):
        return sum(size_of(value) for value in one.values())
    if isinstance(one, str):
        return sum(ord(c) % 7 for c in one) / 40
    return float(np.mean(one))


def model(X: Any) -> Any:
    X = X.to_dict("records") if isinstance(X, pd.DataFrame) else X
    score = np.array([np.sin(3 * size_of(one)) for one in X])
    return np.stack([(1 - score) / 2, (1 + score) / 2], axis=1)


def items(X: Any) -> list[Any]:
    return [X.iloc[[i]] for i in range(len(X))] if isinstance(X, pd.DataFrame) else list(X)


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("method", [vd.Lime(n_samples=100), vd.Lime(max_calls=600)], ids=["fixed", "default"])
def test_batch_size_and_jobs_change_no_bit(name: str, method: Any) -> None:
    represent, X = LISTS[name]
    whole = vd.explain_many(model, represent, X, method=method, rng=4)
    assert len(whole) == 4
    for batch_size, n_jobs in ((1, 1), (3, 2), (1000, 4)):
        other = vd.explain_many(model, represent, X, method=method, rng=4, batch_size=batch_size, n_jobs=n_jobs)
        assert [bits(why) for why in other] == [bits(why) for why in whole]


@pytest.mark.parametrize("name", LISTS)
def test_the_order_is_kept_and_each_is_the_one_of_its_number(name: str) -> None:
    """What comes out for an instance depends on it and its number, not on the others."""
    represent, X = LISTS[name]
    method = vd.Lime(n_samples=100)
    many = vd.explain_many(model, represent, X, method=method, target=1)
    for i, one in enumerate(items(X)):
        assert many[i].names == represent(one).names
        assert many[i].prediction == model(one if isinstance(one, pd.DataFrame) else [one])[0, 1]
        assert bits(vd.rerun(model, represent, one, many[i].recipe)) == bits(many[i])
    same = vd.explain_many(
        model, represent, items(X)[:2] if not isinstance(X, pd.DataFrame) else X[:2], method=method, target=1
    )
    assert [bits(why) for why in same] == [bits(why) for why in many[:2]]


@pytest.mark.parametrize("name", ["texts", "pictures", "recordings", "records"])
def test_a_generator_is_as_good_as_a_list(name: str) -> None:
    represent, X = LISTS[name]
    method = vd.Lime(n_samples=60)
    lazy = vd.explain_many(model, represent, (x for x in X), method=method)
    for other in (X, tuple(X), dict(enumerate(X)).values()):
        assert [bits(w) for w in lazy] == [
            bits(w) for w in vd.explain_many(model, represent, other, method=method)
        ]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_one_bad_item_says_its_number(n_jobs: int) -> None:
    bad = [*PICTURES[:2], np.full((8, 8), np.nan), *PICTURES[2:]]
    with pytest.warns(vd.errors.RowsFailedWarning, match=r"row 2: .*NaN"):
        many = vd.explain_many(model, vd.Grid(2, 2), bad, method=vd.Lime(n_samples=40), n_jobs=n_jobs)
    assert many.failed["row"].tolist() == [2]


@pytest.mark.parametrize("X", [np.float64(3), np.array("text"), 5.0, None])
def test_what_is_no_list(X: Any) -> None:
    with pytest.raises(vd.InputError, match="list of texts"):
        vd.explain_many(model, vd.Words(), X)


class Watched:
    """A representer that counts the representations that are alive."""

    def __init__(self, honest: Any) -> None:
        self.honest, self.alive, self.most, self.made, self.lock = honest, 0, 0, 0, Lock()

    def __call__(self, x: Any) -> Any:
        made = self.honest(x)
        with self.lock:
            self.made += 1
            self.alive += 1
            self.most = max(self.most, self.alive)
        weakref.finalize(made.compose, self.forget)
        return made

    def forget(self) -> None:
        with self.lock:
            self.alive -= 1


@pytest.mark.parametrize(("batch_size", "n_jobs"), [(1000, 1), (2, 1), (1000, 2)])
def test_only_a_few_are_represented_at_a_time(batch_size: int, n_jobs: int) -> None:
    watched = Watched(vd.Grid(2, 2))
    listed = Listed.of(watched, [PICTURES[0]] * 30, "pictures")
    represent = type("Represent", (), {"__call__": lambda self, x: watched(x), "each": lambda self, X: listed})()
    many = vd.explain_many(model, represent, listed.items, batch_size=batch_size, n_jobs=n_jobs)
    assert len(many) == 30
    assert watched.made <= 31, "the first is looked at before the work starts"
    assert watched.most <= 2 + 2 * n_jobs


def test_memory_is_bounded_by_a_batch_not_by_the_samples() -> None:
    """1,000 samples of a picture of 512 × 512 would be 6 GB of floats."""
    x = RNG.random((512, 512, 3))
    largest: list[int] = []

    def mean(X: Any) -> Any:
        largest.append(X.nbytes)
        return X[:, ::64, ::64, 0].mean(axis=(1, 2))

    tracemalloc.start()
    vd.explain(mean, vd.Grid(8, 8), x, method=vd.Lime(n_samples=1000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert max(largest) <= 2**25
    assert peak < 250e6


def test_progress_counts_the_items() -> None:
    seen: list[int] = []

    def track(work: Iterator[Any], total: int) -> Iterator[Any]:
        for one in work:
            seen.append(total)
            yield one

    vd.explain_many(model, vd.Words(), iter(["a b c", "d e f"]), method=vd.Lime(n_samples=20), track=track)
    assert seen == [2, 2]


def test_lists_of_unequal_shapes_are_fine_and_unequal_rows_are_not() -> None:
    many = vd.explain_many(model, vd.Grid(2, 2), [np.ones((4, 4)), np.eye(9)], method=vd.Lime(n_samples=20))
    assert len(many) == 2
    with pytest.warns(vd.errors.RowsFailedWarning, match=r"row 1: .*unequal length"):
        vd.explain_many(model, vd.Grid(2, 2), [np.ones((4, 4)), [[1, 2], [3]]], method=vd.Lime(n_samples=20))
