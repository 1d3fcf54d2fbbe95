"""The method that a caller chose, checked once."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from veridical.attribute import METHODS
from veridical.attribute.lime import Lime
from veridical.attribute.linear import Linear
from veridical.attribute.purposes import method_for
from veridical.attribute.tree import Tree
from veridical.debug.adversary import CAUSES
from veridical.errors import InputError
from veridical.summarize import GROUPINGS

MEANT = {  # what methods are also called, by the names of ours
    "shap": "kernelshap",
    "shapley": "kernelshap",
    "ig": "integratedgradients",
    "lrp": "lrpepsilon",
    "saliency": "gradient",
}


def method_of(method: Any) -> Any:
    """A method that explains; by default LIME."""
    if method is None:
        return Lime()
    return settings_of(method, "vd.Lime(n_samples=2000)", {**GROUPINGS, **CAUSES}, METHODS)


def method_asked(method: Any, purpose: Any) -> Any:
    """The method that was given, or the one for the purpose."""
    if purpose is None:
        return method_of(method)
    if method is not None:
        name = getattr(method, "__name__", type(method).__name__)
        raise InputError(f"a purpose chooses the method: leave out method, {name}, or purpose, {purpose!r}")
    return method_for(purpose)


def settings_of(method: Any, example: str, others: Mapping[str, Any], known: Mapping[str, Any]) -> Any:
    """A method of the right kind, which may be named: ``others`` are methods for another purpose."""
    if isinstance(method, str):
        return settings_called(method, known)
    if isinstance(method, type):
        raise InputError(f"method wants settings, such as {method.__name__}(), not the class itself")
    if isinstance(method, (Linear, Tree)):
        name = type(method).__name__
        raise InputError(f"a surrogate belongs to Lime: method=vd.Lime(surrogate=vd.{name}())")
    if isinstance(method, tuple(others.values())):
        raise InputError(
            f"method wants settings such as {example}; vd.{type(method).__name__} is for another purpose"
        )
    if not callable(method):
        raise InputError(f"method wants settings such as {example}, not {method!r}")
    return method


def settings_called(name: str, known: Mapping[str, Any]) -> Any:
    """The method of a name, in any spelling of it, with its default settings."""
    own = {_spelled(each): each for each in known} | {_spelled(v.__name__): k for k, v in known.items()}
    key = own.get(_spelled(name))
    if key is None:
        like = MEANT.get(_spelled(name)) or next(iter(get_close_matches(_spelled(name), own, n=1, cutoff=0.5)), "")
        hint = f"did you mean {own[like]!r}, which is vd.{known[own[like]].__name__}()?" if like in own else ""
        raise InputError(f"no method is called {name!r}; {hint or 'there are ' + ', '.join(known)}")
    try:
        return known[key]()
    except TypeError as cause:
        raise InputError(
            f"{key!r} needs settings: give vd.{known[key].__name__}(…) instead of its name"
        ) from cause


def methods_called(methods: Any) -> Any:
    """Methods as they were given, but for those that were named."""
    if isinstance(methods, str):
        return settings_called(methods, METHODS)
    if isinstance(methods, Mapping):
        return {name: methods_called(method) for name, method in methods.items()}
    return [methods_called(each) for each in methods] if isinstance(methods, (list, tuple)) else methods


def _spelled(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "").replace(" ", "")


def most_calls(method: Any) -> int | None:
    """Inputs that a method asks about at most, where it says so."""
    most = getattr(method, "n_samples", None) or getattr(method, "max_calls", None)
    return most if isinstance(most, int) else None
