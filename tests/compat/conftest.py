"""Notes of compat are given once per process: each test starts as if none was given."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from veridical.compat.lime import explanations


@pytest.fixture(autouse=True)
def notes() -> Iterator[set[str]]:
    """Keys of the notes that were given."""
    before, given = set(explanations._said), explanations._said
    given.clear()
    given.add("score")  # unless a test takes it out
    yield given
    given.clear()
    given.update(before)
