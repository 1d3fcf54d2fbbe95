"""The method that a caller chose, checked once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from veridical.attribute.lime import Lime
from veridical.attribute.purposes import method_for
from veridical.debug.adversary import CAUSES
from veridical.errors import InputError
from veridical.summarize import GROUPINGS


def method_of(method: Any) -> Any:
    """A method that explains; by default LIME."""
    return Lime() if method is None else settings_of(method, "vd.Lime(n_samples=2000)", {**GROUPINGS, **CAUSES})


def method_asked(method: Any, purpose: Any) -> Any:
    """The method that was given, or the one for the purpose."""
    if purpose is None:
        return method_of(method)
    if method is not None:
        name = getattr(method, "__name__", type(method).__name__)
        raise InputError(f"a purpose chooses the method: leave out method, {name}, or purpose, {purpose!r}")
    return method_for(purpose)


def settings_of(method: Any, example: str, others: Mapping[str, Any]) -> Any:
    """A method of the right kind: ``others`` are methods for another purpose."""
    if isinstance(method, type):
        raise InputError(f"method wants settings, such as {method.__name__}(), not the class itself")
    if isinstance(method, tuple(others.values())):
        raise InputError(
            f"method wants settings such as {example}; vd.{type(method).__name__} is for another purpose"
        )
    if not callable(method):
        raise InputError(f"method wants settings such as {example}, not {method!r}")
    return method


def most_calls(method: Any) -> int | None:
    """Inputs that a method asks about at most, where it says so."""
    most = getattr(method, "n_samples", None) or getattr(method, "max_calls", None)
    return most if isinstance(most, int) else None
