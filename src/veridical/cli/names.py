"""From names to objects: methods and others of the registries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
from typing import Any

from veridical.attribute import METHODS
from veridical.errors import InputError


def words(text: str | None) -> list[str] | None:
    """The items of a list with commas."""
    if text is None:
        return None
    found = [word.strip() for word in text.split(",")]
    return [word for word in found if word]


def named(name: str, known: Mapping[str, Any], what: str, *, also: Iterable[str] = ()) -> Any:
    """What has this name; ``also`` are other names that may have been meant."""
    if name not in known:
        near = get_close_matches(name, [*known, *also], n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise InputError(f"no {what} is called {name!r}; {hint}there are {', '.join(known)}")
    return known[name]


def settings_of(name: str, known: Mapping[str, Any], what: str) -> Any:
    """The settings of this name, or of the class of this name, with their defaults."""
    classes = {each.__name__: each for each in known.values()}
    made = classes[name] if name in classes else named(name, known, what, also=classes)
    try:
        return made()
    except TypeError as cause:
        raise InputError(
            f"the {what} {name} needs settings, which a command cannot give: call it in Python"
        ) from cause


def method_of(name: str | None, samples: int | None = None) -> Any:
    """A method by its name in METHODS, or by that of its class, asking so often; None for the default one."""
    if name is None and samples is None:
        return None
    return with_samples(settings_of(name or "lime", METHODS, "method"), samples)


def methods_of(names: str | None, samples: int | None = None) -> list[Any] | None:
    """Methods by their names."""
    if names is None:
        return None if samples is None else [method_of(None, samples)]
    return [method_of(name, samples) for name in words(names) or ()]


def with_samples(method: Any, samples: int | None) -> Any:
    """The method, asking the model so often."""
    if samples is None:
        return method
    if "n_samples" not in {field.name for field in fields(method)}:
        raise InputError(f"--samples is not for {type(method).__name__}, which asks as often as it has to")
    return replace(method, n_samples=samples)
