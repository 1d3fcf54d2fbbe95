"""Settings as plain data and back, so that an explanation can be made again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from numbers import Number
from typing import Any

from veridical.errors import InputError


def name_of(function: Any) -> str:
    """What to call a function of the caller's."""
    return str(getattr(function, "__name__", repr(function)))


@lru_cache(maxsize=32)
def _described(method: Any) -> Any:
    return describe(method)


def recipe_of(method: Any) -> Any:
    """A method as JSON, worked out once, and a copy for each explanation."""
    try:
        return _copy(_described(method))
    except TypeError:  # a setting of the caller's own that cannot be hashed
        return describe(method)


def _copy(data: Any) -> Any:
    if isinstance(data, list):
        return [_copy(v) for v in data]
    return {k: _copy(v) for k, v in data.items()} if isinstance(data, dict) else data


def describe(setting: Any) -> Any:
    """A setting as JSON: its name and what it holds."""
    if is_dataclass(setting) and not isinstance(setting, type):
        held = {f.name: describe(getattr(setting, f.name)) for f in fields(setting)}
        return {"name": type(setting).__name__, **held}
    if callable(setting):
        return {"function": name_of(setting)}
    if setting is None or isinstance(setting, (Number, str)):
        return setting
    if isinstance(setting, tuple):
        return [describe(each) for each in setting]
    size = getattr(setting, "shape", None) or (len(setting) if hasattr(setting, "__len__") else 1)
    return {"object": type(setting).__name__, "size": list(size) if isinstance(size, tuple) else size}


def restore(data: Any, known: Mapping[str, Any]) -> Any:
    """The setting that ``describe`` described; a function of the caller's own cannot be restored."""
    if isinstance(data, (list, tuple)):
        return tuple(restore(each, known) for each in data)
    if not isinstance(data, Mapping):
        return data
    if "object" in data:
        raise InputError(
            f"the method has data of its own ({data['object']}, size {data['size']}), which a recipe cannot hold: "
            "build the method by hand and pass it to explain"
        )
    name = data.get("function", data.get("name"))
    if name not in known:
        raise InputError(
            f"the recipe names {name!r}, which is not one of veridical's own settings: "
            "build the method by hand and pass it to explain"
        )
    if "function" in data:
        return known[name]
    return known[name](**{k: restore(v, known) for k, v in data.items() if k != "name"})
