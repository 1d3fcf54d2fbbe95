"""What callers give, checked once: a representer, a seed, and what a method of their own returns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from veridical.errors import InputError, ModelError
from veridical.records import Explanation, Representation


def checked_representer(represent: Any) -> Any:
    """Settings of a representer, not its class."""
    if isinstance(represent, type) and hasattr(represent, "each"):
        raise InputError(f"represent wants settings: call the class, as in vd.{represent.__name__}(…)")
    if not callable(represent) or not hasattr(represent, "each") or isinstance(represent, type):
        raise InputError(
            f"represent must say what the parts are, such as vd.Rows(X_train), not {type(represent).__name__}"
        )
    return represent


@contextmanager
def name_unseen(representation: Representation) -> Iterator[None]:
    """Let an error of the model say which categories of the instance the background never has."""
    try:
        yield
    except ModelError as cause:
        unseen = getattr(representation, "unseen", ())
        if not unseen:
            raise
        raise ModelError(
            f"{cause}; the background never has {', '.join(unseen)}, which the model may not know"
        ) from cause.__cause__  # the model's own: among many, errors that cause errors of ours are left out


def seed_of(rng: Any) -> np.random.SeedSequence:
    """A seed, or a Generator to draw one from."""
    if isinstance(rng, np.random.Generator):
        words = rng.integers(0, 2**32, 4, dtype=np.uint64)
        return np.random.SeedSequence(int(sum(int(w) << (32 * i) for i, w in enumerate(words))))
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, (bool, np.bool_)) and rng >= 0:
        return np.random.SeedSequence(int(rng))
    raise InputError(f"rng must be a whole number from 0 on, or a numpy Generator, not {rng!r}")


def answered(found: Any, n: int = 1) -> tuple[Explanation, ...]:
    """What a method returned, which may be the caller's own: a tuple with an explanation a target."""
    if not isinstance(found, (tuple, list)):
        came = f"{type(found).__name__}"
    elif len(found) != n:
        came = f"{len(found)} of them"
    else:
        wrong = [type(each).__name__ for each in found if not isinstance(each, Explanation)]
        if not wrong:
            return tuple(found)
        came = f"{wrong[0]} in it"
    raise InputError(f"a method must return a tuple of explanations, one a target (here {n}); it returned {came}")


def explanations_of(what: str, many: Any) -> tuple[Explanation, ...]:
    """Any collection of explanations."""
    found = listed(what, many)
    wrong = [type(each).__name__ for each in found if not isinstance(each, Explanation)]
    if wrong:
        raise InputError(
            f"{what} must be a list of explanations, as explain_many gives; there is a {wrong[0]} in it"
        )
    return found


def checked_rule(name: str, rule: Any, example: str) -> None:
    """Refuse what cannot be called, or is a class whose settings are missing."""
    if not callable(rule) or isinstance(rule, type):
        raise InputError(f"{name} wants a function, such as {example}, not {rule!r}")


def listed(what: str, items: Any) -> tuple[Any, ...]:
    """A list of something, whatever its kind; a text is none."""
    if not isinstance(items, Iterable) or isinstance(items, (str, bytes)):
        raise InputError(f"{what} must be a list, not {items!r}")
    return tuple(items)
