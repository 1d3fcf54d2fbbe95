"""What public functions take is checked once, and comes out as one request."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import veridical as vd
from veridical.models.validation import check_request

ROWS = vd.Rows(np.random.default_rng(0).normal(size=(40, 2)))


def first(X: Any) -> Any:
    return X[:, 0]


@pytest.mark.parametrize(
    ("target", "classes", "targets", "several"),
    [
        (None, None, (None,), False),
        (["a", "b"], ["a", "b"], ("a", "b"), True),
        (("a", "b"), ["a", "b"], ("a", "b"), True),
        (("a", "b"), [("a", "b"), "c"], (("a", "b"),), False),  # which is a class itself
    ],
)
def test_a_list_is_several_targets(target: Any, classes: Any, targets: Any, several: bool) -> None:
    asked = check_request(first, ROWS, target=target, classes=classes)
    assert (asked.targets, asked.several) == (targets, several)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"representer": vd.Rows}, "representer wants settings"),
        ({"representer": 3}, "representer must say what the parts are"),
        ({"target": []}, "the list of targets is empty"),
        ({"target": [0, 1], "single": "one target alone"}, "one target alone"),
        ({"model": 3}, "a model is a function of a batch"),
        ({"rng": -1}, "rng must be a whole number"),
        ({"classes": "ab"}, "classes wants a list"),
    ],
)
def test_what_cannot_be_asked_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(vd.errors.InputError, match=words):
        check_request(**{"model": first, "representer": ROWS, **given})
