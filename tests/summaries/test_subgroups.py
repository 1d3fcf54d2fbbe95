"""Where labels gather: planted subgroups are found, chance is not, and numbers are of rows that were not searched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from veridical.records import Verdict
from veridical.summaries.importances import Importance, RowSample
from veridical.summaries.subgroups import describe_label

N = 800
RNG = np.random.default_rng(0)
AGE, DEBT, HOME = RNG.uniform(18, 80, N), RNG.uniform(0, 9, N), RNG.integers(0, 3, N).astype(float)
VALUES = np.column_stack([AGE, DEBT, HOME])
LEVELS: tuple[tuple[Any, ...], ...] = ((), (), ("own", "rent", "parents"))


def importance(bad: Any, values: Any = VALUES, levels: Any = LEVELS, weights: Any = None) -> Importance:
    """An importance whose rows are labeled unreliable where ``bad``."""
    n, d = values.shape
    labels = tuple(np.where(bad, "unreliable", "reliable").tolist())
    weights = np.ones((n, d)) if weights is None else weights
    numbers, ones = np.arange(n), np.ones(n)
    sample = RowSample(numbers, tuple(range(n)), weights, values, levels, ones, ones, labels, ("yes",) * n)
    names = ("age", "debt", "home")[:d]
    each = np.ones(d)
    counts = np.full(d, n)
    return Importance(names, each, np.ones((d, 2)), each, counts, counts, n, 0, (("yes", n),), (), 0.9, sample)


def found(bad: Any, **rest: Any) -> Verdict:
    verdict = describe_label(importance(bad, **rest), ("unreliable",))
    assert verdict is not None
    return verdict


PLANTED = {
    "a range": (AGE > 60, ("age > 6",)),
    "a category": (HOME == 1, ("home = rent",)),
    "two conditions": ((AGE > 50) & (HOME == 2), ("age > 5", "home = parents")),
    "from to": ((AGE > 35) & (AGE <= 55), ("age > 3", "age ≤ 5")),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_subgroup_is_found(name: str) -> None:
    inside, words = PLANTED[name]
    bad = np.where(RNG.permutation(N) < 0.1 * N, ~inside, inside)  # with errors
    verdict = found(bad)
    assert verdict.label == "different"
    for each in words:
        assert each in verdict.sentence
    there, elsewhere, held, share = verdict.measures
    assert there.value > 0.65  # 0.9 where a cut is just at the border
    assert there.value > 4 * elsewhere.value
    assert held.value > share.value
    assert f"{100 * held.value:.0f} % of the unreliable explanations" in verdict.sentence
    assert len(verdict.sentence.split()) <= 25


def test_numbers_are_counted_on_rows_that_were_not_searched() -> None:
    """As many rows as are told to be counted, and what is counted is what the conditions hold for."""
    bad = AGE > 60
    verdict = found(bad)
    *_, (rest,) = [[int(word.strip(".")) for word in verdict.notes[0].split() if word.strip(".").isdigit()][1:]]
    assert verdict.measures[3].n == rest
    assert 0.4 * N < rest < 0.6 * N
    assert verdict.measures[0].n + verdict.measures[1].n == rest
    cut = float(verdict.sentence.split("age > ")[1].split(",")[0])
    assert abs(verdict.measures[3].value - (cut < AGE).mean()) < 0.06


def test_chance_is_not_reported() -> None:
    """Labels that depend on nothing: of twenty, at most one is said to gather somewhere."""
    rng = np.random.default_rng(1)
    labels = [found(rng.random(N) < 0.2).label for _ in range(20)]
    assert labels.count("same") >= 19


def test_too_few_or_too_many_say_nothing() -> None:
    few, many = np.arange(N) < 5, np.arange(N) >= 5
    for bad in (few, many, np.zeros(N, dtype=bool)):
        assert describe_label(importance(bad), ("unreliable",)) is None


def test_words_are_there_or_not() -> None:
    """Texts have no values: what counts is whether a row has the word."""
    there = RNG.random(N) < 0.3
    weights = np.column_stack([np.where(there, 1.0, np.nan), np.where(RNG.random(N) < 0.5, 1.0, np.nan)])
    nothing = np.full((N, 2), np.nan)
    verdict = found(there, values=nothing, levels=((), ()), weights=weights)
    assert "“age”" in verdict.sentence
    assert "no “age”" in found(~there, values=nothing, levels=((), ()), weights=weights).sentence


def test_nothing_to_search_is_said() -> None:
    nothing = np.full((N, 1), np.nan)
    verdict = found(AGE > 60, values=nothing, levels=((),))
    assert (verdict.label, verdict.passed) == ("same", True)
