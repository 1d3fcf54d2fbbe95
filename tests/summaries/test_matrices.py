"""Picks from more explanations than are held: every field is that of the pick in memory, and memory is bounded."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import veridical as vd
from tests.summaries.test_picks import explained, problems, same, word
from veridical.records import Explanation, Explanations, Part
from veridical.scale import picks as stored_picks
from veridical.scale.stores.store import ExplanationsInMemory
from veridical.summaries import picks
from veridical.summaries.matrices import Batch


@dataclass(frozen=True)
class Read:
    """Explanations that are read a few at a time."""

    items: tuple[Explanation, ...]
    size: int

    def batches(self) -> Iterator[Batch]:
        for start in range(0, len(self.items), self.size):
            yield from ExplanationsInMemory(self.items[start : start + self.size]).batches()

    def views(self) -> Iterator[Any]:
        return ExplanationsInMemory(self.items).views()

    def targets(self) -> Iterator[Any]:
        return ExplanationsInMemory(self.items).targets()

    def row_names(self, numbers: Sequence[int]) -> list[Any]:
        return ExplanationsInMemory(self.items).row_names(numbers)


@pytest.fixture
def by_passes(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Nothing is held, and two sets of parts are kept; batches are of three rows."""
    monkeypatch.setattr(stored_picks, "MAX_HELD", 0)
    monkeypatch.setattr(picks, "MAX_CANDIDATES", 2)

    def ask(many: Explanations, budget: int, ask: Any = vd.pick, **settings: Any) -> Any:
        source = Read(many.items, 3)
        with monkeypatch.context() as patch:
            patch.setattr(stored_picks, "explanation_source", lambda _: source)
            return ask(None, budget, **settings)

    return ask


def test_every_field_is_that_of_the_pick_in_memory(by_passes: Any) -> None:
    """Dense and sparse, many ties, parts of weight zero, several targets, k, and budgets from 0 to more than n."""
    rng, repeated = np.random.default_rng(1), 0
    for trial, (W, budget) in enumerate(problems(30, rows=30)):
        targets = [[0, "0", "b"][i] for i in rng.integers(0, 1 + trial % 3, len(W))]
        many = explained(W, targets=targets, sparse=trial % 4 > 0)
        for settings in ({}, {"k": 2, "rng": trial}, {"target": targets[-1]}):
            assert same(by_passes(many, budget, **settings), vd.pick(many, budget, **settings))
        assert same(by_passes(many, budget, vd.picks.pick_at_random), vd.picks.pick_at_random(many, budget))
        repeated += len(np.unique(W != 0, axis=0)) < len(W)
    assert repeated > 10


def test_parts_that_come_twice_in_a_row(by_passes: Any) -> None:
    rng = np.random.default_rng(0)
    parts = [word(name) for name in "aabbcd"]
    for _ in range(50):
        many = explained(rng.integers(-1, 2, (9, 6)), parts)
        assert same(by_passes(many, 4), vd.pick(many, 4))


@pytest.mark.parametrize("kept", [1, 2, 5])
def test_rounding_breaks_no_tie_between_passes(kept: int, by_passes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are as good as the best but for rounding: more than are kept, and the first adds the least."""
    monkeypatch.setattr(picks, "MAX_CANDIDATES", kept)
    rng = np.random.default_rng(0)
    for trial in range(30):
        rising = np.diag(1 + np.arange(12) * 2.0**-46)
        W = rising if trial == 0 else rising[:, rng.permutation(12)][rng.permutation(12)]
        many = explained(np.c_[W, W])
        expected = vd.pick(many, 5)
        assert expected.chosen.tolist() == list(range(5))
        assert same(by_passes(many, 5), expected)


def test_a_pass_that_forgets_its_bound_is_noticed(by_passes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picks, "tie_threshold", lambda gains: 2**62)
    found = [
        same(by_passes(explained(W), budget), vd.pick(explained(W), budget)) for W, budget in problems(100, 30)
    ]
    assert not all(found)


def test_places_count_as_they_do_in_memory(by_passes: Any) -> None:
    """Parts of pictures that lie at the same places need no concepts; others do, and then all is held."""
    rng = np.random.default_rng(0)
    pictures = rng.random((7, 8, 8))
    grid = vd.Grid(2, 2)
    many = vd.explain_many(lambda X: X[:, :4].sum((1, 2)), grid, pictures, method=vd.Lime(n_samples=32))
    assert same(by_passes(many, 3), vd.pick(many, 3))
    assert "matched by place" in by_passes(many, 3).notes[0]
    asked = {"concepts": vd.concepts.Concepts(n=3)}
    assert same(by_passes(many, 3, **asked), vd.pick(many, 3, **asked))


def test_errors_are_those_of_the_pick_in_memory(by_passes: Any) -> None:
    W = np.ones((8, 3))
    W[7, 1] = np.inf
    many = explained(W)
    with pytest.raises(vd.errors.InputError, match=r"explanation 7 gives the part 'f2' the weight inf"):
        by_passes(many, 2)
    with pytest.raises(vd.errors.InputError, match=r"no explanation is of the target 'no'; there are 'yes'"):
        by_passes(many, 2, target="no")


def test_a_store_is_picked_by_passes(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    X = np.random.default_rng(0).normal(size=(2100, 4))
    X[7] = 9
    rows, method = vd.Rows(X), vd.Lime(n_samples=64)

    def model(X: Any) -> Any:
        if (X == 9).all(axis=1).any():
            raise ValueError("nine")
        return X[:, 0] * X[:, 1]

    store = vd.explain_many(model, rows, X, method=method, store=tmp_path / "why", batch_size=1024)
    expected = vd.pick(store, 6, k=2)
    monkeypatch.setattr(stored_picks, "MAX_HELD", 500)
    assert same(vd.pick(store.path, 6, k=2), expected)


# Memory ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Generated:
    """Light rows that are made when they are asked for."""

    n: int
    size: int = 2048
    d: int = 6

    def batches(self) -> Iterator[Batch]:
        parts = tuple(Part(f"x{j} = {b}", f"x{j}", "=", b) for j in range(self.d) for b in range(4))
        for start in range(0, self.n, self.size):
            n, rng = min(self.size, self.n - start), np.random.default_rng(start)
            codes = (4 * np.arange(self.d) + rng.integers(0, 4, (n, self.d))).ravel()
            weights = rng.integers(-4, 5, n * self.d) / np.tile(np.arange(1, self.d + 1), n)
            yield Batch((0,) * n, np.full(n, self.d), parts, tuple(p.name for p in parts), codes, weights)

    def views(self) -> Iterator[Any]:
        raise AssertionError("parts of tables need no view")

    def row_names(self, numbers: Sequence[int]) -> list[Any]:
        return list(numbers)


def peak(n: int) -> tuple[Any, int]:
    """The pick from so many rows, and the most bytes that it held at once."""
    tracemalloc.start()
    try:
        return vd.pick(Generated(n), 10, k=3), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_picks, "explanation_source", lambda source: source)
    expected, held = peak(60_000)
    monkeypatch.setattr(stored_picks, "MAX_HELD", 2**13)
    (_, few), (found, many) = (peak(n) for n in (15_000, 60_000))
    assert same(found, expected)
    assert many < 1.1 * few < held
