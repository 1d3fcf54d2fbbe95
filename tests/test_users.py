"""What simulated users are given is checked, whichever user it is."""

from __future__ import annotations

import re
from typing import Any

import pytest

import veridical as vd
from veridical.evaluate import users


def _no_number(predict: Any) -> Any:
    return None


TEXTS = ["a good film", "a bad film seen on dvd", "good acting on dvd"]


def _good(texts: Any) -> Any:
    return [0.8 if "good" in text or "dvd" in text else 0.2 for text in texts]


MANY = vd.explain_many(_good, vd.Words(), TEXTS)


def _study(**changed: Any) -> users.Study:
    known = {"fit": lambda removed: _good, "explain": lambda *_: MANY, "choose": lambda *_: [0]}
    return users.Study(**{**known, "hidden": {"one": lambda predict: 1.0}, **changed})


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: users.doubts(_good, vd.Words(), TEXTS, untrusted=5), "untrusted must be a list, not 5"),
        (lambda: users.doubts(_good, vd.Words(), TEXTS, share="a"), "between 0 and 1, not 'a'"),
        (lambda: users.doubts(_good, vd.Words(), TEXTS, threshold="a"), "threshold must be a number, not 'a'"),
        (lambda: users.doubts(_good, vd.Words(), TEXTS).user([1, 2, 3]), "there is a int in it"),
        (lambda: users.doubts(_good, vd.Words(), TEXTS).user(None), "explanations must be a list, not None"),
        (lambda: users.doubts(_good, vd.Words(), TEXTS).user(MANY, None), "believe wants a function"),
        (lambda: users.choose([1], [2], {"dvd"}), "first must be a list of explanations"),
        (lambda: users.choose(MANY, None, {"dvd"}), "second must be a list, not None"),
        (lambda: users.choose(MANY, MANY, {"dvd"}, mistrust=None), "mistrust wants a function"),
        (lambda: users.clean(_study(), users.Rule(bool), fan=3), "fan must be a list, not 3"),
        (lambda: _study(hidden=[1]), "hidden wants scores by their names"),
        (lambda: _study(fit=None), "fit wants a function"),
        (
            lambda: users.clean(_study(hidden={"a": _no_number}), users.Rule(bool)),
            "the score 'a' must be a number",
        ),
        (lambda: users.clean(_study(explain=lambda *_: None), users.Rule(bool)), "what explain returns must be"),
        (lambda: users.clean(_study(choose=lambda *_: None), users.Rule(bool)), "what choose returns must be"),
        (lambda: users.clean(_study(), lambda *_: None), "what a user removes must be a list, not None"),
    ],
)
def test_what_users_are_given_is_checked(call: Any, told: str) -> None:
    with pytest.raises(vd.InputError, match=re.escape(told)):
        call()
