"""conftest.py of lime's own tests, when they run on veridical.compat.lime: ``own_suite.py`` puts it beside them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sklearn.datasets

import veridical.compat

veridical.compat.install("lime")

IMPOSSIBLE = {  # and why: the real lime fails them, too
    "test_indexed_string_callable": "numpy no longer compares lists of unequal length with arrays",
    "test_indexed_string_regex": "numpy no longer compares lists of unequal length with arrays",
    "test_instanciate_segmentation_algorithm": "scikit-image's quickshift no longer takes random_seed",
}
TOPICS = 80  # words, of which each class uses some alone


def fetch_20newsgroups(subset: str = "train", categories: Any = None) -> Any:
    """Texts of two classes in the place of the newsgroups, which would be downloaded."""
    rng = np.random.default_rng(int(subset == "test"))
    words = np.array([f"word{i}" for i in range(TOPICS)])
    target = rng.integers(0, 2, 200)
    data = [" ".join(rng.choice(words[: TOPICS - 30] if one else words[30:], 60)) for one in target]
    return SimpleNamespace(data=data, target=target)


sklearn.datasets.fetch_20newsgroups = fetch_20newsgroups


@pytest.fixture(autouse=True)
def seeded() -> None:
    """The same split of the data in every run: lime's tests draw one that nothing seeds.

    On 3 of 40 splits (seeds 0, 30 and 39) its test of the entropy discretizer fails with lime itself, and with us on the same.
    """
    np.random.seed(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.name in IMPOSSIBLE:
            item.add_marker(pytest.mark.xfail(reason=IMPOSSIBLE[item.name], strict=True))
